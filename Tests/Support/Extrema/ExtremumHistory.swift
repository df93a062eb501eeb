import Foundation
import GRDB
import TallyCRDT
import TallyFaults
import TallyStore
import TallyTesting
import TallyWire

/// Random histories of fields that keep the greatest or the least: writes by SQL that go further and that do not, sets,
/// edits beside them, inserts of one record on several devices, deletes, restores and purges, and deltas that are late,
/// old or whole. After each step every field of the device shows what `ExtremumSpecification` says.
///
/// Between the steps of some are others (`OtherSteps`): any SQL that an app may write, and clocks that
/// are set back while a record begins another life (`ExtremumHistory+SQL.swift`).
package final class ExtremumHistory {
  static let devices = 3
  static let keys = ["a", "b", "c"]
  static let fields = ["best", "least"]

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

  let stores: [Store]
  let clock: ShredStage.Clock
  let purges: Bool
  let schema: Schema
  var specification: ExtremumSpecification
  private var random: SplitMix64
  /// What is played between the steps.
  var others: OtherSteps
  private var files: [File] = []
  var log: [String] = []
  /// By how many milliseconds each device's clock is wrong. Where records are purged all are right, so that the order
  /// of sets is that of their times.
  let skews: [ShredStage.Clock]

  private init(_ seed: UInt64, _ planted: PlantedFault) throws {
    var random = SplitMix64(seed: seed)
    purges = seed % 2 == 0
    let deletesWin = seed % 5 == 0
    let schema = Schema([
      EntitySchema(
        "Tile", deleteWins: deletesWin, .text("t", default: "plain"), .integer("best", default: 0, keep: .greatest),
        .integer("least", keep: .least))
    ])
    specification = ExtremumSpecification(devices: Self.devices, deletesWin: deletesWin)
    let skews = (0..<Self.devices).map { _ in
      ShredStage.Clock(seed % 2 == 0 ? 0 : Int64(random.below(7)) * 900 - 2_700)
    }
    let clock = ShredStage.Clock(1_000_000)
    (self.schema, self.skews, self.clock) = (schema, skews, clock)
    others = OtherSteps(seed)
    (self.random, stores) = (
      random,
      try (0..<Self.devices).map { device in
        var options = StoreOptions()
        options.plant(planted)
        options.chooseCapture(by: seed, device: device)
        options.mintReplica = { ReplicaID(high: UInt64(device + 1), low: seed) }
        options.now = { Date(timeIntervalSince1970: Double(clock.value + skews[device].value) / 1000) }
        return try Store(inMemory: schema, options: options)
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
    let summaries = try stores.map { try $0.summary() }
    guard summaries.allSatisfy({ $0.vector == summaries[0].vector && $0.fingerprint == summaries[0].fingerprint })
    else { throw Failure("devices differ at the end") }
    for store in stores {
      let report = try store.verify()
      guard report.isSound else { throw Failure(report.problems.joined(separator: "; ")) }
    }
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
    try check(device)
  }

  func note(
    _ device: Int, _ key: String, _ field: String, _ act: ExtremumSpecification.Act, _ value: Int64? = nil,
    beginning: Int64? = nil
  ) {
    specification.note(
      device, key, field, act, value, clock: clock.value + skews[device].value, beginning: beginning)
  }

  func name(_ key: String) throws -> AnyRecordName { try AnyRecordName(type: "Tile", key: key) }

  private func insert(_ device: Int, _ key: String) throws {
    log.append("\(device) inserts \(key)")
    let id = try name(key)
    var values: [String: Int64?] = [:]
    for field in Self.fields {
      let start = ExtremumSpecification.fields[field]?.start
      values[field] = random.chance(60) ? .some(Int64(random.below(20)) - 5) : .some(start)
    }
    let said = values.mapValues { $0.map(Value.integer) ?? .null }
    try stores[device].write { [schema] in try schema.put($0, id, said) }
    noteInsert(device, key, values)
  }

  /// What an insert says.
  func noteInsert(_ device: Int, _ key: String, _ values: [String: Int64?], t: String = "plain") {
    let isNew = specification.heard(device, key).isEmpty
    let setsAll = specification.hasLostFields(device, key)
    let latest = specification.heard(device, key).filter { $0.field == "t" }.max { $0.beginning < $1.beginning }
    let writesText = t != "plain" || setsAll || latest?.value != nil
    note(device, key, "", isNew ? .exist : .again)
    for field in Self.fields {
      let (value, start) = (values[field] ?? nil, ExtremumSpecification.fields[field]?.start)
      if isNew {
        // Who inserts the same record elsewhere begins with the same.
        if value != start { note(device, key, field, .raise, value, beginning: 0) }
      } else if value != start || setsAll
        || specification.values(device, key, field).first != .some(value)
      {
        note(device, key, field, .set, value)
      }
    }
    if writesText { note(device, key, "t", .edit, t == "plain" ? nil : 1) }
    if !isNew { specification.beginLife(device, key) }
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
    note(device, key, "", .exist)
    specification.beginLife(device, key)
  }

  private func purge(_ device: Int) throws {
    log.append("\(device) purges")
    try stores[device].empty(ripe: nil)
    for key in Self.keys where specification.isDeleted(device, key) { note(device, key, "", .purge) }
  }

  /// One transaction: a set perhaps, and then an update of one field or both, perhaps with text beside them.
  private func change(_ device: Int, _ key: String) throws {
    let id = try name(key)
    if random.chance(20) {
      let (field, value) = (random.pick(Self.fields), Int64(random.below(40)) - 10)
      log.append("\(device) sets \(key).\(field) to \(value)")
      try stores[device].write { [schema] in try schema.set($0, id, field, to: .integer(value)) }
      note(device, key, field, .set, value)
      return
    }
    var updates: [(String, Int64)] = []
    for field in Self.fields where random.chance(60) { updates.append((field, Int64(random.below(60)) - 20)) }
    let hasText = random.chance(30)
    var sql = updates.map { "\($0.0) = \($0.1)" }
    if hasText { sql.append("t = 'text \(clock.value)'") }
    guard !sql.isEmpty else { return }
    try play(device, ["UPDATE Tile SET \(sql.joined(separator: ", ")) WHERE id = '\(id.text)'"])
  }

  /// When what a device shows of a field began. After a purge only the device knows what it still has.
  func beginning(_ device: Int, _ key: String, _ field: String) throws -> Int64? {
    guard specification.hasPurges(device, key) else { return nil }
    let history = try stores[device].history(of: try name(key))
    return history?.fields.first { $0.field == field }.map { Int64($0.stamp.time.milliseconds) } ?? 0
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
    files.append(
      File(bytes: try stores[device].delta(since: base), base: base, known: specification.known[device]))
  }

  private func take(_ device: Int) throws {
    guard !files.isEmpty else { return }
    let place = random.below(files.count)
    let file = files[place]
    guard try stores[device].vector.covers(try DeltaReader(file.bytes).header.base) else { return }
    log.append("\(device) takes file \(place)")
    try stores[device].apply(file.bytes)
    specification.known[device].formUnion(file.known)
  }

  // MARK: Checking

  func check(_ device: Int) throws {
    for key in Self.keys {
      let row = try rows(device)[key]
      guard (row != nil) == specification.isVisible(device, key) else {
        throw Failure("\(key) is \(row == nil ? "hidden" : "shown") on \(device)")
      }
      guard let row else { continue }
      for field in Self.fields {
        let (value, allowed) = (row.values[field] ?? nil, specification.values(device, key, field))
        guard allowed.contains(value) else {
          throw Failure("\(key).\(field) is \(String(describing: value)) on \(device), and should be \(allowed)")
        }
      }
    }
  }

  /// Returns the first check of a history that fails, with its steps; nil if none does.
  package static func failure(_ seed: UInt64, planted: PlantedFault = []) -> String? {
    var history: ExtremumHistory?
    do {
      let new = try ExtremumHistory(seed, planted)
      history = new
      try new.run(steps: [20, 40, 70][Int(seed % 3)])
      return nil
    } catch {
      return "TALLY_SEED=\(seed)\n\(history?.log.joined(separator: "\n") ?? "")\n\(error)"
    }
  }
}
