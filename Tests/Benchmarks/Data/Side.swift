import Foundation
import GRDB
import Tally
import TallyStore

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
  /// Runs `body` on the numbers below `count`, so many in a transaction.
  func inTransactions(of size: Int, _ count: Int, _ body: (Database, Range<Int>) throws -> Void) throws {
    for start in stride(from: 0, to: count, by: size) {
      try transaction { db in try body(db, start..<min(start + size, count)) }
    }
  }

  /// Runs one statement with the arguments of each number below `count`.
  func run(
    _ sql: String, _ count: Int, inTransactionsOf size: Int = 1000, _ arguments: (Int) -> StatementArguments
  ) throws {
    try inTransactions(of: size, count) { db, range in
      let statement = try db.cachedStatement(sql: sql)
      for index in range { try statement.execute(arguments: arguments(index)) }
    }
  }

  func insertOwners(_ names: [String]) throws {
    try run("INSERT INTO Owner(id, name) VALUES(?, 'owner')", names.count) { [names[$0]] }
  }

  func insert(_ rows: [ItemRow], or clause: String = "") throws {
    try run(ItemRow.insertion(or: clause), rows.count) { rows[$0].arguments }
  }

  /// Sets one field of each of these records to a value that it did not have.
  func update(_ rows: [ItemRow], _ order: [Int], from value: Int) throws {
    try run("UPDATE Item SET count = ? WHERE id = ?", order.count) { [value + $0, rows[order[$0]].id] }
  }

  func delete(_ rows: ArraySlice<ItemRow>, from table: String = "Item", inTransactionsOf size: Int = 1000) throws {
    try run("DELETE FROM \(table) WHERE id = ?", rows.count, inTransactionsOf: size) { [rows[rows.startIndex + $0].id] }
  }

  // MARK: SQLite's C API

  func insertThroughC(_ rows: [ItemRow], into table: String = "Item", or clause: String = "") throws {
    try inTransactions(of: 1000, rows.count) { db, range in
      try Self.insertThroughC(rows[range], into: table, or: clause, db)
    }
  }

  /// Owners and rows in one transaction.
  func insertAtOnceThroughC(_ owners: [String], _ rows: [ItemRow], or clause: String = "") throws {
    try transaction { db in
      let statement = try PreparedStatement(keptBy: db, "INSERT \(clause) INTO Owner(id, name) VALUES(?, 'owner')")
      for name in owners {
        statement.bind(1, name)
        try statement.run()
      }
      try Self.insertThroughC(rows[...], or: clause, db)
    }
  }

  private static func insertThroughC(
    _ rows: ArraySlice<ItemRow>, into table: String = "Item", or clause: String, _ db: Database
  ) throws {
    let statement = try PreparedStatement(keptBy: db, ItemRow.insertion(into: table, or: clause))
    for row in rows {
      statement.bind(1, row.id)
      statement.bind(2, row.name)
      statement.bind(3, row.notes)
      statement.bind(4, row.count)
      statement.bind(5, row.price)
      statement.bind(6, row.day)
      statement.bind(7, row.owner)
      try statement.run()
    }
  }

  /// Runs one statement with each of these pairs, a thousand in a transaction.
  func runThroughC(_ sql: String, _ pairs: [(source: String, target: String)]) throws {
    try inTransactions(of: 1000, pairs.count) { db, range in
      let statement = try PreparedStatement(keptBy: db, sql)
      for (source, target) in pairs[range] {
        statement.bind(1, source)
        statement.bind(2, target)
        try statement.run()
      }
    }
  }

  /// Sets `count` of these records, by their number and name, in one transaction.
  func updateThroughC(
    _ changes: some Sequence<(Int, String)>, of table: String = "Item", setting column: String = "count"
  ) throws {
    try transaction { db in
      let statement = try PreparedStatement(keptBy: db, "UPDATE \(table) SET \(column) = ? WHERE id = ?")
      for (number, name) in changes {
        statement.bind(1, number)
        statement.bind(2, name)
        try statement.run()
      }
    }
  }
}

extension DatabasePool {
  /// Whether each commit is synced to the disk before it returns.
  func setDurable(_ isDurable: Bool) throws {
    try writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA synchronous = \(isDurable ? "FULL" : "NORMAL")")
    }
  }
}

/// A database like a store's, without what replicates: same columns, keys, references and indexes, same pragmas, and a
/// write-ahead log that is copied after as many pages.
enum PlainDatabase {
  static func open(_ path: String) throws -> DatabasePool {
    var configuration = Configuration()
    configuration.busyMode = .timeout(5)
    configuration.prepareDatabase { db in
      try db.execute(sql: "PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = \(CheckpointPacer.most)")
    }
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
