/// A register write that another one beat in a join.
public struct LostWrite: Hashable, Sendable {
  /// What was beaten.
  public var loser: FieldCell
  /// What beat it.
  public var winner: FieldCell
  /// Whether the loser stood in the receiving state; otherwise it came with the other one.
  public var wasLocal: Bool
}

extension RecordState {
  /// Joins another state of the same record into this one: commutative, associative, idempotent.
  ///
  /// Of existence and of each register the greater stamp wins; the dot of a user cell that loses stays as a touch. Deletes are
  /// united, without those that another one has seen. Cost: linear in the registers of both, and in the square of the deletes.
  public mutating func merge(_ other: RecordState) {
    var lost: [LostWrite] = []
    merge(other, lost: &lost, planted: [])
  }

  /// The join of both.
  public func merging(_ other: RecordState) -> RecordState {
    var result = self
    result.merge(other)
    return result
  }

  /// Joins `other` in and appends to `lost` each register write that lost with a different value, on either side.
  ///
  /// Whether such a pair was concurrent, or one had seen the other, only the caller can tell.
  package mutating func merge(_ other: RecordState, lost: inout [LostWrite], planted: PlantedFault) {
    var touches = supersededTouches
    touches.merge(other.supersededTouches)
    mergeExistence(other.existence, touches: &touches, planted: planted)
    mergeFields(other.fields, touches: &touches, lost: &lost, planted: planted)
    normalizeTouches(touches)
    if !other.deletes.isEmpty { mergeDeletes(other.deletes, planted: planted) }
    if let theirs = other.seed { seed = seed?.merging(theirs) ?? theirs }
  }

  private mutating func mergeExistence(_ other: Stamp?, touches: inout StateVector, planted: PlantedFault) {
    guard let other else { return }
    guard let mine = existence else {
      existence = other
      return
    }
    let loser = min(mine, other)
    existence = max(mine, other)
    if mine != other, loser.rank >= .user, !planted.contains(.supersededTouchLost) { touches.include(loser.dot) }
  }

  private mutating func mergeFields(
    _ other: [FieldCell], touches: inout StateVector, lost: inout [LostWrite], planted: PlantedFault
  ) {
    guard !other.isEmpty else { return }
    guard !fields.isEmpty else {
      fields = other
      return
    }
    var result: [FieldCell] = []
    result.reserveCapacity(max(fields.count, other.count))
    var mine = fields[...]
    var theirs = other[...]
    while let a = mine.first, let b = theirs.first {
      if a.field < b.field {
        result.append(mine.removeFirst())
      } else if b.field < a.field {
        result.append(theirs.removeFirst())
      } else {
        mine.removeFirst()
        theirs.removeFirst()
        result.append(Self.join(a, b, touches: &touches, lost: &lost, planted: planted))
      }
    }
    fields = result + mine + theirs
  }

  private static func join(
    _ mine: FieldCell, _ theirs: FieldCell, touches: inout StateVector, lost: inout [LostWrite],
    planted: PlantedFault
  ) -> FieldCell {
    if mine == theirs { return mine }
    if !planted.isEmpty, planted.keeps(mine, over: theirs) { return mine }
    let theirsWin = theirs.wins(over: mine)
    let (winner, loser) = theirsWin ? (theirs, mine) : (mine, theirs)
    if loser.stamp.rank >= .user, !planted.contains(.supersededTouchLost) { touches.include(loser.stamp.dot) }
    if winner.value != loser.value {
      lost.append(LostWrite(loser: loser, winner: winner, wasLocal: theirsWin))
    }
    return winner
  }

  private mutating func mergeDeletes(_ other: [Delete], planted: PlantedFault) {
    var byDot: [Dot: Delete] = [:]
    for delete in deletes + other {
      byDot[delete.stamp.dot] = byDot[delete.stamp.dot].map { Self.same($0, delete) } ?? delete
    }
    if planted.contains(.concurrentDeletesMerged), let last = byDot.values.map(\.stamp).max() {
      let context = byDot.values.reduce(StateVector()) { $0.merging($1.context) }
      byDot = [last.dot: Delete(stamp: last, context: context)]
    }
    let all = byDot.values.sorted { $0.stamp.dot < $1.stamp.dot }
    deletes = all.filter { delete in
      !all.contains { $0.stamp.dot != delete.stamp.dot && $0.context.covers(delete.stamp.dot) }
    }
    if planted.contains(.tombstoneDropsCells) { dropCoveredCells() }
    if planted.contains(.tombstoneDroppedEarly), deletedContext.covers(touches), seed == nil { self = RecordState() }
  }

  /// Two copies of one delete. They are equal unless a peer is broken; then the greater of each part, so that all agree.
  private static func same(_ a: Delete, _ b: Delete) -> Delete {
    Delete(stamp: max(a.stamp, b.stamp), context: a.context.merging(b.context))
  }

  private mutating func dropCoveredCells() {
    let context = deletedContext
    fields.removeAll { context.covers($0.stamp.dot) }
    if let existence, context.covers(existence.dot) { self.existence = nil }
    supersededTouches = supersededTouches.beyond(context)
  }
}

extension PlantedFault {
  /// Whether a fault keeps a cell although the other one should win.
  fileprivate func keeps(_ mine: FieldCell, over theirs: FieldCell) -> Bool {
    if contains(.equalStampKeepsLocal), mine.stamp == theirs.stamp { return true }
    if contains(.equalValueKeepsLocalStamp), mine.value == theirs.value { return true }
    return contains(.equalTimesKeepLocal) && mine.stamp.rank == theirs.stamp.rank
      && mine.stamp.time == theirs.stamp.time
  }

  /// The vector that a delta is taken to be since.
  package func base(_ base: StateVector) -> StateVector {
    guard contains(.vectorEndOffByOne) else { return base }
    return StateVector(base.entries.map { ($0.replica, $0.sequence + 1) })
  }
}
