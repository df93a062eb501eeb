import Foundation
import GRDB
import TallyCRDT
import TallyFaults
import TallyStore
import TallyTesting

/// Random histories on devices with unique rules, whose records come, go, come back and take each other's values.
///
/// After each write and each delta a device is sound and shows what `UniqueOracle` says; what SQL refuses changes
/// nothing; who brings a record back takes nothing from one that is there. At the end all show the same.
///
/// In some of them an index of the app's own keeps a field beside those of the rules: then a record may be set aside,
/// and they are held to be sound and to show the same at the end. In some others deletes win.
///
/// Between the steps of some are others (`OtherSteps`): any SQL that an app may write, and clocks that
/// are set back while a record begins another life (`UniqueHistory+SQL.swift`).
package final class UniqueHistory {
  package static let schema = Schema([
    EntitySchema("Mall", .text("title")),
    EntitySchema(
      "Shop", unique: [.on("name", .rename), .on("code"), .on(["floor", "door"])],
      .text("name"), .integer("code"), .integer("floor"), .integer("door"), .text("note"),
      .reference("mall", to: "Mall", onDelete: .cascade)),
  ])
  static let names = ["Work", "Home", "Play"]
  static let devices = 3
  static let shops = (1...7).map { "Shop|~|\($0)" }
  static let malls = (1...2).map { "Mall|~|\($0)" }

  struct Device {
    var store: Store
    var clock: ShredStage.Clock
    let plain: UniqueOracle.PlainDevice
  }

  private var random: SplitMix64
  /// What is played between the steps.
  var others: OtherSteps
  private(set) var devices: [Device] = []
  var log: [String] = []
  let time = ShredStage.Clock(1_000_000)
  let hasIndex: Bool

  private init(_ seed: UInt64, _ planted: PlantedFault) throws {
    random = SplitMix64(seed: seed)
    others = OtherSteps(seed)
    hasIndex = seed % 8 == 3
    var schema = Self.schema
    schema.entities[1].deleteWins = seed % 8 == 4
    for number in 0..<Self.devices {
      let clock = ShredStage.Clock(Int64(number) * 20_000 - 20_000)
      var options = StoreOptions()
      options.plant(planted)
      options.chooseCapture(by: seed, device: number)
      options.mintReplica = { ReplicaID(high: UInt64(number + 1), low: 7) }
      let time = time
      options.now = { Date(timeIntervalSince1970: Double(max(1, time.value + clock.value)) / 1000) }
      let store = try Store(inMemory: schema, options: options)
      if hasIndex { try store.write { try $0.execute(sql: "CREATE UNIQUE INDEX own ON Shop(note)") } }
      devices.append(Device(store: store, clock: clock, plain: UniqueOracle.PlainDevice(schema)))
    }
  }

  private func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }

  // MARK: Steps

  private func run(steps: Int) throws {
    for _ in 0..<steps {
      let device = below(Self.devices)
      time.value += 1000
      try step(device)
      try check(device)
      if others.isNext(25) { try another() }
    }
    for _ in 0..<2 {
      for one in devices.indices {
        for other in devices.indices where one != other { try pull(one, other) }
      }
    }
    try checkEnd()
  }

  private func step(_ device: Int) throws {
    let shop = Self.shops[below(Self.shops.count)]
    switch below(20) {
    case 0, 1, 2: try insert(device, shop)
    case 3, 4: try write(device, "UPDATE Shop SET name = ? WHERE id = ?", [try someName(), shop.databaseValue])
    case 5: try write(device, "UPDATE Shop SET code = ? WHERE id = ?", [someNumber(), shop.databaseValue])
    case 6:
      let field = ["floor", "door"][below(2)]
      try write(device, "UPDATE Shop SET \(field) = ? WHERE id = ?", [someNumber(), shop.databaseValue])
    case 7:
      let note = hasIndex ? "\(below(3))" : "\(log.count)"
      try write(device, "UPDATE Shop SET note = ? WHERE id = ?", [note.databaseValue, shop.databaseValue])
    case 8: try swap(device)
    case 9: try write(device, "DELETE FROM Shop WHERE id = ?", [shop.databaseValue])
    case 10, 11: try write(device, "DELETE FROM Mall WHERE id = ?", [Self.malls[below(2)].databaseValue])
    case 12: try restore(device, shop)
    case 13, 14, 15: try restore(device, Self.malls[below(2)])
    case 16: if below(3) == 0 { try purge(device, shop) }
    default:
      let other = below(Self.devices)
      if other != device { try pull(device, other) }
    }
  }

  /// A name, none, or what any device shows of any record instead of its name.
  private func someName() throws -> DatabaseValue {
    switch below(8) {
    case 0: return .null
    case 1:
      let shown = try devices[below(Self.devices)].store.read { db in
        try String.fetchAll(
          db, sql: "SELECT shown FROM tally_unique WHERE field = 'name' AND shown NOT NULL ORDER BY 1")
      }
      return shown.isEmpty ? "Work".databaseValue : shown[below(shown.count)].databaseValue
    default: return Self.names[below(Self.names.count)].databaseValue
    }
  }

  private func someNumber() -> DatabaseValue { below(2) == 0 ? .null : Int64(below(3)).databaseValue }

  private func insert(_ device: Int, _ shop: String) throws {
    let mall = below(2) == 0 ? nil : Self.malls[below(2)]
    if let mall { try write(device, "INSERT OR IGNORE INTO Mall(id) VALUES(?)", [mall.databaseValue]) }
    let values = try [shop.databaseValue, someName(), someNumber(), someNumber(), someNumber(), mall.databaseValue]
    try write(device, "INSERT INTO Shop(id, name, code, floor, door, mall) VALUES(?, ?, ?, ?, ?, ?)", values)
  }

  /// Two records that are shown exchange their names and codes in one transaction.
  private func swap(_ device: Int) throws {
    let names = try devices[device].store.read { db in
      try String.fetchAll(db, sql: "SELECT id FROM Shop ORDER BY id")
    }
    guard names.count > 1 else { return }
    let (a, b) = (names[below(names.count)], names[below(names.count)])
    guard a != b else { return }
    log.append("\(device) swaps \(a) and \(b)")
    try devices[device].store.write { db in
      let rows = try [a, b].map {
        try Row.fetchOne(db, sql: "SELECT name, code FROM Shop WHERE id = ?", arguments: [$0])
      }
      try db.execute(sql: "UPDATE Shop SET name = NULL, code = NULL WHERE id IN (?, ?)", arguments: [a, b])
      for (id, row) in zip([b, a], rows) {
        guard let row else { continue }
        try db.execute(
          sql: "UPDATE Shop SET name = ?, code = ? WHERE id = ?",
          arguments: [row["name"] as DatabaseValue, row["code"] as DatabaseValue, id])
      }
    }
  }

  /// One statement. What SQLite refuses for a unique value changes nothing, and anything else is a failure.
  func write(_ device: Int, _ sql: String, _ values: [DatabaseValue]) throws {
    log.append("\(device) \(sql) \(values)")
    let store = devices[device].store
    let (vector, before) = (try store.vector, try rows(store))
    do {
      try store.write { try $0.execute(sql: sql, arguments: StatementArguments(values)) }
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      guard try store.vector == vector, try rows(store) == before else {
        throw UniqueFailure("a statement that SQLite refused has changed something")
      }
    }
  }

  func restore(_ device: Int, _ name: String) throws {
    log.append("\(device) restores \(name)")
    let store = devices[device].store
    let before = try holders(store)
    do {
      try store.restore(try AnyRecordName(name))
    } catch let error as StoreError where [.noSuchRecord, .notDeleted, .purged].contains(error.code) {
      return
    }
    let after = try holders(store)
    for (name, fields) in before {
      for (field, value) in fields where after[name]?[field] != value {
        throw UniqueFailure("a restore took \(field) \(value) from \(name)")
      }
    }
  }

  /// What records hold of what they have.
  private func holders(_ store: Store) throws -> [String: [String: Value]] {
    let contested = try store.read { try ContestedValue.fetchAll($0) }
    return try rows(store).mapValues { $0.filter { ["name", "code"].contains($0.key) && !$0.value.isNull } }
      .filter { row in !contested.contains { $0.name == row.key } }
  }

  private func purge(_ device: Int, _ name: String) throws {
    log.append("\(device) purges \(name)")
    do {
      try devices[device].store.purge(try AnyRecordName(name))
    } catch let error as StoreError where [.noSuchRecord, .notDeleted, .purged].contains(error.code) {
      return
    }
  }

  private func pull(_ device: Int, _ other: Int) throws {
    log.append("\(device) takes in \(other)")
    let (mine, theirs) = (devices[device].store, devices[other].store)
    try mine.apply(try theirs.delta(since: below(6) == 0 ? StateVector() : mine.vector))
    try check(device)
  }

  // MARK: Checks

  func rows(_ store: Store) throws -> [String: [String: Value]] {
    try store.read { db in
      var found: [String: [String: Value]] = [:]
      for row in try Row.fetchAll(db, sql: "SELECT * FROM Shop") {
        var fields: [String: Value] = [:]
        for (column, value) in row where !["id", "tally_clock"].contains(column) { fields[column] = Value(value) }
        found[row["id"]] = fields
      }
      return found
    }
  }

  func check(_ device: Int) throws {
    let store = devices[device].store
    let report = try store.verify()
    guard report.isSound else { throw UniqueFailure(report.problems.joined(separator: "; ")) }
    guard !hasIndex else { return }
    guard report.setAside.isEmpty else { throw UniqueFailure("\(report.setAside) are set aside") }
    let due = try UniqueOracle(store, on: devices[device].plain, types: ["Shop"]).rows(Self.schema.entities[1])
    let shown = try rows(store)
    for name in Set(due.keys).union(shown.keys).sorted() where due[name] != shown[name] {
      throw UniqueFailure(
        "\(name) shows \(Self.text(shown[name])) on \(device), and should show \(Self.text(due[name]))")
    }
  }

  private static func text(_ fields: [String: Value]?) -> String {
    guard let fields else { return "nothing" }
    return fields.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
  }

  private func checkEnd() throws {
    let first = try devices[0].store.summary()
    for device in devices.dropFirst() {
      let summary = try device.store.summary()
      guard summary.vector == first.vector, summary.fingerprint == first.fingerprint else {
        throw UniqueFailure("devices differ at the end")
      }
      guard try rows(device.store) == rows(devices[0].store) else {
        throw UniqueFailure("devices with equal states show different rows")
      }
    }
  }

  /// What a history finds, with its steps; nil if all is well.
  package static func failure(_ seed: UInt64, planted: PlantedFault = []) -> String? {
    var history: UniqueHistory?
    do {
      let new = try UniqueHistory(seed, planted)
      history = new
      try new.run(steps: [20, 40, 60][Int(seed % 3)])
      return nil
    } catch {
      return "TALLY_SEED=\(seed)\n\(history?.log.joined(separator: "\n") ?? "")\n\(error)"
    }
  }
}

/// A check that has failed.
struct UniqueFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
