import TallyCRDT

extension RecordState {
  /// The join, with a fault in it.
  package mutating func merge(_ other: RecordState, lost: inout [LostWrite], planted: PlantedFault) {
    guard !planted.isEmpty else { return merge(other, lost: &lost) }
    let touches = supersededTouches.merging(other.supersededTouches)
    var other = other
    other.fields.removeAll { theirs in self[theirs.field].map { planted.keeps($0, over: theirs) } ?? false }
    other.dropVoidVias()
    let before = self
    merge(other, lost: &lost)
    if planted.contains(.totalsSummed) { sumTotals(of: before, other) }
    if planted.contains(.supersededTouchLost) { normalizeTouches(touches) }
    if !other.deletes.isEmpty { planted.spoilDeletes(of: &self) }
  }

  /// The delta, with a fault in it.
  package func delta(since vector: StateVector, planted: PlantedFault) -> RecordState? {
    guard var result = delta(since: vector) else { return nil }
    if planted.contains(.touchesOfLiveCellsOnly), !vector.isEmpty { result.supersededTouches = StateVector() }
    return result.isEmpty ? nil : result
  }
}

extension RecordState {
  /// Adds up the totals that two states have under different stamps.
  fileprivate mutating func sumTotals(of mine: RecordState, _ theirs: RecordState) {
    for place in fields.indices where fields[place].field.isTotal {
      let field = fields[place].field
      guard let one = mine[field], let other = theirs[field], one.stamp != other.stamp,
        case .integer(let first) = one.value, case .integer(let second) = other.value
      else { continue }
      fields[place].value = .integer(first &+ second)
    }
  }

  /// Drops what was added to counters.
  package mutating func dropTotals() { fields.removeAll { $0.field.isTotal } }

  /// The state without what was added to counters.
  package var withoutTotals: RecordState {
    var state = self
    state.dropTotals()
    return state
  }
}

extension ORSetElement {
  /// The join, with a fault in it.
  package mutating func merge(_ other: ORSetElement, planted: PlantedFault) {
    merge(other)
    if planted.contains(.timestampedSet) { reduceToTimestamps() }
    if planted.contains(.removeWins), let removed = tags.compactMap({ $0.removed }).max() { remove(removed) }
  }

  private mutating func reduceToTimestamps() {
    guard let added = tags.max(by: { $0.added < $1.added }) else { return }
    let removed = tags.compactMap { $0.removed }.max()
    tags = [Tag(added: added.added, removed: removed.flatMap { $0 > added.added ? $0 : nil })]
  }
}

extension PlantedFault {
  /// Makes of a join what the fault makes of it.
  package func spoil(
    _ state: inout RecordState, joinOf mine: RecordState, _ theirs: RecordState, _ lost: inout [LostWrite]
  ) {
    guard !isEmpty else { return }
    (state, lost) = (mine, [])
    state.merge(theirs, lost: &lost, planted: self)
  }

  /// Makes of a join what the fault makes of it.
  package func spoil(_ element: inout ORSetElement, joinOf mine: ORSetElement, _ theirs: ORSetElement) {
    guard !isEmpty else { return }
    element = mine
    element.merge(theirs, planted: self)
  }

  /// Whether a cell stays although the other one should win.
  fileprivate func keeps(_ mine: FieldCell, over theirs: FieldCell) -> Bool {
    if contains(.equalStampKeepsLocal), mine.stamp == theirs.stamp { return true }
    if contains(.equalValueKeepsLocalStamp), mine.value == theirs.value { return true }
    if contains(.laterBeatsGreater), mine.field.extremum != nil, theirs.stamp < mine.stamp { return true }
    return contains(.equalTimesKeepLocal) && mine.stamp.rank == theirs.stamp.rank
      && mine.stamp.time == theirs.stamp.time
  }

  fileprivate func spoilDeletes(of state: inout RecordState) {
    if contains(.concurrentDeletesMerged), let last = (state.deletes.map { $0.stamp }.max()) {
      state.deletes = [Delete(stamp: last, context: state.deletedContext)]
    }
    if contains(.tombstoneDropsCells) { state.dropCoveredCells() }
    if contains(.tombstoneDroppedEarly), state.deletedContext.covers(state.touches), state.seed == nil {
      state = RecordState()
    }
  }

  /// The vector that a delta is taken to be since.
  package func base(_ base: StateVector) -> StateVector {
    guard contains(.vectorEndOffByOne) else { return base }
    return StateVector(base.entries.map { ($0.replica, $0.sequence + 1) })
  }
}

extension RecordState {
  /// Keeps only what registers travel by that are there.
  fileprivate mutating func dropVoidVias() {
    let there = Set(fields.map(\.field))
    life?.vias.removeAll { !there.contains($0.field) }
  }

  fileprivate mutating func dropCoveredCells() {
    let context = deletedContext
    fields.removeAll { context.covers($0.stamp.dot) }
    dropVoidVias()
    if let existence, context.covers(existence.dot) { self.existence = nil }
    supersededTouches = supersededTouches.beyond(context)
  }
}
