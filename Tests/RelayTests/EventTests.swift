#if Relay
  import Foundation
  import Synchronization
  import TallyRelayProtocol
  import TallyRelayServer
  import TallySync
  import Testing

  @testable import TallyRelay

  /// Events over real connections.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct EventTests {
    private func upload(_ name: String, _ byteCount: Int = 1) -> MailboxUpload {
      MailboxUpload(name: name, bytes: Array(repeating: 1, count: byteCount))
    }

    /// Returns when so many streams are open.
    private func untilOpen(_ count: Int, _ relay: RelayFixture) async throws {
      for _ in 0..<5_000 {
        let metrics = try await RawHTTP.send("GET", "/metrics", port: relay.adminPort).text
        if metrics.contains("\ntally_relay_streams \(count)\n") { return }
      }
      Issue.record("no \(count) streams are open")
    }

    private func count(_ route: String, _ relay: RelayFixture) -> Int {
      relay.log.filter { $0.contains("route=\(route) ") }.count
    }

    /// `Docs/RelayProtocol.md` shows these lines.
    @Test func aStreamByteByByte() async throws {
      try await RelayFixture.run {
        $0.limits.streamLife = .zero
      } _: { relay in
        let token = try await relay.token()
        let mailbox = try relay.mailbox(token)
        let start = try #require(try await mailbox.changes(after: nil).cursor)
        _ = try await mailbox.put(upload("a"))
        let page = try await mailbox.changes(after: start)
        let answer = try await RawHTTP.send(
          "GET", "/v1/spaces/\(token.space)/events?after=\(start)", ["Authorization": "Bearer \(token.token)"],
          port: relay.port)
        #expect(answer.status == 200 && answer.field("content-type") == "text/event-stream")
        #expect(answer.field("cache-control") == "no-store, no-transform")
        #expect(answer.field("x-accel-buffering") == "no")
        let cursor = try #require(page.cursor)
        let event = answer.chunks
        #expect(event.hasPrefix(":\n\nid: \(cursor)\nevent: page\ndata: VFJQAQAB"), "\(event)")
        #expect(event.hasSuffix("\n\n"))
      }
    }

    @Test func aCursorThatIsNotKnownGetsAListing() async throws {
      try await RelayFixture.run {
        $0.limits.streamLife = .zero
      } _: { relay in
        let token = try await relay.token()
        let mailbox = try relay.mailbox(token)
        _ = try await mailbox.put(upload("a"))
        let head = try #require(try await mailbox.changes(after: nil).cursor)
        func lines(_ query: String) async throws -> String {
          try await RawHTTP.send(
            "GET", "/v1/spaces/\(token.space)/events\(query)", ["Authorization": "Bearer \(token.token)"],
            port: relay.port
          ).chunks
        }
        let unknown = "9.00000000000000000000000000000000"
        #expect(try await lines("?after=\(unknown)") == ":\n\nid: \(head)\nevent: listing\ndata: -\n\n")
        #expect(try await lines("") == ":\n\nid: \(head)\nevent: news\ndata: -\n\n")
        #expect(try await lines("?after=\(head)") == ":\n\n")
      }
    }

    /// An edit needs no second request, and the stream stays open from wait to wait.
    @Test func whatIsPushedIsNotAskedFor() async throws {
      try await RelayFixture.run { relay in
        let token = try await relay.token()
        let (mailbox, other) = (try relay.mailbox(token), try relay.mailbox(token))
        var cursor = try await mailbox.changes(after: nil).cursor
        for name in ["a", "b", "c"] {
          let waiting = Task { [cursor] in try await mailbox.wait(after: cursor) }
          try await untilOpen(1, relay)
          _ = try await other.put(upload(name))
          try await waiting.value
          let page = try await mailbox.changes(after: cursor)
          #expect(page.items.map(\.name) == [name] && page.items.first?.content == [1])
          cursor = page.cursor
        }
        #expect(count("events", relay) == 1 && count("changes", relay) == 1)
      }
    }

    /// A relay whose pages of events can be held, one device's cursor and a stream of its own that is open.
    private func withStream(
      _ body: (RelayFixture, StuckStorage, RelayMailbox, MailboxCursor?, _ other: RelayMailbox) async throws -> Void
    ) async throws {
      let made = Mutex<StuckStorage?>(nil)
      let relay = try await RelayFixture.start(open: { place, state in
        let storage = StuckStorage(try await place.open(.serving, time: { state.now }))
        made.withLock { $0 = storage }
        return storage
      })
      let storage = try #require(made.withLock { $0 })
      let token = try await relay.token()
      let mailbox = try relay.mailbox(token)
      let start = try await mailbox.changes(after: nil).cursor
      let opening = Task { try await mailbox.wait(after: start) }
      try await untilOpen(1, relay)
      opening.cancel()
      _ = await opening.result
      try await body(relay, storage, mailbox, start, try relay.mailbox(token))
      try await relay.stop()
    }

    private func next(_ word: String, of storage: StuckStorage) async {
      for await found in storage.events where found == word { return }
    }

    /// What a device has put itself is no news to it.
    @Test func anEchoWakesNobody() async throws {
      try await withStream { relay, storage, mailbox, start, other in
        let known = try #require(try await mailbox.put(MailboxUpload(name: "own", bytes: [1], after: start)).cursor)
        // The relay goes on from there: what comes next is an event of its own, behind the echo.
        await next("read 1", of: storage)
        let waiting = Task { try await mailbox.wait(after: known) }
        _ = try await other.put(upload("other"))
        try await waiting.value
        #expect(try await mailbox.changes(after: known).items.map(\.name) == ["other"])
        #expect(count("changes", relay) == 1)
      }
    }

    /// A relay that has not read an echo when news comes tells of both at once, in a page that begins before what the
    /// device knows: that is asked for.
    @Test func anEchoAndNewsInOnePageAreAskedFor() async throws {
      try await withStream { relay, storage, mailbox, start, other in
        storage.holdsEvents = true
        let known = try #require(try await mailbox.put(MailboxUpload(name: "own", bytes: [1], after: start)).cursor)
        await next("waits", of: storage)
        _ = try await other.put(upload("other"))
        let waiting = Task { try await mailbox.wait(after: known) }
        storage.holdsEvents = false
        try await waiting.value
        #expect(try await mailbox.changes(after: known).items.map(\.name) == ["other"])
        #expect(count("changes", relay) == 2)
      }
    }

    /// More than an event holds is asked for.
    @Test func aLargeEntryIsAHint() async throws {
      try await RelayFixture.run { relay in
        let token = try await relay.token()
        let (mailbox, other) = (try relay.mailbox(token), try relay.mailbox(token))
        let cursor = try await mailbox.changes(after: nil).cursor
        let waiting = Task { try await mailbox.wait(after: cursor) }
        try await untilOpen(1, relay)
        _ = try await other.put(upload("large", 40_000))
        try await waiting.value
        let page = try await mailbox.changes(after: cursor)
        #expect(page.items.first?.content?.count == 40_000 && count("changes", relay) == 2)
      }
    }

    @Test func aStreamEndsAtShutdown() async throws {
      let relay = try await RelayFixture.start { $0.limits.draining = .seconds(25) }
      let mailbox = try relay.mailbox(try await relay.token())
      let cursor = try await mailbox.changes(after: nil).cursor
      let waiting = Task { try await mailbox.wait(after: cursor) }
      try await untilOpen(1, relay)
      let start = ContinuousClock.now
      try await relay.stop()
      #expect(ContinuousClock.now - start < .seconds(20))
      // Its end is a reason to look.
      try await waiting.value
    }

    /// When the time for running requests is over, a request for events is ended as any other, also while its token is
    /// still being looked up.
    @Test func aLookUpForAStreamEndsWithTheRelay() async throws {
      let stuck = Mutex<StuckStorage?>(nil)
      let relay = try await RelayFixture.start {
        $0.limits.draining = .milliseconds(200)
      } open: { place, state in
        let storage = StuckStorage(try await place.open(.serving, time: { state.now }))
        stuck.withLock { $0 = storage }
        return storage
      }
      let storage = try #require(stuck.withLock { $0 })
      let token = try await relay.token()
      storage.isStuck = true
      let asking = Task {
        try await RawHTTP.send(
          "GET", "/v1/spaces/\(token.space)/events", ["Authorization": "Bearer \(token.token)"], port: relay.port)
      }
      var events = storage.events.makeAsyncIterator()
      #expect(await events.next() == "waits")
      let stopping = Task { try await relay.stop() }
      // A look-up that goes on would hold the relay for ever.
      let deadline = Task {
        try await Task.sleep(for: .seconds(30))
        storage.isStuck = false
        storage.give("goes on")
      }
      #expect(await events.next() == "cancelled")
      deadline.cancel()
      try await stopping.value
      _ = await asking.result
    }

    /// A revoked token hears nothing more after the next heartbeat.
    @Test func aStreamEndsWithItsToken() async throws {
      try await RelayFixture.run {
        $0.limits.heartbeat = .milliseconds(100)
      } _: { relay in
        let token = try await relay.token()
        let mailbox = try relay.mailbox(token) { $0.linger = .seconds(600) }
        let cursor = try await mailbox.changes(after: nil).cursor
        let waiting = Task { try await mailbox.wait(after: cursor) }
        try await untilOpen(1, relay)
        try await relay.store.revoke(token.id)
        try await untilOpen(0, relay)
        try await waiting.value
        let error = await #expect(throws: RelayError.self) { try await mailbox.changes(after: cursor) }
        #expect(error?.problem == .tokenRevoked)
      }
    }

    /// Who does not read holds no memory for long.
    @Test func aStreamThatNobodyReadsIsEnded() async throws {
      try await RelayFixture.run {
        $0.limits.heartbeat = .milliseconds(100)
        $0.limits.longestWrite = .milliseconds(500)
      } _: { relay in
        let token = try await relay.token()
        let mailbox = try relay.mailbox(token)
        let client = try RawHTTP.connect(relay.port)
        defer { close(client) }
        let head =
          "GET /v1/spaces/\(token.space)/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(token.token)\r\n\r\n"
        let bytes = Array(head.utf8)
        #expect(bytes.withUnsafeBytes { send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) } == bytes.count)
        try await untilOpen(1, relay)
        for number in 0..<3_000 {
          _ = try await mailbox.put(upload("entry-\(number)", 12_000))
          guard number % 50 == 0 else { continue }
          let metrics = try await RawHTTP.send("GET", "/metrics", port: relay.adminPort).text
          if metrics.contains("\ntally_relay_streams 0\n") { return }
        }
        try await untilOpen(0, relay)
      }
    }

    /// Its last packet has the request and its end: nobody is there to read events, and none is kept a place.
    @Test func aClientThatHasClosedItsSideHoldsNoPlace() async throws {
      try await RelayFixture.run {
        $0.limits.heartbeat = .seconds(3_600)
      } _: { relay in
        let token = try await relay.token()
        let head =
          "GET /v1/spaces/\(token.space)/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(token.token)\r\n\r\n"
        let start = ContinuousClock.now
        // Reads until the relay closes, or has said nothing for a minute.
        _ = try await RawHTTP.exchange(Array(head.utf8), port: relay.port, isLast: true)
        #expect(ContinuousClock.now - start < .seconds(30))
        try await untilOpen(0, relay)
      }
    }

    /// A connection on which a stream has ended in order is as it was before: whoever closes their side with the next
    /// request gets an answer to it.
    @Test func aConnectionOutlivesItsStream() async throws {
      try await RelayFixture.run {
        $0.limits.streamLife = .zero
      } _: { relay in
        let token = try await relay.token()
        func request(_ path: String) -> [UInt8] {
          let space = "/v1/spaces/\(token.space)"
          return Array("GET \(space)\(path) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(token.token)\r\n\r\n".utf8)
        }
        let last = "\r\n0\r\n\r\n"
        for _ in 0..<5 {
          let answer = try await RawHTTP.exchange(
            request("/events"), until: last, then: request("/changes"), port: relay.port)
          #expect(answer.status == 200 && answer.field("content-type") == "application/vnd.tally.changes")
        }
      }
    }

    @Test func streamsCountAsWaiting() async throws {
      try await RelayFixture.run {
        $0.limits.waitingRequests = 1
      } _: { relay in
        let token = try await relay.token()
        let (mailbox, other) = (try relay.mailbox(token), try relay.mailbox(token) { $0.retries = 0 })
        let waiting = Task { try await mailbox.wait(after: nil) }
        try await untilOpen(1, relay)
        let error = await #expect(throws: RelayError.self) { try await other.wait(after: nil) }
        #expect(error?.problem == .tooManyWaiting)
        waiting.cancel()
      }
    }

    // MARK: What stands in between

    private static let token = "tally1_" + String(repeating: "A", count: 43)

    /// Long enough for a word on a busy machine; two of them in a row must be missed for a stream to count as silent.
    private static let silence = Duration.milliseconds(400)

    private func mailbox(_ server: CannedServer, longestSilence: Duration = .seconds(45)) throws -> RelayMailbox {
      var settings = RelayClient.Settings()
      settings.longestSilence = longestSilence
      settings.pause = .milliseconds(1)
      return try RelayMailbox("http://127.0.0.1:\(server.port)/s/abc", token: Self.token, settings)
    }

    /// An empty page at a position that exists.
    private static func bytes(_ position: UInt8) -> [UInt8] {
      let cursor = RelayCursor(position: UInt64(position), chain: Array(repeating: 7, count: 16))
      guard let cursor else { preconditionFailure("no cursor") }
      return RelayPage(isListing: false, hasMore: false, cursor: cursor, frames: []).bytes()
    }

    private static func page(_ position: UInt8) -> [UInt8] {
      let page = bytes(position)
      // The server answers once on a connection.
      return Array("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: \(page.count)\r\n\r\n".utf8) + page
    }

    /// A proxy that keeps an answer back until it is whole lets long polling through.
    @Test func aProxyThatKeepsEventsBackIsNoticed() async throws {
      let server = try CannedServer(holds: true) { $0.contains("/events") ? [] : Self.page(2) }
      defer { server.stop() }
      let mailbox = try mailbox(server, longestSilence: Self.silence)
      let cursor = MailboxCursor(position: 1, entry: String(repeating: "07", count: 16))
      await #expect(throws: RelayError.self) { try await mailbox.wait(after: cursor) }
      try await mailbox.wait(after: cursor)
      try await mailbox.wait(after: cursor)
      let asked = server.requests.map { $0.contains("/events") ? "events" : "poll" }
      #expect(asked == ["events", "events", "poll", "poll"])
    }

    /// A relay of an earlier version, or a proxy that does not know the path.
    @Test(arguments: ["404 Not Found", "200 OK"]) func whoHasNoEventsIsPolled(_ status: String) async throws {
      let server = try CannedServer { head in
        head.contains("/events")
          ? Array("HTTP/1.1 \(status)\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n".utf8) : Self.page(2)
      }
      defer { server.stop() }
      try await mailbox(server).wait(after: MailboxCursor(position: 1, entry: String(repeating: "07", count: 16)))
      #expect(server.requests.count == 2)
    }

    /// A stream that has spoken and falls silent is an error, and the next wait follows again.
    @Test func aStreamThatFallsSilentIsOpenedAgain() async throws {
      let events = Array("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n:\n\n".utf8)
      let server = try CannedServer(holds: true) { _ in events }
      defer { server.stop() }
      let mailbox = try mailbox(server, longestSilence: Self.silence)
      for count in 1...4 {
        let error = await #expect(throws: RelayError.self) { try await mailbox.wait(after: nil) }
        #expect(error?.code == .unreachable && server.requests.count == count)
      }
    }

    /// A relay that is away is no proxy: events are asked for again.
    @Test func aRelayThatIsAwayIsNotPolled() async throws {
      let server = try CannedServer([])
      let mailbox = try mailbox(server)
      server.stop()
      for _ in 0..<4 {
        let error = await #expect(throws: RelayError.self) { try await mailbox.wait(after: nil) }
        #expect(error?.code == .unreachable)
      }
    }

    /// Events that do not follow are dropped, and the waiter asks.
    @Test func anEventThatDoesNotFollowIsAHint() async throws {
      func id(_ position: Int) -> String { "\(position)." + String(repeating: "07", count: 16) }
      let page = Data(Self.bytes(3)).base64EncodedString()
      let lines = ":\n\nid: \(id(1))\nevent: news\ndata: -\n\nid: \(id(3))\nevent: page\ndata: \(page)\n\n"
      let events = Array("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n\(lines)".utf8)
      let server = try CannedServer(holds: true) { $0.contains("/events") ? events : Self.page(9) }
      defer { server.stop() }
      let mailbox = try mailbox(server)
      let cursor = MailboxCursor(position: 2, entry: String(repeating: "07", count: 16))
      try await mailbox.wait(after: cursor)
      // The event tells what came after 1, which says nothing of what came after 2.
      #expect(try await mailbox.changes(after: cursor).cursor?.position == 9)
    }
  }

  extension RawHTTP.Answer {
    /// A body that came in chunks, without their lengths.
    fileprivate var chunks: String {
      var (rest, text) = (body[...], "")
      while let end = rest.firstIndex(of: 0x0D),
        let count = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16), count > 0
      {
        let bytes = rest[(end + 2)...]
        text += String(decoding: bytes.prefix(count), as: UTF8.self)
        rest = bytes.dropFirst(count + 2)
      }
      return text
    }
  }
#endif
