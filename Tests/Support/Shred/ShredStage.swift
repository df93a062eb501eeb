import Foundation
import GRDB
import Synchronization
import TallyCRDT
import TallyStore

/// Replicas A to D that write, delete, shred and hand over, as in the model (`Tests/Models/scenarios.py`): records p, c
/// and so on with the fields x and y and an owner.
///
/// After each step the store is verified, and stores of equal vectors must hold the same.
package final class ShredStage {
  package static let schema = schema()
  package static func schema(deleteWins: Bool = false) -> Schema {
    Schema([
      EntitySchema(
        "Item", deleteWins: deleteWins, .integer("x"), .integer("y"),
        .reference("owner", to: "Item", onDelete: .cascade), .toMany("parts", to: "Item")),
      // Owns nothing, and may have two owners.
      EntitySchema(
        "Leaf", deleteWins: deleteWins, .integer("x"), .integer("y"),
        .reference("owner", to: "Item", onDelete: .cascade), .reference("second", to: "Item", onDelete: .cascade)),
    ])
  }

  /// One device: its store, and by how many milliseconds its clock is wrong.
  package final class Device {
    package let store: Store
    package let clock: Clock

    init(
      _ name: String, _ time: Clock, skew: Int64, schema: Schema,
      _ prepare: (inout StoreOptions) -> Void
    ) throws {
      clock = Clock(skew)
      var options = StoreOptions()
      let number = UInt64(name.utf8.first ?? 0)
      prepare(&options)
      options.mintReplica = { ReplicaID(high: number, low: number) }
      let skew = clock
      options.now = { Date(timeIntervalSince1970: Double(max(1, time.value + skew.value)) / 1000) }
      store = try Store(inMemory: schema, options: options)
    }
  }

  /// Milliseconds that a test sets.
  package final class Clock: Sendable {
    private let milliseconds: Mutex<Int64>
    package init(_ value: Int64) { milliseconds = Mutex(value) }
    package var value: Int64 {
      get { milliseconds.withLock { $0 } }
      set { milliseconds.withLock { $0 = newValue } }
    }
  }

  package let time = Clock(1_000_000)
  package let a: Device
  package let b: Device
  package let c: Device
  package let d: Device

  package init(
    skewOfA: Int64 = 0, skewOfB: Int64 = 0, deleteWins: Bool = false, _ prepare: (inout StoreOptions) -> Void = { _ in }
  ) throws {
    let schema = Self.schema(deleteWins: deleteWins)
    a = try Device("A", time, skew: skewOfA, schema: schema, prepare)
    b = try Device("B", time, skew: skewOfB, schema: schema, prepare)
    c = try Device("C", time, skew: 0, schema: schema, prepare)
    d = try Device("D", time, skew: 0, schema: schema, prepare)
  }

  /// All devices, in order.
  package var all: [Device] { [a, b, c, d] }

  /// The type of a record: of those that begin with "l" Leaf, of all others Item.
  private static func type(_ key: String) -> String { key.hasPrefix("l") ? "Leaf" : "Item" }
  private static func id(_ key: String) -> String { "\(type(key))|~|\(key)" }
  package static func name(_ key: String) throws -> AnyRecordName { try AnyRecordName(type: type(key), key: key) }

  // MARK: Acts

  private func after(_ device: Device) throws {
    time.value += 1000
    let report = try device.store.verify()
    guard report.isSound else { throw ShredFailure(report.problems.joined(separator: "; ")) }
  }

  package func insert(
    _ device: Device, _ key: String, x: Int? = nil, y: Int? = nil, owner: String? = nil
  ) throws {
    try device.store.write { db in
      try db.execute(
        sql: "INSERT INTO \(Self.type(key))(id, x, y, owner) VALUES(?, ?, ?, ?)",
        arguments: [Self.id(key), x, y, owner.map(Self.id)])
    }
    try after(device)
  }

  package func edit(
    _ device: Device, _ key: String, _ field: String, _ value: Int?
  ) throws {
    try device.store.write { db in
      try db.execute(sql: "UPDATE \(Self.type(key)) SET \(field) = ? WHERE id = ?", arguments: [value, Self.id(key)])
      guard db.changesCount == 1 else { throw ShredFailure("\(key) is not there") }
    }
    try after(device)
  }

  /// Writes to a record that the app sees; nothing otherwise.
  package func editIfThere(_ device: Device, _ key: String, _ field: String, _ value: Int) throws {
    try device.store.write { db in
      try db.execute(sql: "UPDATE \(Self.type(key)) SET \(field) = ? WHERE id = ?", arguments: [value, Self.id(key)])
    }
    time.value += 1000
  }

  /// Gives a record another owner, if the app sees both and the owner does not belong to the record itself.
  package func moveIfThere(
    _ device: Device, _ key: String, to owner: String, _ column: String = "owner"
  ) throws {
    try device.store.write { db in
      try db.execute(
        sql: """
          UPDATE \(Self.type(key)) SET \(column) = ?2 WHERE id = ?1 AND EXISTS(SELECT 1 FROM Item WHERE id = ?2)
          """, arguments: [Self.id(key), Self.id(owner)])
    }
    time.value += 1000
  }

  /// Puts a member into a record or takes it out, if the app sees both; nothing otherwise.
  package func setPartIfThere(_ device: Device, _ member: String, of key: String, isMember: Bool) throws {
    try device.store.write { db in
      try db.execute(
        sql: isMember
          ? """
          INSERT OR IGNORE INTO Item_parts(source, target) SELECT ?1, ?2
          WHERE EXISTS(SELECT 1 FROM Item WHERE id = ?1) AND EXISTS(SELECT 1 FROM Item WHERE id = ?2)
          """ : "DELETE FROM Item_parts WHERE source = ?1 AND target = ?2",
        arguments: [Self.id(key), Self.id(member)])
    }
    time.value += 1000
  }

  /// Inserts a record with both values. A field that is left out is written where the record was emptied and not where
  /// it was only deleted (decision 24), so that stages could not be compared.
  package func insertIfNew(_ device: Device, _ key: String, x: Int) throws {
    try device.store.write { db in
      try db.execute(
        sql: "INSERT OR IGNORE INTO \(Self.type(key))(id, x, y) VALUES(?, ?, ?)",
        arguments: [Self.id(key), x, x + 1000])
    }
    time.value += 1000
  }

  package func deleteIfThere(_ device: Device, _ key: String) throws {
    try device.store.write { db in
      try db.execute(sql: "DELETE FROM \(Self.type(key)) WHERE id = ?", arguments: [Self.id(key)])
    }
    time.value += 1000
  }

  package func move(
    _ device: Device, _ key: String, to owner: String?
  ) throws {
    try device.store.write { db in
      try db.execute(
        sql: "UPDATE \(Self.type(key)) SET owner = ? WHERE id = ?", arguments: [owner.map(Self.id), Self.id(key)])
      guard db.changesCount == 1 else { throw ShredFailure("\(key) is not there") }
    }
    try after(device)
  }

  package func put(
    _ device: Device, _ member: String, into key: String
  ) throws {
    try device.store.write { db in
      try db.execute(
        sql: "INSERT INTO Item_parts(source, target) VALUES(?, ?)", arguments: [Self.id(key), Self.id(member)])
    }
    try after(device)
  }

  package func take(_ device: Device, _ member: String, from key: String) throws {
    try device.store.write { db in
      try db.execute(
        sql: "DELETE FROM Item_parts WHERE source = ? AND target = ?",
        arguments: [Self.id(key), Self.id(member)])
      guard db.changesCount == 1 else { throw ShredFailure("\(member) is not in \(key)") }
    }
    try after(device)
  }

  package func delete(_ device: Device, _ key: String) throws {
    try device.store.write { db in
      try db.execute(sql: "DELETE FROM \(Self.type(key)) WHERE id = ?", arguments: [Self.id(key)])
      guard db.changesCount == 1 else { throw ShredFailure("\(key) is not there") }
    }
    try after(device)
  }

  package func restore(_ device: Device, _ key: String) throws {
    try device.store.restore(try Self.name(key))
    try after(device)
  }

  /// Empties all that a delete hides, without a window.
  package func shred(_ device: Device) throws {
    try device.store.empty(ripe: nil)
    try after(device)
  }

  /// `device` takes in what `source` has and it lacks.
  package func pull(_ device: Device, from source: Device) throws {
    try device.store.apply(try source.store.delta(since: try device.store.vector))
    try after(device)
    let (mine, theirs) = (try device.store.summary(), try source.store.summary())
    guard mine.vector != theirs.vector || mine.fingerprint == theirs.fingerprint else {
      throw ShredFailure("two devices have seen the same and hold something else")
    }
  }

  package func sync(_ one: Device, _ other: Device) throws {
    try pull(one, from: other)
    try pull(other, from: one)
    try pull(one, from: other)
  }

  /// A has p {x: 1, y: 2}, or p that owns c {x: 1, y: 2}, and the others take it in.
  package func start(_ others: Device..., owner: Bool = false) throws {
    if owner {
      try insert(a, "p", x: 0)
      try insert(a, "c", x: 1, y: 2, owner: "p")
    } else {
      try insert(a, "p", x: 1, y: 2)
    }
    for other in others { try pull(other, from: a) }
  }

  // MARK: What is there

  /// What the app sees of a record; nil if it sees none.
  package func see(_ device: Device, _ key: String) throws -> [String: Int]? {
    try device.store.read { db in
      guard
        let row = try Row.fetchOne(
          db, sql: "SELECT x, y FROM \(Self.type(key)) WHERE id = ?", arguments: [Self.id(key)])
      else { return nil }
      var result: [String: Int] = [:]
      for column in ["x", "y"] { if let value: Int = row[column] { result[column] = value } }
      return result
    }
  }

  /// The members that the app sees, each with the record that has it.
  package func parts(_ device: Device) throws -> Set<[String]> {
    try device.store.read { db in
      Set(try Row.fetchAll(db, sql: "SELECT source, target FROM Item_parts").map { [$0[0], $0[1]] })
    }
  }

  package func owner(_ device: Device, of key: String) throws -> String? {
    try device.store.read { db in
      try String.fetchOne(db, sql: "SELECT owner FROM \(Self.type(key)) WHERE id = ?", arguments: [Self.id(key)])
    }
  }

  /// The values that the store holds of a record, seen or not.
  package func held(_ device: Device, _ key: String) throws -> Int {
    let history = try device.store.history(of: try Self.name(key))
    return history?.fields.filter { !["owner", "second"].contains($0.field) && !$0.value.isNull }.count ?? 0
  }
}

/// A check that has failed.
package struct ShredFailure: Error, CustomStringConvertible {
  package let description: String
  init(_ description: String) { self.description = description }
}
