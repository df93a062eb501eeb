import Foundation
import GRDB
import Tally

/// A database that a workload runs on: a store, or a plain pool.
protocol Side {
  func transaction(_ body: (Database) throws -> Void) throws
  func reading(_ body: (Database) throws -> Void) throws
}

extension Store: Side {
  func transaction(_ body: (Database) throws -> Void) throws { try write(body) }
  func reading(_ body: (Database) throws -> Void) throws { try read(body) }
}

extension DatabasePool: Side {
  func transaction(_ body: (Database) throws -> Void) throws { try write(body) }
  func reading(_ body: (Database) throws -> Void) throws { try read(body) }
}

extension Side {
  /// Runs `body` on the numbers below `count`, a thousand in a transaction.
  func inThousands(_ count: Int, _ body: (Database, Range<Int>) throws -> Void) throws {
    for start in stride(from: 0, to: count, by: 1000) {
      try transaction { db in try body(db, start..<min(start + 1000, count)) }
    }
  }

  func insertOwners(_ names: [String]) throws {
    try transaction { db in
      let statement = try db.cachedStatement(sql: "INSERT INTO Owner(id, name) VALUES(?, 'owner')")
      for name in names { try statement.execute(arguments: [name]) }
    }
  }

  func insert(_ rows: [ItemRow], or clause: String = "") throws {
    let sql = "INSERT \(clause) INTO Item(id, name, notes, count, price, day, owner) VALUES(?, ?, ?, ?, ?, ?, ?)"
    try inThousands(rows.count) { db, range in
      let statement = try db.cachedStatement(sql: sql)
      for row in rows[range] { try statement.execute(arguments: row.arguments) }
    }
  }

  /// Sets one field of each of these records to a value that it did not have.
  func update(_ rows: [ItemRow], _ order: [Int], from value: Int) throws {
    try inThousands(order.count) { db, range in
      let statement = try db.cachedStatement(sql: "UPDATE Item SET count = ? WHERE id = ?")
      for index in range { try statement.execute(arguments: [value + index, rows[order[index]].id]) }
    }
  }

  func delete(_ rows: ArraySlice<ItemRow>) throws {
    let rows = Array(rows)
    try inThousands(rows.count) { db, range in
      let statement = try db.cachedStatement(sql: "DELETE FROM Item WHERE id = ?")
      for row in rows[range] { try statement.execute(arguments: [row.id]) }
    }
  }
}

/// A database like a store's, without what replicates: same columns, keys, references and indexes, same pragmas.
enum PlainDatabase {
  static func open(_ path: String) throws -> DatabasePool {
    var configuration = Configuration()
    configuration.busyMode = .timeout(5)
    configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA temp_store = MEMORY") }
    return try DatabasePool(path: path, configuration: configuration)
  }

  static func create(_ path: String) throws -> DatabasePool {
    let pool = try open(path)
    try pool.write { db in try db.execute(sql: tables) }
    return pool
  }

  private static let tables = """
    CREATE TABLE Owner(id TEXT NOT NULL PRIMARY KEY, name TEXT) STRICT;
    CREATE TABLE Item(
      id TEXT NOT NULL PRIMARY KEY, name TEXT, notes TEXT, count INTEGER, price REAL, day TEXT,
      owner TEXT REFERENCES Owner(id) DEFERRABLE INITIALLY DEFERRED) STRICT;
    CREATE INDEX Item_on_owner ON Item(owner);
    CREATE TABLE Team(id TEXT NOT NULL PRIMARY KEY, name TEXT) STRICT;
    CREATE TABLE Team_members(
      source TEXT NOT NULL REFERENCES Team(id) DEFERRABLE INITIALLY DEFERRED,
      target TEXT NOT NULL REFERENCES Owner(id) DEFERRABLE INITIALLY DEFERRED,
      PRIMARY KEY(source, target)) STRICT;
    CREATE INDEX Team_members_target ON Team_members(target, source);
    """
}
