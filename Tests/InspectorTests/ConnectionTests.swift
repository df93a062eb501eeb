#if Inspector
  import Foundation
  import GRDB
  import Synchronization
  import Tally
  import TallyInspection
  import TallyInspector
  import TallyStore
  import TallySync
  import Testing

  /// Connections: how long they may last, and what becomes of work that nobody waits for any more.
  @Suite(.serialized, .timeLimit(.minutes(5))) struct ConnectionTests {
    private static let endless =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

    /// An inspector of a store in memory with limits of its own, and a client that is let in.
    private struct House {
      let store: Store
      let room: InspectorRoom
      let inspector: Inspector
      let client: RawClient
      let cookie: String

      init(
        _ engine: EngineView? = nil, _ options: StoreOptions = StoreOptions(),
        _ change: (inout InspectorLimits) -> Void = { _ in }
      ) async throws {
        var (limits, settings) = (InspectorLimits(), Inspector.Settings())
        // Nothing here ends by a limit that its test does not set.
        (limits.first, limits.idle, limits.query) = (.seconds(100_000), .seconds(100_000), .seconds(100_000))
        change(&limits)
        settings.logger.logLevel = .critical
        store = try Store(inMemory: InspectorTests.schema, options: options)
        room = InspectorRoom([InspectedStore("phone", store, engine)], settings, limits: limits)
        inspector = Inspector(room)
        let url = try #require(URLComponents(string: try await inspector.serve()))
        client = RawClient(port: try #require(url.port))
        let welcome = try await client.get("/?\(try #require(url.query))", cookie: "")
        cookie = String(try #require(welcome.headers["set-cookie"]).prefix { $0 != ";" })
      }

      func query(_ sql: String) async throws -> Int {
        try await client.post("/api/query", Self.body(sql), cookie: cookie).status
      }

      /// Begins an endless query, and goes away once it runs and `body` is done. What asks whether it runs is no query:
      /// one that comes first would have this one refused.
      func abandonQuery(after body: () async throws -> Void = {}) async throws {
        let request = client.change("/api/query", Self.body(ConnectionTests.endless), cookie: cookie)
        try await client.abandon(request) {
          while !room.running.withLock({ $0.contains("query") }) {
            #expect(try await client.get("/api/log", cookie: cookie).status == 200)
          }
          try await body()
        }
      }

      static func body(_ sql: String) -> String { "{\"store\":0,\"sql\":\"\(sql)\"}" }
    }

    /// Connections that nobody has begun to serve when the server closes would end the process, if they had been made
    /// into what has to be used.
    @Test func connectionsThatWaitDoNotKeepItFromEnding() async throws {
      for _ in 0..<6 {
        let house = try await House()
        await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<3 { group.addTask { try await house.client.knockUntilRefused() } }
          group.addTask { await house.inspector.close() }
        }
      }
    }

    @Test func aQueryEndsWithWhoeverHasAsked() async throws {
      let house = try await House()
      try await house.abandonQuery()
      while try await house.query("SELECT 1") != 200 {}
      await house.inspector.close()
    }

    /// SQLite's own check, the first part of a verify, looks at the CHECK of each row of a table of the app's. The
    /// function that is called there waits until it may go on. It is handed the row: SQLite calls it once otherwise.
    private final class Gate: Sendable {
      private let isOpen = Mutex(true)
      private let passed = Mutex(0)
      private let rows = DispatchSemaphore(value: 0)
      /// Says when a row has been come to while it is not open.
      let arrivals = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))
      static let count = 3_000

      var options: StoreOptions {
        var options = StoreOptions()
        options.prepareDatabase = { db in
          db.add(
            function: DatabaseFunction("gate", argumentCount: 1, pure: true) { _ in
              self.pass()
              return true
            })
        }
        return options
      }

      /// How many rows have been looked at while it was not open.
      var count: Int { passed.withLock { $0 } }

      private func pass() {
        guard !isOpen.withLock({ $0 }) else { return }
        passed.withLock { $0 += 1 }
        arrivals.continuation.yield()
        rows.wait()
      }

      func shut(_ store: Store) throws {
        try store.write {
          try $0.execute(sql: "CREATE TABLE gates(n INTEGER PRIMARY KEY, CHECK(gate(n)))")
          try $0.execute(
            sql: """
              WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT \(Self.count))
              INSERT INTO gates SELECT i FROM n
              """)
        }
        isOpen.withLock { $0 = false }
      }

      func letOnePass() { rows.signal() }

      func open() {
        isOpen.withLock { $0 = true }
        rows.signal()
      }

      func arrival() async { for await _ in arrivals.stream { return } }
    }

    /// It ends after some rows. What else is asked takes longer than for the server to notice who has gone.
    @Test func aVerifyEndsWithWhoeverHasAsked() async throws {
      let gate = Gate()
      let house = try await House(nil, gate.options)
      try gate.shut(house.store)
      try await house.client.abandon(house.client.change("/api/verify", "{\"store\":0}", cookie: house.cookie)) {
        await gate.arrival()
      }
      while house.room.running.withLock({ $0.contains("verify") }) {
        gate.letOnePass()
        #expect(try await house.client.get("/api/log", cookie: house.cookie).status == 200)
      }
      #expect((1..<Gate.count).contains(gate.count))
      gate.open()
      let next = try await house.client.post("/api/verify", "{\"store\":0}", cookie: house.cookie)
      #expect(next.status == 200 && next.body.contains("\"problems\":[]"), "\(next.body)")
      await house.inspector.close()
    }

    @Test func oneVerifyRunsAtATime() async throws {
      let gate = Gate()
      let house = try await House(nil, gate.options)
      let (client, cookie) = (house.client, house.cookie)
      try gate.shut(house.store)
      async let first = client.post("/api/verify", "{\"store\":0}", cookie: cookie)
      await gate.arrival()
      let second = try await client.post("/api/verify", "{\"store\":0}", cookie: cookie)
      #expect(second.status == 429 && second.body.contains("\"busy\""))
      #expect(gate.count == 1)
      gate.open()
      #expect(try await first.status == 200)
      #expect(try await client.post("/api/verify", "{\"store\":0}", cookie: cookie).status == 200)
      await house.inspector.close()
    }

    /// Browsers send one request after the other. Who sends many behind one that takes long gets no answer, and what it
    /// has asked for ends.
    @Test func whatComesBehindAnUnansweredRequestIsLimited() async throws {
      let house = try await House()
      let (client, cookie) = (house.client, house.cookie)
      func request(of sql: String) -> String {
        client.change("/api/query", House.body(sql), cookie: cookie)
          .replacingOccurrences(of: "Connection: close\r\n", with: "")
      }
      let query = request(of: Self.endless)
      let next = "GET /api/log HTTP/1.1\r\nHost: 127.0.0.1:\(client.port)\r\nCookie: \(cookie)\r\n\r\n"
      for behind in [String(repeating: next, count: 2_000), client.change("/api/x", Self.large, cookie: cookie)] {
        // The connection is closed, though no limit of time is near.
        await #expect(throws: RawClient.Failure.self) { try await client.send(query + behind) }
        while try await house.query("SELECT 1") != 200 {}
      }
      // A few are answered, each in its turn.
      let last = next.replacingOccurrences(of: "\r\n\r\n", with: "\r\nConnection: close\r\n\r\n")
      let quick = request(of: "SELECT 12345")
      var answers = try await client.send(quick + String(repeating: next, count: 5) + last)
      // A query whose connection was closed before it began still begins, and ends.
      while answers.status == 429 { answers = try await client.send(quick + String(repeating: next, count: 5) + last) }
      #expect(answers.status == 200 && answers.body.contains("12345"))
      #expect(answers.body.components(separatedBy: "HTTP/1.1 200").count == 7)
      await house.inspector.close()
    }

    private static let large = String(repeating: "x", count: 4 << 20)

    /// Work that takes long leaves the threads alone that everything else shares, however few cores there are.
    @Test func longWorkHoldsUpNobody() async throws {
      let isOver = Mutex(false)
      let compute: @Sendable () throws -> Void = { while !isOver.withLock({ $0 }) {} }
      let end: @Sendable () throws -> Void = { isOver.withLock { $0 = true } }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<2 * ProcessInfo.processInfo.activeProcessorCount {
          group.addTask { try await LongWork.run(compute) }
        }
        group.addTask { try await BlockingWork.run(end) }
        try await group.waitForAll()
      }
    }

    @Test func closingEndsAQueryThatRuns() async throws {
      let house = try await House()
      try await house.abandonQuery { await house.inspector.close() }
    }

    @Test func aQueryHasItsTime() async throws {
      let house = try await House { $0.query = .milliseconds(20) }
      #expect(try await house.query(Self.endless) == 400)
      await house.inspector.close()
    }

    /// Endless queries would take every reader of the store, and the other screens have to wait.
    @Test func oneQueryRunsAtATime() async throws {
      let house = try await House { $0.query = .milliseconds(500) }
      let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<8 { group.addTask { try await house.query(Self.endless) } }
        return try await group.reduce(into: [Int]()) { $0.append($1) }
      }
      #expect(statuses.filter { $0 == 400 }.count >= 1 && statuses.allSatisfy { [400, 429].contains($0) })
      #expect(try await house.query("SELECT 1") == 200)
      await house.inspector.close()
    }

    /// The head is enough for a refusal, and whoever goes on saying nothing is not waited for.
    @Test func aStrangersBodyIsNotWaitedFor() async throws {
      let house = try await House { $0.first = .seconds(2) }
      let head = "POST /api/query HTTP/1.1\r\nHost: 127.0.0.1:\(house.client.port)\r\nContent-Length: 8000000\r\n\r\n"
      #expect(try await house.client.send(head).status == 403)
      await #expect(throws: RawClient.Failure.self) { try await house.client.send("GET / HTTP/1.1\r\n") }
      await house.inspector.close()
    }

    /// A connection that is kept for the next request is closed after a while; a page that listens is not idle.
    @Test func anIdleConnectionIsClosedAndOneThatListensIsNot() async throws {
      let house = try await House { $0.idle = .milliseconds(20) }
      let (store, client, cookie) = (house.store, house.client, house.cookie)
      let kept = "GET /api/log HTTP/1.1\r\nHost: 127.0.0.1:\(client.port)\r\nCookie: \(cookie)\r\n\r\n"
      let heard = try await client.follow("/api/events", cookie: cookie, until: "event: change") {
        // It ends when the server closes it: more than the limit has passed then.
        for _ in 0..<3 { #expect(try client.sendBlocking(kept).status == 200) }
        try store.write { try $0.execute(sql: "INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma')") }
      }
      #expect(heard.contains("data: {\"store\":0}"))
      await house.inspector.close()
    }

    @Test func aPageOfNoSizeIsOneOfOne() async throws {
      let house = try await House()
      try await house.store.write {
        try $0.execute(sql: "INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma'), ('Book|~|b', 'Lolita')")
      }
      let rows = try await house.client.get("/api/rows?type=Book&limit=0", cookie: house.cookie)
      #expect(rows.status == 200 && rows.body.contains("\"next\":") && rows.body.contains("Book|~|b"))
      await house.inspector.close()
    }

    @Test func peersSayWhenTheyAreTriedAgainAndWhatTheySpeak() async throws {
      var (status, peer) = (SyncStatus(), PeerStatus(id: "mac"))
      (peer.phase, peer.lastError, peer.failures) = (.retrying, "the peer is away", 2)
      (peer.nextRetry, peer.protocolVersions) = (Date(timeIntervalSince1970: 1_800_000_000), 1...4)
      peer.device = SyncDevice(name: "Ann\u{2019}s Mac", app: "Books 2.1")
      (status.isPaused, status.peers) = (false, [peer])
      let house = try await House(
        EngineView(status: { [status] in status }, updates: { AsyncStream { $0.finish() } }, syncNow: {}))
      let peers = try await house.client.get("/api/peers", cookie: house.cookie).body
      #expect(peers.contains("\"nextRetry\":\"2027-01-15T08:00:00.000Z\""))
      #expect(peers.contains("\"protocolVersions\":[1,4]") && peers.contains("\"app\":\"Books 2.1\""))
      await house.inspector.close()
    }
  }
#endif
