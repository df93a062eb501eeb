import TallyTesting

extension RawHistory {
  /// The history of a seed, with what `TALLY_RAWSQL` allows.
  package static func generate(seed: UInt64, choice: RawChoice = .environment) -> RawHistory {
    var random = SplitMix64(seed: seed &* 0x5851_F42D)
    let features = choice.draw(&random)
    var plan = Plan(features, SplitMix64(seed: random.next()), SplitMix64(seed: random.next()))
    return RawHistory(
      seed: seed, features: features, devices: plan.devices, versions: plan.versions, clocks: plan.clocks,
      steps: plan.steps())
  }
}

/// Draws the steps of one history.
private struct Plan {
  static let today: UInt64 = 1_763_800_000_000
  static let clockTimes: [UInt64] = [
    0, 1, 1000, today, today - 3_600_000, 4_070_908_800_000, 4_102_444_800_000, 1 << 45, 1 << 47,
  ]

  let features: Set<RawFeature>
  let devices: Int
  let versions: [RawVersion]
  let clocks: [UInt64]
  private var random: SplitMix64
  private var phrases: RawPhrases
  private var isLive = false

  init(_ features: Set<RawFeature>, _ random: SplitMix64, _ other: SplitMix64) {
    var random = random
    self.features = features
    let count = random.pick([2, 2, 2, 3, 3, 4])
    devices = count
    versions = (0..<count).map { _ in
      RawVersion(isLater: features.contains(.upgrades) && random.chance(40))
    }
    clocks = (0..<count).map { index in
      features.contains(.clocks) ? random.pick(Self.clockTimes) : Self.today + UInt64(index)
    }
    self.random = random
    phrases = RawPhrases(values: RawValues(other, features))
  }

  private func has(_ feature: RawFeature) -> Bool { features.contains(feature) }

  mutating func steps() -> [RawStep] {
    var steps = beginning()
    let length = 14 + random.below(22)
    for _ in 0..<length { steps += next() }
    return steps
  }

  /// Some rows that everybody has, and the app's own objects on all devices or on some.
  private mutating func beginning() -> [RawStep] {
    let rows = (0..<6).map { _ in RawStatement(phrases.insert(), isSwallowed: true) }
    let refused: Set<RawFeature> = phrases.values.takeRefused() ? [.refusedValues] : []
    var steps: [RawStep] = [.write(device: 0, .store, RawTransaction(statements: rows, features: refused))]
    for other in 1..<devices { steps.append(.sync(0, other)) }
    // What nobody writes is refused nowhere.
    let isEverywhere = random.chance(60) && !has(.validation)
    for device in 0..<devices where isEverywhere || random.chance(50) || device == 1 {
      var same = SplitMix64(seed: phrases.values.random.next())
      let objects = RawAppObjects.statements(features, &same)
      let writer: RawWriter = has(.outside) && random.chance(30) ? .outside(0) : .store
      for object in objects {
        steps.append(.write(device: device, writer, RawTransaction(statements: [object])))
      }
      if has(.quietReplace), !writer.isStore { steps.append(glance(device)) }
    }
    return steps
  }

  private mutating func next() -> [RawStep] {
    let device = random.below(devices)
    let other = (device + 1 + random.below(devices - 1)) % devices
    if has(.uniqueIndex), random.chance(12) { return clash(device, other) }
    switch random.below(100) {
    case 0..<30: return [write(device, .store)]
    case 30..<50: return [write(device, anotherWriter(than: .store))]
    case 50..<66: return has(.mailbox) && random.chance(50) ? [.visit(device: device)] : [.sync(device, other)]
    case 66..<72: return parcel(device, other)
    case 72..<76: return live(device, other)
    case 76..<80:
      guard has(.restores) else { return [write(device, .store)] }
      return restore(device)
    case 80..<85: return reopen(device)
    case 85..<87: return has(.clocks) ? [.clock(device: device, milliseconds: random.pick(Self.clockTimes))] : []
    case 87: return [.verify(device: device)]
    default: return rare(device)
    }
  }

  /// Who else may write to the file.
  private mutating func anotherWriter(than writer: RawWriter) -> RawWriter {
    if has(.secondStore), random.chance(has(.outside) ? 30 : 60) { return .secondStore }
    guard has(.outside) else { return writer }
    return has(.attached) && random.chance(40) ? .attached : .outside(random.below(2))
  }

  private mutating func write(_ device: Int, _ writer: RawWriter) -> RawStep {
    var transaction = RawTransaction(statements: [])
    _ = phrases.values.takeRefused()
    for _ in 0..<(1 + random.below(3)) {
      let (statements, feature) = phrases.next()
      let isGroup = statements.count > 1
      let isSwallowed = has(.failures) && !isGroup && random.chance(40)
      transaction.statements += statements.map { RawStatement($0.sql, isSwallowed: isSwallowed) }
      if let feature { transaction.features.insert(feature) }
      if isSwallowed { transaction.features.insert(.failures) }
    }
    if has(.orRollback), random.chance(30) {
      let values = phrases.values.plainName("P")
      transaction.statements.append(
        RawStatement("INSERT OR ROLLBACK INTO P(id) VALUES ('\(values)'), ('\(values)')", isSwallowed: true))
      transaction.features.insert(.orRollback)
    }
    transaction.isAbandoned = has(.rollbacks) && random.chance(8)
    if phrases.values.takeRefused() {
      // Nobody could tell another program, so its values would stay here alone.
      transaction.features.insert(.refusedValues)
      return .write(device: device, writer.isStore ? writer : .store, transaction)
    }
    return .write(device: device, writer, transaction)
  }

