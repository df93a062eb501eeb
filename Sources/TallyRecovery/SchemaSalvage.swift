import Foundation
import GRDB
import GRDBSQLite
import TallyStore

/// Rebuilds the list of tables of a damaged file, `sqlite_master`, where SQLite cannot read it: without it nothing else
/// is found. What the list said is looked for in the bytes of all pages; format: https://sqlite.org/fileformat.html.
enum SchemaSalvage {
  /// An entry of the list.
  struct Entry: Hashable {
    var type: String
    var name: String
    var table: String
    var root: Int
    var sql: String?
    /// Whether its page says that it stands there.
    var isCell = false
  }

  /// Puts the list of tables right in a copy that is not in use.
  /// - Returns: what was wrong with it; nil if it is in order, or nothing of a store's can be found.
  static func run(_ path: String) throws -> String? {
    // What is in the log comes first, and goes into the file.
    let opens: Void? = try? open(path) { _ = execute("PRAGMA journal_mode = DELETE", $0) }
    let fault = fault(of: path)
    if opens != nil, fault == nil, (try? open(path, isWhole)) == true { return nil }
    var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    let pages = DatabasePages(bytes)
    guard pages.count > 1 else { return nil }
    let entries = entries(in: pages)
    guard entries.contains(where: { $0.name.hasPrefix("tally_") }) else { return nil }
    bytes.replaceSubrange(0..<pages.size, with: pages.emptyFirstPage)
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    for suffix in ["-wal", "-shm", "-journal"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    for entry in entries { try insert(entry, path) }
    // A definition in a newer SQLite's words is no damage; the message says which it is.
    guard let fault, fault.hasPrefix("malformed database schema") else { return "it was damaged" }
    return "SQLite \(String(cString: sqlite3_libversion())) cannot read it: \(fault)"
  }

  /// Puts an entry into the new list, unless SQLite takes the list no more with it.
  private static func insert(_ entry: Entry, _ path: String) throws {
    try open(path) { handle in
      let insert = try SQLStatement(
        handle, "INSERT INTO sqlite_master(type, name, tbl_name, rootpage, sql) VALUES(?, ?, ?, ?, ?)")
      for (place, text) in [entry.type, entry.name, entry.table].enumerated() { insert.bind(place + 1, text) }
      insert.bind(4, entry.root)
      if let sql = entry.sql {
        insert.bind(5, isTaken(sql) ? sql : placeholder(entry.name))
      } else {
        insert.bindNull(5)
      }
      try insert.run()
    }
    guard fault(of: path) != nil else { return }
    try open(path) { handle in
      try SQLStatement(handle, "DELETE FROM sqlite_master WHERE rowid = (SELECT max(rowid) FROM sqlite_master)").run()
    }
  }

  /// Puts the definition of an entity's table right if a few bits of it were changed, or rebuilds it.
  /// - Returns: whether it was rebuilt, from what the catalog and the rows say of the columns' order.
  static func putRight(_ kind: RecordKind, _ reading: TolerantReading, _ connection: Connection) -> Bool {
    guard let entity = kind.entity, !reading.takes(kind.rowSQL) else { return false }
    let lost = placeholder(kind.type)
    var (present, mended): (String?, String?)
    reading.read("sqlite_master", "SELECT name, sql FROM sqlite_master WHERE type = 'table'", hasRowID: false) {
      query in
      let (name, sql) = (query.text(0) ?? "", query.text(1) ?? "")
      if sql == lost { present = name }
      guard let parts = mend(sql, SchemaMigration.table(entity)) else { return }
      (present, mended) = (name, parts)
    }
    guard let present else { return false }
    func define(_ sql: String, was name: String) {
      reading.attempt("sqlite_master") {
        let update = try SQLStatement(
          connection, "UPDATE sqlite_master SET name = ?, tbl_name = ?, sql = ? WHERE name = ?")
        for (place, text) in [kind.type, kind.type, sql, name].enumerated() { update.bind(place + 1, text) }
        try update.run()
      }
      reading.attempt("sqlite_master") {
        try connection.execute("PRAGMA writable_schema = RESET")
        try connection.execute("PRAGMA writable_schema = ON")
      }
    }
    if let mended {
      define(mended, was: present)
      return false
    }
    define(
      SchemaMigration.table(entity, order: kind.columns, clockPlace: clockPlace(kind.type, reading)), was: present)
    // Values of another class than their column's: the order is another, which is not known.
    for (name, type) in entity.fields.map({ ($0.name, $0.kind.columnType) }) {
      var isOther = false
      reading.read(
        kind.type,
        """
        SELECT 1 FROM main."\(kind.type)" NOT INDEXED WHERE typeof("\(name)") NOT IN ('null', '\(type.lowercased())') \
        LIMIT 1
        """, hasRowID: false
      ) { _ in isOther = true }
      guard isOther else { continue }
      define(lost, was: kind.type)
      return false
    }
    return true
  }

  /// A definition of which a few bits were changed, as it was: it has the wanted one's parts, in an order of its own.
  private static func mend(_ sql: String, _ wanted: String) -> String? {
    guard sql.utf8.count == wanted.utf8.count, let head = wanted.firstIndex(of: "(") else { return nil }
    let end = ") STRICT"
    func parts(_ text: String) -> [String] {
      let inner = text.utf8.dropFirst(wanted.utf8.distance(from: wanted.startIndex, to: head) + 1).dropLast(end.count)
      return String(decoding: inner, as: UTF8.self).components(separatedBy: ", ")
    }
    var rest = parts(wanted)
    // Parts that are intact first: a damaged one may look more like one of them than like itself.
    var found = parts(sql).map { part in rest.firstIndex(of: part).map { rest.remove(at: $0) } ?? part }
    let intact = Set(parts(wanted)).subtracting(rest)
    for (place, part) in found.enumerated() where !intact.contains(part) {
      let distances = rest.enumerated().compactMap { place, other in
        part.bitDistance(to: other).map { (place: place, bits: $0) }
      }
      guard let best = distances.min(by: { $0.bits < $1.bits }), best.bits <= 8 else { return nil }
      found[place] = rest.remove(at: best.place)
    }
    return rest.isEmpty ? wanted[...head] + found.joined(separator: ", ") + end : nil
  }

  /// Returns the number of columns between the name and the clock: the first where all rows have fifteen bytes.
  private static func clockPlace(_ type: String, _ reading: TolerantReading) -> Int {
    for place in 1..<placeholderWidth {
      var isClock = false
      reading.read(
        type,
        """
        SELECT count(*) > 0 AND min(typeof(c) = 'blob' AND length(c) = \(InlineClock.size)) = 1 \
        FROM (SELECT tally_lost\(place) AS c FROM main."\(type)" NOT INDEXED LIMIT 1000)
        """, hasRowID: false
      ) { isClock = $0.int(0) == 1 }
      if isClock { return place - 1 }
    }
    return placeholderWidth
  }

  // MARK: SQLite

  /// GRDB reads the list of tables of every file that it opens.
  private static func open<T>(_ path: String, _ body: (OpaquePointer) throws -> T) throws -> T {
    var handle: OpaquePointer?
    let result = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, nil)
    defer { sqlite3_close_v2(handle) }
    guard result == SQLITE_OK, let handle else { throw DatabaseError(resultCode: ResultCode(rawValue: result)) }
    _ = execute("PRAGMA writable_schema = ON", handle)
    return try body(handle)
  }

