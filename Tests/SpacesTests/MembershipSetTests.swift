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

    @Test func aFullSpaceIsReadInTime() {
      // As many records as there may be, of which each has seen all before it.
      let ids = (1...SpaceLimits.records).map { ModelSet.digest($0, 0) }
      let devices = (0..<400).map { ModelSet.member("d\($0)") }
      let genesis = SpaceRecord(
        id: ids[0], author: ModelSet.member("R"), parents: [], operation: ModelSet.genesis)
      let others = (1..<ids.count).map { index in
        SpaceRecord(
          id: ids[index], author: devices[index < 400 ? index : index % 399 + 1], parents: [ids[index - 1]],
          operation: index < 400 ? ModelSet.join(ids[0]) : .close(invitation: ids[index - 1]))
      }
      let clock = ContinuousClock()
      let time = clock.measure { #expect(Membership(of: [genesis] + others).present.count == 399) }
      #expect(time < .seconds(60))
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
