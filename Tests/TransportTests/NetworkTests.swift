#if Network
  import Foundation
  import NIOCore
  import NIOPosix
  import Tally
  import TallyNetwork
  import TallyTesting
  import Testing

  /// Strangers, slow and silent peers, and bytes that are no protocol, at a listening socket.
  @Suite(.timeLimit(.minutes(5))) struct NetworkTests {
    private static let secret = SharedSecret.random()

    /// A listener for one store, and what went wrong with its peers.
    private struct Server {
      let listener: TCPListener
      let failures: AsyncStream<any Error>

      init(_ security: NetworkSecurity, limits: NetworkLimits = NetworkLimits(), store: Store? = nil) async throws {
        let (failures, feed) = AsyncStream.makeStream(of: (any Error).self)
        self.failures = failures
        listener = try await TCPListener(host: "127.0.0.1", port: 0, security: security, limits: limits) {
          feed.yield($1)
        } serve: { connection in
          if let store { try await store.sync(over: connection) } else { _ = try await connection.receive() }
        }
      }

      func failure() async -> SyncError? {
        for await error in failures { return error as? SyncError }
        return nil
      }

      func connect(_ security: NetworkSecurity, limits: NetworkLimits = NetworkLimits()) async throws -> TCPConnection {
        try await TCPTransport(host: "127.0.0.1", port: listener.port, security: security, limits: limits).connect()
      }
    }

    // MARK: Strangers

    @Test func aWrongSecretIsRefusedOnBothSides() async throws {
      let server = try await Server(.secret(Self.secret))
      let error = await #expect(throws: SyncError.self) { try await server.connect(.secret(.random())) }
      #expect(error?.code == .unauthorized)
      #expect(await server.failure()?.code == .unauthorized)
      await server.listener.close()
    }

    @Test func whoHasNoSecretIsRefusedBeforeTheStoreIsAsked() async throws {
      let (a, b) = (try Site(notes: 2, "a"), try Site(notes: 3, "b"))
      let before = try b.dump()
      try await b.using { store in
        let server = try await Server(.secret(Self.secret), store: store)
        let connection = try await server.connect(.none)
        let error = await #expect(throws: SyncError.self) { try await a.using { try await $0.sync(over: connection) } }
        #expect(error?.code == .unauthorized)
        #expect(await server.failure()?.code == .unauthorized)
        await server.listener.close()
      }
      #expect(try b.dump() == before)
    }

    @Test func aServerThatDoesNotKnowTheSecretIsRefused() async throws {
      // It takes whatever proof comes, and has none of its own.
      let server = try await RawServer { _ in
        [[0x42] + Array(repeating: 1, count: 32), [0x44] + Array(repeating: 2, count: 32)]
      }
      let error = await #expect(throws: SyncError.self) {
        try await TCPTransport(host: "127.0.0.1", port: server.port, security: .secret(Self.secret)).connect()
      }
      #expect(error?.code == .unauthorized)
      await server.close()
    }

    @Test func aServerWithoutASecretIsRefusedByAClientThatHasOne() async throws {
      try await Site(notes: 1).using { store in
        let server = try await Server(.none, store: store)
        let error = await #expect(throws: SyncError.self) { try await server.connect(.secret(Self.secret)) }
        #expect(error?.code == .unauthorized || error?.code == .protocolViolation)
        await server.listener.close()
      }
    }

    /// What a client once said is worth nothing in another connection: the server's random bytes are others.
    @Test func aRecordedIntroductionIsWorthless() async throws {
      let server = try await Server(.secret(Self.secret))
      let recorder = Recorder()
      let proxy = try await TCPListener(host: "127.0.0.1", port: 0, security: .none) { connection in
        try await recorder.pass(connection, to: server.listener.port)
      }
      let connection = try await TCPTransport(host: "127.0.0.1", port: proxy.port, security: .secret(Self.secret))
        .connect()
      await connection.close()
      await proxy.close()
      let replay = try await server.connect(.none)
      for message in await recorder.messages.prefix(2) { try? await replay.send(message) }
      _ = try? await replay.receive()
      let answer = try await replay.receive()
      #expect(answer?.first == 12)
      await server.listener.close()
    }

    // MARK: TLS

    @Test func aServerWhoseCertificateNobodyVouchesForIsRefused() async throws {
      let stranger = NetworkSecurity.tls(TLSSettings(identity: Certificates.identity("stranger"), trust: .anybody))
      let server = try await Server(stranger)
      let error = await #expect(throws: SyncError.self) { try await server.connect(Certificates.client) }
      #expect(error?.code == .unauthorized)
      await server.listener.close()
    }

    @Test func clientCertificatesAreDemandedAndChecked() async throws {
      let trust = TLSSettings.Trust.authorities(path: Certificates.authority)
      let server = try await Server(.tls(TLSSettings(identity: Certificates.identity("server"), trust: trust)))
      func client(_ name: String?) -> NetworkSecurity {
        .tls(TLSSettings(identity: name.map(Certificates.identity), trust: trust))
      }
      let connection = try await server.connect(client("client"))
      try await connection.send([1])
      await connection.close()
      for name in ["stranger", nil] {
        // With TLS 1.3 a client learns of it only when it reads.
        let error = await #expect(throws: SyncError.self) {
          let connection = try await server.connect(client(name))
          _ = try await connection.receive()
          throw SyncError(.peerFailed, "it was let in")
        }
        #expect(error?.code == .unauthorized || error?.code == .disconnected)
      }
      await server.listener.close()
    }

    @Test func aSecretIsBoundToTheCertificate() async throws {
      let settings = TLSSettings(identity: Certificates.identity("server"), trust: .anybody)
      let server = try await Server(.tls(settings, secret: Self.secret))
      let anybody = NetworkSecurity.tls(TLSSettings(trust: .anybody), secret: Self.secret)
      await (try await server.connect(anybody)).close()
      // Somebody in between with a certificate of its own passes everything on as it is.
      let middle = TLSSettings(identity: Certificates.identity("stranger"), trust: .anybody)
      let recorder = Recorder(NetworkSecurity.tls(TLSSettings(trust: .authorities(path: Certificates.authority))))
      let proxy = try await TCPListener(host: "127.0.0.1", port: 0, security: .tls(middle)) { connection in
        try await recorder.pass(connection, to: server.listener.port)
      }
      let error = await #expect(throws: SyncError.self) {
        try await TCPTransport(host: "127.0.0.1", port: proxy.port, security: anybody).connect()
      }
      #expect(error?.code == .unauthorized)
      await proxy.close()
      await server.listener.close()
    }

    @Test func aClientThatTrustsAnybodyNeedsASecret() async throws {
      let transport = TCPTransport(host: "127.0.0.1", port: 1, security: .tls(TLSSettings(trust: .anybody)))
      let error = await #expect(throws: SyncError.self) { try await transport.connect() }
      #expect(error?.code == .unauthorized)
    }

    // MARK: Silence and crowds

    @Test func nobodyListens() async throws {
      // A port that was just free may be another test's by now; nobody listens on the first.
      let error = await #expect(throws: SyncError.self) {
        try await TCPTransport(host: "127.0.0.1", port: 1, security: .none).connect()
      }
      #expect(error?.code == .unreachable)
    }

    @Test(arguments: [false, true]) func whoSaysNothingIsNotWaitedForLong(_ isEncrypted: Bool) async throws {
      var limits = NetworkLimits()
      limits.introduction = .milliseconds(100)
      var security = isEncrypted ? Certificates.server : .none
      security.secret = Self.secret
      let server = try await Server(security, limits: limits)
      let silent = try await server.connect(.none)
      #expect(await server.failure()?.code == .timedOut)
      await silent.close()
      await server.listener.close()
    }

    @Test func aConnectionWhoseOtherEndIsGoneTimesOut() async throws {
      var limits = NetworkLimits()
      limits.idle = .milliseconds(100)
      let server = try await Server(.none)
      let connection = try await server.connect(.none, limits: limits)
      let error = await #expect(throws: SyncError.self) { try await connection.receive() }
      #expect(error?.code == .timedOut)
      await #expect(throws: SyncError.self) { try await connection.send([1]) }
      await server.listener.close()
    }

    @Test func aPeerThatTakesNothingTimesOut() async throws {
      var limits = NetworkLimits()
      limits.idle = .milliseconds(200)
      let (here, _) = try await Loopback.pair(.none, limits: limits)
      let error = await #expect(throws: SyncError.self) {
        for _ in 0..<1024 { try await here.send([UInt8](repeating: 0, count: 65_536)) }
      }
      #expect(error?.code == .timedOut)
    }

    @Test func beyondTheLimitConnectionsAreClosed() async throws {
      var limits = NetworkLimits()
      limits.connections = 2
      let server = try await Server(.none, limits: limits)
      var held: [TCPConnection] = []
      for _ in 0..<2 { held.append(try await server.connect(.none)) }
      while server.listener.connectionCount < 2 { await Task.yield() }
      await #expect(throws: SyncError.self) {
        let third = try await server.connect(.none)
        while try await third.receive() != nil {}
        throw SyncError(.disconnected, "it ended")
      }
      #expect(server.listener.connectionCount == 2)
      for connection in held { await connection.close() }
      while server.listener.connectionCount > 0 { await Task.yield() }
      await (try await server.connect(.none)).close()
      await server.listener.close()
    }

    @Test func closingAListenerEndsItsConnections() async throws {
      let server = try await Server(.none)
      let connection = try await server.connect(.none)
      try await connection.send([1])
      let waiting = Task { try await connection.receive() }
      await server.listener.close()
      _ = await waiting.result
      #expect(server.listener.connectionCount == 0)
    }

    /// A farewell that fails is over: nothing more can come of it. It was once waited for as long as for one that is
    /// on its way, so that a server that was asked to end right after a sync did not end in order.
    @Test func aPeerThatIsGoneIsNotWaitedFor() async throws {
      let (times, feed) = AsyncStream.makeStream(of: Duration.self)
      let listener = try await TCPListener(host: "127.0.0.1", port: 0, security: .none) { connection in
        // The peer's end; it answers the message with a reset, which makes the farewell fail.
        await #expect(throws: SyncError.self) { try await connection.receive() }
        try await connection.send([UInt8](repeating: 1, count: 1_000))
        feed.yield(await ContinuousClock().measure { await connection.close() })
      }
      for _ in 0..<20 { try await RawClient.send([], to: listener.port) }
      var count = 0
      for await time in times {
        // A farewell on its way has two seconds.
        #expect(time < .seconds(1.5))
        count += 1
        if count == 20 { break }
      }
      await listener.close()
    }

    // MARK: Raw bytes

    static let rawCases: [(String, [UInt8])] = [
      ("HTTP", Array("GET / HTTP/1.1\r\nHost: example\r\n\r\n".utf8)),
      ("a length of 2^63", [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]),
      ("a megabyte of 0xFF", [UInt8](repeating: 0xFF, count: 1 << 20)),
      ("a message that never ends", [0x80, 0x80, 0x40, 1, 2, 3]),
      ("only a farewell", [0]),
      ("noise", (0..<5_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }),
      ("a TLS hello", [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC, 0x03, 0x03]),
    ]

    @Test(arguments: rawCases.map(\.0), [true, false])
    func rawBytesEndTheConnectionAndNothingElse(_ name: String, _ hasSecret: Bool) async throws {
      let site = try Site(notes: 2)
      let before = try site.dump()
      try await site.using { store in
        var limits = NetworkLimits()
        limits.introduction = .seconds(30)
        let server = try await Server(hasSecret ? .secret(Self.secret) : .none, limits: limits, store: store)
        let bytes = Self.rawCases.first { $0.0 == name }?.1 ?? []
        try await RawClient.send(bytes, to: server.listener.port)
        #expect(await server.failures.first { _ in true } != nil)
        // The next one is served as ever.
        let other = try Site(notes: 1, "other")
        let connection = try await server.connect(hasSecret ? .secret(Self.secret) : .none)
        _ = try await other.using { try await $0.sync(over: connection) }
        await server.listener.close()
      }
      #expect(try site.dump() != before)
    }
  }
#endif
