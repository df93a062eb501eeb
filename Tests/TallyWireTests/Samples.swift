import TallyCRDT
import TallyTesting
import TallyWire

/// Generated deltas that keep the rules of the state: sorted, causally covered, without empty parts.
struct Samples {
  var random: SplitMix64
  let replicas: [ReplicaID]
  let header: DeltaHeader
  /// One context a delete, as one transaction has only one.
  private var contexts: [Dot: StateVector] = [:]
  /// The same of lives. Two copies of a store may have begun a life and deleted under one stamp.
  private var lifeContexts: [Dot: StateVector] = [:]

  init(seed: UInt64, replicas count: Int = 4) {
    var random = SplitMix64(seed: seed)
    replicas = (0..<count).map { _ in ReplicaID.random(using: &random) }
    let target = StateVector(replicas.map { ($0, 1 + random.next() % 300) })
    let base = StateVector(target.entries.map { ($0.replica, random.next() % ($0.sequence + 1)) })
    header = DeltaHeader(
      zone: random.chance(30) ? ZoneID(high: random.next(), low: 7) : .default, base: base, target: target,
      fingerprint: random.chance(50) ? Fingerprint(first: random.next(), second: random.next()) : nil,
      version: seed % 4 == 0 ? 3 : 2)
    self.random = random
  }

  mutating func block(items: Int = 6) -> DeltaBlock {
    var block = DeltaBlock()
    for type in ["Game", "Move", "Zebra"] where random.chance(70) {
      block.records.append(records(type, 1 + random.below(items)))
    }
    for relationship in ["members", "tags"] where random.chance(60) {
      block.links.append(links(relationship, 1 + random.below(items)))
    }
    return block.isEmpty ? self.block(items: items) : block
  }

  /// The stored forms of small blocks, as far as they are not compressed: one item each.
  mutating func plainPayloads() throws -> [[UInt8]] {
    let block = block()
    var parts: [DeltaBlock] = []
    for group in block.records {
      parts += group.items.map { DeltaBlock(records: [.init(type: group.type, fields: group.fields, items: [$0])]) }
    }
    for group in block.links {
      var one = group
      one.items = Array(group.items.prefix(2))
      parts.append(DeltaBlock(links: [one]))
    }
    return try parts.map { try Bytes.payload(of: header, $0) }.filter { !$0.isCompressed }.map(\.stored)
  }

  /// The bytes with one to three of them changed.
  mutating func damage(_ bytes: [UInt8]) -> [UInt8] {
    var damaged = bytes
    for _ in 0...random.below(3) {
      let place = random.below(damaged.count)
      damaged[place] = random.chance(50) ? damaged[place] ^ 1 << UInt8(random.below(8)) : UInt8(random.below(8))
    }
    return damaged
  }

  private mutating func records(_ type: String, _ count: Int) -> DeltaBlock.Records {
    let numbers =
      header.version < 3
      ? [] : ["n+", "n<", "n>", "title+"] + replicas.prefix(2).map { FieldKey.key(of: "n", .total($0)) }
    let fields = (["title", "a", "zulu", "b2", "Upper", "under_score", "x7", "y", "y&", "k&"] + numbers)
      .shuffled(using: &random)
    let names = Set((0..<count).compactMap { _ in name(type) })
    return DeltaBlock.Records(
      type: type, fields: fields,
      items: names.sorted().map { DeltaBlock.Record(name: $0, state: state(fields)) }.shuffled(using: &random))
  }

  private mutating func links(_ relationship: String, _ count: Int) -> DeltaBlock.Links {
    let sources = Set((0..<3).compactMap { _ in name("Game") }).sorted()
    let targets = Set((0..<count).compactMap { _ in name("Move") }).sorted()
    var links = DeltaBlock.Links(source: "Game", relationship: relationship, target: "Move", items: [])
    for source in sources {
      for target in targets {
        links.items.append(DeltaBlock.Link(source: source, target: target, element: element()))
      }
    }
    links.items.shuffle(using: &random)
    return links
  }

