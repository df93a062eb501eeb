#if Relay
  import Foundation
  @testable import TallyRelayServer
  import Testing

  /// Clients that begin to speak TLS and do not go on, or a byte at a time. They have no token, so nothing but their
  /// number, their memory and their time is bounded.
  @Suite(.cleansUp, .serialized, .timeLimit(.minutes(5))) struct SlowHandshakeTests {
    private static let certificates = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("TransportTests/Certificates")
    private static let certificate = RelaySettings.Certificate(
      chainPath: certificates.appendingPathComponent("server.pem").path,
      keyPath: certificates.appendingPathComponent("server.key").path)

    /// How far a client comes with its handshake.
    enum Slowness: String, CaseIterable, CustomTestStringConvertible {
      /// It says nothing.
      case silent
      /// It says its hello a byte at a time.
      case byteByByte
      /// It says its hello, and nothing after the relay's part.
      case unfinished
      /// The same, and then a byte at a time.
      case unfinishedByteByByte

      var testDescription: String { rawValue }
    }

    /// The first message of a client of TLS 1.2, as one record.
    private static let hello: [UInt8] = {
      func counted(_ bytes: [UInt8], _ width: Int) -> [UInt8] {
        (0..<width).reversed().map { UInt8(truncatingIfNeeded: bytes.count >> (8 * $0)) } + bytes
      }
      func `extension`(_ number: UInt8, _ bytes: [UInt8]) -> [UInt8] { [0, number] + counted(bytes, 2) }
      // The groups x25519 and secp256r1, plain points, and ECDSA and RSA with SHA-256.
      let extensions =
        `extension`(10, counted([0, 0x1D, 0, 0x17], 2)) + `extension`(11, counted([0], 1))
        + `extension`(13, counted([4, 3, 8, 4, 4, 1], 2))
      let ciphers: [UInt8] = [0xC0, 0x2F, 0xC0, 0x2B]
      let body =
        [3, 3] + [UInt8](0..<32) + counted([], 1) + counted(ciphers, 2) + counted([0], 1) + counted(extensions, 2)
      return [0x16, 3, 1] + counted([1] + counted(body, 3), 2)
    }()

    /// The beginning of a record with a message of a kind.
    private static func longRecord(_ kind: UInt8) -> [UInt8] {
      [handshake, 3, 3, 0x3E, 0x80, kind, 0, 0x3E, 0x7C] + [UInt8](repeating: 1, count: 9_000)
    }

    /// The first byte of a record of a handshake.
    private static let handshake: UInt8 = 0x16

    /// Waits for the beginning of the relay's part, and takes in all that has come.
    private static func expectAnswer(_ peer: Int32) throws {
      var buffer = [UInt8](repeating: 0, count: 1 << 14)
      guard recv(peer, &buffer, buffer.count, 0) > 0, buffer[0] == handshake else {
        throw RawHTTP.Failure(call: "handshake", number: errno)
      }
    }

    /// Whether the relay has closed a connection. Takes in what it has said before.
    private static func isClosed(_ peer: Int32) -> Bool {
      var buffer = [UInt8](repeating: 0, count: 1 << 14)
      while true {
        let count = recv(peer, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        if count > 0 { continue }
        return count == 0 || errno != EAGAIN
      }
    }

    private static func send(_ byte: UInt8, _ peer: Int32) {
      var byte = byte
      _ = Foundation.send(peer, &byte, 1, Int32(MSG_NOSIGNAL))
    }

    /// However a client passes its time, the connection ends when `idle` is over; with a byte each 50 ms its handshake
    /// would take minutes. Others are answered meanwhile and afterwards.
    @Test(arguments: Slowness.allCases) func aHandshakeEndsInTime(_ slowness: Slowness) async throws {
      try await RelayFixture.run {
        $0.certificate = Self.certificate
        $0.limits.idle = .seconds(4)
      } _: { relay in
        let isClosed = try await RawHTTP.onThread { [port = relay.port] in
          let peer = try RawHTTP.connect(port)
          defer { close(peer) }
          var rest: [UInt8] = []
          switch slowness {
          case .silent: break
          // Both in a record of 16,000 bytes.
          case .byteByByte: rest = Self.longRecord(1)
          case .unfinished, .unfinishedByteByByte:
            try RawHTTP.sendAll(Self.hello, peer)
            try Self.expectAnswer(peer)
            if slowness == .unfinishedByteByByte {
              rest = Self.longRecord(16)
            }
          }
          let end = ContinuousClock.now + .seconds(60)
          var bytes = rest.makeIterator()
          while ContinuousClock.now < end {
            if Self.isClosed(peer) { return true }
            if let byte = bytes.next() { Self.send(byte, peer) }
            usleep(50_000)
          }
          return false
        }
        #expect(isClosed)
        try await RawHTTP.onThread { [port = relay.port] in
          let peer = try RawHTTP.connect(port)
          defer { close(peer) }
          try RawHTTP.sendAll(Self.hello, peer)
          try Self.expectAnswer(peer)
        }
        try await Looking.until("no connection is left", within: .seconds(60)) {
          try await RawHTTP.send("GET", "/metrics", port: relay.adminPort).text.contains(
            "\ntally_relay_connections 0\n")
        }
      }
    }

    /// A thousand of them take no more than is counted for each, with which the relay bounds how many there may be.
    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/status"), "needs /proc"))
    func aThousandHandshakesTakeWhatIsCounted() async throws {
      let folder = try RelayFixture.newFolder()
      let (relay, line) = try await RelayProcess.start(
        "relay", "--data", "relay.sqlite", "--listen", "127.0.0.1:0", "--certificate", Self.certificate.chainPath,
        "--key", Self.certificate.keyPath, in: folder)
      let port = try #require(Int(line.split(separator: ":").last ?? ""))
      let count = 1_000
      let grown = try await RawHTTP.onThread {
        func begin() throws -> Int32 {
          let peer = try RawHTTP.connect(port, isCrowd: true)
          try RawHTTP.sendAll(Self.hello, peer)
          return peer
        }
        // What the first needs is not the crowd's.
        let first = try begin()
        try Self.expectAnswer(first)
        let before = relay.memory ?? 0
        let peers = try (0..<count).map { _ in try begin() }
        defer { for peer in peers + [first] { close(peer) } }
        for peer in peers { try Self.expectAnswer(peer) }
        return (relay.memory ?? .max) - before
      }
      #expect(grown <= count * Connections.sessionBytes >> 10, "\(grown) KiB more")
      #expect(await relay.end(SIGTERM) == 0, "\(relay.errorText)")
    }
  }
#endif
