import TallyStore

/// What a store's file holds, and what takes how much of it.
package struct SizeReport: Sendable, Codable {
  /// A table of records or links.
  package struct Table: Sendable, Codable {
    /// The type, or `Type.relationship`.
    package var type: String
    /// The number of rows, and whether it is exact.
    package var rows: Int, isExact: Bool
    /// The number of hidden records or links, and whether it is exact: counting ends at ten thousand.
    package var hidden: Int, isHiddenExact: Bool
    /// Whether the schema has the type.
    package var isKnown: Bool
  }

  /// Something with a number of bytes: a table, an index, a record.
  package struct Amount: Sendable, Codable {
    /// Its name.
    package var name: String
    /// Its bytes.
    package var bytes: Int
  }

  /// What measuring has found.
  package struct Measured: Sendable, Codable {
    /// Tables and indexes, the largest first; empty where SQLite cannot tell.
    package var objects: [Amount]
    /// The largest records.
    package var largest: [Amount]
    /// Whether all of the file was looked at before the time was over.
    package var isComplete: Bool
  }

  /// The tables.
  package var tables: [Table]
  /// The bytes of the database, of which so many are free, and of the write-ahead log.
  package var bytes: Int, freeBytes: Int, logBytes: Int
  /// Entries of the change log, at most.
  package var logEntries: Int
  /// What only a look at all of the file tells; nil unless that was asked for.
  package var measured: Measured?

  /// The sizes of a store; with `isOver` also what measuring finds until it says that the time is over.
  /// - Throws: what reading the store throws.
  package init(of store: Store, measuringUntil isOver: (@Sendable () -> Bool)? = nil) throws {
    let sizes = try store.sizes()
    tables = sizes.tables.map {
      Table(
        type: $0.type, rows: $0.rows, isExact: $0.isExact, hidden: $0.hidden, isHiddenExact: $0.isHiddenExact,
        isKnown: $0.isKnown)
    }
    (bytes, freeBytes, logBytes, logEntries) = (sizes.bytes, sizes.freeBytes, sizes.logBytes, sizes.logEntries)
    guard let isOver else { return }
    let found = try store.tableBytes(until: isOver)
    measured = Measured(
      objects: found.objects.map { Amount(name: $0.name, bytes: $0.bytes) },
      largest: found.largest.map { Amount(name: $0.name, bytes: $0.bytes) }, isComplete: found.isComplete)
  }
}
