#if HTTPClient && os(Linux)
  import AsyncHTTPClient
  import NIOCore
  import NIOHTTP1
  import NIOPosix
  import NIOSSL

  /// Makes requests with AsyncHTTPClient, on Linux with the package trait `HTTPClient`.
  struct AsyncHTTPTransport: RelayTransport {
    /// The time since any moment.
    let time: @Sendable () -> Duration
    /// Names a proxy, as `ProxyEnvironment` says.
    let environment: [String: String]

    func answer(to request: RelayRequest, limit: Int) async throws -> RelayAnswer {
      let clock = RequestClock(time, idleTimeout: request.idleTimeout, hasPace: true)
      return try await translatingErrors {
        try await clock.run {
          let response = try await send(request, clock)
          return try await collect(response, limit, clock)
        }
      }
    }

    func parts(of request: RelayRequest, limit: Int) -> AsyncThrowingStream<RelayPart, any Error> {
      let clock = RequestClock(time, idleTimeout: request.idleTimeout, hasPace: false)
      return AsyncThrowingStream(bufferingPolicy: .bufferingOldest(limit)) { continuation in
        let reading = Task {
          do {
            try await translatingErrors {
              try await clock.run {
                let response = try await send(request, clock)
                try Self.yield(.head(Self.head(response)), to: continuation)
                for try await bytes in response.body {
                  clock.note(bytes.readableBytes)
                  try Self.yield(.bytes(Array(bytes.readableBytesView)), to: continuation)
                }
              }
            }
            continuation.finish()
          } catch {
            continuation.finish(throwing: error)
          }
        }
        continuation.onTermination = { _ in reading.cancel() }
      }
    }

    private static func yield(
      _ part: RelayPart, to continuation: AsyncThrowingStream<RelayPart, any Error>.Continuation
    ) throws {
      if case .dropped = continuation.yield(part) { throw RelayTransportError.tooFast }
    }

    // MARK: One request

    private func send(_ request: RelayRequest, _ clock: RequestClock) async throws -> HTTPClientResponse {
      var outgoing = HTTPClientRequest(url: request.url)
      outgoing.method = HTTPMethod(rawValue: request.method)
      for (name, value) in request.fields { outgoing.headers.add(name: name, value: value) }
      outgoing.headers.add(name: "Authorization", value: request.authorization)
      outgoing.headers.add(name: "User-Agent", value: "tally")
      if let body = request.body {
        outgoing.body = .stream(NotedBody(bytes: body, clock: clock), length: .known(Int64(body.count)))
      }
      let proxy = try ProxyEnvironment(environment).proxy(for: request.url)
      // The clock ends it.
      let response = try await HTTPClients.client(through: proxy).execute(outgoing, deadline: .distantFuture)
      clock.note(0)
      return response
    }

    private static func head(_ response: HTTPClientResponse) -> RelayAnswer {
      var fields: [String: String] = [:]
      // The same field again is as good as a list: RFC 9110, section 5.3.
      for (name, value) in response.headers {
        fields.merge([name.lowercased(): value]) { "\($0), \($1)" }
      }
      return RelayAnswer(status: Int(response.status.code), fields: fields)
    }

    private func collect(_ response: HTTPClientResponse, _ limit: Int, _ clock: RequestClock) async throws
      -> RelayAnswer
    {
      var answer = Self.head(response)
      let length = answer.field("content-length").flatMap { Int($0) } ?? 0
      answer.body.reserveCapacity(min(max(0, length), limit))
      var iterator = response.body.makeAsyncIterator()
      while let bytes = try await next(&iterator, &answer) {
        clock.note(bytes.readableBytes)
        guard answer.body.count + bytes.readableBytes <= limit else { throw RelayTransportError.tooLong }
        answer.body += bytes.readableBytesView
      }
      return answer
    }

    /// The next piece of a body; nil at its end, also of a part that breaks off when some of it has come.
    private func next(_ iterator: inout HTTPClientResponse.Body.AsyncIterator, _ answer: inout RelayAnswer)
      async throws -> ByteBuffer?
    {
      do {
        return try await iterator.next()
      } catch {
        guard !Task.isCancelled, answer.status == 206, !answer.body.isEmpty else { throw error }
        answer.isCut = true
        return nil
      }
    }
  }

  /// A body that is passed on as fast as the connection takes it, which says that it goes.
  private struct NotedBody: AsyncSequence, AsyncIteratorProtocol, Sendable {
    private static let pieceBytes = 1 << 16

    let bytes: [UInt8]
    let clock: RequestClock
    private var offset = 0

    init(bytes: [UInt8], clock: RequestClock) { (self.bytes, self.clock) = (bytes, clock) }

    func makeAsyncIterator() -> Self { self }

    mutating func next() async -> ByteBuffer? {
      guard offset < bytes.count else { return nil }
      let piece = bytes[offset..<Swift.min(offset + Self.pieceBytes, bytes.count)]
      offset = piece.endIndex
      clock.note(piece.count)
      return ByteBuffer(bytes: piece)
    }
  }
#endif
