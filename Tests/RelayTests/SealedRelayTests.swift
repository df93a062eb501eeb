#if Relay && Spaces
  import Synchronization
  import TallyRelay
  import TallySync
  import TallyTesting
  import Testing

  @testable import TallySpaces

  /// A sealed relay keeps the contract of `Mailbox` that the relay keeps, over real connections.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct SealedRelayTests {
    private final class Memory: SpaceMemory {
      private let kept = Mutex<[String: [UInt8]]>([:])
      func values() throws -> [String: [UInt8]] { kept.withLock { $0 } }
      func keep(_ values: [String: [UInt8]?]) throws {
        kept.withLock { kept in for (name, value) in values { kept[name] = value } }
      }
    }

    /// A space of one device.
    private static func space() throws -> SealedSpace {
      let (recovery, device) = (MemberKeys(), MemberKeys())
      let id = SpaceID.space(of: recovery.publicKeys.signing)
      let genesis = try SignedRecord(
        .genesis(.init(recovery: recovery.publicKeys, name: "Us")), in: id,
        by: MemberID(recovery.publicKeys, in: id), after: [], keys: recovery)
      let token = try #require(SpaceDigest([UInt8](repeating: 0, count: 32)))
      let join = try SignedRecord(
        .join(.init(keys: device.publicKeys, invitation: genesis.record.id, token: token, name: "One")), in: id,
        by: MemberID(device.publicKeys, in: id), after: [genesis.record.id], keys: device, invitation: recovery)
      let space = try SealedSpace(
        id, logKey: [UInt8](repeating: 7, count: 32), device: device, records: Memory(), secrets: Memory())
      try space.add([genesis, join])
      return space
    }

    @Test(arguments: MailboxConformance.rules, StorageKind.available)
    func aSealedRelayKeepsTheContract(_ rule: MailboxConformance.Rule, _ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        try await rule.check(within: .seconds(120)) {
          try SealedMailbox(try relay.mailbox(try await relay.token()), of: try Self.space(), memory: Memory())
        }
      }
    }
  }
#endif
