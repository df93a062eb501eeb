#if Relay
  import NIOCore
  import NIOHTTP1

  /// Sees to it that what a client does not read costs little, and not for long: keeps the room of an answer until the
  /// system has taken all of it, and closes a connection whose client takes nothing, or takes it too slowly. Used on
  /// the connection's event loop alone.
  final class AnswerWatch: ChannelOutboundHandler {
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// How long a client may leave an answer unread.
    struct Limits: Sendable {
      /// The time without any progress; before it has passed the rate does not count either.
      let longestWrite: Duration
      /// The rate after that.
      let slowestBytesPerSecond: Int
      /// How often it is looked at in that time.
      static let looks = 12
    }

    /// How far a client has come.
    private struct Mark {
      let time: NIODeadline
      /// The bytes that the system has taken.
      let written: Int
      /// The bytes that the client's system has acknowledged; nil where that is not told.
      let acknowledged: UInt64?

      func isBeyond(_ other: Mark) -> Bool { written != other.written || acknowledged != other.acknowledged }

      func bytes(since other: Mark) -> Double {
        guard let acknowledged, let before = other.acknowledged else { return Double(written - other.written) }
        return Double(acknowledged) - Double(before)
      }
    }

    /// The most bytes that are handed on at once, since the system tells of a piece when it has all of it.
    private static let pieceBytes = 64 << 10
    private let limits: Limits
    /// The room of what is written next.
    private var next: ByteBudget.Room?
    /// The room of the answer that is being written.
    private var answer: ByteBudget.Room?
    /// The number of pieces that the system has not taken, and the bytes of those that it has.
    private var waiting = 0
    private var written = 0
    /// Since when there are such pieces, and when the last progress was seen.
    private var start: Mark?
    private var last: Mark?
    private var isScheduled = false

    init(_ limits: Limits) { self.limits = limits }

    /// Puts one behind the decoder of a connection.
    static func add(to channel: any Channel, _ limits: Limits) throws {
      let pipeline = channel.pipeline.syncOperations
      let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
      try pipeline.addHandler(AnswerWatch(limits), position: .after(decoder))
    }

    /// Keeps room for the answer that is written next on a connection, or for the next event of one that is being
    /// written, until the system has taken that, or the connection is closed.
    static func keep(_ room: ByteBudget.Room, on channel: any Channel) {
      let keep: @Sendable () -> Void = {
        // A connection that has closed meanwhile has no handlers, and the room is left.
        if let watch = try? channel.pipeline.syncOperations.handler(type: AnswerWatch.self) { watch.next = room }
      }
      if channel.eventLoop.inEventLoop { keep() } else { channel.eventLoop.execute(keep) }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      switch unwrapOutboundIn(data) {
      case .head:
        answer = next
        next = nil
        context.write(data, promise: promise)
      case .body(.byteBuffer(var rest)):
        let room = answer == nil ? next : nil
        if room != nil { next = nil }
        while rest.readableBytes > Self.pieceBytes, let piece = rest.readSlice(length: Self.pieceBytes) {
          write(context, .body(.byteBuffer(piece)), piece.readableBytes, nil, nil)
        }
        write(context, .body(.byteBuffer(rest)), rest.readableBytes, promise, room)
      case .end(let fields):
        let room = answer
        answer = nil
        write(context, .end(fields), 0, promise, room)
      case .body: context.write(data, promise: promise)
      }
    }

    private func write(
      _ context: ChannelHandlerContext, _ part: HTTPServerResponsePart, _ bytes: Int,
      _ promise: EventLoopPromise<Void>?,
      _ room: ByteBudget.Room?
    ) {
      let promise = promise ?? context.eventLoop.makePromise()
      waiting += 1
      promise.futureResult.assumeIsolated().whenComplete { [self] _ in
        waiting -= 1
        written += bytes
        room?.leave()
        if waiting == 0 { start = nil }
      }
      context.write(wrapOutboundOut(part), promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
      context.flush()
      guard waiting > 0, start == nil else { return }
      (start, last) = (mark(context), mark(context))
      if !isScheduled { schedule(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { (next, answer, start) = (nil, nil, nil) }

    private func schedule(_ context: ChannelHandlerContext) {
      isScheduled = true
      context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limits.longestWrite / Limits.looks)) {
        [weak self] in
        self?.look(context)
      }
    }

    private func look(_ context: ChannelHandlerContext) {
      isScheduled = false
      guard let start, let last, context.channel.isActive else { return }
      let now = mark(context)
      if now.isBeyond(last) { self.last = now }
      let longest = TimeAmount(limits.longestWrite)
      let late = Double((now.time - start.time - longest).nanoseconds) / 1e9
      let isStuck = !now.isBeyond(last) && now.time - last.time >= longest
      if isStuck || late > 0 && now.bytes(since: start) < late * Double(limits.slowestBytesPerSecond) {
        context.close(promise: nil)
      } else {
        schedule(context)
      }
    }

    private func mark(_ context: ChannelHandlerContext) -> Mark {
      Mark(time: .now(), written: written, acknowledged: Self.acknowledged(context.channel))
    }

    #if os(Linux)
      /// `struct tcp_info` of Linux 4.6, of which the C library declares only the beginning.
      private struct Information: Sendable {
        var words:
          (
            UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64,
            UInt64, UInt64, UInt64, UInt64
          )
        /// `tcpi_bytes_acked`, at byte 120.
        var acknowledged: UInt64 { words.15 }
      }

      /// A client's system takes megabytes before the relay's has room for a piece more, so that a slow one would seem
      /// to have stopped.
      private static func acknowledged(_ channel: any Channel) -> UInt64? {
        guard let options = channel as? any SocketOptionProvider else { return nil }
        let information: EventLoopFuture<Information> = options.unsafeGetSocketOption(
          level: .tcp, name: NIOBSDSocket.Option(rawValue: 11))
        var acknowledged: UInt64?
        information.assumeIsolated().whenSuccess { acknowledged = $0.acknowledged }
        return acknowledged
      }
    #else
      private static func acknowledged(_ channel: any Channel) -> UInt64? { nil }
    #endif
  }
#endif
