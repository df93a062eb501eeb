import TallyCRDT

/// Which dots of a record the change log lists it under.
///
/// A vector covers a transaction only if it covers everything that the author had seen. So whoever lacks a dot that a
/// delete of the record had seen lacks that delete, too: the entry of the delete finds the record, and the delta takes
/// the rest from the state itself. Every other entry that the delete had seen is needed by nobody. So it is with a life
/// that somebody began.
extension RecordState {
  /// Whether the change log must list the record under `dot`, which is one of `dots`.
  ///
  /// A delete or life itself gives way only to one of a greater stamp, so one entry stays also where they claim to have
  /// seen each other. Only copies of a store that write under one id make such deletes.
  func isListed(under dot: Dot) -> Bool {
    guard mayLeaveOut else { return true }
    var marks = deletes.map { (stamp: $0.stamp, context: $0.context) }
    if let life { marks.append((life.stamp, life.context)) }
    let own = marks.lazy.filter { $0.stamp.dot == dot }.map(\.stamp).max()
    return !marks.contains { mark in
      mark.stamp.dot != dot && mark.context.covers(dot) && own.map { $0 < mark.stamp } ?? true
    }
  }

  /// The dots that the change log must list the record under.
  package var listedDots: Set<Dot> {
    if let stamp = uniformStamp { return [stamp.dot] }
    return mayLeaveOut ? dots.filter(isListed) : dots
  }

  private var mayLeaveOut: Bool { !deletes.isEmpty || life != nil }
}
