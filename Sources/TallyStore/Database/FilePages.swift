import GRDB
import TallyCRDT

/// How many pages a file has, and whether it can give back those that are free.
struct FilePages {
  /// All, those that are free, and the bytes of each.
  private(set) var (count, free, size) = (0, 0, 0)
  /// Whether the file keeps the map of pointers that lets single pages move.
  private(set) var keepsMap = false

  var freeBytes: Int { free * size }

  /// The bytes that a rebuilt copy takes.
  var usedBytes: Int { (count - free) * size }

  /// Whether giving back is worth the writes: a quarter of the file, and a mebibyte.
  var isWorthwhile: Bool { free * 4 >= count && freeBytes >= 1 << 20 }

  init(_ connection: Connection) throws {
    count = try connection.integer("PRAGMA page_count") ?? 0
    free = try connection.integer("PRAGMA freelist_count") ?? 0
    size = try connection.integer("PRAGMA page_size") ?? 0
    // 2 where pages are given back when SQLite is told to, 1 where each commit gives them back.
    keepsMap = try connection.integer("PRAGMA auto_vacuum") ?? 0 != 0
  }

  /// Lets a file that is about to be created give back single pages. It can only be said before the first page is
  /// written (https://sqlite.org/pragma.html#pragma_auto_vacuum), hence before the file goes into WAL mode, and after
  /// what the app prepares: a key or a page size.
  static func prepareNewFile(_ configuration: inout Configuration) {
    configuration.prepareDatabase { db in
      // The readers of the pool come later. Another process may have been quicker.
      guard !db.configuration.readonly, try Int.fetchOne(db, sql: "PRAGMA page_count") == 0 else { return }
      try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
    }
  }

  /// The most pages that one transaction moves or cuts off, for how long it goes on, and after how many it looks at the
  /// clock.
  private static let slicePages = 512
  private static let sliceMilliseconds: UInt64 = 50
  private static let stepPages = 16

  /// Moves the last pages of the file to free ones and cuts the file off behind them, for some 50 ms.
  /// - Returns: by how many pages the file is shorter, and how many free ones it has less.
  static func giveBack(
    _ connection: Connection, atMost most: Int, _ now: () -> HybridTime
  ) throws -> (given: Int, freed: Int) {
    let end = now().milliseconds + Self.sliceMilliseconds
    let before = try FilePages(connection)
    var left = min(most, Self.slicePages)
    while left > 0 {
      // SQLite moves one page with each step of the statement, and this takes all steps.
      try connection.execute("PRAGMA incremental_vacuum(\(min(left, Self.stepPages)))")
      left -= Self.stepPages
      if now().milliseconds >= end { break }
    }
    let after = try FilePages(connection)
    return (before.count - after.count, before.free - after.free)
  }

  /// Something in the file that may hold rowids of tables whose rows have no other number: a virtual table, since those
  /// of SQLite go by numbers that are another table's, or a trigger or view that names a rowid.
  /// - Returns: the name of the first one; nil if nothing depends on them.
  static func dependent(_ connection: Connection) throws -> String? {
    let query = try connection.statement(
      """
      SELECT name, type, sql FROM main.sqlite_master \
      WHERE sql IS NOT NULL AND type IN ('table', 'trigger', 'view') AND name NOT LIKE 'tally~_%' ESCAPE '~' \
      ORDER BY type <> 'table', name
      """)
    defer { query.reset() }
    while try query.step() {
      let words = (query.text(2) ?? "").lowercased().split { !$0.isLetter && $0 != "_" }
      let isDependent =
        query.text(1) == "table"
        ? words.prefix(2) == ["create", "virtual"] : !Self.rowIDs.isDisjoint(with: words)
      if isDependent { return query.text(0) }
    }
    return nil
  }

  /// SQLite's names of a rowid, and that of its older full-text tables.
  private static let rowIDs: Set<Substring> = ["rowid", "_rowid_", "oid", "docid"]
}