  private mutating func name(_ type: String) -> AnyRecordName? {
    let digits = "0123456789abcdef"
    var key = String((0..<32).map { _ in digits.randomElement(using: &random) ?? "0" })
    if random.chance(60) {
      for offset in [20, 16, 12, 8] { key.insert("-", at: key.index(key.startIndex, offsetBy: offset)) }
    } else {
      key = random.pick(["key \(random.below(50))", key, "UPPER-\(random.below(9))", "~"])
    }
    return try? AnyRecordName(type: type, key: key)
  }

  mutating func stamp() -> Stamp {
    let entry = random.pick(header.target.entries)
    let times: [UInt64] = [0, 1_700_000_000_000 + random.next() % 100_000, HybridTime.maximum]
    let rank: Rank = random.chance(85) ? .user : Rank(rawValue: random.pick([0, 2, 3, 4, 255]))
    return Stamp(
      rank: rank, time: HybridTime(milliseconds: random.pick(times)),
      dot: Dot(replica: entry.replica, sequence: 1 + random.next() % entry.sequence))
  }

  /// A stamp that a register of a kind can have.
  private mutating func stamp(of kind: FieldKey.Kind) -> Stamp {
    let stamp = stamp()
    guard case .total(let replica) = kind else { return stamp }
    return Stamp(
      rank: stamp.rank, time: stamp.time,
      dot: Dot(replica: replica, sequence: 1 + stamp.dot.sequence % header.target[replica]))
  }

  /// A value that a register of a kind can have under a stamp; nil if there is none.
  private mutating func value(of kind: FieldKey.Kind, _ stamp: Stamp) -> Value? {
    switch kind {
    case .field, .reference: value()
    case .counter: random.chance(20) ? .null : .integer(Int64(bitPattern: random.next()))
    case .extremum: random.pick([.null, .integer(Int64(random.below(1000)) - 500), .real(Double(random.below(9)) - 4)])
    case .total(let replica): stamp.dot.replica == replica ? .integer(Int64(random.below(1000)) - 500) : nil
    }
  }

  private mutating func state(_ keys: [String]) -> RecordState {
    var state = RecordState()
    let shared = stamp()
    let isUniform = random.chance(40)
    if isUniform || random.chance(40) { state.existence = isUniform ? shared : stamp() }
    for field in keys.indices where random.chance(40) {
      let kind = FieldKey.kind(of: keys[field])
      let stamp = isUniform ? shared : stamp(of: kind)
      guard let value = value(of: kind, stamp) else { continue }
      state.fields.append(FieldCell(field: FieldID(rawValue: UInt32(field)), stamp: stamp, value: value))
    }
    if random.chance(20) {
      let touches = StateVector([stamp(), stamp()].map { ($0.dot.replica, $0.dot.sequence) })
      state.supersededTouches = touches.beyond(state.touches)
    }
    if random.chance(20) || state.isEmpty { state.deletes = deletes() }
    if random.chance(30) { state.seed = seed(keys) }
    if random.chance(25) {
      state.life = life(of: state.fields.filter { !FieldKey.isPresence(keys[Int($0.field.rawValue)]) })
    }
    return state
  }

  /// A life, in which some of the registers travel by other dots than those of their stamps.
  private mutating func life(of fields: [FieldCell]) -> Life {
    // Now and then of a transaction that deletes something as well.
    let dot = random.chance(50) ? contexts.keys.min() ?? stamp().dot : stamp().dot
    var context =
      lifeContexts[dot]
      ?? StateVector(header.target.entries.map { ($0.replica, random.next() % ($0.sequence + 1)) })
    context.include(dot)
    lifeContexts[dot] = context
    var life = Life(time: HybridTime(milliseconds: dot.sequence), dot: dot, context: context)
    if random.chance(50) { life.said = random.chance(50) ? dot : stamp().dot }
    for cell in fields where random.chance(50) {
      let via = random.chance(50) ? dot : stamp().dot
      if via != cell.stamp.dot { life[via: cell.field] = via }
    }
    return life
  }

