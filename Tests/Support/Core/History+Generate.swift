import TallyTesting

extension History {
  /// What may happen in one history. Most histories have few faults, so that each shows on its own.
  private struct Weather {
    var clocks, power, copies, unnoticed, losses, older: Bool
    let forges: Bool

    init(forges: Bool, _ random: inout SplitMix64) {
      self.forges = forges
      let isCalm = random.chance(30)
      func some(_ percent: Int) -> Bool { !isCalm && !forges && random.chance(percent) }
      (clocks, power, copies) = (some(35), some(40), some(25))
      (unnoticed, losses, older) = (some(12), some(15), some(20))
    }

    /// The faults to draw from.
    func faults(_ replicas: Int, _ one: Int, _ other: Int, _ random: inout SplitMix64) -> [Step] {
      var steps: [Step] = []
      if clocks { steps.append(.clock(replica: one, random.pick(times))) }
      if power { steps += [.flush(replica: one), .crash(replica: one), .crash(replica: one)] }
      if copies || unnoticed {
        let isNoticed = !unnoticed || random.chance(50)
        steps += [.backUp(replica: one), .restore(replica: one, isNoticed: isNoticed)]
        steps.append(.clone(of: other, as: one, isNoticed: isNoticed))
      }
      if losses { steps.append(.lose(replica: one)) }
      if older { steps.append(.upgrade(replica: one)) }
      return steps
    }
  }

  /// 1970, a day in 2023, two milliseconds later, and 2099.
  private static let times: [UInt64] = [0, 1_700_000_000_000, 1_700_000_000_002, 4_070_908_800_000]

  /// Draws a history from a seed. If `forges`, values may change under their stamps.
  package static func generate(seed: UInt64, forges: Bool = false) -> History {
    var random = SplitMix64(seed: seed)
    let count = 2 + random.below(4)
    let common = random.chance(40) ? random.pick(times) : nil
    var history = History(
      seed: seed, ids: (0..<count).map { UInt64($0) << 56 | random.next() >> 8 },
      clocks: (0..<count).map { _ in common ?? random.pick(times) }, steps: [])
    // Ids do not ascend with the index, so that ties do not always go to the same side.
    history.ids.shuffle(using: &random)
    let weather = Weather(forges: forges, &random)
    if weather.older { history.older = Set((1..<count).filter { _ in random.chance(50) }) }
    let slots = 3
    if random.chance(75) { history.steps = acquaintance(count, slots, &random) }
    for _ in 0..<15 + random.below(35) { history.steps += steps(count, slots, weather, &random) }
    return history
  }

  /// One replica writes most records and everybody gets them, so that what follows is about the same records.
  private static func acquaintance(_ replicas: Int, _ slots: Int, _ random: inout SplitMix64) -> [Step] {
    var inserts: [Operation] = []
    var there: [String] = []
    for record in Model.records where random.chance(90) {
      var values: [ModelField: String] = [.title: "a"]
      for field in [ModelField.list, .parent, .friend] where !Model.lists.contains(record) && random.chance(50) {
        let targets = field.targets.filter(there.contains)
        if !targets.isEmpty { values[field] = random.pick(targets) }
      }
      inserts.append(.insert(record, values))
      there.append(record)
    }
    let links = (0..<3).map { _ in Operation.link(source(&random), random.pick(Model.items)) }
    return [.transact(replica: 0, elapsed: 1, inserts + links), .prepare(slot: slots, from: 0, base: .nothing)]
      + (1..<replicas).map { .deliver(slot: slots, to: $0) }
  }

  private static func steps(
    _ replicas: Int, _ slots: Int, _ weather: Weather, _ random: inout SplitMix64
  ) -> [Step] {
    let one = random.below(replicas)
    let other = (one + 1 + random.below(replicas - 1)) % replicas
    let slot = random.below(slots)
    switch random.below(100) {
    case 0..<42:
      let operations = (0..<(random.chance(70) ? 1 : 2 + random.below(2))).map { _ in operation(&random) }
      return [.transact(replica: one, elapsed: UInt64(random.below(3)), operations)]
    case 42..<52: return [.sync(one, other)]
    case 52..<61:
      // The everyday sync: ask, and get it at once.
      return [.prepare(slot: slots, from: one, base: .vector(of: other)), .deliver(slot: slots, to: other)]
    case 61..<70:
      let base: Base = random.chance(20) ? .nothing : .vector(of: random.below(replicas))
      return [.prepare(slot: slot, from: one, base: base)]
    case 70..<77: return [.deliver(slot: slot, to: other)]
    case 77..<83:
      let count = 2 + random.below(2)
      let first = random.below(count)
      let last = first + random.below(count - first)
      if random.chance(50) { return [.pieces(slot: slot, to: other, of: count, first...last)] }
      return [
        .prepare(slot: slot, from: one, base: .vector(of: other)),
        .pieces(slot: slot, to: other, of: count, first...last),
      ]
    case 83..<92:
      let faults = weather.faults(replicas, one, other, &random)
      return faults.isEmpty ? [.sync(one, other)] : [random.pick(faults)]
    case 92..<97: return [.check(replica: one)]
    default:
      guard weather.forges else { return [.check(replica: one)] }
      return [.forge(replica: one, random.pick(Model.records), .title, random.pick(["forged", "a", "z"]))]
    }
  }

  private static func operation(_ random: inout SplitMix64) -> Operation {
    let record = random.pick(Model.records)
    switch random.below(100) {
    case 0..<18: return .insert(record, values(&random))
    case 18..<52:
      let field = random.pick(ModelField.allCases)
      return .update(record, field, random.chance(20) ? nil : value(of: field, &random))
    case 52..<66: return .delete(record)
    case 66..<70: return .restore(record)
    case 70..<86: return .link(source(&random), random.pick(Model.items))
    default: return .unlink(source(&random), random.pick(Model.items))
    }
  }

  private static func source(_ random: inout SplitMix64) -> String {
    random.chance(70) ? random.pick(Model.lists) : random.pick(Model.items)
  }

  private static func values(_ random: inout SplitMix64) -> [ModelField: String] {
    var values: [ModelField: String] = [:]
    for field in ModelField.allCases where random.chance(field.isReference ? 10 : 60) {
      values[field] = value(of: field, &random)
    }
    return values
  }

  private static func value(of field: ModelField, _ random: inout SplitMix64) -> String {
    random.pick(field.isReference ? field.targets : ["a", "b", "c", "d"])
  }
}
