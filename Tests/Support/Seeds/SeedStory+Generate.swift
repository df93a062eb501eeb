import TallyTesting

extension SeedStory {
  /// Draws a history from a seed.
  package static func generate(seed: UInt64) -> SeedStory {
    var random = SplitMix64(seed: seed &* 0x9E37)
    let count = 2 + random.below(3)
    let skews: [UInt64] = [1_700_000_000_000, 1_700_000_000_002, 4_070_908_800_000, 5]
    let common = random.chance(50) ? random.pick(skews) : nil
    var story = SeedStory(
      seed: seed, mode: random.pick([.untilEdited, .untilEdited, .perField, .deleteWins]),
      ids: (0..<count).map { UInt64($0) << 56 | random.next() >> 8 },
      clocks: (0..<count).map { _ in common ?? random.pick(skews) }, editions: editions(&random), steps: [])
    story.ids.shuffle(using: &random)
    if random.chance(50) { story.steps += past(count, &random) }
    // Most begin with devices that have seeded, so that what follows is about seeds.
    for replica in 0..<count where random.chance(70) {
      story.steps.append(
        .seed(replica: replica, edition: story.edition(&random, early: true), adopting: random.chance(70)))
    }
    for _ in 0..<12 + random.below(30) { story.steps += story.next(count, &random) }
    return story
  }

  private func edition(_ random: inout SplitMix64, early: Bool = false) -> Int {
    early && random.chance(60) ? 0 : random.below(editions.count)
  }

  // MARK: Editions

  private static func editions(_ random: inout SplitMix64) -> [SeedEdition] {
    var editions: [SeedEdition] = []
    var current = SeedEdition(version: 1)
    for key in SeedWorld.keys where random.chance(75) { current.records[key] = content(key, &random) }
    editions.append(current)
    for version in 2...2 + random.below(3) {
      current.version = version
      for key in SeedWorld.keys where random.chance(55) { change(key, &current, &random) }
      editions.append(fitted(current))
      // A build that ships something else under the same version.
      guard random.chance(15) else { continue }
      var other = current
      for key in SeedWorld.keys where random.chance(40) { change(key, &other, &random) }
      editions.append(fitted(other))
    }
    editions[0] = fitted(editions[0])
    return editions
  }

  private static func change(_ key: String, _ edition: inout SeedEdition, _ random: inout SplitMix64) {
    edition.retired.remove(key)
    switch random.below(10) {
    case 0..<2:
      edition.records[key] = nil
      edition.retired.insert(key)
    case 2: edition.records[key] = nil
    default: edition.records[key] = content(key, &random)
    }
  }

  private static func content(_ key: String, _ random: inout SplitMix64) -> SeedContent {
    var content = SeedContent()
    content.fields[.name] = random.chance(80) ? key.uppercased() : random.pick(["A", "B", "Z"])
    if random.chance(50) { content.fields[.note] = random.pick(["one", "two", "three"]) }
    if random.chance(30) { content.fields[.mood] = random.pick(["calm", "glad"]) }
    if random.chance(15) { content.fields[.extra] = "shipped" }
    if random.chance(35) { content.fields[.buddy] = random.pick(SeedWorld.keys) }
    let earlier = SeedWorld.keys.filter { $0 < key }
    if random.chance(25), !earlier.isEmpty { content.fields[.part] = random.pick(earlier) }
    for other in SeedWorld.keys where random.chance(25) { content.members.insert(other) }
    return content
  }

  /// References only to what the edition has, natural keys only once.
  private static func fitted(_ edition: SeedEdition) -> SeedEdition {
    var edition = edition
    var names = Set<String>()
    for key in edition.records.keys.sorted() {
      guard var content = edition.records[key] else { continue }
      content.fields = content.fields.filter { !$0.key.isReference || edition.records[$0.value] != nil }
      content.members = content.members.filter { edition.records[$0] != nil }
      if let name = content.fields[.name], !names.insert(name).inserted {
        content.fields[.name] = key
        names.insert(key)
      }
      edition.records[key] = content
    }
    return edition
  }

  // MARK: Steps

