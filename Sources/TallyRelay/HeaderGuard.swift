#if HTTPClient && os(Linux)
  import NIOCore
  import NIOHTTP1

  /// Ends a connection over which much comes of which nothing can be made: SwiftNIO holds fields of a header to limits,
  /// but not the words of a status line, which could go on until memory ends.
  ///
  /// It stands twice in a connection: before the decoder it counts, behind it each part begins the count again.
  final class HeaderGuard {
    /// The most that may come for one part of an answer. Larger than the largest header that a decoder takes.
    static let largestCount = 4 << 20

    private var count = 0

    /// Guards a connection that is made.
    static func guardConnection(_ channel: any Channel) -> EventLoopFuture<Void> {
      channel.eventLoop.makeCompletedFuture {
        let pipeline = channel.pipeline.syncOperations
        let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
        let shared = HeaderGuard()
        try pipeline.addHandler(Counter(shared), position: .before(decoder))
        try pipeline.addHandler(Reset(shared), position: .after(decoder))
      }
    }

    private final class Counter: ChannelInboundHandler {
      typealias InboundIn = ByteBuffer
      typealias InboundOut = ByteBuffer

      private let shared: HeaderGuard

      init(_ shared: HeaderGuard) { self.shared = shared }

      func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        shared.count += unwrapInboundIn(data).readableBytes
        guard shared.count <= HeaderGuard.largestCount else {
          context.fireErrorCaught(RelayTransportError.notHTTP)
          return context.close(promise: nil)
        }
        context.fireChannelRead(data)
      }
    }

    private final class Reset: ChannelInboundHandler {
      typealias InboundIn = HTTPClientResponsePart
      typealias InboundOut = HTTPClientResponsePart

      private let shared: HeaderGuard

      init(_ shared: HeaderGuard) { self.shared = shared }

      func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        shared.count = 0
        context.fireChannelRead(data)
      }
    }
  }
#endif
