import Foundation
import Synchronization
import Tally
import TallyCRDT
import TallyTesting
import Testing

@testable import TallyStore

/// Replicas A to D that write, delete, shred and hand over, as in the model (`Tests/Models/scenarios.py`): records p, c
/// and so on with the fields x and y and an owner.
///
/// After each step the store is verified, and stores of equal vectors must hold the same.
final class ShredStage {
  static let schema = schema()
  static func schema(deleteWins: Bool = false) -> Schema {
    Schema([
      EntitySchema(
        "Item", deleteWins: deleteWins, .integer("x"), .integer("y"),
        .reference("owner", to: "Item", onDelete: .cascade), .toMany("parts", to: "Item"))
    ])
  }

  /// One device: its store, and by how many milliseconds its clock is wrong.
  final class Device {
    let store: Store
    let clock: Clock

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
  final class Clock: Sendable {
    private let milliseconds: Mutex<Int64>
    init(_ value: Int64) { milliseconds = Mutex(value) }
    var value: Int64 {
      get { milliseconds.withLock { $0 } }
      set { milliseconds.withLock { $0 = newValue } }
    }
  }

  let time = Clock(1_000_000)
  let a: Device
  let b: Device
  let c: Device
  let d: Device

  init(
    skewOfA: Int64 = 0, skewOfB: Int64 = 0, deleteWins: Bool = false, _ prepare: (inout StoreOptions) -> Void = { _ in }
  ) throws {
    let schema = Self.schema(deleteWins: deleteWins)
    a = try Device("A", time, skew: skewOfA, schema: schema, prepare)
    b = try Device("B", time, skew: skewOfB, schema: schema, prepare)
    c = try Device("C", time, skew: 0, schema: schema, prepare)
    d = try Device("D", time, skew: 0, schema: schema, prepare)
  }

  /// All devices, in order.
  var all: [Device] { [a, b, c, d] }

  static func name(_ key: String) throws -> AnyRecordName { try AnyRecordName(type: "Item", key: key) }

  // MARK: Acts

  private func after(_ device: Device, _ location: SourceLocation) throws {
    time.value += 1000
    let report = try device.store.verify()
    #expect(report.problems == [], sourceLocation: location)
  }

  func insert(
    _ device: Device, _ key: String, x: Int? = nil, y: Int? = nil, owner: String? = nil,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    try device.store.write { db in
      try db.execute(
        sql: "INSERT INTO Item(id, x, y, owner) VALUES(?, ?, ?, ?)",
        arguments: ["Item|~|\(key)", x, y, owner.map { "Item|~|\($0)" }])
    }
    try after(device, location)
  }

  func edit(
    _ device: Device, _ key: String, _ field: String, _ value: Int?, _ location: SourceLocation = #_sourceLocation
  ) throws {
    try device.store.write { db in
      try db.execute(sql: "UPDATE Item SET \(field) = ? WHERE id = ?", arguments: [value, "Item|~|\(key)"])
      #expect(db.changesCount == 1, sourceLocation: location)
    }
    try after(device, location)
  }

  /// Writes to a record that the app sees; nothing otherwise.
  func editIfThere(_ device: Device, _ key: String, _ field: String, _ value: Int) throws {
    try device.store.write { db in
      try db.execute(sql: "UPDATE Item SET \(field) = ? WHERE id = ?", arguments: [value, "Item|~|\(key)"])
    }
    time.value += 1000
  }

  /// Gives a record another owner, if the app sees both and the owner does not belong to the record itself.
  func moveIfThere(_ device: Device, _ key: String, to owner: String) throws {
    try device.store.write { db in
      try db.execute(
        sql: """
          UPDATE Item SET owner = ?2 WHERE id = ?1 AND EXISTS(SELECT 1 FROM Item WHERE id = ?2)
          """, arguments: ["Item|~|\(key)", "Item|~|\(owner)"])
    }
    time.value += 1000
  }

