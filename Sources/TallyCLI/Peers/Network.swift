#if Network
  import Foundation
  import Tally
  import TallySync
  import TallyNetwork

  extension SecurityOptions {
    private func networkSecurity(_ role: NetworkSecurity.Role) throws -> NetworkSecurity {
      var security = NetworkSecurity.none
      if let bytes = try secret() {
        guard let secret = SharedSecret(bytes) else { throw Failure(.badData, "the secret is too short") }
        security.secret = secret
      }
      guard certificate != nil || trust != nil else { return security }
      for file in [certificate, key, authorities] {
        if let file, access(file, R_OK) != 0 { throw Failure(errno: errno, .read, file) }
      }
      var identity: TLSSettings.Identity?
      if let certificate, let key { identity = .init(certificatePath: certificate, keyPath: key) }
      let trust: TLSSettings.Trust = authorities.map { .authorities(path: $0) } ?? (trust == "any" ? .anybody : .system)
      security.tls = TLSSettings(identity: identity, trust: trust)
      do {
        try security.check(as: role)
      } catch let error as SyncError {
        throw Failure(.badData, error.message)
      }
      return security
    }

    /// The file that `--trust` names.
    private var authorities: String? { trust == "any" || trust == "system" ? nil : trust }

    func transport(host: String, port: Int) throws -> any Transport {
      TCPTransport(host: host, port: port, security: try networkSecurity(.client))
    }

    /// Serves until the task is cancelled. A peer that is let in may change everything in the store.
    func listen(on address: String, _ store: Store, _ options: ProgressOptions) throws {
      guard case .tcp(let host, let port) = try PeerAddress.tcp(address) else { return }
      let security = try networkSecurity(.server)
      guard security.secret != nil || authorities != nil || ["127.0.0.1", "::1", "localhost"].contains(host) else {
        throw Failure(.usage, "others reach \(host): --secret-file is needed, or --trust for the peers' certificates")
      }
      let progress = SyncProgress(options)
      defer { progress.end() }
      try Waiting.run {
        let listener = try await TCPListener(host: host, port: port, security: security) { address, error in
          complain("\(address): \(Failure.message(of: error))")
        } serve: { connection in
          var settings = SyncSettings()
          settings.isLive = true
          let peer = progress.peer()
          defer { progress.leave(peer) }
          settings.onProgress = { progress.show($0, of: peer) }
          let outcome = try await store.sync(over: connection, settings)
          let lines = SyncLines.of(outcome, "from \(connection.remoteAddress): the store").joined(separator: "; ")
          try Output.run { try $0.line(lines) }
        }
        try Output.run { try $0.line("listening on \(host):\(listener.port)") }
        // Until the tool is asked to end.
        while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
        await listener.close()
      }
    }
  }

  extension ServeCommand {
    func serve(_ address: String) throws {
      try store.writing(isDurable: false) { try security.listen(on: address, $0, progress) }
    }
  }
#endif
