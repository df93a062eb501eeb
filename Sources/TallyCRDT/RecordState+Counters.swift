/// Counters: an offset, which is a register of the record's content, and for each replica that ever added one total,
/// which is a register of its presence and by that replica alone.
///
/// What is shown is the offset and all totals. An add raises the total of its author. A set makes the offset what is
/// asked for, less all totals that its author knows: of concurrent sets the later stays, an add that it had seen is in
/// it, and one that it had not seen counts. No list of what a set had seen is needed, since totals are never dropped,
/// and a vector that covers a set covers all that its author had seen (a positive-negative counter, Shapiro et al., "A
/// comprehensive study of CRDTs", 2011, with one register for both signs, and an offset).
extension RecordState {
  /// Finds what was added to a counter. Totals stand behind all other registers.
  /// - Parameter counter: the field of the offset.
  /// - Returns: the registers of its totals, ascending by field.
  package func totals(of counter: FieldID) -> ArraySlice<FieldCell> {
    guard var start = fields.indices.last, fields[start].field.isTotal else { return [] }
    while start > 0, fields[start - 1].field.isTotal { start -= 1 }
    let own = fields[start...].drop { $0.field.counter != counter }
    return own.prefix { $0.field.counter == counter }
  }

  /// The sum of what was ever added to a counter; exact, however many replicas have added.
  package func added(to counter: FieldID) -> Int128 {
    totals(of: counter).reduce(into: 0) { sum, cell in
      if case .integer(let total) = cell.value { sum += Int128(total) }
    }
  }

  /// Adds up what a counter shows. Cost: linear in the totals.
  /// - Parameters:
  ///   - counter: the field of the offset.
  ///   - start: the counter's default.
  ///   - followsNewest: see `cell(_:followsNewest:)`.
  /// - Returns: what was set or a seed says, or else `start`, and all that was added; the nearest that 64 bits hold.
  public func count(of counter: FieldID, from start: Int64, followsNewest: Bool) -> Int64 {
    let offset =
      if case .integer(let number) = cell(counter, followsNewest: followsNewest)?.value { number } else { start }
    return Int64(clamping: Int128(offset) + added(to: counter))
  }

  /// The offset with which a counter shows a number; nil if 64 bits do not hold it.
  package func offset(showing number: Int64, of counter: FieldID) -> Int64? {
    Int64(exactly: Int128(number) - added(to: counter))
  }
}
