import Foundation
import GRDB
import TallyTesting

/// What a disk does to the file of a store that nobody has open.
package enum Damage: String, CaseIterable, Sendable {
  /// A bit anywhere in the file is flipped.
  case bit
  /// A page holds zeros, noise, or another page.
  case page
  /// A value of some row, of the app's tables or of the store's own, is another.
  case value
  /// A number or a name that all of the file uses is another, by several bits or altogether: of a replica, a type, a
  /// field or the zone, and the sums beside them.
  case names
  /// A row is gone.
  case row
  /// All rows of a table are gone.
  case emptied
  /// A table is gone.
  case table
  /// An index is gone.
  case index
  /// Bits of an index are flipped, or its pages are another's.
  case indexPage
  /// A bit of a name in an index is flipped, so that the index leads nowhere, or to another row.
  case indexKey
  /// Bits of the write-ahead log are flipped.
  case logBits
  /// The write-ahead log is cut off or gone.
  case logEnd

  /// Any kind. One that was added later takes a share of another's seeds, so that all other seeds stay the histories
  /// that they were.
  package static func any(_ random: inout SplitMix64) -> Damage {
    let picked = random.pick(allCases.filter { $0 != .indexKey })
    return picked == .index && random.chance(50) ? .indexKey : picked
  }

  /// Whether there must be a log.
  package var isOfLog: Bool { self == .logBits || self == .logEnd }

  /// Damages the file at `path`.
  /// - Returns: what was done, in words.
  package func apply(to path: String, _ random: inout SplitMix64) throws -> String {
    switch self {
    case .bit: return try Self.edit(path) { Self.flip(&$0, 100..<$0.count, 1, &random) }
    case .page:
      return try Self.edit(path) { Self.damagePage(&$0, 1 + random.below($0.count / Self.pageSize - 1), &random) }
    case .indexPage:
      let pages = try Self.pages(of: "index", path)
      guard !pages.isEmpty else { return "no index" }
      let page = random.pick(pages)
      return try Self.edit(path) { Self.damagePage(&$0, page - 1, &random) }
    case .indexKey:
      let pages = try Self.pages(of: "index", path)
      return try Self.edit(path) { Self.flipKey(&$0, pages.map { $0 - 1 }, &random) }
    case .logBits: return try Self.edit(path + "-wal") { Self.flip(&$0, 0..<$0.count, 1 + random.below(8), &random) }
    case .logEnd:
      let keeps = random.chance(50) ? random.below(100) : 0
      return try Self.edit(path + "-wal") { bytes in
        bytes.removeSubrange((bytes.count * keeps / 100)...)
        return "the log keeps \(keeps) % of its bytes"
      }
    case .value, .names, .row, .emptied, .table, .index: return try sql(path, &random)
    }
  }

  // MARK: Bytes

  private static let pageSize = 4096

  private static func edit(_ path: String, _ body: (inout [UInt8]) -> String) throws -> String {
    let url = URL(fileURLWithPath: path)
    var bytes = Array(try Data(contentsOf: url))
    guard bytes.count > 200 else { return "nothing" }
    let done = body(&bytes)
    // In place: another file under the name would be a copy.
    let handle = try FileHandle(forWritingTo: url)
    try handle.write(contentsOf: Data(bytes))
    try handle.truncate(atOffset: UInt64(bytes.count))
    try handle.close()
    return done
  }

  private static func flip(_ bytes: inout [UInt8], _ range: Range<Int>, _ count: Int, _ random: inout SplitMix64)
    -> String
  {
    var places: [String] = []
    for _ in 0..<count {
      let place = range.lowerBound + random.below(range.count)
      bytes[place] ^= 1 << UInt8(random.below(8))
      places.append("\(place)")
    }
    return "bits flipped at \(places.joined(separator: ", "))"
  }

  private static func damagePage(_ bytes: inout [UInt8], _ page: Int, _ random: inout SplitMix64) -> String {
    let range = page * pageSize..<min((page + 1) * pageSize, bytes.count)
    guard !range.isEmpty else { return "nothing" }
    switch random.below(4) {
    case 0:
      for place in range { bytes[place] = 0 }
      return "page \(page + 1) zeroed"
    case 1:
      for place in range { bytes[place] = UInt8(truncatingIfNeeded: random.next()) }
      return "page \(page + 1) is noise"
    case 2:
      let other = 1 + random.below(bytes.count / pageSize - 1)
      for place in 0..<range.count { bytes[range.lowerBound + place] = bytes[other * pageSize + place] }
      return "page \(page + 1) is a copy of page \(other + 1)"
    default: return flip(&bytes, range, 1 + random.below(4), &random)
    }
  }

  /// Flips the lowest bit of a character of a key, in one of these pages that is a leaf of an index.
  private static func flipKey(_ bytes: inout [UInt8], _ pages: [Int], _ random: inout SplitMix64) -> String {
    let delimiter = Array("|~|".utf8)
    var places: [Int] = []
    for page in pages where bytes[page * pageSize] == 0x0A {
      let range = page * pageSize..<(page + 1) * pageSize
      for place in range.dropLast(delimiter.count) where bytes[place..<place + 3].elementsEqual(delimiter) {
        places.append(place)
      }
    }
    guard !places.isEmpty else { return "no key" }
    let place = random.pick(places)
    let letter = place + delimiter.count + random.below(min(6, (place / pageSize + 1) * pageSize - place - 3))
    bytes[letter] ^= 1
    return "a key's bit flipped at \(letter)"
  }

  private static func pages(of type: String, _ path: String) throws -> [Int] {
    try open(path) {
      try Int.fetchAll(
        $0, sql: "SELECT rootpage FROM sqlite_master WHERE type = ? AND rootpage > 1 ORDER BY 1", arguments: [type])
    }
  }

  // MARK: SQL

  private static func open<T>(_ path: String, _ body: (Database) throws -> T) throws -> T {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    defer { try? queue.close() }
    return try queue.writeWithoutTransaction(body)
  }

  private func sql(_ path: String, _ random: inout SplitMix64) throws -> String {
    try Self.open(path) { db in
      // What a disk does fires no triggers.
      let triggers = try Row.fetchAll(
        db, sql: "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name")
      for trigger in triggers { try db.execute(sql: "DROP TRIGGER \"\(trigger["name"] as String)\"") }
      defer { for trigger in triggers { try? db.execute(sql: trigger["sql"]) } }
      return try change(db, &random)
    }
  }

  private func change(_ db: Database, _ random: inout SplitMix64) throws -> String {
    let tables = try String.fetchAll(
      db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
    switch self {
    case .index:
      let names = try String.fetchAll(
        db, sql: "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY name")
      guard !names.isEmpty else { return "no index" }
      let name = random.pick(names)
      try db.execute(sql: "DROP INDEX \"\(name)\"")
      return "index \(name) dropped"
    case .table:
      let table = random.pick(tables)
      try db.execute(sql: "DROP TABLE \"\(table)\"")
      return "table \(table) dropped"
    case .emptied:
      let table = random.pick(tables)
      try db.execute(sql: "DELETE FROM \"\(table)\"")
      return "table \(table) emptied"
    default: break
    }
    for _ in 0..<50 {
      let table = random.pick(
        self == .names ? ["tally_replica", "tally_kind", "tally_field", "tally_zone"] : tables)
      let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM \"\(table)\"") ?? 0
      guard count > 0 else { continue }
      if let done = try changeRow(db, table, random.below(count), &random) { return done }
    }
    return "nothing"
  }

  private func changeRow(_ db: Database, _ table: String, _ offset: Int, _ random: inout SplitMix64) throws -> String? {
    let columns = try Row.fetchAll(db, sql: "PRAGMA table_info(\"\(table)\")")
    let names = columns.map { $0["name"] as String }
    let keys = columns.filter { ($0["pk"] as Int) > 0 }.map { $0["name"] as String }
    guard !keys.isEmpty else { return nil }
    guard let row = try Row.fetchOne(db, sql: "SELECT * FROM \"\(table)\" LIMIT 1 OFFSET \(offset)") else { return nil }
    let condition = keys.map { "\"\($0)\" IS ?" }.joined(separator: " AND ")
    let key = StatementArguments(keys.map { row[$0] as DatabaseValue })
    if self == .row {
      try db.execute(sql: "DELETE FROM \"\(table)\" WHERE \(condition)", arguments: key)
      return "row \(row) of \(table) deleted"
    }
    let column = random.pick(names)
    let old = row[column] as DatabaseValue
    var new = Self.changed(old, &random)
    if self == .names {
      for _ in 0..<1 + random.below(6) { new = new.flatMap { Self.changed($0, &random) } }
      if random.chance(30) {
        let all = try DatabaseValue.fetchAll(db, sql: "SELECT \"\(column)\" FROM \"\(table)\" ORDER BY n")
        new = random.pick(all)
      }
    }
    guard let new, new != old else { return nil }
    do {
      try db.execute(sql: "UPDATE \"\(table)\" SET \"\(column)\" = ? WHERE \(condition)", arguments: [new] + key)
    } catch is DatabaseError {
      return nil
    }
    return "\(table).\(column) of \(row) is \(new)"
  }

  private static func changed(_ value: DatabaseValue, _ random: inout SplitMix64) -> DatabaseValue? {
    switch value.storage {
    case .null: return nil
    case .int64(let number): return (number ^ (1 << Int64(random.below(random.chance(20) ? 62 : 6)))).databaseValue
    case .double(let number): return (number * 2 + 1).databaseValue
    case .string(let text):
      var bytes = Array(text.utf8)
      guard !bytes.isEmpty else { return "x".databaseValue }
      bytes[random.below(bytes.count)] ^= 1
      return String(decoding: bytes, as: UTF8.self).databaseValue
    case .blob(let data):
      var bytes = Array(data)
      guard !bytes.isEmpty else { return nil }
      bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
      return Data(bytes).databaseValue
    }
  }
}
