#if Network
  import TallySync

  /// The exchange by which both sides prove that they know the secret, before a byte of the sync protocol is sent.
  ///
  /// ```
  /// client → server   0x41, version 1, 32 random bytes
  /// server → client   0x42, 32 random bytes
  /// client → server   0x43, HMAC-SHA256(secret; "tally client 1", both random parts, binding)
  /// server → client   0x44, HMAC-SHA256(secret; "tally server 1", both random parts, binding)
  /// ```
  ///
  /// The client proves itself first, so that a stranger learns nothing. Fresh random bytes of both sides make a
  /// recording worthless; the two labels keep one side's proof from serving as the other's. With TLS the binding is the
  /// SHA-256 of the server's certificate (RFC 5929, `tls-server-end-point`), so that an attacker in between with
  /// another certificate is found out. Any other message ends it.
  struct Introduction {
    private enum Step {
      static let hello: UInt8 = 0x41, challenge: UInt8 = 0x42, client: UInt8 = 0x43, server: UInt8 = 0x44
    }
    private static let version: UInt8 = 1
    private static let byteCount = 32

    let connection: FramedConnection
    let secret: SharedSecret
    /// The hash of the server's certificate; empty without TLS.
    let binding: [UInt8]

    func asClient() async throws {
      let own = Self.random()
      try await connection.send([Step.hello, Self.version] + own)
      let other = try await receive(Step.challenge)
      try await connection.send([Step.client] + secret.code(parts("tally client 1", own, other)))
      let proof = try await receive(Step.server)
      guard secret.isValid(proof, parts("tally server 1", own, other)) else {
        throw SyncError(.unauthorized, "the peer does not know the secret")
      }
    }

    func asServer() async throws {
      do {
        let other = try await receiveHello()
        let own = Self.random()
        try await connection.send([Step.challenge] + own)
        let proof = try await receive(Step.client)
        guard secret.isValid(proof, parts("tally client 1", other, own)) else {
          throw SyncError(.unauthorized, "the peer does not know the secret")
        }
        try await connection.send([Step.server] + secret.code(parts("tally server 1", other, own)))
      } catch let error as SyncError where error.code == .unauthorized {
        // The same words for every fault.
        let refusal = SyncMessage.failure(code: SyncError.Code.unauthorized.rawValue, message: "the secret is wrong")
        try? await connection.send(refusal.encoded())
        throw error
      }
    }

    private func parts(_ label: String, _ client: [UInt8], _ server: [UInt8]) -> [[UInt8]] {
      [Array(label.utf8), client, server, binding]
    }

    private func receiveHello() async throws -> [UInt8] {
      let message = try await next()
      guard message.count == Self.byteCount + 2, message[0] == Step.hello else {
        throw SyncError(.unauthorized, "the peer does not introduce itself with a secret")
      }
      guard message[1] == Self.version else {
        throw SyncError(.unauthorized, "the peer introduces itself in an unknown way")
      }
      return Array(message[2...])
    }

    private func receive(_ step: UInt8) async throws -> [UInt8] {
      let message = try await next()
      if message.count == Self.byteCount + 1, message[0] == step { return Array(message[1...]) }
      if case .failure(let code, let text)? = try? SyncMessage(message) {
        throw SyncError(SyncError.Code(rawValue: code) ?? .peerFailed, "the peer says: \(text)")
      }
      throw SyncError(.unauthorized, "the peer does not ask for a secret")
    }

    private func next() async throws -> [UInt8] {
      guard let message = try await connection.receive() else {
        throw SyncError(.disconnected, "the peer closed before it introduced itself")
      }
      return message
    }

    private static func random() -> [UInt8] {
      var generator = SystemRandomNumberGenerator()
      return (0..<byteCount).map { _ in generator.next() }
    }
  }
#endif