  /// Layers, a basis, or both: a delta may carry either alone.
  private mutating func seed(_ keys: [String]) -> SeedState {
    let versions = random.below(4)
    var layers: [SeedLayer] = []
    for version in 0..<versions {
      let stamp = Stamp(rank: .seed, time: HybridTime(milliseconds: UInt64(1 + version)), dot: self.stamp().dot)
      guard !layers.contains(where: { $0.stamp.dot == stamp.dot }) else { continue }
      var cells: [FieldCell] = []
      for field in keys.indices where random.chance(30) {
        let kind = FieldKey.kind(of: keys[field])
        if case .total = kind { continue }
        guard let value = value(of: kind, stamp) else { continue }
        cells.append(FieldCell(field: FieldID(rawValue: UInt32(field)), stamp: stamp, value: value))
      }
      let isRetired = random.chance(25)
      layers.append(SeedLayer(stamp: stamp, isRetired: isRetired, fields: isRetired ? [] : cells))
    }
    guard layers.isEmpty || random.chance(40) else { return SeedState(layers: layers) }
    let seen = Stamp(rank: .seed, time: HybridTime(milliseconds: 1 + random.next() % 4), dot: stamp().dot)
    let edit = Stamp(rank: .user, time: stamp().time, dot: stamp().dot)
    return SeedState(layers: layers, basis: SeedBasis(stamp: edit, layer: seen))
  }

  private mutating func deletes() -> [Delete] {
    let stamps = Dictionary([stamp(), stamp()].map { ($0.dot, $0) }) { first, _ in first }
    let deletes = stamps.sorted { $0.key < $1.key }.map { dot, stamp in
      // One of them with the same dot and another rank or time would be another delete.
      let stamp = Stamp(time: HybridTime(milliseconds: dot.sequence), dot: dot)
      var context =
        contexts[dot]
        ?? StateVector(
          header.target.entries.map { ($0.replica, random.next() % ($0.sequence + 1)) })
      context.include(dot)
      contexts[dot] = context
      return Delete(stamp: stamp, context: context)
    }
    // A delete that another one has seen is dropped by the join.
    let unseen = deletes.filter { delete in
      !deletes.contains { $0.stamp.dot != delete.stamp.dot && $0.context.covers(delete.stamp.dot) }
    }
    return unseen.isEmpty ? Array(deletes.prefix(1)) : unseen
  }

  private mutating func element() -> ORSetElement {
    var element = ORSetElement()
    var dots: Set<Dot> = []
    for _ in 0..<(random.chance(60) ? 1 : 3) {
      let stamp = stamp()
      guard dots.insert(stamp.dot).inserted else { continue }
      if random.chance(30) { element.remove(self.stamp()) }
      element.add(stamp)
    }
    guard header.version >= 3, random.chance(50) else { return element }
    if random.chance(20) { element.tags = [] }
    let stamp = random.chance(50) ? element.uniformStamp ?? self.stamp() : self.stamp()
    let bytes = (0..<random.pick([1, 7, 8, 512])).map { _ in UInt8(random.below(256)) }
    element.place = ListPosition(bytes: bytes).map { ORSetElement.Place(stamp: stamp, position: $0) }
    return element
  }

  mutating func value() -> Value {
    switch random.below(11) {
    case 0: .null
    case 1: .integer(random.pick([0, 1, -1, .min, .max, 63, 64, -64, -65]))
    case 2: .integer(Int64(bitPattern: random.next()))
    case 3: Value(real: random.pick([0, -0.0, 1, -1.5, .infinity, -.infinity, .leastNonzeroMagnitude]))
    case 4: .blob((0..<random.below(40)).map { _ in UInt8(truncatingIfNeeded: random.next()) })
    case 5: .text(random.pick(["A", "SBPlace", "a_1", "1", ""]) + "|~|386c1919-5f25-4be2-975f-5b34506c51db")
    default: .text(random.pick(["", "a", "e\u{301}", "\u{E9}", "🧮 tally", "nul \0 inside", "\u{FEFF}", "long " + "x"]))
    }
  }
}
