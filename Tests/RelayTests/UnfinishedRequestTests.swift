#if Relay
  import Foundation
  import TallyRelayProtocol
  @testable import TallyRelayServer
  import Testing

  /// Requests that are not finished, by clients that need no token for that: what they hold is bounded, and they end.
  @Suite(.cleansUp, .serialized, .timeLimit(.minutes(5))) struct UnfinishedRequestTests {
    /// A header of so many bytes that does not end.
    private static func half(_ bytes: Int) -> [UInt8] {
      var text = "GET /v1/spaces/a HTTP/1.1\r\nHost: a\r\n"
      var number = 0
      while text.utf8.count < bytes {
        text += "F\(number): \(String(repeating: "v", count: 200))\r\n"
        number += 1
      }
      return Array(text.utf8)
    }

    private static func send(_ bytes: [UInt8], _ peer: Int32) -> Bool {
      bytes.withUnsafeBytes { Foundation.send(peer, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) } == bytes.count
    }

    /// The beginning of what a connection is answered; empty if it is closed.
    private static func answer(_ peer: Int32) -> String {
      var buffer = [UInt8](repeating: 0, count: 4_096)
      let count = recv(peer, &buffer, buffer.count, 0)
      return String(decoding: buffer[..<max(0, count)], as: UTF8.self)
    }

    /// The oldest of many go; the newest may finish, and so may who asks in one piece.
    @Test func theOldestOfManyHalfHeadersGo() async throws {
      try await RelayFixture.run {
        $0.limits.unfinishedBytes = 1 << 20
      } _: { relay in
        let token = try await relay.token()
        let (first, last) = try await RawHTTP.onThread { [port = relay.port] in
          let peers = try (0..<100).map { _ in
            let peer = try RawHTTP.connect(port)
            guard Self.send(Self.half(12_000), peer) else { throw RawHTTP.Failure(call: "send", number: errno) }
            return peer
          }
          defer { for peer in peers { close(peer) } }
          // Until it is closed; that takes a minute where nothing but its time does.
          let first = Self.answer(peers[0])
          _ = Self.send(Array("\r\n".utf8), peers[99])
          return (first, Self.answer(peers[99]))
        }
        #expect(first.isEmpty && last.hasPrefix("HTTP/1.1 401 "), "\(first) \(last)")
        #expect(try await relay.mailbox(token).status().entries == 0)
      }
    }

    /// A request behind which there is the beginning of another holds what that does.
    @Test func whatComesBehindARequestCounts() async throws {
      try await RelayFixture.run {
        $0.limits.unfinishedBytes = 1 << 20
      } _: { relay in
        let first = try await RawHTTP.onThread { [port = relay.port] in
          let peers = try (0..<100).map { _ in
            let peer = try RawHTTP.connect(port)
            let bytes = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8) + Self.half(12_000)
            guard Self.send(bytes, peer), Self.answer(peer).hasPrefix("HTTP/1.1 401 ") else {
              throw RawHTTP.Failure(call: "send", number: errno)
            }
            return peer
          }
          defer { for peer in peers { close(peer) } }
          return Self.answer(peers[0])
        }
        #expect(first.isEmpty, "\(first)")
      }
    }

    /// Headers hold what they count, with the usual limits.
    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/status"), "needs /proc"))
    func aCrowdOfHalfHeadersHoldsLittle() async throws {
      let folder = try RelayFixture.newFolder()
      let (relay, line) = try await RelayProcess.start(
        "relay", "--data", "relay.sqlite", "--listen", "127.0.0.1:0", in: folder)
      let port = try #require(Int(line.split(separator: ":").last ?? ""))
      let before = try #require(relay.memory)
      let (grown, isClosed) = try await RawHTTP.onThread {
        let bytes = Self.half(24_000)
        let peers = try (0..<2_500).map { _ in
          let peer = try RawHTTP.connect(port, isCrowd: true)
          _ = Self.send(bytes, peer)
          return peer
        }
        defer { for peer in peers { close(peer) } }
        let isClosed = Self.answer(peers[0]).isEmpty
        // What was sent last has come when one that was sent after it is answered.
        let probe = try RawHTTP.connect(port)
        defer { close(probe) }
        guard Self.send(Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8), probe), !Self.answer(probe).isEmpty else {
          throw RawHTTP.Failure(call: "send", number: errno)
        }
        return ((relay.memory ?? .max) - before, isClosed)
      }
      #expect(isClosed && grown <= 112 << 10, "\(grown) KiB more")
      #expect(await relay.end(SIGTERM) == 0, "\(relay.errorText)")
    }

    private static let unasked = Array(
      "PUT /v1/spaces/a/entries/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)

    /// Whoever has no token is told so, and what is sent after that is not taken for ever.
    @Test func aBodyEndsSoonAfterItsAnswer() async throws {
      try await RelayFixture.run { relay in
        let sent = try await RawHTTP.onThread { [port = relay.port] in
          let peer = try RawHTTP.connect(port)
          defer { close(peer) }
          guard Self.send(Self.unasked, peer), Self.answer(peer).hasPrefix("HTTP/1.1 401 ") else {
            throw RawHTTP.Failure(call: "send", number: errno)
          }
          let chunk = Array("10000\r\n".utf8) + [UInt8](repeating: 120, count: 1 << 16) + Array("\r\n".utf8)
          var sent = 0
          while sent < 256 << 20, Self.send(chunk, peer) { sent += chunk.count }
          return sent
        }
        // Beside what the relay takes, both systems keep some megabytes.
        #expect(sent >= RelayLimits.bodyBytes && sent < 64 << 20, "\(sent) bytes")
      }
    }

    /// A byte now and then keeps no connection: neither of a body nor of what never becomes part of one.
    @Test(arguments: ["1\r\nx\r\n", "x"]) func aBodyThatTricklesAfterItsAnswerEnds(_ piece: String) async throws {
      try await RelayFixture.run {
        ($0.limits.slowBody, $0.limits.longestWrite) = (.seconds(1), .seconds(1))
      } _: { relay in
        let isClosed = try await RawHTTP.onThread { [port = relay.port] in
          let peer = try RawHTTP.connect(port)
          defer { close(peer) }
          // With one byte the extension of a chunk goes on and on.
          let begun = piece == "x" ? Self.unasked + Array("1;".utf8) : Self.unasked
          guard Self.send(begun, peer), Self.answer(peer).hasPrefix("HTTP/1.1 401 ") else {
            throw RawHTTP.Failure(call: "send", number: errno)
          }
          let end = ContinuousClock.now + .seconds(100)
          while ContinuousClock.now < end {
            guard Self.send(Array(piece.utf8), peer) else { return true }
            usleep(50_000)
          }
          return false
        }
        #expect(isClosed)
      }
    }

    /// A body that is refused may come to its end, and the next request on the connection is answered.
    @Test func theNextRequestAfterARefusedBodyIsAnswered() async throws {
      try await RelayFixture.run { relay in
        let (first, second) = try await RawHTTP.onThread { [port = relay.port] in
          let peer = try RawHTTP.connect(port)
          defer { close(peer) }
          let body = [UInt8](repeating: 120, count: 3 << 20)
          let head = "PUT /v1/spaces/a/entries/a HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.count)\r\n\r\n"
          guard Self.send(Array(head.utf8), peer) else { throw RawHTTP.Failure(call: "send", number: errno) }
          let first = Self.answer(peer)
          guard Self.send(body, peer), Self.send(Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8), peer) else {
            throw RawHTTP.Failure(call: "send", number: errno)
          }
          return (first, Self.answer(peer))
        }
        #expect(first.hasPrefix("HTTP/1.1 401 ") && second.hasPrefix("HTTP/1.1 401 "), "\(first)\n\(second)")
      }
    }
  }
#endif
