import TallyCRDT
import TallyStore
import TallySync

/// A store as the inspector's first screen needs it: who it is, how far it has come, and what it holds.
package struct StoreOverview: Sendable, Codable {
  /// A table of records.
  package struct Table: Sendable, Codable {
    /// The type.
    package var type: String
    /// The number of rows, and whether it is exact.
    package var rows: Int, isExact: Bool
    /// The number of hidden records, and whether it is exact: counting ends at ten thousand.
    package var hidden: Int, isHiddenExact: Bool
    /// Whether the schema has the type.
    package var isKnown: Bool
    /// The columns, in order.
    package var columns: [String]
  }

  /// Another device that the store has met.
  package struct Device: Sendable, Codable {
    /// The replica's id.
    package var replica: String
    /// Its name; nil if it has not told.
    package var name: String?
    /// When it was last heard of.
    package var lastSeen: String
    /// Transactions of this store that it is not known to have.
    package var pending: UInt64
    /// What it is known to have.
    package var acknowledged: [String: UInt64]
  }

  /// The name under which it is open.
  package var name: String
  /// The file; `:memory:` for a store in memory.
  package var path: String
  /// The replica's id; nil before its first write, or its first session that introduces the device.
  package var replica: String?
  /// The state vector.
  package var vector: [String: UInt64]
  /// The sum over the content.
  package var fingerprint: String
  /// The tables, by type.
  package var tables: [Table]
  /// Entries in the conflict journal.
  package var conflicts: Int
  /// Rows that cannot be replicated, and rows that SQLite does not take.
  package var rejectedWrites: Int, setAside: Int
  /// Whether, and why, what is stored is in doubt.
  package var doubt: String?
  /// The devices that it has met.
  package var devices: [Device]

  /// The overview of a store. Cost: some small reads for each type.
  /// - Throws: what reading the store throws.
  package init(of store: Store, named name: String) throws {
    let (summary, sizes, schema) = (try store.summary(), try store.sizes(), try store.schema)
    self.name = name
    path = store.path
    replica = summary.replica.map { "\($0)" }
    vector = report(summary.vector)
    fingerprint = "\(summary.fingerprint)"
    tables = sizes.tables.filter { !$0.type.contains(".") }.map { table in
      Table(
        type: table.type, rows: table.rows, isExact: table.isExact, hidden: table.hidden,
        isHiddenExact: table.isHiddenExact, isKnown: table.isKnown,
        columns: schema[table.type]?.columnNames ?? [])
    }
    (conflicts, rejectedWrites, setAside) = (sizes.conflicts, sizes.rejectedWrites, sizes.setAside)
    doubt = try store.doubt().map { "\($0.level.rawValue) since \(StampReport.text($0.date)): \($0.reason)" }
    devices = try store.devices().map { device in
      Device(
        replica: "\(device.id)", name: device.name, lastSeen: StampReport.text(device.lastSeen),
        pending: device.pending, acknowledged: report(device.acknowledged))
    }
  }
}