  /// Two stores give one value, which only one record may have, to a record each, and meet.
  private mutating func clash(_ device: Int, _ other: Int) -> [RawStep] {
    let start = random.below(5)
    let value = "'clash \(random.below(3))'"
    func claim(_ device: Int, _ number: Int) -> RawStep {
      let sql =
        "INSERT INTO N(id, body, done) VALUES ('\(SampleName.name("N", 1 + number % 5))', \(value), 1) "
        + "ON CONFLICT(id) DO UPDATE SET body = excluded.body, done = 1"
      return .write(
        device: device, .store, RawTransaction(statements: [RawStatement(sql, isSwallowed: true)], features: [.upserts])
      )
    }
    return [claim(device, start), claim(other, start + 1 + random.below(4)), .sync(device, other)]
  }

  private mutating func parcel(_ device: Int, _ other: Int) -> [RawStep] {
    guard has(.parcels) else { return [.sync(device, other)] }
    if devices > 2, random.chance(25) {
      // A delta for somebody who has seen more than the one that gets it.
      let third = (0..<devices).first { $0 != device && $0 != other } ?? other
      return [
        write(device, .store), .sync(device, other), write(device, .store),
        .prepare(slot: 4, from: device, since: other), .deliver(slot: 4, to: third),
      ]
    }
    if has(.outside), random.chance(50) {
      // Something waits to be captured when the delta comes, perhaps about the same record.
      let slot = 3
      return [
        write(other, .store), .prepare(slot: slot, from: other, since: device), write(device, .outside(0)),
        .deliver(slot: slot, to: device),
      ]
    }
    if random.chance(45) {
      return [.prepare(slot: random.below(3), from: device, since: random.chance(70) ? other : nil)]
    }
    return [.deliver(slot: random.below(3), to: device)]
  }

  /// Brings a record back, perhaps one that has just been deleted from outside.
  private mutating func restore(_ device: Int) -> [RawStep] {
    let table = phrases.values.table()
    let name = phrases.values.plainName(table)
    let delete = RawTransaction(statements: [RawStatement("DELETE FROM \(table) WHERE id = '\(name)'")])
    let isPending = has(.outside) && random.chance(50)
    return (isPending ? [.write(device: device, .outside(0), delete)] : []) + [.restore(device: device, name: name)]
  }

  /// A live session, with writes of both sides while it lasts.
  private mutating func live(_ device: Int, _ other: Int) -> [RawStep] {
    guard has(.live) else { return [.sync(device, other)] }
    var steps: [RawStep] = [.connect(device, other)]
    for _ in 0..<(2 + random.below(5)) {
      let side = random.chance(50) ? device : other
      steps.append(write(side, has(.outside) && random.chance(40) ? .outside(0) : .store))
    }
    return steps + [.disconnect]
  }

  private mutating func reopen(_ device: Int) -> [RawStep] {
    let upgrades = (has(.upgrades) && random.chance(50)) || (has(.rules) && random.chance(50))
    guard has(.reopening) || upgrades else { return [write(device, .store)] }
    let version = RawVersion(isLater: has(.upgrades), cascades: has(.rules) && random.chance(60))
    var steps: [RawStep] = [.close(device: device)]
    if has(.outside) { for _ in 0..<random.below(3) { steps.append(write(device, .outside(0))) } }
    return steps + [.open(device: device, upgrades ? version : nil)]
  }

  private mutating func rare(_ device: Int) -> [RawStep] {
    let writer: RawWriter = has(.outside) && random.chance(50) ? .outside(0) : .store
    let possible = features.intersection(Self.rareFeatures)
    let choices = RawFeature.allCases.filter { possible.contains($0) }
    guard !choices.isEmpty else { return [write(device, writer)] }
    switch random.pick(choices) {
    case .vacuum: return has(.fullText) ? [] : [.vacuum(device: device)]
    case .backups:
      guard random.chance(60) else { return [.backUp(device: device)] }
      let table = random.pick(RawVersion.tables)
      let clause = phrases.values.tablesWithoutReplace.contains(table) ? "OR IGNORE" : "OR REPLACE"
      return [.bringBack(device: device, table: table, clause: clause)]
    case .seeds: return [.seed(device: device, version: 1 + random.below(4))]
    case .renewals: return [.renew(device: device)]
    case .tempTable:
      let table = phrases.values.table()
      let isNew = random.chance(70)
      let sql = isNew ? "CREATE TEMP TABLE \(table)(id TEXT, name TEXT, body TEXT)" : "DROP TABLE temp.\(table)"
      return [
        .write(device: device, .store, RawTransaction(statements: [RawStatement(sql)], features: [.tempTable]))
      ]
    case .droppedTrigger: return [.dropTrigger(device: device, writer, number: random.below(40)), glance(device)]
    case .rebuild:
      guard !has(.fullText) else { return [] }
      return [.rebuild(device: device, writer, table: "N", hasReferences: random.chance(50)), glance(device)]
    case .recreation:
      guard !has(.fullText) else { return [] }
      return [.recreate(device: device, writer, table: random.pick(["N", "G", "P"])), glance(device)]
    case .addedColumn:
      let table = random.pick(RawVersion.tables)
      let name = "extra\(phrases.values.random.next() % 1000)"
      return [.addColumn(device: device, writer, table: table, name: name), glance(device)]
    case .churn: return [.churn(device: device, count: 70)]
    case .drift: return [.drift(device: device)]
    default: return []
    }
  }

  private static let rareFeatures: Set<RawFeature> = [
    .vacuum, .backups, .seeds, .renewals, .tempTable, .droppedTrigger, .rebuild, .recreation, .addedColumn, .churn,
    .drift,
  ]

  /// The store looks at the file: what is written from outside before that, without triggers, nobody can know of.
  private func glance(_ device: Int) -> RawStep {
    .write(device: device, .store, RawTransaction(statements: [RawStatement("SELECT 1")]))
  }
}
