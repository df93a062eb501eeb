#if Network
  import NIOCore
  import NIOPosix
  import NIOSSL
  import Synchronization
  import TallySync

  /// Listens on a TCP port and hands each peer that has introduced itself to `serve`, in a task of its own.
  ///
  /// ```swift
  /// let listener = try await TCPListener(host: "0.0.0.0", port: 7_400, security: .secret(secret)) { connection in
  ///   try await engine.accept(connection, from: connection.remoteAddress)
  /// }
  /// ```
  ///
  /// The connection is closed when `serve` returns or throws. What goes wrong with one peer goes to `onFailure` and touches no other.
  /// Beyond `NetworkLimits.connections` at once, further ones are closed unheard.
  public final class TCPListener: Sendable {
    /// Serves one peer.
    public typealias Service = @Sendable (TCPConnection) async throws -> Void
    /// Told of each peer that was refused or failed: its address and why.
    public typealias FailureHandler = @Sendable (String, any Error) -> Void

    private let channel: any Channel
    private let guests: Guests
    /// The port, also where 0 asked for a free one.
    public let port: Int

    /// Listens.
    /// - Throws: `SyncError` if the port cannot be had; what reading certificates throws.
    public init(
      host: String, port: Int, security: NetworkSecurity, limits: NetworkLimits = NetworkLimits(),
      onFailure: @escaping FailureHandler = { _, _ in }, serve: @escaping Service
    ) async throws {
      let tls = try security.serverContext()
      let guests = Guests(
        secret: security.secret, binding: tls?.binding ?? [], limits: limits, onFailure: onFailure, serve: serve)
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

    /// How many peers are connected, those included that have not introduced themselves yet.
    public var connectionCount: Int { guests.count }

    /// Stops listening, ends all connections and waits for what serves them.
    public func close() async {
      try? await channel.close().get()
      await guests.sendHome()
    }
  }

  /// The peers of a listener.
  final class Guests: Sendable {
    private struct State {
      var isClosed = false
      var next = 0
      var tasks: [Int: Task<Void, Never>] = [:]
    }

    private let state = Mutex(State())
    private let secret: SharedSecret?
    private let binding: [UInt8]
    private let limits: NetworkLimits
    private let onFailure: TCPListener.FailureHandler
    private let serve: TCPListener.Service

    init(
      secret: SharedSecret?, binding: [UInt8], limits: NetworkLimits,
      onFailure: @escaping TCPListener.FailureHandler, serve: @escaping TCPListener.Service
    ) {
      self.secret = secret
      self.binding = binding
      self.limits = limits
      self.onFailure = onFailure
      self.serve = serve
    }

    var count: Int { state.withLock { $0.tasks.count } }

    /// Serves a peer in a task of its own.
    /// - Throws: `SyncError` if there are too many.
    func admit(_ opening: Opening) throws {
      try state.withLock { state in
        guard !state.isClosed, state.tasks.count < limits.connections else {
          throw SyncError(.limitExceeded, "too many connections")
        }
        let id = state.next
        state.next += 1
        state.tasks[id] = Task {
          await self.host(opening)
          self.state.withLock { $0.tasks[id] = nil }
        }
      }
    }

    private func host(_ opening: Opening) async {
      let address = opening.channel.remoteAddress.map { "\($0)" } ?? "unknown"
      do {
        let (secret, binding) = (secret, binding)
        let connection = try await opening.finish(limits.introduction) { framed in
          guard let secret else { return }
          try await Introduction(connection: framed, secret: secret, binding: binding).asServer()
        }
        do {
          try await serve(connection)
        } catch {
          onFailure(address, error)
        }
        await connection.close()
      } catch {
        onFailure(address, error)
      }
    }

    func sendHome() async {
      let tasks = state.withLock { state in
        state.isClosed = true
        return Array(state.tasks.values)
      }
      for task in tasks { task.cancel() }
      for task in tasks { await task.value }
    }
  }
#endif
