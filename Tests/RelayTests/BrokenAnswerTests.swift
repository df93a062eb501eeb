#if Relay
  import Foundation
  import Synchronization
  import TallyRelay
  import TallyRelayProtocol
  import TallySync
  import Testing

  /// Answers that break off, do not come, come too slowly or never end: each is an error with a type or is asked for
  /// again, and none ends the process or holds it up.
  @Suite(.cleansUp, .serialized, .timeLimit(.minutes(5))) struct BrokenAnswerTests {
    private let token = "tally1_" + String(repeating: "A", count: 43)

    private func mailbox(
      _ server: ScriptedServer, _ change: (inout RelayClient.Settings) -> Void = { _ in }
    ) throws -> RelayMailbox {
      var settings = RelayClient.Settings()
      settings.sleep = { _ in }
      change(&settings)
      return try RelayMailbox("\(server.base)/s/abc", token: token, settings)
    }

    /// One that gives up after two seconds without a byte, and asks once.
    private func impatient(_ settings: inout RelayClient.Settings) {
      (settings.timeout, settings.longPoll, settings.retries) = (.seconds(1), .seconds(1), 0)
    }

    private static func page() throws -> [UInt8] {
      let cursor = try #require(RelayCursor(position: 1, chain: [UInt8](0..<16)))
      let frame = RelayPage.Frame(position: 1, name: "a", change: .entry(byteCount: 3, content: [1, 2, 3]))
      return RelayPage(isListing: true, hasMore: false, cursor: cursor, frames: [frame]).bytes()
    }

    /// A page as a relay answers it.
    private static func answer() throws -> [UInt8] {
      let body = try page()
      let head = "HTTP/1.1 200 OK\r\nContent-Type: \(RelayMedia.page)\r\nContent-Length: \(body.count)\r\n\r\n"
      return Array(head.utf8) + body
    }

    /// What is put is in there, and nobody has asked for anything else.
    private static let receipt = "HTTP/1.1 201 Created\r\nTally-Position: 1\r\nContent-Length: 0\r\n\r\n"

    /// Processor time of this process so far.
    private static var processorTime: Duration {
      var time = timespec()
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
      return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    // MARK: Answers that break off

    @Test func anAnswerThatEndsAnywhereIsAnError() async throws {
      let answer = try Self.answer()
      for count in answer.indices {
        let server = try ScriptedServer { client, _ in
          guard client.request() != nil else { return }
          client.send(answer[..<count])
        }
        defer { server.stop() }
        let error = await #expect(throws: RelayError.self, "after \(count) bytes") {
          try await mailbox(server).changes(after: nil)
        }
        #expect(error?.code == .unreachable, "after \(count) bytes: \(error.map { "\($0)" } ?? "")")
        #expect(server.connections == 2)
      }
    }

    @Test func anAnswerThatEndsAnywhereOnceIsAskedForAgain() async throws {
      let answer = try Self.answer()
      for count in answer.indices {
        let server = try ScriptedServer { client, number in
          guard client.request() != nil else { return }
          client.send(number == 0 ? answer[..<count] : answer[...])
        }
        defer { server.stop() }
        #expect(try await mailbox(server).changes(after: nil).items.map(\.name) == ["a"], "after \(count) bytes")
      }
    }

    /// A server may close a connection that it has promised to keep, at whatever moment.
    @Test func aConnectionThatWasKeptOpenMayBeClosed() async throws {
      let answer = try Self.answer()
      let server = try ScriptedServer { client, _ in
        guard client.request() != nil else { return }
        client.send(answer)
      }
      defer { server.stop() }
      let mailbox = try mailbox(server)
      for _ in 0..<50 { #expect(try await mailbox.changes(after: nil).items.count == 1) }
      #expect(server.connections == 50)
    }

    /// The connection breaks under a body that goes over one that was kept open. The body goes again, and whole.
    @Test func aPutThatBreaksOffIsMadeAgainWithItsBody() async throws {
      let bodies = Mutex<[[UInt8]]>([])
      let answer = try Self.answer()
      let server = try ScriptedServer { client, _ in
        while let request = client.request() {
          guard request.head.hasPrefix("PUT") else {
            client.send(answer)
            continue
          }
          let isFirst = bodies.withLock { bodies in
            bodies.append(request.body)
            return bodies.count == 1
          }
          guard !isFirst else { return }
          client.send(Self.receipt)
        }
      }
      defer { server.stop() }
      let mailbox = try mailbox(server)
      _ = try await mailbox.changes(after: nil)
      let bytes = Array(repeating: UInt8(7), count: 300_000)
      _ = try await mailbox.put(MailboxUpload(name: "a", bytes: bytes))
      #expect(bodies.withLock { $0 } == [bytes, bytes])
    }

    // MARK: Answers that do not come

    /// Who waits for an answer waits, and does not look for it all the time.
    @Test func aServerThatSaysNothingCostsNoProcessorTime() async throws {
      for beginning in ["", "HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\nTRP"] {
        let server = try ScriptedServer { client, _ in
          guard client.request() != nil else { return }
          client.send(beginning)
          client.waitForEnd()
        }
        defer { server.stop() }
        let (start, used) = (ContinuousClock.now, Self.processorTime)
        let error = await #expect(throws: RelayError.self) {
          try await mailbox(server, impatient).changes(after: nil)
        }
        #expect(error?.code == .unreachable)
        let (time, processor) = (ContinuousClock.now - start, Self.processorTime - used)
        #expect(processor < time / 5, "\(processor) of \(time) after \(beginning.utf8.count) bytes")
      }
    }

    /// A byte now and then is no answer, wherever it comes.
    @Test(arguments: ["HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 200 OK\r\nContent-Length: 4000000\r\n\r\n"])
    func anAnswerThatDripsIsGivenUp(_ beginning: String) async throws {
      let drops = Mutex(0)
      let server = try ScriptedServer { client, _ in
        guard client.request() != nil else { return }
        client.send(beginning)
        for _ in 0..<500 where !client.waitForEnd(20) {
          guard client.send("x") else { return }
          drops.withLock { $0 += 1 }
        }
      }
      defer { server.stop() }
      let error = await #expect(throws: RelayError.self) {
        try await mailbox(server, impatient).changes(after: nil)
      }
      #expect(error?.code == .unreachable)
      #expect((1..<400).contains(drops.withLock { $0 }), "given up by the server")
    }

    /// Nor is it progress: a part is asked for as a whole.
    @Test func aDownloadThatDripsIsGivenUp() async throws {
      let server = try ScriptedServer { client, _ in
        guard client.request() != nil else { return }
        client.send("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4999/5000\r\nContent-Length: 5000\r\n\r\n")
        for _ in 0..<500 where !client.waitForEnd(20) { guard client.send("x") else { return } }
      }
      defer { server.stop() }
      let error = await #expect(throws: RelayError.self) {
        for try await _ in try await mailbox(server, impatient).get("a", from: 0) {}
      }
      #expect(error?.code == .unreachable)
      #expect(server.connections == 1)
    }

    /// One that is slow and keeps on is waited for, for longer than it may say nothing.
    @Test func aSlowDownloadIsWaitedFor() async throws {
      let piece = [UInt8](repeating: 1, count: 100)
      let head = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-14999/15000\r\nContent-Length: 15000\r\n\r\n"
      let server = try ScriptedServer { client, _ in
        guard client.request() != nil, client.send(head) else { return }
        for _ in 0..<150 where !client.waitForEnd(20) { guard client.send(piece) else { return } }
      }
      defer { server.stop() }
      let start = ContinuousClock.now
      var count = 0
      for try await bytes in try await mailbox(server, impatient).get("a", from: 0) { count += bytes.count }
      #expect(count == 15_000 && server.connections == 1)
      #expect(ContinuousClock.now - start > .seconds(2))
    }

    // MARK: Answers that are none

    /// Whoever asks for a password is no relay, and nobody has cancelled anything.
    @Test(arguments: [
      "401 X\r\nWWW-Authenticate: Basic realm=\"x\"", "401 X\r\nWWW-Authenticate: Digest realm=\"x\", nonce=\"y\"",
      "407 X\r\nProxy-Authenticate: Basic realm=\"x\"",
    ])
    func whoAsksForAPasswordIsNoRelay(_ head: String) async throws {
      let server = try ScriptedServer { client, _ in
        while client.request() != nil { client.send("HTTP/1.1 \(head)\r\nContent-Length: 4\r\n\r\nnope") }
      }
      defer { server.stop() }
      let error = await #expect(throws: RelayError.self) { try await mailbox(server).changes(after: nil) }
      #expect(error?.code == .notARelay)
      #expect(error?.message == "not a relay: it asks for a password")
    }

    private static let endless: [(what: String, beginning: String, piece: String)] = {
      let noise = String(repeating: "x", count: 1 << 16)
      return [
        ("a body", "HTTP/1.1 200 OK\r\n\r\n", noise),
        ("chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "10000\r\n\(noise)\r\n"),
        ("a field", "HTTP/1.1 200 OK\r\nX: ", noise),
        ("fields", "HTTP/1.1 200 OK\r\n", String(repeating: "X: y\r\n", count: 1 << 12)),
        ("a status", "HTTP/1.1 200 ", noise),
      ]
    }()

    /// What never ends is not taken in: nobody can send more than a little of it.
    @Test(arguments: endless.indices) func whatNeverEndsIsNotTakenIn(_ index: Int) async throws {
      let (what, beginning, piece) = Self.endless[index]
      let sent = Mutex(0)
      let server = try ScriptedServer { client, _ in
        guard client.request() != nil, client.send(beginning) else { return }
        while client.send(piece) { sent.withLock { $0 += piece.utf8.count } }
      }
      defer { server.stop() }
      let error = await #expect(throws: RelayError.self, "\(what)") {
        try await mailbox(server, impatient).changes(after: nil)
      }
      #expect(error.map { [.notARelay, .unreachable].contains($0.code) } == true, "\(what)")
      #expect(sent.withLock { $0 } < 64 << 20, "\(what)")
    }

    /// Answers that no relay gives, which end nothing but the request.
    @Test(arguments: [
      "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 2", "HTT", "garbage\r\n\r\nfoo", "HTTP/1.1 100 Continue\r\n\r\n",
      "<html>hello</html>", "HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n", "HTTP/2 200\r\ncontent-length: 0\r\n\r\n",
      "HTTP/3.0 200 OK\r\n\r\n", "ICY 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nA: \0\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nfoo\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nabcde",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\nabcde",
      "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nabcde",
      "HTTP/1.1 302 X\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 302 X\r\nLocation: ht tp://[\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "\r\n\r\n", "\0", "\u{16}\u{3}\u{1}\u{2}\u{0}",
    ])
    func whatIsNoAnswerEndsTheRequestAlone(_ answer: String) async throws {
      let server = try ScriptedServer { client, _ in
        guard client.request() != nil else { return }
        client.send(answer)
      }
      defer { server.stop() }
      let mailbox = try mailbox(server, impatient)
      for request in ["changes", "put"] {
        let error = await #expect(throws: RelayError.self, "\(request)") {
          switch request {
          case "changes": _ = try await mailbox.changes(after: nil)
          default: _ = try await mailbox.put(MailboxUpload(name: "a", bytes: [1, 2, 3]))
          }
        }
        #expect(error.map { [.notARelay, .unreachable].contains($0.code) } == true, "\(request)")
      }
    }

    @Test func whereNobodyListensIsAnError() async throws {
      let server = try ScriptedServer { _, _ in }
      server.stop()
      // Its thread closes the listener when it hears of it; until then connections are reset.
      let error = await #expect(throws: RelayError.self) { try await mailbox(server).changes(after: nil) }
      #expect(error?.code == .unreachable)
    }

    @Test func aHostThatIsNotThereIsAnError() async throws {
      let mailbox = try RelayMailbox("http://relay.invalid/s/abc", token: token)
      let error = await #expect(throws: RelayError.self) { try await mailbox.changes(after: nil) }
      #expect(error?.message == "the relay cannot be reached: no such host")
    }

    /// Where no TLS is spoken, the token is not sent.
    @Test func whoSpeaksNoTLSGetsNothing() async throws {
      let seen = Mutex("")
      let server = try ScriptedServer { client, _ in
        client.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        if let request = client.request() { seen.withLock { $0 += request.head } }
      }
      defer { server.stop() }
      var settings = RelayClient.Settings()
      impatient(&settings)
      let mailbox = try RelayMailbox("https://127.0.0.1:\(server.port)/s/abc", token: token, settings)
      let error = await #expect(throws: RelayError.self) { try await mailbox.changes(after: nil) }
      #expect(error?.code == .unreachable)
      #expect(seen.withLock { $0 }.isEmpty)
    }

    // MARK: Downloads

    /// An entry has one size, whatever further parts say.
    @Test func anEntryThatGrowsIsNotFollowed() async throws {
      let server = try ScriptedServer { client, _ in
        while let request = client.request() {
          let offset = request.head.components(separatedBy: "bytes=")[1].prefix { $0.isNumber }
          let first = Int(offset) ?? 0
          let range = "bytes \(first)-\(first + 9)/\(first + 11)"
          client.send(
            "HTTP/1.1 206 Partial Content\r\nContent-Range: \(range)\r\nContent-Length: 10\r\n\r\n0123456789")
        }
      }
      defer { server.stop() }
      let read = Mutex(0)
      let error = await #expect(throws: RelayError.self) {
        for try await piece in try await mailbox(server).get("a", from: 0) {
          read.withLock { $0 += piece.count }
        }
      }
      #expect(error?.message == "not a relay: an entry changed its size")
      #expect(read.withLock { $0 } == 10)
    }

    @Test(arguments: [
      // Larger than it says, longer than any entry, and of no bytes.
      "bytes 0-2/10\r\nContent-Length: 10", "bytes 0-9/9999999999999\r\nContent-Length: 10",
      "bytes 0-9/10\r\nContent-Length: 0",
    ])
    func aPartThatIsNotWhatItSaysIsRefused(_ fields: String) async throws {
      let server = try ScriptedServer { client, _ in
        while client.request() != nil {
          let body = fields.hasSuffix(" 0") ? "" : "0123456789"
          client.send("HTTP/1.1 206 Partial Content\r\nContent-Range: \(fields)\r\n\r\n\(body)")
        }
      }
      defer { server.stop() }
      let error = await #expect(throws: RelayError.self) {
        for try await _ in try await mailbox(server).get("a", from: 0) {}
      }
      #expect(error?.code == .notARelay)
    }

    /// A download that breaks off before its first byte, again and again, comes to an end.
    @Test func aDownloadThatNeverGetsLongerIsGivenUp() async throws {
      let server = try ScriptedServer { client, _ in
        guard client.request() != nil else { return }
        client.send("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-9/10\r\nContent-Length: 10\r\n\r\n")
      }
      defer { server.stop() }
      let error = await #expect(throws: RelayError.self) {
        for try await _ in try await mailbox(server).get("a", from: 0) {}
      }
      #expect(error?.code == .unreachable)
      #expect(server.connections == 2)
    }

    // MARK: Requests that are cancelled

    /// At any moment: before there is a connection, while it is made, while the request goes.
    @Test func aRequestEndsWheneverItIsCancelled() async throws {
      let server = try ScriptedServer { client, _ in client.waitForEnd() }
      defer { server.stop() }
      let mailbox = try mailbox(server)
      for count in 0..<200 {
        let task = Task { try await mailbox.changes(after: nil) }
        for _ in 0..<count { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self, "after \(count) turns") { try await task.value }
      }
    }

    /// After each byte of an answer: a request that is cancelled ends, and its connection with it.
    @Test func aConnectionEndsWithItsRequest() async throws {
      let answer = try Self.answer()
      for count in stride(from: 0, to: answer.count, by: 3) {
        let (reached, moment) = AsyncStream.makeStream(of: Void.self)
        let (gone, end) = AsyncStream.makeStream(of: Bool.self)
        let server = try ScriptedServer { client, _ in
          guard client.request() != nil else { return }
          client.send(answer[..<count])
          moment.yield()
          end.yield(client.waitForEnd())
        }
        defer { server.stop() }
        let mailbox = try mailbox(server)
        let task = Task { try await mailbox.changes(after: nil) }
        for await _ in reached { break }
        task.cancel()
        await #expect(throws: CancellationError.self, "after \(count) bytes") { try await task.value }
        for await hasGone in gone {
          #expect(hasGone, "after \(count) bytes")
          break
        }
      }
    }

    /// A server that takes no more of a body does not hold who sends it.
    @Test func aPutEndsWhenItIsCancelled() async throws {
      let (reached, moment) = AsyncStream.makeStream(of: Void.self)
      let (resumes, resume) = AsyncStream.makeStream(of: Void.self)
      let server = try ScriptedServer { _, _ in
        moment.yield()
        // Reads nothing until the test is over.
        let over = DispatchSemaphore(value: 0)
        Task {
          for await _ in resumes { break }
          over.signal()
        }
        over.wait()
      }
      defer { server.stop() }
      let mailbox = try mailbox(server)
      let task = Task {
        _ = try await mailbox.put(MailboxUpload(name: "a", bytes: Array(repeating: 1, count: 4 << 20)))
      }
      for await _ in reached { break }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      resume.yield()
    }
  }
#endif
