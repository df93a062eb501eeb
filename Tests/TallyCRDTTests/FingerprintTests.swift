import TallyCRDT
import Testing

/// Equal fingerprints are equal states, and what is kept with each change is what is summed anew.
@Suite struct FingerprintTests {
  static let seeds = UInt64(1)...600

  private func sum(_ state: RecordState) -> Fingerprint { state.fingerprint(name: 1) { UInt64($0.rawValue) } }
  private func sum(_ element: ORSetElement) -> Fingerprint { element.fingerprint(link: 1, target: 2) }

  private func stamp(_ replica: UInt64, _ sequence: UInt64, rank: Rank = .user) -> Stamp {
    let dot = Dot(replica: ReplicaID(high: replica, low: 0), sequence: sequence)
    return Stamp(rank: rank, time: HybridTime(milliseconds: 9), dot: dot)
  }

  @Test func statesThatDifferHaveDifferentFingerprints() {
    var records: [Fingerprint: RecordState] = [:]
    var elements: [Fingerprint: ORSetElement] = [:]
    for seed in Self.seeds {
      for replica in Samples(seed: seed).replicas {
        let (record, element) = (sum(replica.record), sum(replica.element))
        #expect(records.updateValue(replica.record, forKey: record) ?? replica.record == replica.record, "seed \(seed)")
        #expect(elements.updateValue(replica.element, forKey: element) ?? replica.element == replica.element)
      }
    }
    #expect(records.count > 1_000 && elements.count > 500)
  }

  /// From any state to any other, also where cells go.
  @Test func theDifferenceOfTwoStatesIsTheDifferenceOfTheirSums() {
    for seed in Self.seeds {
      let replicas = Samples(seed: seed).replicas
      for (old, new) in zip(replicas, replicas.dropFirst()) {
        var record = sum(old.record)
        record += new.record.fingerprint(replacing: old.record, name: 1) { UInt64($0.rawValue) }
        #expect(record == sum(new.record), "seed \(seed)")
        var element = sum(old.element)
        element += new.element.fingerprint(replacing: old.element, link: 1, target: 2)
        #expect(element == sum(new.element), "seed \(seed)")
      }
    }
  }

  /// Each part by itself: a state that lacks it, or has another, has another sum.
  @Test func everyPartOfARecordCounts() {
    var states = [RecordState()]
    func add(_ change: (inout RecordState) -> Void) {
      var state = RecordState(inserted: stamp(1, 1), fields: [])
      change(&state)
      states.append(state)
    }
    func vector(_ sequence: UInt64) -> StateVector { StateVector([(ReplicaID(high: 2, low: 0), sequence)]) }
    add { _ in }
    add { $0.existence = stamp(1, 2) }
    for value in [Value.null, .integer(1), .text("1")] {
      add { $0.fields = [FieldCell(field: FieldID(rawValue: 1), stamp: stamp(1, 1), value: value)] }
    }
    for sequence in UInt64(1)...2 {
      add { $0.supersededTouches = vector(sequence) }
      add { $0.deletes = [Delete(stamp: stamp(2, 3), context: vector(2 + sequence))] }
      add { $0.deletes = [Delete(stamp: stamp(2, 4 + sequence), context: vector(9))] }
    }
    let layer = SeedLayer(stamp: stamp(3, 1, rank: .seed))
    add { $0.seed = SeedState(layers: [layer]) }
    add { $0.seed = SeedState(layers: [SeedLayer(stamp: layer.stamp, isRetired: true)]) }
    add { $0.seed = SeedState(layers: [layer], basis: SeedBasis(stamp: stamp(1, 1), layer: layer.stamp)) }
    #expect(Set(states.map(sum)).count == states.count)
  }

  @Test func everyPartOfALinkCounts() {
    let (first, second) = (stamp(1, 1), stamp(1, 2))
    var elements = [ORSetElement(), ORSetElement(added: first), ORSetElement(added: second)]
    for removal in [stamp(2, 1), stamp(2, 2)] {
      for tags in [[first], [second], [first, second]] {
        var element = ORSetElement()
        for tag in tags { element.add(tag) }
        element.remove(removal)
        elements.append(element)
      }
      // One of two tags is removed: which one counts.
      for (gone, live) in [(first, second), (second, first)] {
        var element = ORSetElement(added: gone)
        element.remove(removal)
        element.add(live)
        elements.append(element)
      }
    }
    #expect(Set(elements.map(sum)).count == elements.count)
  }

