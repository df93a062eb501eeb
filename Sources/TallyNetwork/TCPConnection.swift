#if Network
  import NIOCore
  import NIOPosix
  import NIOSSL
  import TallySync

  /// A TCP connection to a peer that has introduced itself.
  public final class TCPConnection: SyncConnection {
    private let framed: FramedConnection
    /// The peer's address, for logs.
    public let remoteAddress: String

    init(_ framed: FramedConnection, _ remoteAddress: String) {
      self.framed = framed
      self.remoteAddress = remoteAddress
    }

    /// Sends one message, and waits while the peer reads too slowly.
    public func send(_ message: [UInt8]) async throws { try await framed.send(message) }
    /// Returns the next message; nil at an orderly end.
    public func receive() async throws -> [UInt8]? { try await framed.receive() }
    /// Tells the peer that no more messages follow, and closes the connection.
    public func close() async { await framed.close() }
  }

  /// A channel that is being opened.
  struct Opening: Sendable {
    let channel: any Channel
    let stream: ChannelStream
    let ready: EventLoopFuture<Void>

    /// Sets a channel up, on its event loop.
    static func make(_ channel: any Channel, _ tls: NIOSSLHandler?, _ limits: NetworkLimits) throws -> Opening {
      let stream = ChannelStream(channel, idle: limits.idle, isShakingHands: tls != nil)
      let ready = channel.eventLoop.makePromise(of: Void.self)
      if let tls { try channel.pipeline.syncOperations.addHandler(tls) }
      try channel.pipeline.syncOperations.addHandler(ChannelStreamHandler(stream, ready: ready, hasTLS: tls != nil))
      return Opening(channel: channel, stream: stream, ready: ready.futureResult)
    }

    /// Waits until both sides know each other.
    func finish(
      _ limit: Duration, _ introduce: @escaping @Sendable (FramedConnection) async throws -> Void
    ) async throws -> TCPConnection {
      let framed = FramedConnection(stream)
      let late = SyncError(.timedOut, "the peer does not introduce itself")
      let isLate = Latch()
      let timer = channel.eventLoop.scheduleTask(in: TimeAmount(limit)) {
        isLate.open()
        stream.fail(late)
        stream.abort()
      }
      defer { timer.cancel() }
      do {
        try await ready.get()
        try await introduce(framed)
      } catch {
        await framed.close()
        throw isLate.isOpen ? late : error
      }
      return TCPConnection(framed, channel.remoteAddress.map { "\($0)" } ?? "unknown")
    }
  }
#endif