  private static func execute(_ sql: String, _ handle: OpaquePointer) -> Bool {
    sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK
  }

  /// Whether the list can be read to its end, and says nothing that cannot be. A table that was dropped is none of its
  /// faults.
  private static func isWhole(_ handle: OpaquePointer) throws -> Bool {
    let count = try SQLStatement(handle, "PRAGMA page_count")
    let pages = try count.step() ? count.int(0) : 0
    let query = try SQLStatement(
      handle, "SELECT type, name, rootpage, typeof(name), typeof(rootpage) FROM sqlite_master")
    var names = Set<String>()
    var roots = Set<Int>()
    while try query.step() {
      let (type, name, root) = (query.text(0) ?? "", query.text(1) ?? "", query.int(2))
      guard types.contains(type), query.text(3) == "text", query.text(4) == "integer", root <= pages else {
        return false
      }
      guard root == 0 || roots.insert(root).inserted else { return false }
      if type == "table" { names.insert(name) }
    }
    return definitions.keys.allSatisfy {
      names.contains($0) && (try? SQLStatement(handle, "SELECT * FROM \($0)")) != nil
    }
  }

  /// What a connection that opens the file says of its list; nil if it finds it in order.
  private static func fault(of path: String) -> String? {
    var handle: OpaquePointer?
    defer { sqlite3_close_v2(handle) }
    guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK, let handle else {
      return "it cannot be opened"
    }
    guard !execute("SELECT count(*) FROM sqlite_master", handle) else { return nil }
    return String(cString: sqlite3_errmsg(handle))
  }

