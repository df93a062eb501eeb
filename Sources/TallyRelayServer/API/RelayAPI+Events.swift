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
      var response = Response(
        .ok,
        [
          (HTTPField.Name.acceptBuffering, "no"), (.relayBatch, "\(RelayLimits.batchEntries)"),
        ])
      response.headers[.contentType] = RelayMedia.events
      response.headers[.cacheControl] = "no-store, no-transform"
      response.body = ResponseBody { [self] writer in
        try await EventFollower(self, bearer, seat, after: cursor, on: channel).run(&writer)
        try await writer.finish(nil)
      }
      return response
    }
  }

  extension HTTPField.Name {
    /// The header that keeps nginx from buffering an answer before it passes it on.
    fileprivate static let acceptBuffering = relay("X-Accel-Buffering")
  }
#endif