  /// What older versions of the app wrote, and what people did with it.
  private static func past(_ replicas: Int, _ random: inout SplitMix64) -> [Step] {
    var steps: [Step] = []
    for (index, copy) in SeedWorld.copies.enumerated() where random.chance(70) {
      let owner = index % min(2, replicas)
      var values: [SeedField: String] = [.name: random.pick(["A", "B", "C"])]
      if random.chance(40) { values[.extra] = random.pick(["old", "older"]) }
      if random.chance(25) { values[.note] = "one" }
      if index > 1, random.chance(20) { values[.part] = SeedWorld.copies[index - 2] }
      steps.append(.transact(replica: owner, elapsed: 1, .insert(copy, values)))
      if index > 1, random.chance(40) {
        let pair = [SeedWorld.copies[index - 2], copy].shuffled(using: &random)
        steps.append(.transact(replica: owner, elapsed: 1, .link(pair[0], pair[1])))
      }
    }
    for entry in SeedWorld.entries where random.chance(60) {
      let owner = random.below(min(2, replicas))
      var values: [SeedField: String] = [.title: "mine"]
      if random.chance(60) { values[.kind] = SeedWorld.copies[owner] }
      if random.chance(40) { values[.parent] = SeedWorld.copies[owner] }
      steps.append(.transact(replica: owner, elapsed: 1, .insert(entry, values)))
      if random.chance(40) {
        steps.append(.transact(replica: owner, elapsed: 1, .link(entry, SeedWorld.copies[owner])))
      }
    }
    if random.chance(50) { steps += [.sync(from: 0, to: 1), .sync(from: 1, to: 0)] }
    return steps
  }

  private func next(_ replicas: Int, _ random: inout SplitMix64) -> [Step] {
    let one = random.below(replicas)
    let other = (one + 1 + random.below(replicas - 1)) % replicas
    switch random.below(100) {
    case 0..<52:
      return [.transact(replica: one, elapsed: UInt64(random.below(3)), Self.operation(&random))]
    case 52..<80: return [.sync(from: other, to: one)]
    case 80..<83:
      // Takes something out, and sometimes puts it back later.
      let (source, target) = (random.pick(SeedWorld.seeds), random.pick(SeedWorld.seeds))
      let out = Step.transact(replica: one, elapsed: 1, .unlink(source, target))
      let back = Step.transact(replica: one, elapsed: 1, .link(source, target))
      return random.chance(50) ? [out] : [out, .seed(replica: one, edition: edition(&random), adopting: true), back]
    case 83..<93: return [.seed(replica: one, edition: edition(&random), adopting: random.chance(70))]
    default: return [.check(replica: one)]
    }
  }

  private static func operation(_ random: inout SplitMix64) -> Operation {
    let record = random.pick(random.chance(60) ? SeedWorld.seeds : SeedWorld.records)
    let kind = random.pick(random.chance(60) ? SeedWorld.seeds : SeedWorld.kinds)
    switch random.below(100) {
    case 0..<20: return .insert(random.chance(60) ? random.pick(SeedWorld.entries) : record, values(record, &random))
    case 20..<50:
      let field = random.pick(SeedField.of(record))
      let value = random.chance(20) ? field.defaultValue : value(of: field, &random)
      return .update(record, field, value)
    case 50..<62: return .delete(record)
    case 62..<68: return .restore(record)
    case 68..<84: return .link(record, kind)
    default: return .unlink(record, kind)
    }
  }

  /// Values for either type; those of the other type are left out when they are written.
  private static func values(_ record: String, _ random: inout SplitMix64) -> [SeedField: String] {
    var values: [SeedField: String] = [:]
    for field in SeedField.allCases where random.chance(field.isReference ? 25 : 50) {
      values[field] = value(of: field, &random)
    }
    return values
  }

  private static func value(of field: SeedField, _ random: inout SplitMix64) -> String {
    if field.isReference { return random.pick(random.chance(60) ? SeedWorld.seeds : SeedWorld.kinds) }
    switch field {
    case .name: return random.pick(["A", "B", "mine"])
    case .mood: return random.pick(["calm", "glad", "sad"])
    default: return random.pick(["one", "two", "own"])
    }
  }
}
