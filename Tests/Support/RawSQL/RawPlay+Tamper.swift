import Foundation
import GRDB
import TallyStore

/// What people do to a file with the tools of SQLite.
extension RawPlay {
  mutating func tamper(_ step: RawStep) throws {
    switch step {
    case .vacuum(let device):
      try devices[device].outside(0).writeWithoutTransaction { try $0.execute(sql: "VACUUM") }
      reached.insert(.done(.vacuum))
    case .backUp(let device):
      let path = backup(of: device)
      if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
      try devices[device].outside(0).writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO '\(path)'") }
    case .bringBack(let device, let table, let clause): try bringBack(devices[device], table, clause)
    case .dropTrigger(let device, let writer, let number):
      try change(devices[device], writer, .droppedTrigger) { try Self.dropTrigger(number, $0) }
    case .rebuild(let device, let writer, let table, let hasReferences):
      // A store that knows of damage takes a row that came under another's clock for part of it.
      let renames = !devices[device].hasDrifted
      try change(devices[device], writer, .rebuild) { try Self.rebuild(table, hasReferences, renames: renames, $0) }
    case .recreate(let device, let writer, let table):
      try change(devices[device], writer, .recreation) { try Self.recreate(table, $0) }
      ledger.drop(table, device)
    case .addColumn(let device, let writer, let table, let name):
      try change(devices[device], writer, .addedColumn) { db in
        try db.execute(sql: "ALTER TABLE main.\(table) ADD COLUMN \(name) TEXT")
        return true
      }
    case .drift(let device):
      guard devices[device].store != nil else { return }
      // Another wrong sum on each device: two that are wrong alike are not told apart. That of the vector stays.
      try devices[device].outside(0).write { db in
        try db.execute(
          sql:
            "UPDATE tally_zone SET fingerprint = CAST(zeroblob(15) || x'0\(device + 1)' || substr(fingerprint, 17) AS BLOB) WHERE n = 0"
        )
      }
      devices[device].hasDrifted = true
      reached.insert(.done(.drift))
    default: break
    }
  }

  private func backup(of device: Int) -> String { folder.appendingPathComponent("\(device).backup").path }

  private mutating func bringBack(_ device: RawDevice, _ table: String, _ clause: String) throws {
    let path = backup(of: device.index)
    guard FileManager.default.fileExists(atPath: path) else { return }
    let transaction = RawTransaction(
      statements: [RawStatement("INSERT \(clause) INTO main.\(table) SELECT * FROM backup.\(table)")])
    do {
      try device.outside(0).writeWithoutTransaction { try $0.execute(sql: "ATTACH '\(path)' AS backup") }
      let (before, after) = try device.outside(0).write { db in
        let before = try RawRows.records(db, device.version)
        try db.execute(sql: transaction.statements[0].sql)
        return (before, try RawRows.records(db, device.version))
      }
      ledger.note(device.index, from: before, to: after, isOutside: true, isFirst: !device.hasOutsideWrites)
      device.hasOutsideWrites = true
      reached.insert(.done(.backups))
    } catch {
      // A backup of an older version has fewer columns; a plain connection refuses references to nothing.
      try RawVerdict.check(statement: error, transaction)
    }
    try device.outside(0).writeWithoutTransaction { try $0.execute(sql: "DETACH backup") }
  }

  /// Does something to the tables in a transaction.
  private mutating func change(
    _ device: RawDevice, _ writer: RawWriter, _ feature: RawFeature, _ body: (Database) throws -> Bool
  ) throws {
    guard let store = device.store else { return }
    func perform(_ db: Database) throws -> (Bool, RawRows, RawRows) {
      let before = try RawRows.records(db, device.version)
      let didChange = try body(db)
      return (didChange, before, try RawRows.records(db, device.version))
    }
    let (didChange, before, after): (Bool, RawRows, RawRows)
    do {
      (didChange, before, after) =
        if case .outside(let number) = writer {
          try device.outside(number).write(perform)
        } else {
          try store.write(perform)
        }
    } catch let error as StoreError where error.code == .deleteDenied && history.has(.denials) {
      return
    } catch let error where Self.isReference(error) {
      // What others refer to cannot go.
      return
    } catch is DatabaseError where writer.isStore && history.has(.tempTable) {
      // SQLite looks for what it renames among temporary tables too.
      return
    }
    if writer.isStore { device.hasOutsideWrites = false }
    ledger.note(
      device.index, from: before, to: after, isOutside: !writer.isStore, isFirst: !device.hasOutsideWrites)
    if didChange { reached.insert(.done(feature)) }
  }

