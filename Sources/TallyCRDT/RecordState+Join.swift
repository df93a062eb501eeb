/// A register write that another one beat in a join.
public struct LostWrite: Hashable, Sendable {
  /// The stamp of the write that lost.
  public var loser: FieldCell
  /// The stamp of the write that won.
  public var winner: FieldCell
  /// Whether the loser stood in the receiving state; otherwise it came with the other one.
  public var wasLocal: Bool

  package init(loser: FieldCell, winner: FieldCell, wasLocal: Bool) {
    (self.loser, self.winner, self.wasLocal) = (loser, winner, wasLocal)
  }
}

extension RecordState {
  /// Joins another state of the same record into this one: commutative, associative, idempotent.
  ///
  /// Of existence and of each register the greater stamp wins; the dot of a user cell that loses stays as a touch. The
  /// registers of a later life win whole, but for references, which are in no life. Deletes are united, without those
  /// that another one has seen. Cost: linear in the registers of both and in what their deletes had seen.
  public mutating func merge(_ other: RecordState) {
    var lost: [LostWrite] = []
    merge(other, lost: &lost)
  }

  /// The least upper bound of both states; neither changes. See `merge(_:)`.
  public func merging(_ other: RecordState) -> RecordState {
    var result = self
    result.merge(other)
    return result
  }

  /// Joins `other` in and appends to `lost` each register write that lost with a different value, on either side.
  ///
  /// Whether such a pair was concurrent, or one had seen the other, only the caller can tell. A register of an earlier
  /// life has not lost: it is void.
  package mutating func merge(_ other: RecordState, lost: inout [LostWrite]) {
    var touches = supersededTouches
    touches.merge(other.supersededTouches)
    mergeExistence(other.existence, touches: &touches)
    if life == nil, other.life == nil {
      mergeFields(other.fields, touches: &touches, lost: &lost)
    } else {
      mergeContent(other, touches: &touches, lost: &lost)
    }
    normalizeTouches(touches)
    if !other.deletes.isEmpty { mergeDeletes(other.deletes) }
    if let theirs = other.seed { seed = seed?.merging(theirs) ?? theirs }
    checkInvariants()
  }

  private mutating func mergeExistence(_ other: Stamp?, touches: inout StateVector) {
    guard let other else { return }
    guard let mine = existence else {
      existence = other
      return
    }
    let (loser, winner) = (min(mine, other), max(mine, other))
    existence = winner
    guard mine != other, loser.rank >= .user else { return }
    if !winner.impliesTouch(loser.dot) { touches.include(loser.dot) }
  }

  mutating func mergeFields(
    _ other: [FieldCell], touches: inout StateVector, lost: inout [LostWrite]
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
        result.append(Self.join(a, b, touches: &touches, lost: &lost))
      }
    }
    fields = result + mine + theirs
  }

  private static func join(
    _ mine: FieldCell, _ theirs: FieldCell, touches: inout StateVector, lost: inout [LostWrite]
  ) -> FieldCell {
    if mine == theirs { return mine }
    let theirsWin = theirs.wins(over: mine)
    let (winner, loser) = theirsWin ? (theirs, mine) : (mine, theirs)
    if loser.stamp.rank >= .user, !winner.stamp.impliesTouch(loser.stamp.dot) {
      touches.include(loser.stamp.dot)
    }
    if loser.isConflict(with: winner) { lost.append(LostWrite(loser: loser, winner: winner, wasLocal: theirsWin)) }
    return winner
  }

  private mutating func mergeDeletes(_ other: [Delete]) {
    var byDot: [Dot: Delete] = [:]
    for delete in deletes + other {
      byDot[delete.stamp.dot] = byDot[delete.stamp.dot].map { Self.same($0, delete) } ?? delete
    }
    let all = byDot.values.sorted { $0.stamp.dot < $1.stamp.dot }
    deletes = Self.withoutSeen(all)
    // Deletes that each claim to have seen the other come from a broken peer only. The latest stays, because a record
    // without any delete would be one that was never deleted.
    if deletes.isEmpty, let latest = all.max(by: { $0.stamp < $1.stamp }) { deletes = [latest] }
  }

  /// Those of some deletes, each with a dot of its own, that no other has seen.
  private static func withoutSeen(_ all: [Delete]) -> [Delete] {
    guard all.count > 8 else {
      return all.filter { delete in
        !all.contains { $0.stamp.dot != delete.stamp.dot && $0.context.covers(delete.stamp.dot) }
      }
    }
    // Of each replica how far the delete that saw most of it had seen, and how far any other had.
    var seen: [ReplicaID: (most: UInt64, by: Dot, others: UInt64)] = [:]
    for delete in all {
      for entry in delete.context.entries {
        let known = seen[entry.replica] ?? (0, delete.stamp.dot, 0)
        seen[entry.replica] =
          entry.sequence > known.most
          ? (entry.sequence, delete.stamp.dot, known.most)
          : (known.most, known.by, max(known.others, entry.sequence))
      }
    }
    return all.filter { delete in
      guard let seen = seen[delete.stamp.dot.replica] else { return true }
      return (seen.by == delete.stamp.dot ? seen.others : seen.most) < delete.stamp.dot.sequence
    }
  }

  /// Two copies of one delete. They are equal unless a peer is broken; then the greater of each part, so that all
  /// agree.
  private static func same(_ a: Delete, _ b: Delete) -> Delete {
    Delete(stamp: max(a.stamp, b.stamp), context: a.context.merging(b.context))
  }
}
