#if Spaces
  import Foundation
  import Testing

  @testable import TallySpaces

  /// What sets of records mean, as the model says (Tests/Models/spaces.py).
  @Suite struct MembershipSetTests {
    /// The sets in the repository, or those of a file that the environment names.
    private static func sets() throws -> [ModelSet] {
      let golden = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../Models/space-sets.json").standardizedFileURL
      let other = ProcessInfo.processInfo.environment["TALLY_SPACE_SETS"].map { URL(fileURLWithPath: $0) }
      let text = try String(contentsOf: other ?? golden, encoding: .utf8)
      return try text.split(separator: "\n").map { try JSONDecoder().decode(ModelSet.self, from: Data($0.utf8)) }
    }

    @Test func setsMeanWhatTheModelSays() throws {
      let sets = try Self.sets()
      #expect(sets.count >= 176)
      for (number, set) in sets.enumerated() {
        #expect(set.means == set.meaning(number), "set \(number + 1)")
      }
    }

    /// Records come in any order, each perhaps several times.
    @Test func theOrderDoesNotMatter() throws {
      var random = SplitMix(seed: 11)
      for (number, set) in try Self.sets().prefix(60).enumerated() {
        let records = set.records(number)
        let some = records + records.prefix(3)
        #expect(Membership(of: some.shuffled(using: &random)) == Membership(of: records))
      }
    }

    /// What comes later brings no device back.
    @Test func whoIsOutStaysOut() throws {
      var random = SplitMix(seed: 12)
      for (number, set) in try Self.sets().enumerated() {
        let records = set.records(number).shuffled(using: &random)
        var before = Membership(of: [SpaceRecord]())
        for count in stride(from: 0, through: records.count, by: 5) {
          let now = Membership(of: records.prefix(count))
          #expect(before.removed.union(before.excluded).isSubset(of: now.removed.union(now.excluded)))
          #expect(now.present.isDisjoint(with: now.removed.union(now.excluded)))
          before = now
        }
      }
    }

    /// As many records as there may be, of which each has seen all before it: each device is invited by the one before,
    /// closes the link, and removes the second before it.
    @Test func aFullSpaceIsReadInTime() {
      let ids = (1...SpaceLimits.records).map { ModelSet.digest($0, 0) }
      let keys = SpaceRecord.PublicKeys(signing: ids[0], sealing: ids[0])
      let name = { (number: Int) in ModelSet.member("d\(max(0, number))") }
      var records = [
        SpaceRecord(id: ids[0], author: ModelSet.member("R"), parents: [], operation: ModelSet.genesis)
      ]
      var device = 0
      for number in 1..<ids.count {
        let operation: SpaceRecord.Operation
        switch number % 4 {
        case 1 where number == 1: operation = ModelSet.join(ids[0])
        case 1: operation = .remove(.init(devices: [name(device - 2)]))
        case 2: operation = .invite(.init(keys: keys, use: .oneDevice))
        case 3:
          device += 1
          operation = ModelSet.join(ids[number - 1])
        default: operation = .close(invitation: ids[number - 2])
        }
        records.append(
          SpaceRecord(id: ids[number], author: name(device), parents: [ids[number - 1]], operation: operation))
      }
      let clock = ContinuousClock()
      let time = clock.measure {
        let meaning = Membership(of: records)
        #expect(meaning.present.count == 3 && meaning.removed.count == 1_022 && meaning.excluded.isEmpty)
      }
      // 0.15 s without optimization on an idle machine; 5 s if every record looks at all devices before it.
      #expect(time < .seconds(2))
    }
  }

  /// A generator with a seed.
  struct SplitMix: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var z = state
      z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
      return z ^ (z >> 31)
    }
  }
#endif
