import TallyCRDT

/// Which dots of a record the change log lists it under.
///
/// A vector covers a transaction only if it covers everything that the author had seen. So a replica that lacks a dot
/// that a delete of the record had seen lacks that delete, too: the entry of the delete finds the record, and the delta
/// takes the rest from the state itself. No other entry that the delete had seen is needed. So it is with a life.
extension RecordState {
  /// Whether the change log must list the record under `dot`, which is one of `dots`.
  ///
  /// A delete or life itself gives way only to one of a greater stamp, so one entry stays also where they claim to have
  /// seen each other. Only copies of a store that write under one id make such deletes.
  func isListed(under dot: Dot) -> Bool {
    guard mayLeaveOut else { return true }
    var own: Stamp?
    forEachMark { stamp, _ in if stamp.dot == dot, own.map({ $0 < stamp }) ?? true { own = stamp } }
    var isListed = true
    forEachMark { stamp, context in
      if stamp.dot != dot, context.covers(dot), own.map({ $0 < stamp }) ?? true { isListed = false }
    }
    return isListed
  }

  /// Calls `body` with each delete and the life: their stamps, and what their authors had seen.
  private func forEachMark(_ body: (Stamp, StateVector) -> Void) {
    for delete in deletes { body(delete.stamp, delete.context) }
    if let life { body(life.stamp, life.context) }
  }

  /// The dots that the change log must list the record under.
  package var listedDots: Set<Dot> {
    if let stamp = uniformStamp { return [stamp.dot] }
    return mayLeaveOut ? dots.filter(isListed) : dots
  }

  private var mayLeaveOut: Bool { !deletes.isEmpty || life != nil }
}
