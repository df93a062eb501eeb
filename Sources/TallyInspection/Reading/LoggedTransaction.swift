import TallyCRDT
import TallyStore

/// A transaction as the change log has it: what it changed, as far as that still shows.
package struct LoggedTransaction: Sendable {
  /// A record or link that the transaction changed.
  package struct Item: Sendable {
    /// The record; of a link the end whose relationship it is.
    package var name: AnyRecordName
    /// The other end of a link; nil for a record.
    package var target: AnyRecordName?
    /// The relationship of a link; nil for a record.
    package var relationship: String?
    /// What it did that still shows: `insert`, `delete`, `link`, `unlink`, or wire names of fields; empty if all of it
    /// has been overwritten since.
    package var changes: [Change] = []
  }

  /// One change of an item.
  package enum Change: Sendable, Equatable {
    /// The record was inserted or restored.
    case insert
    /// The record was deleted.
    case delete
    /// The field of this wire name was written.
    case field(String)
    /// The link was added.
    case link
    /// The link was removed.
    case unlink
    /// A member of an ordered relationship was moved.
    case move
    /// The content of the record was removed for good.
    case empty
    /// The content of the record was written again, into a new life, so that it survives a removal.
    case sayAgain
    /// This version of default data has the record.
    case seed(UInt64)
  }

  /// The place in the log: a later entry has a higher one.
  package var place: Int64
  /// The transaction.
  package var dot: Dot
  /// When it was written, by its author's clock, as far as something of it still shows.
  package var time: HybridTime?
  /// The first items.
  package var items: [Item]
  /// The number of items; nil if there are too many to count for a list.
  package var itemCount: Int?
}

extension Store {
  /// Transactions of all replicas, or of one, in the order in which they arrived here, the last first.
  ///
  /// Of what one replica has changed again and again the log has only the last change for certain; a transaction of
  /// which nothing else is left can be gone. One of many records has several entries.
  /// - Parameters:
  ///   - place: only those before this place.
  ///   - replica: only those of this replica.
  ///   - limit: the most transactions to give.
  ///   - itemLimit: the most items to give of each.
  /// - Returns: the transactions, the last first.
  /// - Throws: what reading the store throws.
  package func transactions(
    before place: Int64 = .max, of replica: ReplicaID? = nil, limit: Int = 50, itemLimit: Int = 6
  ) throws -> [LoggedTransaction] {
    try capturedSnapshot { try $0.transactions(before: place, of: replica, limit, itemLimit) }
  }
}

extension StateReader {
  private struct Enough: Error {}
  /// So many bytes of an entry hold more items than a list shows. A pack is not longer.
  private static let head = LogRow.mostBytes

  fileprivate func transactions(
    before place: Int64, of replica: ReplicaID?, _ limit: Int, _ itemLimit: Int
  ) throws -> [LoggedTransaction] {
    var condition = ""
    if let replica {
      guard let number = catalog.replicaNumbers[replica] else { return [] }
      // The condition on the replica alone would choose its index, and sort all of its entries.
      condition = " AND +replica = \(number)"
    }
    let query = try SQLStatement(
      connection.handle,
      "SELECT \(LogRow.columns) FROM tally_log WHERE zone = 0 AND n < ?1\(condition) ORDER BY n DESC")
    // A row has the number of its last entry, and rows of one replica follow one another. So of each replica one row
    // from that place on can have entries before it.
    let later = try SQLStatement(
      connection.handle,
      """
      SELECT \(LogRow.columns) FROM tally_log WHERE n IN
        (SELECT min(n) FROM tally_log WHERE zone = 0 AND n >= ?1\(condition) GROUP BY replica)
      """)
    var result: [LoggedTransaction] = []
    for entry in try tail().entries.reversed() where entry.number < place && result.count < limit {
      guard let author = catalog.replicas[entry.replica] else {
        throw StoreError(.corrupt, "the replica of a log entry is not known")
      }
      guard replica == nil || replica == author else { continue }
      let dot = Dot(replica: author, sequence: entry.sequence)
      let head = Array(entry.items.prefix(Self.head))
      result.append(try transaction(Int64(entry.number), dot, head, entry.items.count, itemLimit))
    }
    query.bind(1, place)
    later.bind(1, place)
    var entries: [LogEntry] = []
    let wanted = limit - result.count
    for rows in [later, query] {
      while wanted > 0, try rows.step() {
        let row = LogRow(rows)
        // Those of the rows that follow come before it.
        if rows === query, entries.count(where: { $0.number > row.number }) >= wanted { break }
        entries += try row.entries().filter { $0.number < place }
      }
    }
    entries.sort { $0.number > $1.number }
    for entry in entries.prefix(wanted) {
      guard let replica = catalog.replicas[entry.replica] else {
        throw StoreError(.corrupt, "the replica of a log entry is not known")
      }
      let dot = Dot(replica: replica, sequence: entry.sequence)
      let head = Array(entry.items.prefix(Self.head))
      result.append(try transaction(Int64(entry.number), dot, head, entry.items.count, itemLimit))
    }
    return result
  }

  private func transaction(
    _ place: Int64, _ dot: Dot, _ head: [UInt8], _ length: Int, _ limit: Int
  ) throws -> LoggedTransaction {
    var items: [ChangeLog.Item] = []
    var count = 0
    do {
      try ChangeLog.decode(head, catalog) { kind, name, target in
        count += 1
        if items.count < limit { items.append((kind, name, target)) }
        if items.count == limit, length > head.count { throw Enough() }
      }
    } catch is Enough {}
    var result = LoggedTransaction(
      place: place, dot: dot, items: [], itemCount: length > head.count ? nil : count)
    for item in items {
      let (changes, time) = try changes(of: item, by: dot)
      let link = catalog.links[item.kind]
      result.items.append(
        .init(name: item.name, target: item.target, relationship: link?.relationship, changes: changes))
      result.time = [result.time, time].compactMap { $0 }.max()
    }
    return result
  }

  private func changes(
    of item: ChangeLog.Item, by dot: Dot
  ) throws -> ([LoggedTransaction.Change], HybridTime?) {
    var (changes, stamps): ([LoggedTransaction.Change], [Stamp]) = ([], [])
    func note(_ change: LoggedTransaction.Change, _ stamp: Stamp?) {
      guard let stamp, stamp.dot == dot else { return }
      changes.append(change)
      stamps.append(stamp)
    }
    if let target = item.target {
      guard let kind = catalog.links[item.kind] else { return ([], nil) }
      let stored = try link(LinkKey(source: item.name, target: target), kind)
      for tag in stored?.element.tags ?? [] {
        note(.link, tag.added)
        note(.unlink, tag.removed)
      }
      if let place = stored?.element.place, changes.isEmpty { note(.move, place.stamp) }
    } else if let kind = catalog.records[item.kind], let state = try record(item.name, kind)?.state {
      note(.insert, state.existence)
      for delete in state.deletes { note(.delete, delete.stamp) }
      for cell in state.fields { note(.field(catalog.fields[cell.field]?.name ?? ""), cell.stamp) }
      for layer in state.seed?.layers ?? [] { note(.seed(layer.version), layer.stamp) }
      if let life = state.life {
        let isSaid = life.said == dot || life.vias.contains { $0.dot == dot } || !changes.isEmpty
        if !isSaid { note(.empty, life.stamp) }
        if isSaid, changes.isEmpty { changes.append(.sayAgain) }
      }
    }
    return (changes, stamps.map(\.time).max())
  }
}
