#if Spaces
  import Foundation
  import TallySync
  import TallyTesting
  import Testing

  @testable import TallySpaces

  /// A sealed place keeps the contract of `Mailbox`, whatever carries it. `SealedRelayTests` has the relay.
  @Suite(.serialized) struct SealedConformanceTests {
    private func check(_ rule: MailboxConformance.Rule, _ place: @escaping @Sendable () throws -> any Mailbox)
      async throws
    {
      try await rule.check(within: .seconds(120)) { try SpaceFixture().device().sealed(try place()) }
    }

    @Test(arguments: MailboxConformance.rules) func memory(_ rule: MailboxConformance.Rule) async throws {
      try await check(rule) { MemoryMailbox() }
    }

    @Test(arguments: MailboxConformance.rules) func folder(_ rule: MailboxConformance.Rule) async throws {
      let url = FileManager.default.temporaryDirectory.appendingPathComponent("tally-sealed-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: url) }
      try await check(rule) { FolderMailbox(url) }
    }

    @Test(arguments: MailboxConformance.rules) func log(_ rule: MailboxConformance.Rule) async throws {
      try await check(rule) { MemoryLog() }
      try await check(rule) { MemoryLog(pageSize: 1) }
      try await check(rule) { MemoryLog(pageSize: 7, inlineBytes: 1 << 14) }
    }
  }
#endif
