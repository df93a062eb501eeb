#if Inspector
  import NIOCore
  import NIOHTTP1

  /// Closes a connection on which much comes behind a request that is not answered yet. Browsers send nothing there.
  ///
  /// NIO's `HTTPServerPipelineHandler`, which comes after it, keeps the requests that arrive meanwhile and stops
  /// reading. Kept as parsed requests, a few megabytes of bytes take up a hundred; and as long as nothing is read, it
  /// goes unnoticed that the client has gone, so its query or verify goes on. This handler keeps reading, and counts.
  final class PipeliningLimit: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// The most requests behind the one that is being answered.
    static let requestLimit = 8
    /// The most bytes of their bodies.
    static let byteLimit = 64 << 10

    /// The requests that have begun and are not answered.
    private var unanswered = 0
    /// The bytes of bodies that wait.
    private var bytes = 0
    /// Whether the last request has begun and not ended.
    private var isInside = false
    private var isOver = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard !isOver else { return }
      switch unwrapInboundIn(data) {
      case .head: (unanswered, isInside) = (unanswered + 1, true)
      case .body(let buffer): if unanswered > 1 { bytes += buffer.readableBytes }
      case .end: isInside = false
      }
      guard unanswered <= 1 + Self.requestLimit, bytes <= Self.byteLimit else {
        isOver = true
        return context.close(promise: nil)
      }
      context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
      context.fireChannelReadComplete()
      // The body of the request that is being answered comes as fast as it is taken.
      if !isOver, unanswered > 1 || unanswered == 1 && !isInside { context.read() }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      if case .end = unwrapOutboundIn(data) {
        unanswered = max(0, unanswered - 1)
        if unanswered <= 1 { bytes = 0 }
      }
      context.write(data, promise: promise)
    }
  }
#endif
