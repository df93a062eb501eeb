#if Relay
  import NIOCore

  /// Notices that the other side of a connection has closed its own, from the connection's beginning on: it may come in
  /// the same packet as the request. Used on the connection's event loop alone.
  final class InputWatch: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    private var isClosed = false
    private var closes = false

    /// From now on the connection is closed when the other side has closed its own: it has no more to say and gets no
    /// more to hear.
    func closeWithInput(_ channel: any Channel) {
      closes = true
      if isClosed { channel.close(promise: nil) }
    }

    /// From now on the other side may close its own and be answered nevertheless, as at the connection's beginning.
    func stayOpen() { closes = false }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if case .inputClosed? = event as? ChannelEvent {
        isClosed = true
        if closes { context.close(promise: nil) }
      }
      context.fireUserInboundEventTriggered(event)
    }
  }
#endif
