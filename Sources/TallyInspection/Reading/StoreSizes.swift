import Foundation
import GRDBSQLite
import TallyCRDT
import TallyStore

/// What a store's file holds, as far as that can be told at once.
package struct StoreSizes: Sendable {
  /// A table of records or links.
  package struct Table: Sendable {
    /// The type, or `Type.relationship`.
    package var type: String
    /// The number of rows, exact up to a limit; beyond it what the numbers of rows suggest.
    package var rows: Int
    /// Whether `rows` is exact.
    package var isExact: Bool
    /// The number of hidden records or links; beyond the limit, the limit.
    package var hidden: Int
    /// Whether `hidden` is exact.
    package var isHiddenExact: Bool
    /// Whether the schema has the type.
    package var isKnown: Bool
  }

  /// The records and links, by type.
  package var tables: [Table]
  /// The bytes of the database, of which so many are free, and of the write-ahead log beside it.
  package var bytes: Int, freeBytes: Int, logBytes: Int
  /// Entries of the change log, at most.
  package var logEntries: Int
  /// Entries of the conflict journal.
  package var conflicts: Int
  /// Rows that wait since they cannot be replicated.
  package var rejectedWrites: Int
  /// Rows that are set aside.
  package var setAside: Int
}

/// The bytes that each table and index of a file takes.
package struct TableBytes: Sendable {
  /// The name of the table or index, and its bytes.
  package var objects: [(name: String, bytes: Int)]
  /// The records with the most bytes of text and blobs among those that were looked at.
  package var largest: [(name: String, bytes: Int)]
  /// Whether all of the file was looked at before the time was over.
  package var isComplete: Bool
}

extension Store {
  /// Tells what the file holds. Cost: some small reads for each type, for any number of records.
  package func sizes() throws -> StoreSizes {
    let log = file.map { "\($0)-wal" }
    let attributes = try log.flatMap { path in
      FileManager.default.fileExists(atPath: path) ? try FileManager.default.attributesOfItem(atPath: path) : nil
    }
    return try snapshot { try $0.sizes(logBytes: attributes?[.size] as? Int ?? 0) }
  }

  /// Measures the tables, which reads all of the file, until it is done or `isOver` says that it has taken long enough.
  package func tableBytes(until isOver: @escaping () -> Bool) throws -> TableBytes {
    try snapshot { try $0.tableBytes(until: isOver) }
  }
}

extension StateReader {
  /// The most rows of one table that are counted.
  private static let countLimit = 10_000

  fileprivate func sizes(logBytes: Int) throws -> StoreSizes {
    var tables: [StoreSizes.Table] = []
    for kind in catalog.records.values where kind.type != SeedHistory.setType {
      tables.append(try table(kind.type, kind.isKnown ? kind.type : nil, kind.number))
    }
    for kind in catalog.links.values {
      tables.append(try table("\(kind.source).\(kind.relationship)", kind.isKnown ? kind.table : nil, kind.number))
    }
    let size = try connection.integer("PRAGMA page_size") ?? 0
    return StoreSizes(
      tables: tables.sorted { $0.type < $1.type }, bytes: size * (try connection.integer("PRAGMA page_count") ?? 0),
      freeBytes: size * (try connection.integer("PRAGMA freelist_count") ?? 0), logBytes: logBytes,
      logEntries: try span("tally_log", "n") + tail().entries.count,
      conflicts: try connection.integer("SELECT count(*) FROM tally_conflict") ?? 0,
      rejectedWrites: try connection.integer("SELECT count(*) FROM tally_pending") ?? 0,
      setAside: aside.count)
  }

  private func table(_ type: String, _ table: String?, _ number: KindNumber) throws -> StoreSizes.Table {
    let limit = Self.countLimit
    func counted(_ from: String) throws -> Int {
      try connection.integer(text: "SELECT count(*) FROM (SELECT 1 FROM \(from) LIMIT \(limit + 1))") ?? 0
    }
    let states =
      catalog.links[number] != nil ? ["tally_cut"] : ["tally_hidden"] + (catalog.hasStubs ? ["tally_stub"] : [])
    let hidden = try states.reduce(0) { try $0 + counted("\($1) WHERE kind = \(number)") }
    var result = StoreSizes.Table(
      type: type, rows: 0, isExact: true, hidden: min(hidden, limit), isHiddenExact: hidden <= limit,
      isKnown: table != nil)
    guard let table else { return result }
    result.rows = try counted("main.\"\(table)\"")
    guard result.rows > limit else { return result }
    result.rows = max(result.rows, try span("main.\"\(table)\"", "rowid"))
    result.isExact = false
    return result
  }

  /// How many rows there are at most, by the first and the last number.
  private func span(_ table: String, _ column: String) throws -> Int {
    // SQLite finds one of the two through the index, but reads everything for both in one query:
    // https://sqlite.org/optoverview.html#the_min_max_optimization
    let least = try connection.integer(text: "SELECT min(\(column)) FROM \(table)") ?? 0
    let most = try connection.integer(text: "SELECT max(\(column)) FROM \(table)") ?? 0
    return most == 0 ? 0 : most - least + 1
  }

  fileprivate func tableBytes(until isOver: @escaping () -> Bool) throws -> TableBytes {
    var result = TableBytes(objects: [], largest: [], isComplete: true)
    do {
      try connection.interrupting(when: isOver) {
        // https://sqlite.org/dbstat.html; not every SQLite is built with it.
        let query = try SQLStatement(
          connection.handle, "SELECT name, pgsize FROM dbstat WHERE aggregate = TRUE ORDER BY pgsize DESC")
        while try query.step() { result.objects.append((query.text(0) ?? "", query.int(1))) }
      }
    } catch let error as SQLInterruption {
      result.isComplete = error.isMissingTable
    }
    for kind in catalog.records.values where kind.isKnown && !isOver() { try measure(kind, until: isOver, &result) }
    result.largest.sort { ($1.bytes, $0.name) < ($0.bytes, $1.name) }
    result.largest.removeLast(max(0, result.largest.count - 20))
    return result
  }

  private func measure(_ kind: RecordKind, until isOver: @escaping () -> Bool, _ result: inout TableBytes) throws {
    let sum = kind.columns.map { "coalesce(length(CAST(\"\($0.name)\" AS BLOB)), 0)" }
    guard !sum.isEmpty else { return }
    do {
      try connection.interrupting(when: isOver) {
        let query = try SQLStatement(
          connection.handle,
          "SELECT id, \(sum.joined(separator: " + ")) AS bytes FROM main.\"\(kind.type)\" ORDER BY bytes DESC LIMIT 20")
        while try query.step() { result.largest.append((query.text(0) ?? "", query.int(1))) }
      }
    } catch is SQLInterruption {
      result.isComplete = false
    }
  }
}
