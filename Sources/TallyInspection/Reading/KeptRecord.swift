import TallyCRDT
import TallyStore

/// A record that a delete did not take away, since it had an edit that the delete had not seen.
package struct KeptRecord: Sendable {
  /// The record.
  package var name: AnyRecordName
  /// The delete.
  package var delete: Stamp
  /// The edits of the record itself that the delete had not seen: of each replica the last. Empty where an edit of what
  /// it owns, or a link, has kept it.
  package var edits: [Dot]
}

extension Store {
  /// Finds records that deletes did not take away, by the newest deletes first. Looks at so many deletes, and at so
  /// many records of each.
  package func keptRecords(deletes: Int = 50, records: Int = 20) throws -> [KeptRecord] {
    try snapshot { try $0.keptRecords(deletes, records) }
  }
}

extension StateReader {
  fileprivate func keptRecords(_ deletes: Int, _ records: Int) throws -> [KeptRecord] {
    let contexts = try SQLStatement(
      connection.handle, "SELECT replica, sequence FROM tally_context ORDER BY time DESC LIMIT \(deletes)")
    var result: [KeptRecord] = []
    while try contexts.step() {
      guard let replica = catalog.replicas[contexts.number(0)] else { continue }
      let dot = Dot(replica: replica, sequence: try contexts.sequence(1))
      guard let entry = try logEntries(of: dot).first else { continue }
      for item in try ChangeLog.items(entry.items, catalog).prefix(records) where item.target == nil {
        if let kept = try keptRecord(item.name, dot) { result.append(kept) }
      }
    }
    return result
  }

  private func keptRecord(_ name: AnyRecordName, _ dot: Dot) throws -> KeptRecord? {
    guard let kind = catalog.kind(of: name.type), let stored = try record(name, kind), stored.isVisible,
      let delete = stored.state.deletes.first(where: { $0.stamp.dot == dot })
    else { return nil }
    // A restore has seen the delete: a person wanted the record back, and nothing was undone unseen. Its time does not
    // say so: a clock may be slow.
    if let existence = stored.state.existence, !delete.context.covers(existence.dot) { return nil }
    let edits = stored.state.touches.beyond(delete.context).entries
    return KeptRecord(name: name, delete: delete.stamp, edits: edits)
  }
}
