#if Network
  import Foundation
  import Tally
  import TallyNetwork

  extension SecurityOptions {
    private func networkSecurity() throws -> NetworkSecurity {
      guard let bytes = try secret() else { return .none }
      guard let secret = SharedSecret(bytes) else { throw Failure(.badData, "the secret is too short") }
      return .secret(secret)
    }

    func transport(host: String, port: Int) throws -> any Transport {
      TCPTransport(host: host, port: port, security: try networkSecurity())
    }

    /// Serves until the task is cancelled. Whoever is let in may change everything in the store.
    func listen(on address: String, _ store: Store) throws {
      guard case .tcp(let host, let port) = try PeerAddress.tcp(address) else { return }
      let security = try networkSecurity()
      guard security.secret != nil || ["127.0.0.1", "::1", "localhost"].contains(host) else {
        throw Failure(.usage, "others reach \(host): --secret-file is needed")
      }
      try Waiting.run {
        let listener = try await TCPListener(host: host, port: port, security: security) { address, error in
          complain("\(address): \(Failure.message(of: error))")
        } serve: { connection in
          var settings = SyncSettings()
          settings.isLive = true
          let outcome = try await store.sync(over: connection, settings)
          let lines = SyncLines.of(outcome, "from \(connection.remoteAddress): the store").joined(separator: "; ")
          try Output.run { try $0.line(lines) }
        }
        try Output.run { try $0.line("listening on \(host):\(listener.port)") }
        // Until somebody asks the tool to end.
        while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
        await listener.close()
      }
    }
  }

  extension ServeCommand {
    func serve(_ address: String) throws {
      try store.writing(isDurable: false) { try security.listen(on: address, $0) }
    }
  }
#endif
