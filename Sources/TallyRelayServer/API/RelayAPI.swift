#if Relay
  import Foundation
  import HTTPTypes
  import Hummingbird
  import NIOCore
  import TallyRelayProtocol

  /// The relay's handlers for each kind of request.
  final class RelayAPI: Sendable {
    let store: any RelayStorage
    let news: RelayNews
    /// Says that something large was removed.
    let removals: RelayNews
    let streams: EventStreams
    let pages: EventPages
    let rates: RateLimit
    let bodies: ByteBudget
    let answers: ByteBudget
    /// For those who want pages: how large one becomes is known when it is read, so room for the largest is taken
    /// meanwhile. As many as read at once.
    let turns = Turns(4)
    let authorization: Authorization
    let limits: RelaySettings.Limits
    let time: @Sendable () -> Duration
    /// Returns the lifetime of a stream of events.
    let streamLife: @Sendable () -> Duration

    init(
      store: any RelayStorage, news: RelayNews, removals: RelayNews, streams: EventStreams, rates: RateLimit,
      limits: RelaySettings.Limits, time: @escaping @Sendable () -> Duration,
      streamLife: @escaping @Sendable () -> Duration
    ) {
      (self.store, self.news, self.removals, self.streams) = (store, news, removals, streams)
      (self.rates, self.limits) = (rates, limits)
      (self.time, self.streamLife) = (time, streamLife)
      pages = EventPages(store)
      authorization = Authorization(store: store, known: KnownTokens(time))
      bodies = ByteBudget(limits.bodyBytes, parts: 4)
      answers = ByteBudget(limits.answerBytes, parts: 16)
    }

    /// The answer to a request.
    /// - Throws: `RelayProblem`, and whatever the store throws.
    func answer(_ request: Request, _ route: RelayRoute, on channel: any Channel) async throws -> Response {
      try checkHeaders(request)
      guard route.kind.isWrite else {
        return try await answer(request, route, try await authorization.bearer(of: request), on: channel)
      }
      let bearer = try await authorization.writer(of: request)
      do {
        return try await answer(request, route, bearer, on: channel)
      } catch let problem as RelayProblem where problem.status == 401 || problem.code == .noSuchSpace {
        // Perhaps the transaction has found another token than is known here: the next request is looked up first.
        authorization.known[bearer.hash] = nil
        throw problem
      }
    }

    private func answer(
      _ request: Request, _ route: RelayRoute, _ bearer: RelayStore.Bearer, on channel: any Channel
    ) async throws -> Response {
      try rates.count(bearer.hash)
      guard let space = route.space else { throw RelayProblem(.noSuchPath, "there is nothing at that path") }
      try authorization.check(bearer, for: space)
      guard route.isKnownPath else { throw RelayProblem(.noSuchPath, "there is nothing at that path") }
      guard route.kind.isAllowed(to: bearer.role) else {
        throw RelayProblem(.forbidden, "the token's role does not allow that")
      }
      switch route.kind {
      case .status: return try await status(bearer)
      case .deleteSpace: return try await deleteSpace(bearer)
      case .changes: return try await changes(request, bearer, channel)
      case .events: return try await events(request, bearer, channel)
      case .readEntry: return try await read(request, try route.entryName(), bearer, channel)
      case .putEntry: return try await put(request, try route.entryName(), bearer, on: channel)
      case .writeEntries: return try await write(request, bearer, on: channel)
      case .readEntries: return try await contents(request, bearer, on: channel)
      case .removeEntry: return try await remove(try route.entryName(), bearer)
      case .uploadState: return try await uploadState(try route.entryName(), bearer)
      case .putPiece: return try await putPiece(request, try route.entryName(), bearer, on: channel)
      case .other: throw RelayProblem(.methodNotAllowed, "what is there does not know the method")
      }
    }

    private func checkHeaders(_ request: Request) throws {
      let bytes = request.headers.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count }
      guard request.headers.count <= RelayLimits.headerFields,
        bytes + request.uri.description.utf8.count <= RelayLimits.headerBytes
      else { throw RelayProblem(.headersTooLarge, "there are too many header fields") }
    }

    private func status(_ bearer: RelayStore.Bearer) async throws -> Response {
      let space = try await store.space(bearer.space)
      guard let cursor = space.cursor else { throw RelayProblem(.storageFailed, "the chain of a space is damaged") }
      let status = RelaySpaceStatus(
        space: space.id, head: "\(cursor)", entries: space.entries, bytes: Int(space.bytes),
        quota: space.quota.map { Int($0) }, role: bearer.role.rawValue)
      return Response(.ok, RelayMedia.status, try status.json())
    }

    private func deleteSpace(_ bearer: RelayStore.Bearer) async throws -> Response {
      do {
        try await store.deleteSpace(bearer.spaceID)
      } catch let error as RelayStoreError where error.code == .noSuchSpace {
        // Somebody has deleted it since the token was looked up.
        throw Authorization.noSuchSpace
      }
      // Whoever waits looks again, and finds the space gone.
      news.announce(bearer.space)
      return Response(.noContent)
    }

    // MARK: Changes

    private func changes(_ request: Request, _ bearer: RelayStore.Bearer, _ channel: any Channel) async throws
      -> Response
    {
      let query = request.uri.queryParameters
      let cursor = try queryCursor(request)
      let limit = try number(query["limit"], upTo: RelayLimits.pageEntries) ?? RelayLimits.pageEntries
      if let wait = try number(query["wait"], upTo: RelayLimits.longestWait), wait > 0 {
        guard try await hasNews(request, bearer, cursor, .seconds(wait)) else { return Response(.noContent) }
      }
      let bytes = try await pageBytes(bearer, cursor, limit, channel)
      return Response(.ok, RelayMedia.page, bytes, [(.relayBatch, "\(RelayLimits.batchEntries)")])
    }

    /// A page as large as there is room for: what does not fit is asked for next.
    private func pageBytes(
      _ bearer: RelayStore.Bearer, _ cursor: RelayCursor?, _ limit: Int, _ channel: any Channel
    ) async throws -> ByteBuffer {
      guard limit > 0 else {
        return ByteBuffer(bytes: try await store.page(of: bearer.space, after: cursor, limit: 0).bytes())
      }
      return try await withAnswerRoom(bearer, channel) { bytes in
        try await store.page(of: bearer.space, after: cursor, limit: limit, bytes: bytes).bytes()
      }
    }

    /// Makes an answer as large as there is room for, which it keeps until the client has it.
    func withAnswerRoom(
      _ bearer: RelayStore.Bearer, _ channel: any Channel, _ make: (_ bytes: Int) async throws -> [UInt8]
    ) async throws -> ByteBuffer {
      try await turns.run(of: bearer.hash) {
        let room = try answers.room(from: 2 * RelayLimits.inlineBytes, to: RelayLimits.pageBytes, of: bearer.hash)
        let buffer = ByteBuffer(bytes: try await make(room.bytes))
        // What it takes, which is more than what is in it.
        room.resize(to: buffer.storageCapacity)
        AnswerWatch.keep(room, on: channel)
        return buffer
      }
    }

    /// The cursor of a query.
    func queryCursor(_ request: Request) throws -> RelayCursor? {
      try request.uri.queryParameters["after"].map { text in
        guard let cursor = RelayCursor(String(text)) else { throw RelayProblem(.badRequest, "the cursor is malformed") }
        return cursor
      }
    }

    private func number(_ text: Substring?, upTo limit: Int) throws -> Int? {
      guard let text else { return nil }
      guard let number = Int(text), (0...limit).contains(number) else {
        throw RelayProblem(.badRequest, "a number in the query is malformed or beyond \(limit)")
      }
      return number
    }

    /// Waits until there is something after a cursor.
    /// - Returns: whether there is.
    private func hasNews(
      _ request: Request, _ bearer: RelayStore.Bearer, _ cursor: RelayCursor?, _ limit: Duration
    ) async throws -> Bool {
      let ticket = news.ticket(for: bearer.space)
      if try await store.hasNews(in: bearer.space, after: cursor) { return true }
      let end: RelayNews.End
      do {
        end = try await rates.whileWaiting(bearer.hash) {
          try await request.body.consumeWithCancellationOnInboundClose { _ in try await news.wait(ticket, upTo: limit) }
        }
      } catch is CancellationError {
        // Whoever asked has gone away; nobody reads the answer.
        return false
      }
      // The token may have come to its end meanwhile, or the space.
      try await authorization.checkAgain(bearer)
      switch end {
      case .news: return try await store.hasNews(in: bearer.space, after: cursor)
      case .timeout: return false
      case .closing: throw RelayProblem(.busy, "the relay is about to end", retryAfter: 2)
      }
    }
  }

  extension RelaySpaceStatus {
    fileprivate func json() throws -> [UInt8] {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return Array(try encoder.encode(self))
    }
  }
#endif
