#if Relay
  import NIOCore
  import NIOHTTP1
  import TallyRelayProtocol

  /// Sees to it that what a client does not finish costs little, and not for long: counts what a connection holds of a
  /// header that does not end, and closes a connection whose body goes on after its answer. Needs no token for that,
  /// and asks for none. Used on the connection's event loop alone.
  final class RequestWatch: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// What a header takes in memory until it is whole, beside its bytes as they came.
    private static let bytesOfAByte = 3
    private let connections: Connections
    /// How long a body may go on after the answer to its request.
    private let longestRest: TimeAmount
    /// Whether a header has come in whole and its body has not.
    private var isInBody = false
    /// Whether a header was whole in the piece that is read now, and how much of that piece belongs to a body.
    private var (hasHead, bodyBytes) = (false, 0)
    /// The requests whose answers the system has not taken as yet.
    private var pending = 0
    /// The most of them. Browsers and HTTP clients wait for each answer, and requests that come without waiting are all
    /// answered before the event loop turns to other connections.
    private static let mostPending = 8
    private var isOver = false
    /// Whether no request is under way: none that has no answer yet. What is left of a body does not count.
    private var isIdle: Bool { pending == 0 && (!isInBody || rest != nil) }
    /// What has come since the last header that was whole, as far as it may belong to the next.
    private var held = 0
    /// The bytes received over TLS and not decrypted yet: less than a record.
    private var enciphered = 0
    private var isNoted = false
    private var hasLeft = false
    /// The bytes of a body that came after the answer; nil while there is none.
    private var rest: Int?
    private var end: Scheduled<Void>?

    private init(_ connections: Connections, _ longestRest: TimeAmount) {
      (self.connections, self.longestRest) = (connections, longestRest)
    }

    /// Puts one around the decoder of a connection, and around TLS where it speaks that.
    static func add(to channel: any Channel, _ connections: Connections, longestRest: TimeAmount) throws {
      let pipeline = channel.pipeline.syncOperations
      let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
      let watch = RequestWatch(connections, longestRest)
      let pieces = Bytes { _ in
        (watch.hasHead, watch.bodyBytes, watch.enciphered) = (false, 0, 0)
      } after: {
        watch.note($0, $1)
      }
      try pipeline.addHandler(pieces, position: .before(decoder))
      try pipeline.addHandler(watch, position: .after(decoder))
      guard connections.isOverTLS else { return }
      let records = Bytes {
        watch.enciphered += $0
      } after: { _, channel in
        watch.noteRecord(channel)
      }
      try pipeline.addHandler(records, position: .first)
    }

    /// Sees the bytes before the next handler makes something of them, and again afterwards.
    private final class Bytes: ChannelInboundHandler {
      typealias InboundIn = ByteBuffer
      typealias InboundOut = ByteBuffer

      private let before: (_ count: Int) -> Void
      private let after: (_ count: Int, any Channel) -> Void

      init(before: @escaping (_ count: Int) -> Void, after: @escaping (_ count: Int, any Channel) -> Void) {
        (self.before, self.after) = (before, after)
      }

      func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let count = unwrapInboundIn(data).readableBytes
        before(count)
        context.fireChannelRead(data)
        after(count, context.channel)
      }
    }

    /// So many bytes were decoded.
    private func note(_ bytes: Int, _ channel: any Channel) {
      guard !isInBody else {
        held = 0
        return
      }
      // With a header that is whole there may come the beginning of another.
      held = (hasHead ? 0 : held) + Self.bytesOfAByte * max(0, bytes - bodyBytes)
      if pending == 0, channel.isActive { hold(channel) }
    }

    /// Part of a record has come, or of a handshake.
    private func noteRecord(_ channel: any Channel) {
      if enciphered > 0, isIdle, channel.isActive { hold(channel) }
    }

    private func hold(_ channel: any Channel) {
      isNoted = true
      connections.hold(held + enciphered, on: channel)
    }

    private func letGo(_ channel: any Channel) {
      guard isNoted else { return }
      isNoted = false
      connections.letGo(channel)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard !isOver else { return }
      switch unwrapInboundIn(data) {
      case .head:
        letGo(context.channel)
        (isInBody, hasHead) = (true, true)
        pending += 1
        guard pending <= Self.mostPending else {
          isOver = true
          return context.close(promise: nil)
        }
      case .body(let bytes):
        bodyBytes += bytes.readableBytes
        guard let came = rest else { break }
        rest = came + bytes.readableBytes
        // Nobody wants it, and the client has been told so.
        if came + bytes.readableBytes > RelayLimits.bodyBytes { return context.close(promise: nil) }
      case .end:
        isInBody = false
        rest = nil
        end?.cancel()
        end = nil
      }
      context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      guard case .end = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
      if isInBody, rest == nil {
        rest = 0
        end = context.eventLoop.assumeIsolated().scheduleTask(in: longestRest) { context.close(promise: nil) }
      }
      let promise = promise ?? context.eventLoop.makePromise()
      promise.futureResult.assumeIsolated().whenComplete { [self] _ in
        pending -= 1
        if isIdle, context.channel.isActive { hold(context.channel) }
      }
      context.write(data, promise: promise)
    }

    func handlerAdded(context: ChannelHandlerContext) {
      isNoted = true
      connections.open(context.channel)
    }

    func channelInactive(context: ChannelHandlerContext) {
      leave(context.channel)
      end?.cancel()
      end = nil
      context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
      leave(context.channel)
      end?.cancel()
      end = nil
    }

    private func leave(_ channel: any Channel) {
      guard !hasLeft else { return }
      hasLeft = true
      isNoted = false
      connections.close(channel)
    }
  }
#endif
