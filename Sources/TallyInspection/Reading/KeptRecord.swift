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
    var wanted: [ReplicaNumber: [Dot]] = [:]
    var order: [Dot] = []
    while try contexts.step() {
      let number: ReplicaNumber = contexts.number(0)
      guard let replica = catalog.replicas[number] else { continue }
      order.append(Dot(replica: replica, sequence: try contexts.sequence(1)))
      wanted[number, default: []].append(order[order.count - 1])
    }
    // A record that a transaction has deleted stands under that one, or under a later one of the same replica.
    var found: [Dot: [KeptRecord]] = [:]
    var seen = Set<AnyRecordName>()
    for (number, dots) in wanted {
      for entry in try logEntries(of: number, from: dots.map(\.sequence).min() ?? 0, limit: deletes * records) {
        for item in try ChangeLog.items(entry.items, catalog).prefix(records)
        where item.target == nil && seen.insert(item.name).inserted {
          for dot in dots where found[dot, default: []].count < records {
            if let kept = try keptRecord(item.name, dot) { found[dot, default: []].append(kept) }
          }
        }
      }
    }
    return order.flatMap { found[$0] ?? [] }
  }

  /// Entries of one replica, of the first rows that have one from a sequence on, so many at most.
  private func logEntries(of replica: ReplicaNumber, from sequence: UInt64, limit: Int) throws -> [LogEntry] {
    let query = try SQLStatement(
      connection.handle,
      """
      SELECT \(LogRow.columns) FROM tally_log
      WHERE zone = 0 AND replica = \(replica) AND sequence >= ? ORDER BY sequence, n
      """)
    query.bind(1, Int64(clamping: sequence))
    var entries: [LogEntry] = []
    while entries.count < limit, try query.step() {
      entries += try LogRow(query).entries().filter { $0.sequence >= sequence }
    }
    for entry in try tail().entries where entry.replica == replica && entry.sequence >= sequence {
      entries.append(LogEntry(entry))
    }
    return Array(entries.prefix(limit))
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