  func insertIfNew(_ device: Device, _ key: String, x: Int) throws {
    try device.store.write { db in
      try db.execute(
        sql: "INSERT OR IGNORE INTO Item(id, x) VALUES(?, ?)", arguments: ["Item|~|\(key)", x])
    }
    time.value += 1000
  }

  func deleteIfThere(_ device: Device, _ key: String) throws {
    try device.store.write { db in
      try db.execute(sql: "DELETE FROM Item WHERE id = ?", arguments: ["Item|~|\(key)"])
    }
    time.value += 1000
  }

  func move(
    _ device: Device, _ key: String, to owner: String?, _ location: SourceLocation = #_sourceLocation
  ) throws {
    try device.store.write { db in
      try db.execute(
        sql: "UPDATE Item SET owner = ? WHERE id = ?", arguments: [owner.map { "Item|~|\($0)" }, "Item|~|\(key)"])
      #expect(db.changesCount == 1, sourceLocation: location)
    }
    try after(device, location)
  }

  func put(
    _ device: Device, _ member: String, into key: String, _ location: SourceLocation = #_sourceLocation
  ) throws {
    try device.store.write { db in
      try db.execute(
        sql: "INSERT INTO Item_parts(source, target) VALUES(?, ?)", arguments: ["Item|~|\(key)", "Item|~|\(member)"])
    }
    try after(device, location)
  }

  func delete(_ device: Device, _ key: String, _ location: SourceLocation = #_sourceLocation) throws {
    try device.store.write { db in
      try db.execute(sql: "DELETE FROM Item WHERE id = ?", arguments: ["Item|~|\(key)"])
      #expect(db.changesCount == 1, sourceLocation: location)
    }
    try after(device, location)
  }

  func restore(_ device: Device, _ key: String, _ location: SourceLocation = #_sourceLocation) throws {
    try device.store.restore(try Self.name(key))
    try after(device, location)
  }

  /// Empties all that a delete hides, without a window.
  func shred(_ device: Device, _ location: SourceLocation = #_sourceLocation) throws {
    try device.store.empty(ripe: nil)
    try after(device, location)
  }

  /// `device` takes in what `source` has and it lacks.
  func pull(_ device: Device, from source: Device, _ location: SourceLocation = #_sourceLocation) throws {
    try device.store.apply(try source.store.delta(since: try device.store.vector))
    try after(device, location)
    let (mine, theirs) = (try device.store.summary(), try source.store.summary())
    if mine.vector == theirs.vector { #expect(mine.fingerprint == theirs.fingerprint, sourceLocation: location) }
  }

  func sync(_ one: Device, _ other: Device, _ location: SourceLocation = #_sourceLocation) throws {
    try pull(one, from: other, location)
    try pull(other, from: one, location)
    try pull(one, from: other, location)
  }

  /// A has p {x: 1, y: 2}, or p that owns c {x: 1, y: 2}, and the others take it in.
  func start(_ others: Device..., owner: Bool = false) throws {
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
  func see(_ device: Device, _ key: String) throws -> [String: Int]? {
    try device.store.read { db in
      guard let row = try Row.fetchOne(db, sql: "SELECT x, y FROM Item WHERE id = ?", arguments: ["Item|~|\(key)"])
      else { return nil }
      var result: [String: Int] = [:]
      for column in ["x", "y"] { if let value: Int = row[column] { result[column] = value } }
      return result
    }
  }

  func owner(_ device: Device, of key: String) throws -> String? {
    try device.store.read { db in
      try String.fetchOne(db, sql: "SELECT owner FROM Item WHERE id = ?", arguments: ["Item|~|\(key)"])
    }
  }

  /// The values that the store holds of a record, seen or not.
  func held(_ device: Device, _ key: String) throws -> Int {
    let history = try device.store.history(of: try Self.name(key))
    return history?.fields.filter { $0.field != "owner" && !$0.value.isNull }.count ?? 0
  }
}
