#if Inspector
  import Foundation
  import NIOCore
  import NIOHTTP1
  import NIOPosix
  import Synchronization

  /// Listens on this machine and answers: HTTP/1.1 on SwiftNIO.
  final class InspectorServer: Sendable {
    typealias Connection = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>

    private let port: Int
    private let gate: InspectorGate
    private let room: InspectorRoom
    private let group: MultiThreadedEventLoopGroup
    private let serving: Task<Void, Never>
    private let keeping: [Task<Void, Never>]

    init(_ room: InspectorRoom, port: Int) async throws {
      self.room = room
      group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
      do {
        let channel = try await Self.listen(group, port)
        let port = channel.channel.localAddress?.port ?? port
        (self.port, gate) = (port, InspectorGate(port: port))
        let responder = InspectorResponder(room, gate)
        serving = Task { await Self.serve(channel, responder) }
      } catch {
        try await group.shutdownGracefully()
        throw error
      }
      keeping = room.keepers.flatMap { keeper in
        [Task { await keeper.followStore() }, Task { await keeper.followEngine() }]
      }
    }

    /// An address to open, with a token of its own.
    func newAddress() -> String { "http://127.0.0.1:\(port)/?token=\(gate.newToken())" }

    /// Opens a port and gives it up again.
    /// - Throws: NIO's `IOError` if it is taken.
    static func tryPort(_ port: Int) async throws {
      let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .bind(host: "127.0.0.1", port: port).get()
      try await channel.close()
    }

    /// A connection becomes a `NIOAsyncChannel` only where it is served, and reads nothing before: SwiftNIO ends the
    /// process where one that was made is never used, as those are that still wait when the server closes.
    private static func listen(_ group: MultiThreadedEventLoopGroup, _ port: Int) async throws
      -> NIOAsyncChannel<any Channel, Never>
    {
      try await ServerBootstrap(group: group)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .childChannelOption(.autoRead, value: false)
        .bind(host: "127.0.0.1", port: port) { channel in
          channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
            let keeper = try pipeline.handler(type: HTTPServerPipelineHandler.self)
            try pipeline.addHandler(PipeliningLimit(), position: .before(keeper))
            return channel
          }
        }
    }

    private static func connection(_ channel: any Channel) async throws -> Connection {
      let connection = try await channel.eventLoop.submit {
        try Connection(wrappingChannelSynchronously: channel)
      }.get()
      channel.setOption(.autoRead, value: true).whenFailure { _ in channel.close(promise: nil) }
      return connection
    }

    func close() async {
      for task in keeping { task.cancel() }
      room.end()
      serving.cancel()
      await serving.value
      do {
        try await group.shutdownGracefully()
      } catch {
        room.settings.logger.warning("the inspector did not end in order", metadata: ["error": "\(error)"])
      }
    }

    // MARK: Connections

    /// The most connections at a time. A browser opens six.
    private static let connectionLimit = 128

    private static func serve(_ server: NIOAsyncChannel<any Channel, Never>, _ responder: InspectorResponder) async {
      let count = Counter()
      do {
        try await withThrowingDiscardingTaskGroup { group in
          try await server.executeThenClose { inbound in
            for try await channel in inbound {
              group.addTask {
                await count.during(connectionLimit) {
                  await serve(channel, responder)
                } otherwise: {
                  channel.close(promise: nil)
                }
              }
            }
          }
        }
      } catch {
        guard !Task.isCancelled else { return }
        responder.room.settings.logger.error("the inspector has stopped", metadata: ["error": "\(error)"])
      }
    }

    private static func serve(_ channel: any Channel, _ responder: InspectorResponder) async {
      do {
        try await connection(channel).executeThenClose { inbound, outbound in
          var parts = inbound.makeAsyncIterator()
          let (client, limits) = (InspectorClient(), responder.room.limits)
          channel.closeFuture.whenComplete { _ in client.leave() }
          var limit = TimeLimit(channel, limits.first)
          defer { limit.lift() }
          while var request = try await InspectorRequest(&parts) {
            let isHead = request.head.method == .HEAD
            if var greeting = responder.greeting(request) {
              greeting.closes = !request.head.isKeepAlive || request.hasBody
              try await greeting.write(to: outbound, isHead: isHead)
              // What comes behind the head is thrown away; the limit ends it.
              while let part = try await parts.next() { if case .end = part { break } }
              if greeting.closes { return }
              continue
            }
            try await request.readBody(&parts)
            limit.lift()
            let answer = await withTaskCancellationHandler {
              await responder.answer(request, for: client)
            } onCancel: {
              client.leave()
            }
            switch answer {
            case .whole(let response):
              try await response.write(to: outbound, isHead: isHead)
              guard request.head.isKeepAlive, !response.closes else { return }
              limit = TimeLimit(channel, limits.idle)
            case .stream(let events):
              try await stream(events, outbound, until: &parts)
              return
            }
          }
        }
      } catch {
        // A browser that goes away in the middle of an answer is the rule.
        responder.room.settings.logger.debug("a connection broke", metadata: ["error": "\(error)"])
      }
    }

    /// Writes events until the page goes away.
    private static func stream(
      _ events: AsyncStream<String>, _ outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>,
      until parts: inout NIOAsyncChannelInboundStream<HTTPServerRequestPart>.AsyncIterator
    ) async throws {
      let writing = Task {
        var headers = InspectorResponse.headers
        headers.add(name: "Content-Type", value: "text/event-stream")
        try await outbound.write(.head(HTTPResponseHead(version: .http1_1, status: .ok, headers: headers)))
        for await event in events { try await outbound.write(.body(.byteBuffer(ByteBuffer(string: event)))) }
        try await outbound.write(.end(nil))
        outbound.finish()
      }
      defer { writing.cancel() }
      try await withTaskCancellationHandler {
        while try await parts.next() != nil {}
      } onCancel: {
        writing.cancel()
      }
    }
  }

  /// Closes a connection that takes too long to say what it wants.
  private struct TimeLimit {
    private let closing: Scheduled<Void>

    init(_ channel: any Channel, _ time: Duration) {
      closing = channel.eventLoop.scheduleTask(in: TimeAmount(time)) { channel.close(promise: nil) }
    }

    func lift() { closing.cancel() }
  }

  /// Counts what goes on at a time.
  private final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    func during(_ limit: Int, _ body: () async -> Void, otherwise: () async -> Void) async {
      defer { count.subtract(1, ordering: .relaxed) }
      guard count.add(1, ordering: .relaxed).newValue <= limit else { return await otherwise() }
      await body()
    }
  }
#endif
