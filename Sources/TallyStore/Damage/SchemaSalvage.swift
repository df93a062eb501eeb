import Foundation
import GRDB
import GRDBSQLite

/// Makes the list of tables of a damaged file anew, `sqlite_master`, where SQLite cannot read it: without it nothing
/// else is found. What the list said is looked for in the bytes of all pages; format:
/// https://sqlite.org/fileformat.html.
enum SchemaSalvage {
  /// An entry of the list.
  private struct Entry: Hashable {
    var type: String
    var name: String
    var table: String
    var root: Int
    var sql: String?
    /// Whether its page says that it stands there.
    var isCell = false
  }

  /// Puts the list of tables right in a copy that nobody uses.
  /// - Returns: whether it was damaged.
  static func run(_ path: String) throws -> Bool {
    // What is in the log comes first, and goes into the file.
    let opens: Void? = try? open(path) { _ = execute("PRAGMA journal_mode = DELETE", $0) }
    if opens != nil, isPlain(path), (try? open(path, isWhole)) == true { return false }
    var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    let pages = Pages(bytes)
    guard pages.count > 1 else { return false }
    let entries = entries(in: pages)
    guard entries.contains(where: { $0.name.hasPrefix("tally_") }) else { return false }
    bytes.replaceSubrange(0..<pages.size, with: pages.emptyFirstPage)
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    for suffix in ["-wal", "-shm", "-journal"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    for entry in entries { try insert(entry, path) }
    return true
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
    guard !isPlain(path) else { return }
    try open(path) { handle in
      try SQLStatement(handle, "DELETE FROM sqlite_master WHERE rowid = (SELECT max(rowid) FROM sqlite_master)").run()
    }
  }

  /// Puts the definition of an entity's table right if a few bits of it were changed.
  static func putRight(_ kind: RecordKind, _ reading: TolerantReading, _ connection: Connection) {
    guard let entity = kind.entity, !reading.takes(kind.rowSQL) else { return }
    let wanted = SchemaMigration.table(entity)
    reading.read("sqlite_master", "SELECT name, sql FROM sqlite_master WHERE type = 'table'", hasRowID: false) {
      query in
      let (name, sql) = (query.text(0) ?? "", query.text(1) ?? "")
      guard
        sql == placeholder(kind.type) || sql.bitDistance(to: wanted).map({ $0 <= 8 }) ?? false
          || name == kind.type && sql.utf8.count == wanted.utf8.count
      else { return }
      let update = try SQLStatement(
        connection.handle, "UPDATE sqlite_master SET name = ?, tbl_name = ?, sql = ? WHERE name = ?")
      for (place, text) in [kind.type, kind.type, wanted, name].enumerated() { update.bind(place + 1, text) }
      try update.run()
    }
    reading.read("sqlite_master", "PRAGMA writable_schema = RESET", hasRowID: false) { _ in }
    reading.read("sqlite_master", "PRAGMA writable_schema = ON", hasRowID: false) { _ in }
  }

  // MARK: SQLite

  /// GRDB reads the list of tables of whatever it opens.
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

  /// Whether whoever opens the file finds its list in order.
  private static func isPlain(_ path: String) -> Bool {
    var handle: OpaquePointer?
    defer { sqlite3_close_v2(handle) }
    guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK, let handle else { return false }
    return execute("SELECT count(*) FROM sqlite_master", handle)
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

  /// What stands for a definition that SQLite does not take until it is known what it must be.
  private static func placeholder(_ table: String) -> String {
    "CREATE TABLE \"\(table.replacing("\"", with: "\"\""))\"(tally_lost)"
  }

  private static let types = ["table", "index", "view", "trigger"]

  /// Tables that hold nothing which could be recovered.
  private static let unread: Set<String> = [
    "tally_conflict", "tally_pending", "tally_aside", "tally_note", "tally_seeded", "sqlite_sequence",
  ]

  /// How the store's own tables are made, by name.
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

  /// What the pages hold of the list, whatever points to them.
  private static func entries(in pages: Pages) -> [Entry] {
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
    // A table that is not in the list any more begins at the one page that nothing leads to.
    let missing = definitions.keys.filter { found[$0] == nil }
    let free = (2...pages.count).filter { pages.isRoot($0) && !roots.contains($0) }
    if missing.count == 1, free.count == 1 {
      found[missing[0]] = Entry(type: "table", name: missing[0], table: missing[0], root: free[0], sql: "")
    }
    var entries = found.values.filter { $0.type == "table" || $0.sql == nil }
    for (place, entry) in entries.enumerated() {
      if let sql = definitions[entry.name] { entries[place].sql = sql }
      guard !pages.isRoot(entry.root) else { continue }
      // One bit, if it leads to a root that nobody else has.
      let other = (0..<31).map { entry.root ^ (1 << $0) }.filter { free.contains($0) }
      if other.count == 1 { entries[place].root = other[0] }
    }
    return entries.sorted { ($0.type == "index" ? 1 : 0, $0.root) < ($1.type == "index" ? 1 : 0, $1.root) }
  }

  /// A file by its pages.
  private struct Pages {
    let bytes: [UInt8]
    let size: Int
    var count: Int { bytes.count / size }
    /// Pages that others point to.
    private let children: Set<Int>

