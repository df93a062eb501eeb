import TallyCRDT
import TallyWire

/// What the core does, as one number, to compare builds by: joins in several orders, deltas, presence with owners and
/// cycles, texts that several write, canonical bytes and back. Everything follows from a fixed seed.
struct Exercise {
  private var random = SplitMix64(state: 2026)
  private let replicas: [ReplicaID]
  private var digest = SipHash()
  /// What should not happen.
  private(set) var faults = 0

  init() {
    var random = SplitMix64(state: 1)
    replicas = (0..<4).map { _ in ReplicaID.random(using: &random) }
  }

  /// The number; 0 if an expectation failed.
  mutating func run() -> UInt64 {
    for _ in 0..<200 {
      let states = (0..<3).map { _ in state() }
      let joined = states[0].merging(states[1]).merging(states[2])
      expect(joined == states[2].merging(states[1].merging(states[0])))
      expect(joined == joined.merging(states[1]))
      note(joined)
    }
    for _ in 0..<50 { presence() }
    for _ in 0..<10 { texts() }
    return faults == 0 ? digest.finalized() : 0
  }

  private mutating func expect(_ condition: Bool) { faults += condition ? 0 : 1 }

  // MARK: States

  private mutating func below(_ limit: UInt64) -> UInt64 { random.next() % limit }

  private mutating func stamp() -> Stamp {
    // One time and rank for each dot, as in real histories.
    let dot = Dot(replica: replicas[Int(below(4))], sequence: 1 + below(9))
    return Stamp(time: HybridTime(milliseconds: 1000 + dot.sequence * 7), dot: dot)
  }

  private mutating func state() -> RecordState {
    let written = stamp()
    var state = RecordState(inserted: written, fields: [])
    for field in 0..<3 as Range<UInt32> where below(2) == 0 {
      let stamp = stamp()
      let value: Value = stamp.dot.sequence % 2 == 0 ? .integer(-Int64(stamp.dot.sequence) << 40) : .text("täg")
      state.fields.append(FieldCell(field: FieldID(rawValue: field), stamp: stamp, value: value))
    }
    if below(3) == 0 {
      let stamp = stamp()
      var context = StateVector()
      context.include(stamp.dot)
      state.deletes = [Delete(stamp: stamp, context: context)]
    }
    return RecordState().merging(state)
  }

  // MARK: Bytes

  private mutating func note(_ state: RecordState) {
    guard let name = try? AnyRecordName(type: "Game", key: "386c1919-5f25-4be2-975f-5b34506c51db") else {
      faults += 1
      return
    }
    let item = DeltaBlock.Record(name: name, state: state)
    let block = DeltaBlock(records: [.init(type: "Game", fields: ["a", "b", "c"], items: [item])])
    let limits = replicas.sorted().map { Dot(replica: $0, sequence: 10) }
    let bytes = block.encoded(replicas: limits.map { $0.replica })
    for byte in bytes { digest.combine(byte: byte) }
    if let again = try? DeltaBlock(live: bytes, limits: limits, version: 3) {
      expect(again.encoded(replicas: limits.map { $0.replica }) == bytes)
    } else {
      faults += 1
    }
    for cut in 0..<bytes.count {
      expect((try? DeltaBlock(live: Array(bytes[..<cut]), limits: limits, version: 3)) == nil)
    }
    digest.combine(word: state.fingerprint(name: 7) { UInt64($0.rawValue) }.first)
  }

  // MARK: Texts

  private struct Writer {
    var text = MergeableText(TextState())
    var runs: TextRuns
    var vector = StateVector()
  }

  /// Three devices that save whole strings, and take in as bytes what the others have.
  private mutating func texts() {
    var writers = (0..<3).map { _ in Writer(runs: TextRuns(salt: 1 + below(1000))) }
    for _ in 0..<60 {
      let index = Int(below(3))
      let other = writers[Int(below(3))]
      if below(3) == 0, let delta = other.text.state.delta(since: writers[index].vector) {
        let bytes = delta.encoded(replicas: replicas)
        for byte in bytes { digest.combine(byte: byte) }
        guard let state = try? TextState(bytes, limits: replicas.map { Dot(replica: $0, sequence: other.vector[$0]) })
        else {
          faults += 1
          return
        }
        expect(state == delta)
        writers[index].text.merge(state)
        writers[index].vector.merge(other.vector)
      } else {
        write(&writers[index], as: replicas[index])
      }
    }
    let states = writers.map { $0.text.state }
    let joined = states[0].merging(states[1]).merging(states[2])
    expect(joined == states[2].merging(states[1].merging(states[0])))
    digest.combine(word: joined.fingerprint(name: 7, field: 8).first)
    for character in MergeableText(joined).characters { digest.combine(word: UInt64(character.value)) }
  }

  private mutating func write(_ writer: inout Writer, as replica: ReplicaID) {
    let dot = Dot(replica: replica, sequence: writer.vector[replica] + 1)
    writer.vector.include(dot)
    let old = writer.text.text
    var characters = Array(old.unicodeScalars)
    let typed: [Unicode.Scalar] = ["a", "ä", "€", "😀", "\n"]
    for _ in 0...below(2) {
      let place = Int(below(UInt64(characters.count) + 1))
      let end = min(characters.count, place + Int(below(3)))
      characters.replaceSubrange(place..<end, with: (0..<below(4)).map { _ in typed[Int(below(5))] })
    }
    var new = String.UnicodeScalarView()
    new.append(contentsOf: characters)
    let stamp = Stamp(time: HybridTime(milliseconds: dot.sequence), dot: dot)
    if (try? writer.text.save(String(new), from: old, by: stamp, in: &writer.runs)) == nil { faults += 1 }
    expect(writer.text.characters == characters)
  }

  // MARK: Presence

  private mutating func presence() {
    var world = World()
    let names = (0..<8).compactMap { try? AnyRecordName(type: "Node", key: "\($0)") }
    for name in names {
      var owners: [RecordFacts.Owner] = []
      if below(2) == 0 { owners.append(.init(field: "owner", target: names[Int(below(8))], stamp: stamp())) }
      world.owned[name] = []
      world.facts[name] = RecordFacts(state: state(), owners: owners)
    }
    for name in names {
      for owner in world.facts[name]?.owners ?? [] { world.owned[owner.target, default: []].append(name) }
    }
    let visibility = Visibility(world)
    for name in names { digest.combine(byte: visibility.isVisible(name) ? 1 : 0) }
  }
}

private struct World: VisibilitySource {
  var facts: [AnyRecordName: RecordFacts] = [:]
  var owned: [AnyRecordName: [AnyRecordName]] = [:]

  func facts(of name: AnyRecordName) throws(Never) -> RecordFacts? { facts[name] }
  func liveTags(of name: AnyRecordName) throws(Never) -> [Dot] { [] }
  func owned(by owner: AnyRecordName) throws(Never) -> [AnyRecordName] { owned[owner] ?? [] }
}

private struct SplitMix64: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
