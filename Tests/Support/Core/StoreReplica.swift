import Foundation
import GRDB
import Synchronization
import TallyCRDT
import TallyFaults
import TallyStore
import TallySync
import TallyTesting

/// The model's records in a real store, written through SQL as an app would.
package final class StoreReplica {
  package static let schema = Schema([
    EntitySchema(
      type: "List", fields: [.init("title", .text), .init("note", .text)],
      references: [
        .init("list", to: "List", onDelete: .cascade), .init("parent", to: "Item", onDelete: .cascade),
        .init("friend", to: "Item"),
      ], relationships: [.init("members", to: "Item")]),
    EntitySchema(
      type: "Item", fields: [.init("title", .text), .init("note", .text)],
      references: [
        .init("list", to: "List", onDelete: .cascade), .init("parent", to: "Item", onDelete: .cascade),
        .init("friend", to: "Item"),
      ], relationships: [.init("members", to: "Item")]),
  ])

  package let store: Store
  private let clock = HistoryClock()

  /// A store in memory of the history of `seed`. The ids that it takes after the first follow from `later`.
  package init(id: ReplicaID, seed: UInt64, later: UInt64 = 0, planted: PlantedFault = []) throws {
    var options = StoreOptions()
    let clock = clock
    options.now = { Date(timeIntervalSince1970: Double(clock.milliseconds) / 1000) }
    let ids = MintedIDs(first: id, seed: later)
    options.mintReplica = { ids.next() }
    options.plant(planted)
    options.chooseCapture(by: seed, device: Int(id.high & 7))
    options.logger.logLevel = .critical
    store = try Store(inMemory: Self.schema, options: options)
  }

  /// Performs one operation in one transaction; what has no row to act on, or nothing to refer to, does nothing.
  /// - Returns: whether anything was replicated.
  package func transact(now: UInt64, _ operation: Operation) throws -> Bool {
    clock.milliseconds = now
    if case .restore(let record) = operation {
      do {
        return try store.restore(Model.name(record)) != nil
      } catch let error as StoreError where error.code == .noSuchRecord || error.code == .notDeleted {
        return false
      }
    }
    return try store.commit { db in try Self.perform(operation, db) }.dot != nil
  }

  private static func perform(_ operation: Operation, _ db: Database) throws {
    func type(_ record: String) -> String { Model.name(record).type }
    func isThere(_ record: String) throws -> Bool {
      try Bool.fetchOne(
        db, sql: "SELECT EXISTS(SELECT 1 FROM \(type(record)) WHERE id = ?)", arguments: [record]) ?? false
    }
    switch operation {
    case .insert(let record, let values):
      guard try !isThere(record) else { return }
      for (field, value) in values where field.isReference { if try !isThere(value) { return } }
      let fields = values.keys.sorted { $0.rawValue < $1.rawValue }
      let columns = fields.map { ", \($0.rawValue)" }.joined()
      let marks = String(repeating: ", ?", count: fields.count)
      try db.execute(
        sql: "INSERT INTO \(type(record))(id\(columns)) VALUES(?\(marks))",
        arguments: StatementArguments([record] + fields.compactMap { values[$0] }))
    case .update(let record, let field, let value):
      if field.isReference, let value, try !isThere(value) { return }
      try db.execute(
        sql: "UPDATE \(type(record)) SET \(field.rawValue) = ? WHERE id = ?", arguments: [value, record])
    case .delete(let record): try db.execute(sql: "DELETE FROM \(type(record)) WHERE id = ?", arguments: [record])
    // The model has no counters and no order.
    case .restore, .count, .move: break
    case .link(let link):
      let (source, target) = (link.source, link.target)
      guard try isThere(source), try isThere(target) else { return }
      try db.execute(
        sql: "INSERT OR IGNORE INTO \(type(source))_members(source, target) VALUES(?, ?)", arguments: [source, target])
    case .unlink(let link):
      let (source, target) = (link.source, link.target)
      try db.execute(
        sql: "DELETE FROM \(type(source))_members WHERE source = ? AND target = ?", arguments: [source, target])
    }
  }

  /// The tables as an app sees them.
  package func view() throws -> ModelView {
    try store.read { db in
      var view = ModelView()
      for type in ["List", "Item"] {
        for row in try Row.fetchAll(db, sql: "SELECT * FROM \(type)") {
          var shown = ModelRow()
          for field in ModelField.allCases { shown.fields[field] = row[field.rawValue] as String? }
          let name: String = row["id"]
          let members = try String.fetchAll(
            db, sql: "SELECT target FROM \(type)_members WHERE source = ?", arguments: [name])
          shown.links = Set(members.map { Link(name, Model.relationship, $0) })
          view[name] = shown
        }
      }
      return view
    }
  }
}

/// The replica ids that a store takes, one after the other.
private final class MintedIDs: Sendable {
  private let state: Mutex<(next: ReplicaID, random: SplitMix64)>

  init(first: ReplicaID, seed: UInt64) { state = Mutex((first, SplitMix64(seed: ~seed))) }

  func next() -> ReplicaID {
    state.withLock { state in
      defer { state.next = .random(using: &state.random) }
      return state.next
    }
  }
}

/// A clock that the history sets.
package final class HistoryClock: Sendable {
  private let time = Mutex<UInt64>(0)
  package var milliseconds: UInt64 {
    get { time.withLock { $0 } }
    set { time.withLock { $0 = newValue } }
  }
}
