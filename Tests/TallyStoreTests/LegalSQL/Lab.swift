import Foundation
import GRDB
import Synchronization
import Tally
import TallyStore
import Testing

/// What captures the writes of a store's own connection.
enum CapturePath: CaseIterable, CustomTestStringConvertible {
  case hook, triggers
  var testDescription: String { self == .hook ? "hook" : "triggers" }
}

/// A schema with owners, mentions, members and a tree, and stores of it beside connections that know nothing of Tally.
struct Lab {
  static let schema = Schema([
    EntitySchema("P", .text("name"), .integer("pos"), .blob("icon"), .date("at"), .json("settings")),
    EntitySchema(
      "G", .text("name"), .real("rating"), .reference("owner", to: "P", onDelete: .cascade),
      .reference("friend", to: "P"), .toMany("players", to: "P")),
    EntitySchema("F", .text("name"), .bool("fav", default: false), .reference("parent", to: "F", onDelete: .cascade)),
  ])

  let scratch: Scratch
  let path: CapturePath
  let a: Store
  let b: Store

  init(_ path: CapturePath, _ schema: Schema = Lab.schema, options: StoreOptions? = nil) throws {
    self.path = path
    scratch = try Scratch()
    a = try scratch.store("a", schema: schema, options: options ?? Self.options(path))
    b = try scratch.store("b", schema: schema, options: options ?? Self.options(path))
  }

  static func options(_ path: CapturePath) -> StoreOptions {
    var options = StoreOptions()
    options.usesHook = path == .hook
    options.now = {
      clock.withLock { time in
        time += 0.01
        return Date(timeIntervalSince1970: time)
      }
    }
    return options
  }

  /// Goes on with each look at it: of two writes one after the other the second is the later one, however fast the
  /// machine is.
  private static let clock = Mutex(Date().timeIntervalSince1970)

  /// Opens a store again, perhaps with another schema.
  func reopened(_ name: String, _ schema: Schema = Lab.schema) throws -> Store {
    try scratch.store(name, schema: schema, options: Self.options(path))
  }

  /// Statements of a connection without Tally and without foreign keys, as one transaction.
  func shell(_ name: String, _ sql: String...) throws {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    let queue = try DatabaseQueue(path: scratch.path(name), configuration: configuration)
    try queue.write { db in for statement in sql { try db.execute(sql: statement) } }
    try queue.close()
  }

  /// What a disk does to a file: statements that no capture trigger notes, although all are there before and after.
  func damage(_ name: String, _ sql: String...) throws {
    let queue = try DatabaseQueue(path: scratch.path(name))
    try queue.write { db in
      let triggers = try Row.fetchAll(
        db, sql: "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name GLOB 'tally_*' ORDER BY rowid")
      for trigger in triggers { try db.execute(sql: "DROP TRIGGER \"\(trigger["name"] as String)\"") }
      for statement in sql { try db.execute(sql: statement) }
      for trigger in triggers { try db.execute(sql: trigger["sql"]) }
    }
    try queue.close()
  }

  func sync() throws { try a.sync(with: b) }

  /// Both hold the same, show the same, and are sound.
  func expectEqual(
    _ tables: [String] = ["P", "G", "F", "G_players"], sourceLocation: Testing.SourceLocation = #_sourceLocation
  ) throws {
    try expectConverged(a, b, sourceLocation: sourceLocation)
    for table in tables {
      #expect(try Self.rows(a, table) == Self.rows(b, table), "\(table)", sourceLocation: sourceLocation)
    }
  }

  /// A table's rows as text, without what is the store's.
  static func rows(_ store: Store, _ table: String) throws -> [String] {
    try store.read { db in
      let columns = try db.columns(in: table).map(\.name).filter { $0 != "tally_clock" }
      let list = columns.map { "quote(\"\($0)\")" }.joined(separator: " || ',' || ")
      return try String.fetchAll(db, sql: "SELECT \(list) FROM \"\(table)\" ORDER BY 1")
    }
  }

  static func text(_ store: Store, _ sql: String) throws -> String? {
    try store.read { try String.fetchOne($0, sql: sql) }
  }
}

extension Store {
  /// Runs statements in one transaction.
  func run(_ sql: String...) throws { try write { db in for statement in sql { try db.execute(sql: statement) } } }
}
