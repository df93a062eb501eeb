import Foundation
import GRDB
import TallyCRDT
import TallyFaults
import TallyStore
import TallySync
import TallyTesting

/// The records of the histories with seeds in a real store, written through SQL as an app would.
package final class SeedReplica {
  package let store: Store
  package let author: String
  private let clock = HistoryClock()

  package init(id: ReplicaID, mode: SeedWorld.Mode, seed: UInt64, planted: PlantedFault) throws {
    var options = StoreOptions()
    let clock = clock
    options.now = { Date(timeIntervalSince1970: Double(clock.milliseconds) / 1000) }
    options.mintReplica = { id }
    options.plant(planted)
    options.chooseCapture(by: seed, device: Int(id.high & 7))
    options.logger.logLevel = .critical
    author = id.description
    store = try Store(inMemory: SeedWorld.schema(mode), options: options)
  }

  /// Sets the clock to what the history says.
  package func tick(_ now: UInt64) { clock.milliseconds = now }

  /// Performs one operation in one transaction; what has no row to act on, or nothing to refer to, does nothing.
  /// - Returns: whether anything was replicated.
  package func transact(_ operation: SeedStory.Operation) throws -> Bool {
    if case .restore(let record) = operation {
      do {
        return try store.restore(AnyRecordName(record)) != nil
      } catch let error as StoreError where error.code == .noSuchRecord || error.code == .notDeleted {
        return false
      }
    }
    return try store.commit { db in try Self.perform(operation, db) }.dot != nil
  }

  private static func isThere(_ record: String, _ db: Database) throws -> Bool {
    let sql = "SELECT EXISTS(SELECT 1 FROM \(SeedWorld.type(record)) WHERE id = ?)"
    return try Bool.fetchOne(db, sql: sql, arguments: [record]) ?? false
  }

  private static func perform(_ operation: SeedStory.Operation, _ db: Database) throws {
    switch operation {
    case .insert(let record, let values):
      guard try !isThere(record, db) else { return }
      let fields = SeedField.of(record).filter { values[$0] != nil }
      for field in fields where field.isReference { if try !isThere(values[field] ?? "", db) { return } }
      let columns = fields.map { ", \($0.rawValue)" }.joined()
      let marks = String(repeating: ", ?", count: fields.count)
      try db.execute(
        sql: "INSERT INTO \(SeedWorld.type(record))(id\(columns)) VALUES(?\(marks))",
        arguments: StatementArguments([record] + fields.compactMap { values[$0] }))
    case .update(let record, let field, let value):
      if field.isReference, let value, try !isThere(value, db) { return }
      try db.execute(
        sql: "UPDATE \(SeedWorld.type(record)) SET \(field.rawValue) = ? WHERE id = ?", arguments: [value, record])
    case .delete(let record):
      try db.execute(sql: "DELETE FROM \(SeedWorld.type(record)) WHERE id = ?", arguments: [record])
    case .restore: break
    case .link(let source, let target):
      guard try isThere(source, db), try isThere(target, db) else { return }
      try db.execute(
        sql: "INSERT OR IGNORE INTO \(SeedWorld.type(source))_related(source, target) VALUES(?, ?)",
        arguments: [source, target])
    case .unlink(let source, let target):
      try db.execute(
        sql: "DELETE FROM \(SeedWorld.type(source))_related WHERE source = ? AND target = ?",
        arguments: [source, target])
    }
  }

  /// The tables as an app sees them.
  package func view() throws -> SeedView {
    try store.read { db in
      var view: SeedView = [:]
      for type in ["Kind", "Entry"] {
        let rows = try Row.fetchAll(
          db, sql: "SELECT t.*, s.version, s.belongsToUser FROM \(type) t LEFT JOIN tally_seeded s ON s.name = t.id")
        for row in rows {
          let name: String = row["id"]
          var shown = SeedRow(version: row["version"], belongsToUser: row["belongsToUser"])
          for field in SeedField.of(name) { shown.fields[field] = row[field.rawValue] as String? }
          shown.members = try String.fetchSet(
            db, sql: "SELECT target FROM \(type)_related WHERE source = ?", arguments: [name])
          view[name] = shown
        }
      }
      return view
    }
  }

  /// The whole state, in its canonical form.
  package func dump() throws -> String {
    var lines = ""
    try store.dump(.canonical) { lines += $0 }
    return lines
  }
}
