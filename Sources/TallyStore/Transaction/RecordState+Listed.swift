import TallyCRDT

/// Which dots of a record the change log lists it under.
///
/// A vector covers a transaction only if it covers everything that the author had seen. So whoever lacks a dot that a
/// delete of the record had seen lacks that delete, too: the entry of the delete finds the record, and the delta takes
/// the rest from the state itself. Every other entry that the delete had seen is needed by nobody.
extension RecordState {
  /// Whether the change log must list the record under `dot`, which is one of `dots`.
  ///
  /// A delete itself gives way only to one of a greater stamp, so one entry stays also where deletes claim to have seen
  /// each other. Only copies of a store that write under one id make such deletes.
  func isListed(under dot: Dot) -> Bool {
    guard !deletes.isEmpty else { return true }
    let own = deletes.first { $0.stamp.dot == dot }
    return !deletes.contains { delete in
      delete.stamp.dot != dot && delete.context.covers(dot) && own.map { $0.stamp < delete.stamp } ?? true
    }
  }

  /// The dots that the change log must list the record under.
  var listedDots: Set<Dot> {
    if let stamp = uniformStamp { return [stamp.dot] }
    return deletes.isEmpty ? dots : dots.filter(isListed)
  }
}
