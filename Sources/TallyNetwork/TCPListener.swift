#if Network
  import NIOCore
  import NIOPosix
  import NIOSSL
  import TallySync

  /// A listener on a TCP port, which hands each peer that has introduced itself to `serve` in a task of its own.
  ///
  /// ```swift
  /// let listener = try await TCPListener(host: "0.0.0.0", port: 7_400, security: .secret(secret)) { connection in
  ///   try await engine.accept(connection, from: connection.remoteAddress)
  /// }
  /// ```
  ///
  /// The connection is closed when `serve` returns or throws. An error with one peer is passed to `onFailure` and does
  /// not affect other peers. Beyond `NetworkLimits.connections` at once, further connections are closed without being
  /// served. Strangers do not count toward that limit: they have a limit of their own, `NetworkLimits.strangers`, and
  /// replace one another.
  public final class TCPListener: Sendable {
    /// A function that serves one peer, until the connection ends.
    public typealias Service = @Sendable (TCPConnection) async throws -> Void
    /// A function that is called for each peer that was refused or failed, with its address and the error.
    public typealias FailureHandler = @Sendable (String, any Error) -> Void

    private let channel: any Channel
    private let guests: Guests
    /// The port on which the listener listens, even if 0 requested a free one.
    public let port: Int

    /// Creates a listener that serves each peer that has introduced itself, until `close()`.
    ///
    /// - Parameters:
    ///   - host: the address on which to listen: `0.0.0.0` for all, `127.0.0.1` for this machine alone.
    ///   - port: the port; 0 chooses a free one, which the property `port` then contains.
    ///   - security: the secret and the encryption; TLS needs an identity.
    ///   - limits: the numbers of peers and strangers, and the times to wait for them.
    ///   - onFailure: called for each peer that was refused or whose service threw.
    ///   - serve: syncs with one peer; the connection is closed when it returns or throws.
    /// - Throws: `SyncError` if the port is not available; errors of reading certificates.
    public init(
      host: String, port: Int, security: NetworkSecurity, limits: NetworkLimits = NetworkLimits(),
      onFailure: @escaping FailureHandler = { _, _ in }, serve: @escaping Service
    ) async throws {
      let tls = try security.serverContext()
      let guests = Guests(
        secret: security.secret, binding: tls?.binding, limits: limits, onFailure: onFailure, serve: serve)
      self.guests = guests
      do {
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
          .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
          .serverChannelOption(.backlog, value: 128)
          .childChannelOption(.autoRead, value: false)
          .childChannelOption(.allowRemoteHalfClosure, value: true)
          .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
          .childChannelOption(.socketOption(.so_keepalive), value: 1)
          .childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
              try guests.admit(Opening.make(channel, tls.map { NIOSSLServerHandler(context: $0.context) }, limits))
            }
          }
          .bind(host: host, port: port).get()
      } catch let error as SyncError {
        throw error
      } catch {
        throw SyncError(.unreachable, "cannot listen on \(host):\(port)", cause: error)
      }
      self.port = channel.localAddress?.port ?? port
    }

    /// The number of connected peers, including those that have not introduced themselves yet.
    public var connectionCount: Int { guests.count }

    /// Stops listening, ends all connections and waits for the services of all peers to end. Changes that a session has
    /// committed stay; the next session continues a delta that was under way.
    public func close() async {
      try? await channel.close().get()
      await guests.sendHome()
    }
  }
#endif
