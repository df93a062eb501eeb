#if Network
  import Foundation
  import Tally
  import TallySync
  import TallyNetwork

  /// Two ends of a connection over TCP on this machine.
  enum Loopback {
    /// Other tests may take up the machine for longer than a peer would have to introduce itself.
    static var patient: NetworkLimits {
      var limits = NetworkLimits()
      (limits.connecting, limits.introduction) = (.seconds(60), .seconds(60))
      return limits
    }

    static func pair(_ server: NetworkSecurity, client: NetworkSecurity? = nil, limits: NetworkLimits = patient)
      async throws -> (any SyncConnection, any SyncConnection)
    {
      let (accepted, feed) = AsyncStream.makeStream(of: Served.self)
      let listener = try await TCPListener(host: "127.0.0.1", port: 0, security: server, limits: limits) { connection in
        let served = Served(connection)
        feed.yield(served)
        await served.ended()
      }
      let transport = TCPTransport(
        host: "127.0.0.1", port: listener.port, security: client ?? server, limits: limits)
      let here = try await transport.connect()
      for await served in accepted { return (LoopbackEnd(here, listener), served) }
      throw SyncError(.disconnected, "nobody came")
    }
  }

  /// The server's end: the listener keeps it open until it is closed.
  private final class Served: SyncConnection {
    private let base: TCPConnection
    private let (closed, feed) = AsyncStream.makeStream(of: Void.self)

    init(_ base: TCPConnection) { self.base = base }

    func ended() async { for await _ in closed {} }
    func send(_ message: [UInt8]) async throws { try await base.send(message) }
    func receive() async throws -> [UInt8]? { try await base.receive() }

    func close() async {
      await base.close()
      feed.finish()
    }
  }

  /// The client's end, with the listener of the other.
  private final class LoopbackEnd: SyncConnection {
    private let base: TCPConnection
    private let listener: TCPListener

    init(_ base: TCPConnection, _ listener: TCPListener) {
      self.base = base
      self.listener = listener
    }

    func send(_ message: [UInt8]) async throws { try await base.send(message) }
    func receive() async throws -> [UInt8]? { try await base.receive() }
    func close() async { await base.close() }
  }

  /// Certificates for this machine, made for these tests.
  enum Certificates {
    private static func path(_ name: String) -> String {
      Bundle.module.bundleURL.appendingPathComponent("Certificates").appendingPathComponent(name).path
    }

    static func identity(_ name: String) -> TLSSettings.Identity {
      TLSSettings.Identity(certificatePath: path("\(name).pem"), keyPath: path("\(name).key"))
    }

    static let authority = path("authority.pem")
    /// A server that lets everybody in, and a client that checks it.
    static let server = NetworkSecurity.tls(TLSSettings(identity: identity("server"), trust: .anybody))
    static let client = NetworkSecurity.tls(TLSSettings(trust: .authorities(path: authority)))
  }
#endif