    init(_ bytes: [UInt8]) {
      self.bytes = bytes
      let claimed = bytes.count > 17 ? Int(bytes[16]) << 8 | Int(bytes[17]) : 0
      let isPower = claimed >= 512 && claimed & (claimed - 1) == 0
      let size = claimed == 1 ? 65_536 : isPower ? claimed : 4096
      self.size = size
      var children = Set<Int>()
      func number(_ place: Int, _ width: Int) -> Int {
        bytes[place..<min(place + width, bytes.count)].reduce(0) { $0 << 8 | Int($1) }
      }
      for page in 0..<bytes.count / size {
        let head = page * size + (page == 0 ? 100 : 0)
        guard bytes[head] == 0x05 || bytes[head] == 0x02 else { continue }
        children.insert(number(head + 8, 4))
        let limit = (page + 1) * size
        for cell in 0..<min(number(head + 3, 2), size / 6) {
          let place = page * size + number(min(head + 12 + 2 * cell, limit - 2), 2)
          if place + 4 <= limit { children.insert(number(place, 4)) }
        }
      }
      self.children = children
    }

    private func kind(_ page: Int) -> UInt8? {
      let head = page * size + (page == 0 ? 100 : 0)
      return page >= 0 && page < count ? bytes[head] : nil
    }

    func isLeaf(_ page: Int) -> Bool { kind(page) == 0x0D }

    /// Whether a page, by its number from 1, may be where a table or index begins.
    func isRoot(_ number: Int) -> Bool {
      guard number > 1, let kind = kind(number - 1) else { return false }
      return [0x02, 0x05, 0x0A, 0x0D].contains(kind) && !children.contains(number)
    }

    /// The first page of a file without tables.
    var emptyFirstPage: [UInt8] {
      var page = [UInt8](repeating: 0, count: size)
      func put(_ value: Int, _ place: Int, _ width: Int) {
        for index in 0..<width { page[place + index] = UInt8(truncatingIfNeeded: value >> (8 * (width - 1 - index))) }
      }
      page.replaceSubrange(0..<16, with: Array("SQLite format 3\0".utf8))
      put(size == 65_536 ? 1 : size, 16, 2)
      for (place, value) in [18: 1, 19: 1, 21: 64, 22: 32, 23: 32] { put(value, place, 1) }
      for (place, value) in [24: 1, 28: count, 40: 1, 44: 4, 56: 1, 60: Format.version, 92: 1, 96: 3_040_001] {
        put(value, place, 4)
      }
      put(Format.applicationID, 68, 4)
      put(0x0D, 100, 1)
      put(size == 65_536 ? 0 : size, 105, 2)
      return page
    }

    /// Entries of the list that stand anywhere on a page: a record of three texts, a number, and a text or nothing.
    func entries(on page: Int) -> [Entry] {
      var entries: [Entry] = []
      let (start, end) = (page * size, (page + 1) * size)
      let cells = cells(on: page)
      for place in start..<end - 16 where (6...12).contains(bytes[place]) {
        guard var entry = entry(at: place, end) else { continue }
        entry.isCell = cells.contains(place)
        entries.append(entry)
      }
      return entries
    }

    /// Where the records of a page's cells begin.
    private func cells(on page: Int) -> Set<Int> {
      guard isLeaf(page) else { return [] }
      let (head, end) = (page * size + (page == 0 ? 100 : 0), (page + 1) * size)
      let count = min(Int(bytes[head + 3]) << 8 | Int(bytes[head + 4]), (end - head - 8) / 2)
      var cells = Set<Int>()
      for cell in 0..<count {
        let pointer = head + 8 + 2 * cell
        var place = page * size + (Int(bytes[pointer]) << 8 | Int(bytes[pointer + 1]))
        if place < end, varint(&place, end) != nil, varint(&place, end) != nil { cells.insert(place) }
      }
      return cells
    }

    private func entry(at place: Int, _ end: Int) -> Entry? {
      var next = place
      guard let length = varint(&next, end), place + length <= end else { return nil }
      let body = place + length
      var types: [Int] = []
      while next < body, types.count < 6 { types.append(varint(&next, body) ?? 0) }
      // The first text is table, index, view or trigger.
      guard types.count == 5, next == body, [21, 23, 27].contains(types[0]), types[1] >= 15, types[1] % 2 == 1,
        types[2] >= 15, types[2] % 2 == 1, (1...6).contains(types[3]) || (8...9).contains(types[3]),
        types[4] == 0 || types[4] >= 13 && types[4] % 2 == 1
      else { return nil }
      next = body
      func text(_ type: Int) -> String? {
        let count = (type - 13) / 2
        guard next + count <= end else { return nil }
        defer { next += count }
        return String(validating: bytes[next..<next + count], as: UTF8.self)
      }
      guard let written = text(types[0]),
        let type = SchemaSalvage.types.first(where: { $0 == written || $0.isOneBit(from: written) }),
        let name = text(types[1]), let table = text(types[2])
      else { return nil }
      let width = [1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8][types[3]] ?? 0
      guard next + width <= end else { return nil }
      let root = types[3] == 9 ? 1 : bytes[next..<next + width].reduce(0) { ($0 & 0xFFFF_FFFF) << 8 | Int($1) }
      next += width
      guard types[4] != 0 else { return Entry(type: type, name: name, table: table, root: root) }
      guard let sql = text(types[4]) else { return nil }
      return Entry(type: type, name: name, table: table, root: root, sql: sql)
    }

    private func varint(_ place: inout Int, _ end: Int) -> Int? {
      var value = 0
      for _ in 0..<4 {
        guard place < end else { return nil }
        defer { place += 1 }
        value = value << 7 | Int(bytes[place] & 0x7F)
        if bytes[place] & 0x80 == 0 { return value }
      }
      return nil
    }
  }
}

extension String {
  /// How many bits make the one the other; nil if they are not of one length.
  fileprivate func bitDistance(to other: String) -> Int? {
    guard utf8.count == other.utf8.count else { return nil }
    return zip(utf8, other.utf8).reduce(0) { $0 + ($1.0 ^ $1.1).nonzeroBitCount }
  }
}
