#if Relay
  import Synchronization
  import Tally
  import TallyRelay
  import TallySync
  import TallyTesting
  import Testing

  /// A relay keeps the contract of `Mailbox`, over real connections.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct RelayConformanceTests {
    @Test(arguments: MailboxConformance.rules, StorageKind.available)
    func aRelayKeepsTheContract(_ rule: MailboxConformance.Rule, _ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        try await rule.check(within: .seconds(120)) { try relay.mailbox(try await relay.token()) }
      }
    }

    @Test(arguments: StorageKind.available) func twoStoresSyncThroughARelay(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        let mailbox = try relay.mailbox(try await relay.token())
        let (one, other) = (try Scores.store("one"), try Scores.store("other"))
        for _ in 0..<2 { for store in [one, other] { try await store.sync(through: mailbox) } }
        #expect(try Scores.dump(one) == Scores.dump(other))
        #expect(try Scores.names(one) == ["one", "other"])
        let third = try await one.sync(through: mailbox)
        #expect(third.taken.isEmpty && third.written.isEmpty && third.bytesRead == 0)
        let status = try await mailbox.status()
        #expect(status.entries == 2 && status.role == "writer" && status.quota == nil)
      }
    }

    /// One large entry: receiving it shows block by block, and so does applying it.
    @Test(arguments: StorageKind.available) func aFirstSyncShowsHowFarItIs(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        let mailbox = try relay.mailbox(try await relay.token())
        let (one, other) = (try Scores.store("one"), try Store(inMemory: Scores.schema))
        for number in 0..<40 { try Scores.insert("\(number)", noise: 200_000, into: one) }
        try await one.sync(through: mailbox)
        let seen = Mutex<[MailboxProgress]>([])
        var settings = MailboxSettings()
        settings.onProgress = { step in seen.withLock { $0.append(step) } }
        let report = try await other.sync(through: mailbox, settings)
        let taken = seen.withLock { $0 }.filter { $0.phase == .taking }
        for stage in [TransferProgress.Stage.receiving, .applying] {
          let bytes = taken.compactMap(\.transfer).filter { $0.stage == stage }.map(\.bytes)
          #expect(bytes == bytes.sorted() && Set(bytes).count > 4 && bytes.last == UInt64(report.bytesRead), "\(stage)")
        }
        let fractions = taken.compactMap(\.fraction)
        #expect(fractions == fractions.sorted() && fractions.last == 1 && Set(fractions).count > 8)
      }
    }
  }
#endif
