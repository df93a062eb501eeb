#if Relay
  import Foundation
  import TallyRelay
  import TallyRelayProtocol
  @testable import TallyRelayServer
  import TallySync
  import TallyWire
  import Testing

  /// What clients do not read costs a bounded amount of memory, of a token and of all, and not for long.
  @Suite(.cleansUp, .serialized, .timeLimit(.minutes(5))) struct UnreadAnswerTests {
    private static let mebibyte = 1 << 20

    private func body(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) } }

    /// Puts a large entry without a client, whose digests take long where nothing is optimized.
    private func putLarge(_ mebibytes: Int, _ store: any RelayStorage, _ token: RelayStore.NewToken) async throws {
      let space = try #require(try await store.bearer(token.token)).space
      let piece = [UInt8](repeating: 7, count: Self.mebibyte)
      for number in 0..<mebibytes {
        _ = try await store.put(
          piece: piece, at: number * piece.count, of: mebibytes * piece.count, "large", in: space, after: nil)
      }
    }

    private func put(_ name: String, _ bytes: [UInt8], _ mailbox: RelayMailbox) async throws {
      _ = try await mailbox.put(MailboxUpload(name: name, bytes: bytes))
    }

    private func get(_ path: String, _ token: RelayStore.NewToken, _ relay: RelayFixture) async throws -> RawHTTP.Answer
    {
      try await RawHTTP.send(
        "GET", "/v1/spaces/\(token.space)\(path)", ["Authorization": "Bearer \(token.token)"], port: relay.port)
    }

    /// Two downloads that nobody reads fill a token's part. A third is told to come back, other tokens are served, and
    /// when the two are closed, so is this one.
    @Test(arguments: StorageKind.available) func answersThatNobodyReadsAreClosed(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) {
        $0.limits.answerBytes = 16 << 20
        $0.limits.longestWrite = .seconds(2)
      } _: { relay in
        let token = try await relay.token()
        let other = try await relay.token(token.space, .reader)
        let large = [UInt8](repeating: 7, count: 12 << 20)
        try await putLarge(12, relay.store, token)
        let path = "/v1/spaces/\(token.space)/entries/large"
        let statuses = try await RawHTTP.onThread { [port = relay.port] in
          let peers = UnreadPeers()
          defer { withExtendedLifetime(peers) {} }
          let first = try peers.ask(2, path, token.token, port: port)
          let refused = try peers.ask(1, path, token.token, port: port)
          let others = try peers.ask(1, path, other.token, port: port)
          // Until room is free again: nothing but the end of the first two can do that.
          var last = 503
          let end = ContinuousClock.now + .seconds(75)
          while last == 503, ContinuousClock.now < end {
            usleep(100_000)
            last = try peers.ask(1, path, token.token, port: port)[0]
          }
          return (first, refused, others, last)
        }
        #expect(statuses.0 == [200, 200] && statuses.1 == [503] && statuses.2 == [200] && statuses.3 == 200)
        // And who reads gets all of it.
        let answer = try await get("/entries/large", other, relay)
        #expect(answer.body == large)
      }
    }

    /// The client's system still acknowledges, although the relay's takes nothing more for longer than the limit.
    @Test(
      .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/status"), "only Linux tells how far a client is"))
    func whoReadsSlowlyGetsEverything() async throws {
      try await RelayFixture.run(.sqlite) {
        $0.limits.longestWrite = .seconds(4)
      } _: { relay in
        let token = try await relay.token()
        let byteCount = 12 << 20
        try await putLarge(12, relay.store, token)
        let path = "/v1/spaces/\(token.space)/entries/large"
        let answer = try await RawHTTP.onThread { [port = relay.port] in
          let peers = UnreadPeers(isTight: false)
          _ = try peers.ask(1, path, token.token, port: port)
          let slow = peers.read(0, 4_096, pause: .milliseconds(40), until: 900_000)
          return slow + peers.read(0, until: byteCount - slow.count)
        }
        #expect(answer.count >= byteCount)
      }
    }

    /// A page is as large as there is room for, and all of them are the whole.
    @Test(arguments: StorageKind.available) func pagesAreAsLargeAsThereIsRoom(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) {
        $0.limits.answerBytes = 16 << 20
      } _: { relay in
        let token = try await relay.token()
        let mailbox = try relay.mailbox(token)
        for number in 0..<30 { try await put("e-\(number)", body(60_000), mailbox) }
        let path = "/v1/spaces/\(token.space)/changes"
        let (first, sizes) = try await RawHTTP.onThread { [port = relay.port] in
          let peers = UnreadPeers()
          // All that the token has is in use, as far as it can be.
          let statuses = try peers.ask(40, path, token.token, port: port)
          return (statuses[0], statuses.count { $0 == 200 })
        }
        #expect(first == 200 && sizes > 4)
        var (names, cursor, pages): ([String], MailboxCursor?, Int) = ([], nil, 0)
        while pages < 100 {
          let page = try await mailbox.changes(after: cursor)
          names += page.items.map(\.name)
          (cursor, pages) = (page.cursor, pages + 1)
          if !page.hasMore { break }
        }
        #expect(names == (0..<30).map { "e-\($0)" } && pages > 4)
      }
    }

    /// Where there is no room for an event with a page, a short one says where the log stands.
    @Test func eventsWithoutRoomAreShort() async throws {
      try await RelayFixture.run {
        $0.limits.answerBytes = 1_000
      } _: { relay in
        let token = try await relay.token()
        try await put("a", body(5_000), try relay.mailbox(token))
        let path = "/v1/spaces/\(token.space)/events"
        let text = try await RawHTTP.onThread { [port = relay.port] in
          let peers = UnreadPeers()
          _ = try peers.ask(1, path, token.token, port: port)
          var text = ""
          while !text.contains("event: ") { text += String(decoding: peers.read(0, until: 1), as: UTF8.self) }
          return text
        }
        #expect(text.contains("event: news\n") && text.contains("id: 1."), "\(text)")
        // An entry has no room at all, and the client is told so.
        let answer = try await get("/entries/a", token, relay)
        #expect(answer.status == 503 && answer.problem == "busy" && answer.field("retry-after") == "1")
      }
    }

    @Test func roomIsTakenAndLeft() throws {
      let budget = ByteBudget(160, parts: 16)
      let (one, other): ([UInt8], [UInt8]) = ([1], [2])
      do {
        let first = try budget.room(for: 8, of: one)
        #expect(throws: RelayProblem.self) { try budget.room(for: 3, of: one) }
        // A token that has nothing else may have more than its part, if all have it.
        let large = try budget.room(for: 150, of: other)
        #expect(throws: RelayProblem.self) { try budget.room(for: 3, of: [3]) }
        large.resize(to: 2)
        #expect(budget.usage == (10, 2))
        let cut = try budget.room(from: 2, to: 100, of: other)
        #expect(cut.bytes == 2)
        first.leave()
        #expect(try budget.room(from: 1, to: 2, of: one).bytes == 2)
      }
      // What nobody has any more is left.
      #expect(budget.usage == (0, 0))
    }

    /// A client that wants a page waits for a turn, so that a crowd that comes at once is answered and not sent away.
    @Test(arguments: StorageKind.available) func aCrowdIsAnswered(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        let token = try await relay.token()
        try await put("a", body(1_000), try relay.mailbox(token))
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
          for _ in 0..<20 { group.addTask { try await relay.token(token.space, .reader).token } }
          return try await group.reduce(into: [String]()) { $0.append($1) }
        }
        let statuses = try await RawHTTP.onThread { [port = relay.port] in
          let peers = UnreadPeers()
          let path = "/v1/spaces/\(token.space)/changes"
          return try peers.ask((0..<600).map { tokens[$0 % tokens.count] }, path, port: port)
        }
        #expect(statuses.allSatisfy { $0 == 200 })
      }
    }

    /// Turns go round, and one that is given up is nobody's.
    @Test func aTurnThatIsGivenUpIsNobodys() async throws {
      let turns = Turns(1)
      try await turns.run(of: [1]) {
        let other = Task { try await turns.run(of: [1]) {} }
        try await Looking.until("another waits", within: .seconds(60)) { turns.waiting == 1 }
        other.cancel()
        await #expect(throws: CancellationError.self) { try await other.value }
        #expect(turns.waiting == 0)
      }
      let numbers = try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<100 { group.addTask { try await turns.run(of: [UInt8(number % 3)]) { number } } }
        return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
      }
      #expect(numbers.count == 100)
    }

    // MARK: In a process of its own

    /// A thousand answers of one token that nobody reads, with the usual limits: they hold little, and each is closed
    /// when its time is over. Each kind has a relay of its own, at the same time, since that takes a minute.
    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/status"), "needs /proc"))
    func aThousandUnreadAnswersHoldLittle() async throws {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for path in ["entries/large", "changes"] { group.addTask { try await expectLittle(path) } }
        try await group.waitForAll()
      }
    }

    private func expectLittle(_ path: String) async throws {
      let folder = try RelayFixture.newFolder()
      let store = try RelayStore(path: folder.appendingPathComponent("relay.sqlite").path, for: .serving)
      let token = try await store.makeToken(space: nil, role: .writer)
      try await putLarge(8, store, token)
      let space = try #require(try await store.bearer(token.token)).space
      let small = [UInt8](repeating: 7, count: 60_000)
      for number in 0..<70 { _ = try await store.put("e-\(number)", small, in: space, after: nil) }
      try store.close()
      let (relay, line) = try await RelayProcess.start(
        "relay", "--data", "relay.sqlite", "--listen", "127.0.0.1:0", "--rate", "1000000", in: folder)
      let port = try #require(Int(line.split(separator: ":").last ?? ""))
      let before = try #require(relay.memory)
      let descriptors = try #require(relay.descriptors)
      let (grown, statuses, left) = try await RawHTTP.onThread {
        let peers = UnreadPeers()
        let statuses = try peers.ask(1_000, "/v1/spaces/\(token.space)/\(path)", token.token, port: port)
        // From when all answers have begun: after 60 seconds without progress, looked at every five.
        let close = ContinuousClock.now + .seconds(75)
        // What making the pages took is given back at the next look at the memory; they are still unread then.
        let end = ContinuousClock.now + .seconds(40)
        while (relay.memory ?? .max) - before > 64 << 10, ContinuousClock.now < end { usleep(100_000) }
        let grown = (relay.memory ?? .max) - before
        while (relay.descriptors ?? .max) > descriptors + 8, ContinuousClock.now < close { usleep(200_000) }
        return (grown, statuses, (relay.descriptors ?? .max) - descriptors)
      }
      #expect(grown <= 64 << 10, "\(path): \(grown) KiB more")
      #expect(
        statuses.allSatisfy { [200, 503].contains($0) } && statuses.count { $0 == 200 } >= 8, "\(path)")
      #expect(left <= 8, "\(path): \(left) connections are still open")
      #expect(await relay.end(SIGTERM) == 0, "\(relay.errorText)")
    }
  }
#endif
