import GRDB

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
}