  private static func isReference(_ error: any Error) -> Bool {
    (error as? StoreError)?.code == .danglingReference
      || (error as? DatabaseError)?.extendedResultCode == .SQLITE_CONSTRAINT_FOREIGNKEY
  }

  /// What a table and its indexes and triggers of the app's are made with.
  private static func statements(_ table: String, _ db: Database) throws -> (table: String, rest: [String])? {
    let sql = try String.fetchOne(
      db, sql: "SELECT sql FROM main.sqlite_master WHERE type = 'table' AND name = '\(table)'")
    let rest = try String.fetchAll(
      db,
      sql: """
        SELECT sql FROM main.sqlite_master WHERE tbl_name = '\(table)' AND sql IS NOT NULL AND (type = 'index'
        OR type = 'trigger' AND name LIKE 'app%')
        """)
    return sql.map { ($0, rest) }
  }

  private static func recreate(_ table: String, _ db: Database) throws -> Bool {
    guard let (sql, rest) = try statements(table, db) else { return false }
    try db.execute(sql: "DROP TABLE main.\(table)")
    for statement in [sql] + rest { try db.execute(sql: statement) }
    return true
  }

  private static func dropTrigger(_ number: Int, _ db: Database) throws -> Bool {
    let names = try String.fetchAll(
      db,
      sql: "SELECT name FROM main.sqlite_master WHERE type = 'trigger' AND substr(name, 1, 6) = 'tally_' ORDER BY name")
    guard !names.isEmpty else { return false }
    try db.execute(sql: "DROP TRIGGER \(names[number % names.count])")
    return true
  }

  /// The twelve steps of https://www.sqlite.org/lang_altertable.html: as an app takes them that knows only its own
  /// triggers, or to the letter, which makes all triggers again. The latter renames a row, too.
  private static func rebuild(
    _ table: String, _ hasReferences: Bool, renames: Bool, _ db: Database
  ) throws -> Bool {
    guard let (sql, rest) = try statements(table, db), let start = sql.firstIndex(of: "("),
      let end = sql.lastIndex(of: ")")
    else { return false }
    let check = ", CHECK(edits IS NOT -\(rest.count + 1000 + sql.count))"
    let clause = #/REFERENCES "\w+"\(id\) DEFERRABLE INITIALLY DEFERRED/#
    let columns = hasReferences ? sql[start..<end] : sql[start..<end].replacing(clause, with: "")
    try db.execute(sql: "CREATE TABLE main.app_new\(columns)\(check)\(sql[end...])")
    try db.execute(sql: "INSERT INTO main.app_new SELECT * FROM main.\(table)")
    var capture: [String] = []
    if hasReferences {
      capture = try String.fetchAll(
        db,
        sql: """
          SELECT sql FROM main.sqlite_master WHERE tbl_name = '\(table)' AND type = 'trigger'
          AND substr(name, 1, 6) = 'tally_'
          """)
      if renames {
        try db.execute(
          sql: "UPDATE OR IGNORE main.app_new SET id = id || 'r' WHERE rowid = (SELECT max(rowid) FROM main.app_new)")
      }
    }
    try db.execute(sql: "DROP TABLE main.\(table)")
    try db.execute(sql: "ALTER TABLE main.app_new RENAME TO \(table)")
    for statement in rest + capture { try db.execute(sql: statement) }
    return true
  }
}