  /// Whether SQLite takes the definition of a table.
  private static func isTaken(_ sql: String) -> Bool {
    var handle: OpaquePointer?
    defer { sqlite3_close_v2(handle) }
    guard sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK, let handle else {
      return false
    }
    return execute(sql, handle)
  }

  /// Returns the placeholder for a definition that SQLite does not take until it is known what it must be.
  private static func placeholder(_ table: String) -> String {
    let columns = (0..<placeholderWidth).map { "tally_lost\($0)" }.joined(separator: ", ")
    return "CREATE TABLE \"\(table.replacing("\"", with: "\"\""))\"(\(columns))"
  }

  /// More columns than tables have.
  private static let placeholderWidth = 500

  static let types = ["table", "index", "view", "trigger"]

  /// Tables that hold nothing which could be recovered.
  private static let unread: Set<String> = [
    "tally_conflict", "tally_pending", "tally_aside", "tally_unique", "tally_note", "tally_seeded", "sqlite_sequence",
  ]

  /// The statements that create the store's own tables, by name.
  private static let definitions: [String: String] = {
    var result: [String: String] = [:]
    for statement in (Format.tables + "\n" + Format.laterTables).split(separator: ";") {
      let sql = statement.trimmingCharacters(in: .whitespacesAndNewlines)
        .replacingOccurrences(of: "CREATE TABLE IF NOT EXISTS", with: "CREATE TABLE")
      guard sql.hasPrefix("CREATE TABLE "), let end = sql.firstIndex(of: "(") else { continue }
      let name = String(sql[sql.startIndex..<end].dropFirst("CREATE TABLE ".count))
      if !unread.contains(name) { result[name] = sql }
    }
    return result
  }()

  // MARK: Pages

  /// Returns the entries of the list that the pages hold, without regard to what points to them.
  private static func entries(in pages: DatabasePages) -> [Entry] {
    var found: [String: Entry] = [:]
    var ranks: [String: Int] = [:]
    var roots = Set<Int>()
    for page in 0..<pages.count {
      for var entry in pages.entries(on: page) where ["table", "index"].contains(entry.type) {
        if entry.type == "table", let name = definitions.keys.first(where: { $0.isOneBit(from: entry.name) }) {
          (entry.name, entry.table) = (name, name)
        }
        roots.insert(entry.root)
        guard !unread.contains(entry.table) else { continue }
        // What nothing points to may be older.
        let rank = (pages.isRoot(entry.root) ? 2 : 0) + (entry.isCell ? 1 : 0)
        if let known = ranks[entry.name], known >= rank { continue }
        (found[entry.name], ranks[entry.name]) = (entry, rank)
      }
    }
    let free = (2...pages.count).filter { pages.isRoot($0) && !roots.contains($0) }
    // Pages of tables that were dropped may look like any; only what is certain counts.
    let guesses = Dictionary(grouping: free) { TableShapes.table(under: $0, in: pages) }
    for case (let name?, let places) in guesses where found[name] == nil && places.count == 1 {
      found[name] = Entry(type: "table", name: name, table: name, root: places[0], sql: placeholder(name))
    }
    // A table that is not in the list any more begins at the one page that nothing leads to.
    let missing = definitions.keys.filter { found[$0] == nil }
    if missing.count == 1, free.count == 1 {
      found[missing[0]] = Entry(type: "table", name: missing[0], table: missing[0], root: free[0], sql: "")
    }
    var entries = found.values.filter { $0.type == "table" || $0.sql == nil }
    for (place, entry) in entries.enumerated() {
      if let sql = definitions[entry.name] { entries[place].sql = sql }
      guard !pages.isRoot(entry.root) else { continue }
      // One bit, if it leads to a root that no other table has.
      let other = (0..<31).map { entry.root ^ (1 << $0) }.filter { free.contains($0) }
      if other.count == 1 { entries[place].root = other[0] }
    }
    return entries.sorted { ($0.type == "index" ? 1 : 0, $0.root) < ($1.type == "index" ? 1 : 0, $1.root) }
  }
}

extension String {
  /// Returns the number of bits in which the two differ; nil if they are not of one length.
  fileprivate func bitDistance(to other: String) -> Int? {
    guard utf8.count == other.utf8.count else { return nil }
    return zip(utf8, other.utf8).reduce(0) { $0 + ($1.0 ^ $1.1).nonzeroBitCount }
  }
}
