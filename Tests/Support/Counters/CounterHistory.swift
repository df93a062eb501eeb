import Foundation
import GRDB
import TallyCRDT
import TallyFaults
import TallyStore
import TallySync
import TallyTesting
import TallyWire

/// Random histories of counters on stores: additions by SQL and by calls, sets, edits beside them, deletes, restores
/// and purges, and deltas that are late, old or whole. After each step every counter of the device shows what
/// `CounterSpecification` says.
///
/// In some of them stores are files, to which other programs write while no store has them open: ordinary ones, copies
/// that were put back, rebuilt tables, and files whose states are lost (`CounterFiles`).
///
/// Between the steps of some are others (`OtherSteps`): any SQL that an app may write, and clocks that
/// are set back while a record begins another life (`CounterHistory+SQL.swift`).
package final class CounterHistory {
  static let devices = 3
  static let keys = ["a", "b", "c"]
  static let fields = ["n", "m"]

  struct Failure: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
  }

  /// A delta on its way, and what its sender had heard of.
  private struct File {
    var bytes: [UInt8]
    var base: StateVector
    var known: Set<Int>
  }

  var stores: [Store]
  let files: CounterFiles?
  let clock: ShredStage.Clock
  private let purges: Bool
  let schema: Schema
  var specification: CounterSpecification
  private var random: SplitMix64
  /// What is played between the steps.
  var others: OtherSteps
  private var deltas: [File] = []
  var log: [String] = []
  /// By how many milliseconds each device's clock is wrong. Where records are purged or states lost all are
  /// right, so that the order of writes is that of their times.
  let skews: [ShredStage.Clock]
  let isExact: Bool

  private init(_ seed: UInt64, _ planted: PlantedFault) throws {
    var random = SplitMix64(seed: seed)
    purges = seed % 2 == 0
    let deletesWin = seed % 5 == 0
    let schema = Schema([
      EntitySchema(
        "Tile", deleteWins: deletesWin, .integer("x"), .counter("n", default: 5), .text("t", default: "plain"),
        .counter("m"))
    ])
    specification = CounterSpecification(devices: Self.devices, deletesWin: deletesWin)
    // With a state the time of its writes is lost, which a clock that is ahead would have given.
    let isExact = seed % 2 == 0 || seed % 8 == 5
    let skews = (0..<Self.devices).map { _ in
      ShredStage.Clock(isExact ? 0 : Int64(random.below(7)) * 900 - 2_700)
    }
    let clock = ShredStage.Clock(1_000_000)
    (self.schema, self.skews, self.clock, self.isExact) = (schema, skews, clock, isExact)
    others = OtherSteps(seed)
    let options = (0..<Self.devices).map { device in
      var options = StoreOptions()
      options.plant(planted)
      options.chooseCapture(by: seed, device: device)
      let ids = ShredStage.Clock(0)
      options.mintReplica = {
        ids.value += 1
        return ReplicaID(high: UInt64(device + 1) << 32 | UInt64(ids.value), low: seed)
      }
      options.now = { Date(timeIntervalSince1970: Double(clock.value + skews[device].value) / 1000) }
      return options
    }
    files = try seed % 8 == 5 ? CounterFiles(schema, options) : nil
    let files = files
    (self.random, stores) = (
      random,
      try (0..<Self.devices).map { device in
        try files?.open(device) ?? Store(inMemory: schema, options: options[device])
      }
    )
  }

  // MARK: Playing

  private func run(steps: Int) throws {
    for _ in 0..<steps {
      clock.value += 1000
      try step()
      if others.isNext(25) { try another() }
    }
    for _ in 0..<2 {
      for one in 0..<Self.devices { for other in 0..<Self.devices where one != other { try pull(one, other) } }
    }
    if files != nil { try settle() }
    let summaries = try stores.map { try $0.summary() }
    guard summaries.allSatisfy({ $0.vector == summaries[0].vector && $0.fingerprint == summaries[0].fingerprint })
    else { throw Failure("devices differ at the end") }
    for store in stores {
      let report = try store.verify()
      guard report.isSound else { throw Failure(report.problems.joined(separator: "; ")) }
    }
  }

  /// Lets all meet: what a store has lost comes back by a repair.
  private func settle() throws {
    for _ in 0..<2 {
      for one in 0..<Self.devices { for other in 0..<one { try stores[one].sync(with: stores[other]) } }
    }
    for device in 0..<Self.devices { try check(device) }
  }

  private func step() throws {
    let device = random.below(Self.devices)
    let key = random.pick(Self.keys)
    let isThere = specification.isVisible(device, key)
    switch random.below(20) {
    case 0..<4:
      let other = random.below(Self.devices)
      if other != device { try pull(device, other) }
    case 4: try put(device)
    case 5: try take(device)
    case 6..<9 where !isThere: try insert(device, key)
    case 9 where isThere: try delete(device, key)
    case 10 where !isThere: try restore(device, key)
    case 11 where purges: try purge(device)
    case _ where isThere: try change(device, key)
    default: break
    }
    if let files, random.chance(20) { try tamper(device, files) }
    try check(device)
  }

  /// What happens to a file while no store has it open.
  private func tamper(_ device: Int, _ files: CounterFiles) throws {
    let amount = Int64(1 + random.below(9))
    let other = (device + 1 + random.below(Self.devices - 1)) % Self.devices
    let act = random.below(5)
    if act == 4 {
      try stores[device].sync(with: stores[other])
      specification.known[device].formUnion(specification.known[other])
      specification.known[other] = specification.known[device]
    }
    let before = try numbers(device)
    try stores[device].close()
    var hasAdded = false
    switch act {
    case 0:
      log.append("\(device) is copied")
      try files.keep(device, specification.known[device])
    case 1:
      if let known = try files.putBack(device) {
        log.append("\(device) is put back")
        specification.known[device] = known
      }
      fallthrough
    case 2:
      log.append("a program adds \(amount) on \(device)")
      try files.run(device, "UPDATE Tile SET n = n + \(amount)")
      hasAdded = true
    case 3:
      log.append("a program makes the table of \(device) again and adds \(amount)")
      try files.rebuild(device, adding: amount)
    default:
      log.append("\(device) loses its states")
      try files.run(device, "DELETE FROM tally_extra")
    }
    stores[device] = try files.open(device)
    if hasAdded {
      for key in Self.keys where specification.isVisible(device, key) { note(device, key, "n", .add(amount)) }
    }
    if act == 3 { try noteRebuilt(device, adding: amount, before) }
    guard act == 4 else { return }
    // Who reads nothing notices nothing.
    _ = try stores[device].verify()
    if amount % 2 == 0 {
      _ = try stores[device].rebuild()
      noteWrittenAnew(device, before)
      if others.isNext(40) { try bringBackStandIns(device, before) }
    }
    try stores[device].sync(with: stores[other])
    specification.known[other].formUnion(specification.known[device])
  }

  /// The row of each record that a device shows.
  func numbers(_ device: Int) throws -> [String: Row] {
    try stores[device].read { db in
      var rows: [String: Row] = [:]
      for key in Self.keys {
        rows[key] = try Row.fetchOne(
          db, sql: "SELECT n, m, x, t, substr(tally_clock, 1, 2) = x'ffff' AS hasBody FROM Tile WHERE id = ?",
          arguments: [name(key).text])
      }
      return rows
    }
  }

  /// What is no number counts as written anew where a rebuild has found no state.
  func noteWrittenAnew(_ device: Int, _ before: [String: Row]) {
    for (key, row) in before.sorted(by: { $0.key < $1.key }) where row["hasBody"] {
      if let x = row["x"] as Int64? { note(device, key, "x", .edit(x)) }
      if row["t"] != "plain" { note(device, key, "t", .edit(0)) }
    }
  }

  /// A number that anybody has added to changes by what the program added, since the body has what it was. Any other
  /// one may stand in the row alone: then nothing tells what it was, and all of the row is written anew. How the record
  /// is stored decides which of the two happens.
  private func noteRebuilt(_ device: Int, adding amount: Int64, _ before: [String: Row]) throws {
    for (key, row) in before.sorted(by: { $0.key < $1.key }) {
      let fields = try stores[device].history(of: name(key))?.fields ?? []
      let isAddition = fields.contains { $0.field == "n" && $0.isAddition }
      guard !isAddition, !specification.hasAdditions(device, key, "n") else {
        note(device, key, "n", .add(amount))
        continue
      }
      note(device, key, "n", .set((row["n"] as Int64) + amount))
      if !specification.hasAdditions(device, key, "m") { note(device, key, "m", .set(row["m"])) }
      note(device, key, "x", .edit(row["x"]))
    }
  }

  func note(_ device: Int, _ key: String, _ field: String, _ act: CounterSpecification.Act) {
    specification.note(device, key, field, act, clock: now(device))
  }

  /// What a device's clock shows.
  func now(_ device: Int) -> Int64 { clock.value + skews[device].value }

  func name(_ key: String) throws -> AnyRecordName { try AnyRecordName(type: "Tile", key: key) }

  private func insert(_ device: Int, _ key: String) throws {
    var numbers: [String: Int64] = [:]
    for field in Self.fields where random.chance(60) { numbers[field] = Int64(random.below(20)) - 5 }
    let x: Int64? = random.chance(50) ? Int64(random.below(9)) : nil
    log.append("\(device) inserts \(key): \(numbers.sorted { $0.key < $1.key }), x \(x.map(String.init) ?? "null")")
    let id = try name(key)
    var values = numbers.mapValues(Value.integer)
    values["x"] = x.map(Value.integer) ?? .null
    try stores[device].write { [schema] in try schema.put($0, id, values) }
    noteInsert(device, key, numbers, x: x)
  }

  /// What an insert says. Fields that are not given have their defaults.
  func noteInsert(_ device: Int, _ key: String, _ numbers: [String: Int64], x: Int64?, t: String = "plain") {
    let insert = specification.beginning(device, key, clock: now(device))
    for field in Self.fields {
      let start = CounterSpecification.start[field] ?? 0
      let number = numbers[field] ?? start
      // What is a default and was never anything else is no write.
      if number != start || insert.writes.contains(field) { note(device, key, field, .set(number), in: insert) }
    }
    // An insert under a known name writes null over what was there, and over what may have been.
    if x != nil || insert.writes.contains("x") { note(device, key, "x", .edit(x), in: insert) }
    if t != "plain" || insert.writes.contains("t") { note(device, key, "t", .edit(t == "plain" ? nil : 0), in: insert) }
    if insert.isKnown { specification.beginLife(with: insert) }
  }

  private func note(
    _ device: Int, _ key: String, _ field: String, _ act: CounterSpecification.Act,
    in insert: CounterSpecification.Beginning
  ) {
    specification.note(device, key, field, act, clock: now(device), in: insert)
  }

  func delete(_ device: Int, _ key: String) throws {
    log.append("\(device) deletes \(key)")
    let id = try name(key)
    try stores[device].write { [schema] in try schema.delete($0, id) }
    note(device, key, "", .delete)
  }

  func restore(_ device: Int, _ key: String) throws {
    do {
      try stores[device].restore(try name(key))
    } catch let error as StoreError where [.noSuchRecord, .purged].contains(error.code) {
      return
    }
    log.append("\(device) restores \(key)")
    specification.beginLife(with: specification.beginning(device, key, clock: now(device)))
  }

  private func purge(_ device: Int) throws {
    log.append("\(device) purges")
    try stores[device].empty(ripe: nil)
    for key in Self.keys where specification.isDeleted(device, key) { note(device, key, "", .purge) }
  }

  /// One transaction of one to three statements.
  private func change(_ device: Int, _ key: String) throws {
    let id = try name(key)
    let acts = (0..<(1 + random.below(3))).map { _ in (random.below(6), random.pick(Self.fields), random.below(40)) }
    var notes: [(String, CounterSpecification.Act)] = []
    var (x, hasChangedX): (Int64?, Bool) = (nil, false)
    try stores[device].write { [schema, clock] db in
      // What plain SQL adds is known at the end of the transaction, or where a set is made.
      var before: [String: Int64] = [:]
      func shown(_ field: String) throws -> Int64 {
        try Int64.fetchOne(db, sql: "SELECT \(field) FROM Tile WHERE id = ?", arguments: [id.text]) ?? 0
      }
      // A set captures all that came before it, so x is written even if it is what it was in the end.
      func noteX() throws {
        let now = try Int64.fetchOne(db, sql: "SELECT x FROM Tile WHERE id = ?", arguments: [id.text])
        hasChangedX = hasChangedX || now != x
        x = now
      }
      x = try Int64.fetchOne(db, sql: "SELECT x FROM Tile WHERE id = ?", arguments: [id.text])
      func settle() throws {
        try noteX()
        for field in Self.fields {
          let now = try shown(field)
          if let old = before[field], now != old { notes.append((field, .add(now - old))) }
          before[field] = now
        }
      }
      try settle()
      for (act, field, number) in acts {
        switch act {
        case 0:
          try db.execute(sql: "UPDATE Tile SET \(field) = \(field) + ? WHERE id = ?", arguments: [number, id.text])
        case 1: try schema.add(db, id, field, -Int64(number))
        case 2: try db.execute(sql: "UPDATE Tile SET \(field) = ? WHERE id = ?", arguments: [number, id.text])
        case 3:
          try settle()
          try schema.set(db, id, field, to: .integer(Int64(number)))
          before[field] = Int64(number)
          notes.append((field, .set(Int64(number))))
        case 4:
          try db.execute(
            sql: "UPDATE Tile SET x = ?, \(field) = \(field) + 1 WHERE id = ?", arguments: [number, id.text])
        default:
          try db.execute(sql: "UPDATE Tile SET t = ? WHERE id = ?", arguments: ["text \(clock.value)", id.text])
        }
      }
      try settle()
    }
    log.append("\(device) changes \(key): \(acts) \(notes)")
    for (field, act) in notes { note(device, key, field, act) }
    if hasChangedX { note(device, key, "x", .edit(x)) }
    if acts.contains(where: { $0.0 == 5 }) { note(device, key, "t", .edit(0)) }
  }

  // MARK: Deltas

  private func pull(_ one: Int, _ other: Int) throws {
    log.append("\(one) pulls from \(other)")
    let base = random.chance(15) ? StateVector() : try stores[one].vector
    try stores[one].apply(try stores[other].delta(since: base))
    specification.known[one].formUnion(specification.known[other])
  }

  private func put(_ device: Int) throws {
    log.append("\(device) puts a file")
    let base = random.chance(50) ? StateVector() : try stores[random.below(Self.devices)].vector
    deltas.append(
      File(bytes: try stores[device].delta(since: base), base: base, known: specification.known[device]))
  }

  private func take(_ device: Int) throws {
    guard !deltas.isEmpty else { return }
    let place = random.below(deltas.count)
    let file = deltas[place]
    guard try stores[device].vector.covers(try header(file.bytes).base) else { return }
    log.append("\(device) takes file \(place)")
    try stores[device].apply(file.bytes)
    specification.known[device].formUnion(file.known)
  }

  private func header(_ bytes: [UInt8]) throws -> DeltaHeader { try DeltaReader(bytes).header }

  // MARK: Checking

  func check(_ device: Int) throws {
    for key in Self.keys {
      let id = try name(key)
      let row = try stores[device].read { db in
        try Row.fetchOne(db, sql: "SELECT n, m, x FROM Tile WHERE id = ?", arguments: [id.text])
      }
      guard (row != nil) == specification.isVisible(device, key) else {
        throw Failure("\(key) is \(row == nil ? "hidden" : "shown") on \(device)")
      }
      guard let row else { continue }
      for field in Self.fields {
        let (number, allowed): (Int64, [Int64]) = (row[field], specification.numbers(device, key, field))
        guard allowed.contains(number) else {
          throw Failure("\(key).\(field) is \(number) on \(device), and should be \(allowed)")
        }
      }
      let (x, allowed): (Int64?, [Int64?]) = (row["x"], specification.values(device, key))
      guard allowed.contains(x) else { throw Failure("\(key).x is \(String(describing: x)) on \(device): \(allowed)") }
    }
  }

  /// Returns the first check of a history that fails, with its steps; nil if none does.
  package static func failure(_ seed: UInt64, planted: PlantedFault = []) -> String? {
    var history: CounterHistory?
    do {
      let new = try CounterHistory(seed, planted)
      history = new
      try new.run(steps: [20, 40, 70][Int(seed % 3)])
      return nil
    } catch {
      return "TALLY_SEED=\(seed)\n\(history?.log.joined(separator: "\n") ?? "")\n\(error)"
    }
  }
}
