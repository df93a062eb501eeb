extension RecordState {
  /// The part of the state that a peer with the vector `vector` lacks; nil if it lacks nothing.
  ///
  /// Joining it into any state that has everything `vector` covers gives the join with the whole state: a delta in the
  /// sense of Almeida, Shoker and Baquero (2016). Registers count with the dot by which they travel. The life stands in
  /// every delta of a record that has one, since it says which life the registers are of.
  public func delta(since vector: StateVector) -> RecordState? {
    guard !vector.isEmpty else { return isEmpty ? nil : self }
    var result = RecordState()
    if let existence, !vector.covers(existence.dot) { result.existence = existence }
    result.supersededTouches = supersededTouches.beyond(vector)
    result.deletes = deletes.filter { !vector.covers($0.stamp.dot) }
    result.seed = seed?.delta(since: vector)
    guard let life else {
      result.fields = fields.filter { !vector.covers($0.stamp.dot) }
      return result.isEmpty ? nil : result
    }
    result.addContent(of: self, in: life, since: vector)
    return result.isEmpty ? nil : result
  }

  private mutating func addContent(of whole: RecordState, in life: Life, since vector: StateVector) {
    var part = life.beginning
    if let said = life.said, !vector.covers(said) { part.said = said }
    part.vias = life.vias.filter { !vector.covers($0.dot) }
    var touches = supersededTouches
    for (cell, via) in zip(whole.fields, whole.fieldVias) {
      if !vector.covers(via) {
        fields.append(cell)
      } else if cell.stamp.rank >= .user, !vector.covers(cell.stamp.dot) {
        // A peer that has the register, by what its vector claims, may lack the edit: numbers were issued twice.
        touches.include(cell.stamp.dot)
      }
    }
    normalizeTouches(touches)
    let hasContent = !fields.isEmpty || part.said != nil || !vector.covers(life.dot)
    if hasContent || !isEmpty { self.life = part }
  }
}
