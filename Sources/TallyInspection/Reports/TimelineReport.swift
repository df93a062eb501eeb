import TallyCRDT
import TallyStore

/// One transaction of a replica, as a store has it.
package struct TimelineReport: Sendable, Codable {
  /// A record or link that it changed.
  package struct Item: Sendable, Codable {
    /// The record; of a link the end whose relationship it is.
    package var name: String
    /// The other end of a link.
    package var target: String?
    /// The relationship of a link.
    package var relationship: String?
    /// `inserted`, `deleted`, `linked`, `unlinked`, `content removed for good`, `default data, version 1`, or columns
    /// that were written; empty if all has been overwritten.
    package var changes: [String]
  }

  /// The place in the store's log: a later arrival has a higher one.
  package var place: Int64
  /// The replica's id.
  package var by: String
  /// The number of the transaction.
  package var sequence: UInt64
  /// When it was written, by its author's clock; nil if nothing of it still shows.
  package var at: String?
  /// The first items.
  package var items: [Item]
  /// The number of items; nil if there are very many.
  package var itemCount: Int?

  /// The report of a transaction.
  package init(_ transaction: LoggedTransaction, _ schema: Schema) {
    place = transaction.place
    by = "\(transaction.dot.replica)"
    sequence = transaction.dot.sequence
    at = transaction.time.map { StampReport.text($0) }
    // Records in which Tally notes which default data there is belong to no one.
    let shown = transaction.items.filter { $0.name.type != SeedHistory.setType }
    itemCount = transaction.itemCount.map { $0 - (transaction.items.count - shown.count) }
    items = shown.map { item in
      Item(
        name: item.name.text, target: item.target?.text, relationship: item.relationship,
        changes: item.changes.map { Self.word($0, schema[item.name.type]) })
    }
  }

  private static func word(_ change: LoggedTransaction.Change, _ entity: EntitySchema?) -> String {
    switch change {
    case .insert: "inserted"
    case .delete: "deleted"
    case .link: "linked"
    case .unlink: "unlinked"
    case .move: "moved"
    case .empty: "content removed for good"
    case .sayAgain: "said again, to outlive a removal"
    case .seed(let version): "default data, version \(version)"
    case .field(SeedAdoption.forwardKey): "gave way to another record"
    case .field(let name): entity?.columnName(name) ?? name
    }
  }
}
