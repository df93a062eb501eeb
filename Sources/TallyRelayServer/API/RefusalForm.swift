#if Relay
  import NIOCore
  import NIOHTTP1
  import TallyRelayProtocol

  /// Gives what the HTTP library refuses by itself, before there is a request, the form of every other refusal. The
  /// library answers with a bare 400 and closes the connection, whatever was wrong. Used on the connection's event loop
  /// alone.
  final class RefusalForm: ChannelDuplexHandler {
    typealias InboundIn = NIOAny
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// Is told of each refusal.
    private let note: @Sendable (RelayProblem) -> Void
    private var error: (any Error)?

    init(_ note: @escaping @Sendable (RelayProblem) -> Void) { self.note = note }

    /// Puts one behind the decoder of a connection.
    static func add(to channel: any Channel, _ note: @escaping @Sendable (RelayProblem) -> Void) throws {
      let pipeline = channel.pipeline.syncOperations
      let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
      try pipeline.addHandler(RefusalForm(note), position: .after(decoder))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      // What comes after the first is its consequence.
      self.error = self.error ?? error
      context.fireErrorCaught(error)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      guard let error, case .head(let head) = unwrapOutboundIn(data), head.status == .badRequest,
        !head.headers.contains(name: RelayHeader.problem)
      else { return context.write(data, promise: promise) }
      let problem = Self.problem(error)
      do {
        let body = try problem.json()
        let fields: HTTPHeaders = [
          "Cache-Control": "no-store", RelayHeader.problem: problem.code.rawValue, "Content-Type": RelayMedia.problem,
          "Content-Length": "\(body.count)", "Connection": "close",
        ]
        let head = HTTPResponseHead(
          version: head.version, status: HTTPResponseStatus(statusCode: problem.status), headers: fields)
        note(problem)
        context.write(wrapOutboundOut(.head(head)), promise: promise)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
      } catch {
        context.write(data, promise: promise)
      }
    }

    private static func problem(_ error: any Error) -> RelayProblem {
      if let error = error as? HTTPParserError, error == .headerOverflow {
        return RelayProblem(.headersTooLarge, "the header is too large")
      }
      return RelayProblem(.badRequest, "this is no request")
    }
  }
#endif
