/// Reading the bytes of a text's state.
extension TextState {
  /// Reads what `encoded(replicas:)` writes, and nothing else: of each state one form. Every length is checked before
  /// memory is taken. Runs that hang at each other are read as well: parts that are right alone can say that together,
  /// and `TextOrder` breaks such circles.
  ///
  /// Cost: n log n in the bytes, which are gone through three times: numbers stay in their columns, and beside the
  /// state only the names of runs are kept.
  /// - Parameters:
  ///   - bytes: a state, from any sender.
  ///   - limits: the replicas by number, each once, with the last transaction of each that the sender has.
  /// - Throws: `TextCodingError`.
  package init(_ bytes: [UInt8], limits: [Dot]) throws(TextCodingError) {
    var decoder = TextDecoder(bytes, limits: limits)
    self = try decoder.state()
  }
}
