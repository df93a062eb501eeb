#if Relay
  import HTTPTypes
  import Hummingbird
  import NIOCore
  import TallyRelayProtocol

  extension RelayAPI {
    /// A stream of events, from a cursor on. Everything that may be refused is refused before it begins.
    func events(_ request: Request, _ bearer: RelayStore.Bearer, _ channel: any Channel) async throws -> Response {
      let cursor = try queryCursor(request)
      let seat = try rates.seat(bearer.hash)
      guard !news.isClosing else { throw RelayProblem(.busy, "the relay is about to end", retryAfter: 2) }
      // A proxy may not keep events back to send many at once.
      var response = Response(.ok, [HTTPField.Name.acceptBuffering: "no"])
      response.headers[.contentType] = RelayMedia.events
      response.headers[.cacheControl] = "no-store, no-transform"
      response.body = ResponseBody { [self] writer in
        defer { seat.leave() }
        let stream = streams.open(bearer.space, channel)
        defer { streams.close(stream) }
        try await follow(&writer, stream, bearer, cursor)
        try await writer.finish(nil)
      }
      return response
    }

    /// Writes events until the stream has lived long enough, the token counts no longer, the space is deleted, or the
    /// relay is about to end.
    private func follow(
      _ writer: inout any ResponseBodyWriter, _ stream: Int, _ bearer: RelayStore.Bearer, _ start: RelayCursor?
    ) async throws {
      // The first word tells the client that nobody on the way keeps words back.
      try await write(Self.comment, to: &writer, stream)
      var (cursor, checked) = (start, time())
      let end = checked + streamLife()
      while true {
        let ticket = news.ticket(for: bearer.space)
        let event: EventPages.Lines?
        do { event = try await pages.event(ticket, after: cursor) } catch let problem as RelayProblem
          where problem.code == .noSuchSpace
        { return }
        if let event {
          if time() - checked > .seconds(5) {
            guard try await counts(bearer) else { return }
            checked = time()
          }
          try await write(event.bytes, to: &writer, stream)
          cursor = event.cursor
        }
        guard time() < end else { return }
        switch await news.wait(ticket, at: stream) {
        case .news: continue
        case .closing: return
        case .timeout:
          guard try await counts(bearer) else { return }
          checked = time()
          try await write(Self.comment, to: &writer, stream)
        }
      }
    }

    private static let comment = ByteBuffer(string: ":\n\n")

    private func write(_ bytes: ByteBuffer, to writer: inout any ResponseBodyWriter, _ stream: Int) async throws {
      streams.note(stream, isWriting: true)
      try await writer.write(bytes)
      streams.note(stream, isWriting: false)
    }

    /// Whether a token counts still, and its space is there.
    private func counts(_ bearer: RelayStore.Bearer) async throws -> Bool {
      do {
        try await authorization.checkAgain(bearer)
        return true
      } catch is RelayProblem {
        return false
      }
    }
  }

  extension HTTPField.Name {
    /// What keeps nginx from gathering an answer before it passes it on.
    fileprivate static let acceptBuffering = relay("X-Accel-Buffering")
  }
#endif
