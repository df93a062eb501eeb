import Foundation
import GRDB
import TallyCRDT
import TallyFaults
import TallySchema
import TallyStore
import TallyTesting
import TallyWire

/// Random histories of two old and two new versions of one app, on files, which are updated at any time, while fields
/// take the place of others: SQL of the app and of other programs, REPLACE, deletes with inserts, and deltas.
///
/// After each step the device shows what `LensSpecification` says. Where an app's triggers write to the same rows, or
/// records are purged, all must end equal and sound.
package final class LensHistory {
  typealias Field = LensSpecification.Field
  private static let devices = 4
  private static let keys = ["a", "b"]

  /// The app's versions. The last one no longer declares the oldest fields.
  package static let schemas: [Schema] = {
    let cents = EntitySchema.Property.integer("cents", from: .lens("price", .real, .scale(100)))
    return [
      Schema([EntitySchema("Item", .text("title"), .real("price"), .bool("done", default: false), .text("shelf"))]),
      Schema([
        EntitySchema(
          "Item", .text("title"), cents,
          .text(
            "state", default: "open",
            from: .lens("done", .bool, default: false, .map([false: "open", true: "done", true: "paid"]))),
          .integer("number", from: .lens("shelf", .text, .digits, keepsOldApps: false)))
      ]),
      Schema([
        EntitySchema("Item", .text("title"), cents, .text("amount", from: .lens("cents", .integer, .digits)))
      ]),
    ]
  }()

  private struct Failure: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
  }

  private struct Device {
    var store: Store
    let path: String
    let options: StoreOptions
    let clock: Int64
    /// The version of the app that has the file open, and the latest that ever had.
    var app: Int
    var version: Int
  }

  private var devices: [Device] = []
  private var specification = LensSpecification(devices: LensHistory.devices)
  private var random: SplitMix64
  private var log: [String] = []
  private let clock = ShredStage.Clock(1_000_000)
  private let folder: URL
  private let hasTriggers: Bool
  private let purges: Bool
  /// Whether the specification says what is shown.
  private var isExact: Bool { !hasTriggers && !purges }

  private init(_ seed: UInt64, _ planted: PlantedFault) throws {
    random = SplitMix64(seed: seed)
    hasTriggers = seed % 6 == 4
    purges = seed % 6 == 5
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-lens-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for number in 0..<Self.devices {
      var options = StoreOptions()
      options.plant(planted)
      options.chooseCapture(by: seed, device: number)
      options.mintReplica = { ReplicaID(high: UInt64(number + 1), low: seed) }
      let (skew, clock) = (Int64(random.below(5)) * 900 - 1_800, clock)
      options.now = { Date(timeIntervalSince1970: Double(clock.value + skew) / 1000) }
      let path = folder.appendingPathComponent("\(number).tally").path
      let version = number < 2 ? 1 : 2 + random.below(2)
      let store = try Store(path: path, schema: Self.schemas[0], options: options)
      devices.append(Device(store: store, path: path, options: options, clock: skew, app: 1, version: 1))
      for next in 2..<max(2, version + 1) { try open(number, next) }
      try addTriggers(number)
    }
  }

  deinit {
    for device in devices { try? device.store.close() }
    try? FileManager.default.removeItem(at: folder)
  }

  // MARK: Steps

  private func run(steps: Int) throws {
    for _ in 0..<steps {
      clock.value += 1000
      let device = random.below(Self.devices)
      try step(device)
      try check(device)
    }
    try end()
  }

  private func step(_ device: Int) throws {
    let key = random.pick(Self.keys)
    switch random.below(20) {
    case 0..<6:
      let other = random.below(Self.devices)
      if other != device { try pull(device, other) }
    case 6: try open(device, min(3, devices[device].version + 1))
    case 7: try open(device, 1 + random.below(devices[device].version))
    case 8 where purges: try devices[device].store.empty(ripe: nil)
    case 8, 9: try write(device, key, fromOutside: true)
    default: try write(device, key, fromOutside: false)
    }
  }

  private func open(_ device: Int, _ app: Int) throws {
    log.append("\(device) starts version \(app)")
    try devices[device].store.close()
    let (path, options) = (devices[device].path, devices[device].options)
    devices[device].store = try Store(path: path, schema: Self.schemas[app - 1], options: options)
    devices[device].app = app
    devices[device].version = max(app, devices[device].version)
  }

  /// Triggers of the app's that write to the row that has changed.
  private func addTriggers(_ device: Int) throws {
    guard hasTriggers else { return }
    let field = devices[device].version > 1 && random.chance(50) ? "cents" : "price"
    log.append("\(device) has a trigger that writes \(field)")
    try devices[device].store.write { db in
      try db.execute(
        sql: """
          CREATE TRIGGER app_raise AFTER UPDATE OF title ON Item
          BEGIN UPDATE Item SET \(field) = coalesce(\(field), 0) + 1 WHERE id = NEW.id; END
          """)
    }
  }

  private func pull(_ one: Int, _ other: Int) throws {
    log.append("\(one) pulls from \(other)")
    let base = random.chance(15) ? StateVector() : try devices[one].store.vector
    try devices[one].store.apply(try devices[other].store.delta(since: base))
    specification.known[one].formUnion(specification.known[other])
  }

  // MARK: Writes

  private func name(_ key: String) -> String { "Item|~|\(key)" }

  /// The fields of a device's file.
  private func fields(_ version: Int) -> [Field] { Field.allCases.filter { $0.version <= version } }

  private func row(_ db: Database, _ key: String, _ version: Int) throws -> [Field: Value]? {
    guard let row = try Row.fetchOne(db, sql: "SELECT * FROM Item WHERE id = ?", arguments: [name(key)]) else {
      return nil
    }
    let pairs = fields(version).map { field -> (Field, Value) in (field, Value(row[field.rawValue] as DatabaseValue)) }
    return Dictionary(uniqueKeysWithValues: pairs)
  }

  private func value(_ field: Field) -> DatabaseValue {
    switch field {
    case .title: "title \(random.below(5))".databaseValue
    case .price: random.chance(15) ? .null : (Double(random.below(6)) * 1.5).databaseValue
    case .done: random.below(2).databaseValue
    case .shelf: random.chance(15) ? .null : random.pick(["7", "12", "top", "007"]).databaseValue
    case .cents: random.chance(15) ? .null : (random.below(6) * 150).databaseValue
    case .state: random.pick(["open", "done", "paid", "lost"]).databaseValue
    case .number: random.chance(15) ? .null : random.pick([7, 12, 30]).databaseValue
    case .amount: random.chance(15) ? .null : random.pick(["150", "300", "a lot"]).databaseValue
    }
  }

  /// One transaction of some statements on a record.
  private func write(_ device: Int, _ key: String, fromOutside isOutside: Bool) throws {
    let version = devices[device].version
    var statements: [(sql: String, values: [DatabaseValue])] = []
    var (replaces, count) = (false, 1 + random.below(3))
    while count > 0 {
      count -= 1
      let choice = random.below(8)
      // An app of an older version names its own fields alone, and another program any.
      let own = fields(isOutside || choice < 3 ? version : devices[device].app).shuffled(using: &random)
      let chosen = Array(own.prefix(1 + random.below(3)))
      let values = chosen.map(value)
      let columns = chosen.map(\.rawValue).joined(separator: ", ")
      let marks = chosen.map { _ in ", ?" }.joined()
      let insert = "INTO Item(id, \(columns)) VALUES(?\(marks))"
      switch choice {
      case 0..<4:
        let assignments = chosen.map { "\($0.rawValue) = ?" }.joined(separator: ", ")
        statements.append(("UPDATE Item SET \(assignments) WHERE id = ?", values + [name(key).databaseValue]))
      case 4: statements.append(("INSERT OR IGNORE \(insert)", [name(key).databaseValue] + values))
      case 5: statements.append(("REPLACE \(insert)", [name(key).databaseValue] + values))
      case 6:
        statements.append(("DELETE FROM Item WHERE id = ?", [name(key).databaseValue]))
        statements.append(("INSERT \(insert)", [name(key).databaseValue] + values))
      default:
        statements.append(("DELETE FROM Item WHERE id = ?", [name(key).databaseValue]))
        count = 0
      }
      if choice > 4 { replaces = true }
    }
    log.append("\(device)\(isOutside ? " from outside" : "") \(statements.map { "\($0.sql) \($0.values)" })")
    let run = { [self] (db: Database) in
      let before = try row(db, key, version)
      for (sql, values) in statements { try db.execute(sql: sql, arguments: StatementArguments(values)) }
      return (before, try row(db, key, version))
    }
    let (before, after): ([Field: Value]?, [Field: Value]?)
    if isOutside {
      try devices[device].store.close()
      let queue = try DatabaseQueue(path: devices[device].path)
      (before, after) = try queue.write(run)
      try queue.close()
      let (path, options) = (devices[device].path, devices[device].options)
      devices[device].store = try Store(
        path: path, schema: Self.schemas[devices[device].app - 1], options: options)
      // Takes what was written.
      try devices[device].store.write { _ in }
    } else {
      (before, after) = try devices[device].store.write(run)
    }
    // A row that came and went again was never there.
    specification.note(
      device, key, from: before, to: after, version: version, isAnew: replaces || before == nil,
      clock: clock.value + devices[device].clock)
  }

  // MARK: Checking

  private func check(_ device: Int) throws {
    guard isExact else { return }
    let version = devices[device].version
    for key in Self.keys {
      let row = try devices[device].store.read { try self.row($0, key, version) }
      let isVisible = specification.isVisible(device, key)
      guard (row != nil) == isVisible else {
        throw Failure("\(key) is \(row == nil ? "hidden" : "shown") on \(device)")
      }
      guard let row else { continue }
      let right = specification.row(device, key, version: version)
      guard row == right else {
        let wrong = fields(version).filter { row[$0] != right[$0] }
        let list = wrong.map { "\($0) is \(row[$0] ?? .null), and should be \(right[$0] ?? .null)" }
        let known = try devices[device].store.history(of: try AnyRecordName(name(key)))
        log.append("\(key) has \(known?.fields.map { "\($0.field) \($0.value) \($0.stamp)" } ?? [])")
        log += specification.known[device].sorted().map { specification.events[$0] }.filter { $0.record == key }.map {
          "\($0.act) by \($0.moment.author) at \($0.moment.time) in \($0.transaction)"
        }
        throw Failure("\(key) on \(device), whose file is of version \(version): \(list.joined(separator: "; "))")
      }
    }
  }

  private func end() throws {
    for _ in 0..<3 {
      for one in 0..<Self.devices { for other in 0..<Self.devices where one != other { try pull(one, other) } }
    }
    for device in 0..<Self.devices { try check(device) }
    let summaries = try devices.map { try $0.store.summary() }
    guard summaries.allSatisfy({ $0.vector == summaries[0].vector && $0.fingerprint == summaries[0].fingerprint })
    else { throw Failure("devices differ at the end") }
    for device in devices.indices {
      let report = try devices[device].store.verify()
      guard report.isSound else { throw Failure("\(device): " + report.problems.joined(separator: "; ")) }
    }
    // All as one version: each shows the same, whatever it was before.
    for device in devices.indices {
      while devices[device].version < 3 { try open(device, devices[device].version + 1) }
    }
    let rows = try devices.map { device in try Self.keys.map { key in try device.store.read { try row($0, key, 3) } } }
    guard hasTriggers || rows.allSatisfy({ $0 == rows[0] }) else {
      throw Failure("devices show different rows: \(rows)")
    }
    for device in devices.indices { try check(device) }
    for device in devices.indices {
      let report = try devices[device].store.verify()
      guard report.isSound else { throw Failure("\(device), updated: " + report.problems.joined(separator: "; ")) }
    }
  }

  /// Returns the first check of a history that fails, with its steps; nil if none does.
  package static func failure(_ seed: UInt64, planted: PlantedFault = []) -> String? {
    var history: LensHistory?
    do {
      let new = try LensHistory(seed, planted)
      history = new
      try new.run(steps: [20, 40, 70][Int(seed % 3)])
      return nil
    } catch {
      return "TALLY_SEED=\(seed)\n\(history?.log.joined(separator: "\n") ?? "")\n\(error)"
    }
  }
}
