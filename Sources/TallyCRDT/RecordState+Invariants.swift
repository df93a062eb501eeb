extension RecordState {
  /// The rules of the canonical form that the state breaks; empty if it is as every join leaves it.
  ///
  /// Equal states have equal bytes because of them, and look-ups by field rely on them.
  package var brokenInvariants: [String] {
    var broken: [String] = []
    if !zip(fields, fields.dropFirst()).allSatisfy({ $0.field < $1.field }) {
      broken.append("registers ascend by field")
    }
    if !zip(deletes, deletes.dropFirst()).allSatisfy({ $0.stamp.dot < $1.stamp.dot }) {
      broken.append("deletes ascend by dot")
    }
    for delete in deletes {
      let others = deletes.filter { $0.stamp.dot != delete.stamp.dot }
      if others.contains(where: { $0.context.covers(delete.stamp.dot) }) { broken.append("no delete has seen another") }
    }
    var normal = self
    normal.normalizeTouches(supersededTouches)
    if normal.supersededTouches != supersededTouches { broken.append("no superseded touch is one that a cell shows") }
    return broken
  }

  /// Traps in debug builds if the state is not in its canonical form. Costs nothing in release builds.
  @inline(__always)
  func checkInvariants() { assert(brokenInvariants.isEmpty, "\(brokenInvariants)") }
}

extension ORSetElement {
  /// The rules of the canonical form that the state breaks; empty if it is as every join leaves it.
  package var brokenInvariants: [String] {
    zip(tags, tags.dropFirst()).allSatisfy({ $0.added.dot < $1.added.dot })
      ? [] : ["tags ascend by the dot of the add, and no two have the same"]
  }

  /// Traps in debug builds if the state is not in its canonical form. Costs nothing in release builds.
  @inline(__always)
  func checkInvariants() { assert(brokenInvariants.isEmpty, "\(brokenInvariants)") }
}
