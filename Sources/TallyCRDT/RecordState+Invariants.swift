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
    if let life { broken += brokenInvariants(of: life) }
    var normal = self
    normal.normalizeTouches(supersededTouches)
    if normal.supersededTouches != supersededTouches { broken.append("no superseded touch is one that a cell shows") }
    return broken
  }

  private func brokenInvariants(of life: Life) -> [String] {
    var broken: [String] = []
    if !life.context.covers(life.dot) { broken.append("a life has seen itself") }
    if !zip(life.vias, life.vias.dropFirst()).allSatisfy({ $0.field < $1.field }) {
      broken.append("dots to travel by ascend by field")
    }
    let isNeeded = life.vias.allSatisfy { via in
      self[via.field].map { !$0.field.isPresence && $0.stamp.dot != via.dot } ?? false
    }
    if !isNeeded { broken.append("only a register of a life has a dot to travel by, and another one than its stamp's") }
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
