extension RecordState {
  /// The part of the state that a peer with the vector `vector` lacks; nil if it lacks nothing.
  ///
  /// Joining it into any state that has everything `vector` covers gives the join with the whole state: a delta in the
  /// sense of Almeida, Shoker and Baquero (2016).
  public func delta(since vector: StateVector) -> RecordState? {
    guard !vector.isEmpty else { return isEmpty ? nil : self }
    var result = RecordState()
    if let existence, !vector.covers(existence.dot) { result.existence = existence }
    result.fields = fields.filter { !vector.covers($0.stamp.dot) }
    result.supersededTouches = supersededTouches.beyond(vector)
    result.deletes = deletes.filter { !vector.covers($0.stamp.dot) }
    result.seed = seed?.delta(since: vector)
    return result.isEmpty ? nil : result
  }
}
