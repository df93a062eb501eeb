#if Relay
  import Foundation
  import TallyRelay
  @testable import TallyRelayServer
  import TallySync
  import Testing

  /// Connections that take places and ask nothing, by clients that need no token for that: those that ask are served.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct CrowdedConnectionTests {
    private static let certificates = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("TransportTests/Certificates")

    /// Whether the other side has closed a connection on which nothing was to come.
    private static func isClosed(_ peer: Int32) -> Bool {
      var byte: UInt8 = 0
      return recv(peer, &byte, 1, Int32(MSG_DONTWAIT)) >= 0 || errno != EAGAIN
    }

    /// Waits until a connection is closed, for ten seconds at most: without a crowd it takes a minute.
    private static func waitUntilClosed(_ peer: Int32) -> Bool {
      let start = ContinuousClock.now
      while !isClosed(peer), ContinuousClock.now - start < .seconds(10) { usleep(10_000) }
      return isClosed(peer)
    }

    private static func crowd(_ count: Int, _ port: Int) throws -> [Int32] {
      try (0..<count).map { _ in try RawHTTP.connect(port, isCrowd: true) }
    }

    @Test func silentConnectionsMakeRoom() async throws {
      try await RelayFixture.run {
        $0.limits.connections = 40
      } _: { relay in
        let token = try await relay.token()
        let mailbox = try relay.mailbox(token)
        let cursor = try await mailbox.status().head
        let path = "/v1/spaces/\(token.space)/changes?limit=0&wait=30&after=\(cursor)"
        async let news = RawHTTP.send("GET", path, ["Authorization": "Bearer \(token.token)"], port: relay.port)
        let peers = try await RawHTTP.onThread { [port = relay.port] in try Self.crowd(200, port) }
        defer { for peer in peers { close(peer) } }
        #expect(try await mailbox.status().entries == 0)
        #expect(try await RawHTTP.onThread { Self.waitUntilClosed(peers[0]) })
        // A request that was under way is not among those that go.
        _ = try await mailbox.put(MailboxUpload(name: "a", bytes: [1]))
        #expect(try await news.status == 200)
        let metrics = try await RawHTTP.send("GET", "/metrics", port: relay.adminPort).text
        #expect(metrics.contains("\ntally_relay_connections_limit 40\n"))
      }
    }

    /// Connections between two requests make room too, and the last of them stays.
    @Test func whoAsksNowComesBeforeWhoAskedBefore() async throws {
      try await RelayFixture.run {
        $0.limits.connections = 40
      } _: { relay in
        let (first, last) = try await RawHTTP.onThread { [port = relay.port] in
          let request = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
          var buffer = [UInt8](repeating: 0, count: 4_096)
          var peers: [Int32] = []
          defer { for peer in peers { close(peer) } }
          for _ in 0..<100 {
            let peer = try RawHTTP.connect(port)
            peers.append(peer)
            try RawHTTP.sendAll(request, peer)
            guard recv(peer, &buffer, buffer.count, 0) > 0 else { throw RawHTTP.Failure(call: "recv", number: errno) }
          }
          return (Self.waitUntilClosed(peers[0]), Self.isClosed(peers[99]))
        }
        #expect(first && !last)
      }
    }

    /// A body that does not come after its answer keeps no place.
    @Test func requestsThatHaveTheirAnswerMakeRoom() async throws {
      try await RelayFixture.run {
        $0.limits.connections = 40
      } _: { relay in
        let token = try await relay.token()
        let peers = try await RawHTTP.onThread { [port = relay.port] in
          let request = Array("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n".utf8)
          var buffer = [UInt8](repeating: 0, count: 4_096)
          let peers = try Self.crowd(100, port)
          for peer in peers {
            do { try RawHTTP.sendAll(request, peer) } catch let failure as RawHTTP.Failure where failure.isEnd {}
            _ = recv(peer, &buffer, buffer.count, 0)
          }
          return peers
        }
        defer { for peer in peers { close(peer) } }
        #expect(try await relay.mailbox(token).status().entries == 0)
        #expect(try await RawHTTP.onThread { Self.waitUntilClosed(peers[0]) })
      }
    }

    /// Where requests are under way on nearly all connections, the others are not closed before they can ask.
    @Test func thereIsRoomBesideManyWhoWait() async throws {
      try await RelayFixture.run {
        $0.limits.connections = 40
        $0.limits.waitingRequests = 40
      } _: { relay in
        let token = try await relay.token()
        let mailbox = try relay.mailbox(token)
        let cursor = try await mailbox.status().head
        let head = "GET /v1/spaces/\(token.space)/changes?limit=0&wait=60&after=\(cursor) HTTP/1.1\r\n"
        let request = Array("\(head)Host: a\r\nAuthorization: Bearer \(token.token)\r\n\r\n".utf8)
        let peers = try await RawHTTP.onThread { [port = relay.port] in
          try (0..<35).map { _ in
            let peer = try RawHTTP.connect(port, isCrowd: true)
            try RawHTTP.sendAll(request, peer)
            return peer
          }
        }
        defer { for peer in peers { close(peer) } }
        try await Looking.until("all wait", within: .seconds(60)) {
          try await RawHTTP.send("GET", "/metrics", port: relay.adminPort).text.contains("\ntally_relay_waiting 35\n")
        }
        for _ in 0..<20 {
          #expect(try await RawHTTP.send("GET", "/nothing", port: relay.port).status == 401)
        }
        #expect(!peers.contains { Self.isClosed($0) })
      }
    }

    /// Requests that come without waiting for answers end, and others are answered meanwhile.
    @Test func requestsThatDoNotWaitForAnswersEnd() async throws {
      try await RelayFixture.run { relay in
        let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
        let few = try await RawHTTP.exchange(
          Array(String(repeating: request, count: 5).utf8), port: relay.port, isLast: true)
        #expect(String(decoding: few, as: UTF8.self).components(separatedBy: "HTTP/1.1 401 ").count == 6)
        let many = Array(String(repeating: request, count: 2_000).utf8)
        let answers = RawHTTP.blockingExchange(many, port: relay.port) ?? []
        #expect(String(decoding: answers, as: UTF8.self).components(separatedBy: "HTTP/1.1 401 ").count < 100)
        #expect(try await RawHTTP.send("GET", "/nothing", port: relay.port).status == 401)
      }
    }

    /// Over TLS, handshakes that do not go on are bounded in memory before they are in number.
    @Test(arguments: [[], [0x16, 0x03, 0x01, 0x02, 0x00]] as [[UInt8]])
    func handshakesThatStandStillMakeRoom(_ bytes: [UInt8]) async throws {
      try await RelayFixture.run {
        $0.certificate = .init(
          chainPath: Self.certificates.appendingPathComponent("server.pem").path,
          keyPath: Self.certificates.appendingPathComponent("server.key").path)
        $0.limits.idleSessionBytes = 20 * (64 << 10)
      } _: { relay in
        let (first, last) = try await RawHTTP.onThread { [port = relay.port] in
          var peers = try Self.crowd(40, port)
          defer { for peer in peers { close(peer) } }
          for peer in peers { try RawHTTP.sendAll(bytes, peer) }
          // For that long all may be devices that come back at once.
          usleep(500_000)
          guard !Self.isClosed(peers[0]) else { return (false, false) }
          usleep(2_000_000)
          peers += try Self.crowd(1, port)
          return (Self.waitUntilClosed(peers[0]), Self.isClosed(peers[40]))
        }
        #expect(first && !last)
      }
    }

    /// What is part of a record counts as what is part of a header does.
    @Test func recordsThatAreNotWholeMakeRoom() async throws {
      try await RelayFixture.run {
        $0.certificate = .init(
          chainPath: Self.certificates.appendingPathComponent("server.pem").path,
          keyPath: Self.certificates.appendingPathComponent("server.key").path)
        $0.limits.unfinishedBytes = 100_000
      } _: { relay in
        let (first, last) = try await RawHTTP.onThread { [port = relay.port] in
          let peers = try Self.crowd(40, port)
          defer { for peer in peers { close(peer) } }
          // The head of a record of 16,000 bytes, and most of it.
          let bytes: [UInt8] = [0x16, 0x03, 0x01, 0x3E, 0x80] + [UInt8](repeating: 1, count: 10_000)
          for peer in peers { _ = try? RawHTTP.sendAll(bytes, peer) }
          return (Self.waitUntilClosed(peers[0]), Self.isClosed(peers[39]))
        }
        #expect(first && !last)
      }
    }
  }
#endif