  /// A delete adds to the sum what it is itself, and takes nothing away: an edit can bring back what it covers.
  @Test func deletedCellsStillCount() {
    let cell = FieldCell(field: FieldID(rawValue: 1), stamp: stamp(1, 1), value: .integer(5))
    let inserted = RecordState(inserted: stamp(1, 1), fields: [cell])
    var delete = RecordState()
    delete.deletes = [Delete(stamp: stamp(1, 2), context: StateVector([(ReplicaID(high: 1, low: 0), UInt64(2))]))]
    var both = sum(inserted)
    both += sum(delete)
    #expect(sum(inserted.merging(delete)) == both)
  }

  // MARK: The check values of Docs/WireFormat.md, which a program of its own has computed

  private let author = ReplicaID(high: 0xA0A1_A2A3_A4A5_A6A7, low: 0xA8A9_AAAB_ACAD_AEAF)
  private let game = SipHash13.hash("SBGame|~|386c1919-5f25-4be2-975f-5b34506c51db")

  private func stamp(_ sequence: UInt64, after milliseconds: UInt64) -> Stamp {
    Stamp(
      time: HybridTime(milliseconds: 1_767_225_600_000 + milliseconds), dot: Dot(replica: author, sequence: sequence))
  }

  private func described(_ change: (inout RecordState) -> Void) -> String {
    var state = RecordState()
    change(&state)
    let fields = [SipHash13.hash("name"), SipHash13.hash("turn")]
    return state.fingerprint(name: game) { fields[Int($0.rawValue)] }.description
  }

  @Test func recordsHashAsTheWireFormatSays() {
    let insert = stamp(1, after: 0)
    func cell(_ field: UInt32, _ value: Value) -> FieldCell {
      FieldCell(field: FieldID(rawValue: field), stamp: insert, value: value)
    }
    #expect(described { $0.existence = insert } == "8c642e8d071cf9b1d83c597a48906eab")
    #expect(described { $0.fields = [cell(0, .text("Chess"))] } == "9d1738d247ea02c72040a92d77bedbd4")
    #expect(described { $0.fields = [cell(1, .integer(42))] } == "8d0c2741e900cb1016b37dbfe7972d6d")
    let cells = [cell(0, .text("Chess")), cell(1, .integer(42))]
    #expect(described { $0 = RecordState(inserted: insert, fields: cells) } == "b6878ea13807c7880f308067a7e677ec")
    let touch = StateVector([(author, UInt64(1))])
    #expect(described { $0.supersededTouches = touch } == "37fa3c1816f5c827b4db90b61449a807")
    var context = StateVector([(author, UInt64(3))])
    let delete = stamp(3, after: 2)
    #expect(
      described { $0.deletes = [Delete(stamp: delete, context: context)] } == "eec448937e3a5c545f76e43aee974203")
    context[ReplicaID(high: 0xB0B1_B2B3_B4B5_B6B7, low: 0xB8B9_BABB_BCBD_BEBF)] = 7
    #expect(
      described { $0.deletes = [Delete(stamp: delete, context: context)] } == "48083cd8ab3f159853e733251a0d70d7")
  }

  @Test func linksHashAsTheWireFormatSays() {
    let link = SipHash13.hash("SBGame.players.SBPerson\0SBGame|~|386c1919-5f25-4be2-975f-5b34506c51db")
    var element = ORSetElement(added: stamp(1, after: 0))
    let tag = element.fingerprint(link: link, target: SipHash13.hash("SBPerson|~|ann"))
    #expect(tag.description == "b18b56d87c8a243c2fefde05aecdcf8b")
    element.remove(stamp(2, after: 1))
    var removal = element.fingerprint(link: link, target: SipHash13.hash("SBPerson|~|ann"))
    removal -= tag
    #expect(removal.description == "3010f891a1aeada0510c2ba166f6b00f")
  }
}
