#if Network
  import NIOCore
  import NIOSSL
  import NIOTLS
  import TallySync

  /// Hands what happens in a channel to its stream.
  final class ChannelStreamHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let stream: ChannelStream
    /// Completes when the connection can carry messages: at once, or when TLS is ready.
    private let ready: EventLoopPromise<Void>
    private let hasTLS: Bool

    init(_ stream: ChannelStream, ready: EventLoopPromise<Void>, hasTLS: Bool) {
      self.stream = stream
      self.ready = ready
      self.hasTLS = hasTLS
    }

    func handlerAdded(context: ChannelHandlerContext) { if context.channel.isActive { begin(context) } }

    func channelActive(context: ChannelHandlerContext) {
      begin(context)
      context.fireChannelActive()
    }

    private func begin(_ context: ChannelHandlerContext) {
      if hasTLS { context.read() } else { ready.succeed() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let buffer = unwrapInboundIn(data)
      stream.deliver(Array(buffer.readableBytesView))
    }

    func channelReadComplete(context: ChannelHandlerContext) {
      if stream.wantsBytes { context.read() }
      context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if case ChannelEvent.inputClosed = event {
        ended(context)
      } else if case TLSUserEvent.handshakeCompleted? = event as? TLSUserEvent {
        stream.handshakeEnded()
        ready.succeed()
      }
      context.fireUserInboundEventTriggered(event)
    }

    private func ended(_ context: ChannelHandlerContext) {
      stream.end()
      if stream.isClosing { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
      stream.closed()
      context.fireChannelInactive()
    }

    /// A channel that is refused before it is active ends here.
    func handlerRemoved(context: ChannelHandlerContext) {
      stream.closed()
      ready.fail(SyncError(.disconnected, "the connection ended while it was being opened"))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      let known = Self.explain(error)
      stream.fail(known)
      ready.fail(known)
      context.close(promise: nil)
    }

    private static func explain(_ error: any Error) -> SyncError {
      switch error {
      case let error as SyncError: error
      case let error as NIOSSLError:
        switch error {
        case .handshakeFailed, .unableToValidateCertificate:
          SyncError(
            .unauthorized, "TLS: the peer's identity does not match, or it has rejected this side", cause: error)
        default: SyncError(.disconnected, "TLS: the connection broke", cause: error)
        }
      case let error as NIOSSLExtraError:
        SyncError(.unauthorized, "TLS: the peer's certificate is for another name", cause: error)
      case let error as BoringSSLError:
        SyncError(.unauthorized, "TLS: the peer has rejected this side", cause: error)
      default: SyncError(.disconnected, "the connection broke", cause: error)
      }
    }
  }
#endif
