#if Relay
  import HTTPTypes
  import Hummingbird
  import NIOCore
  import TallyRelayProtocol

  /// Several entries by one request.
  extension RelayAPI {
    /// How many entries count as one request of a token.
    private static let entriesOfARequest = 16

    /// Puts and removes entries. Each stands or fails alone, and the answer says what became of it.
    func write(_ request: Request, _ bearer: RelayStore.Bearer, on channel: any Channel) async throws -> Response {
      let cursor = try after(request)
      // The body, and its entries.
      let (outcomes, room) = try await withBody(of: request, bearer, channel, copies: 2) { body in
        let writes = try Self.reading { () throws(RelayPage.Malformed) in try RelayWrites(body) }.writes
        // Before anything is written, so that who finds no room has changed nothing.
        let room = try answers.room(for: RelayResults.mostBytes(for: writes.count), of: bearer.hash)
        count(writes.count, bearer)
        return (try await store.write(writes, by: bearer.writer, after: cursor), room)
      }
      announce(outcomes, bearer)
      let buffer = ByteBuffer(bytes: RelayResults(outcomes.map { RelayResults.Result($0) }).bytes())
      room.resize(to: buffer.storageCapacity)
      AnswerWatch.keep(room, on: channel)
      let last = outcomes.last { if case .put(let put) = $0 { !put.isKnown } else { false } }
      var fields: Response.Fields = []
      if case .put(let put) = last, let cursor = put.cursor { fields.append((.relayCursor, "\(cursor)")) }
      return Response(.ok, RelayMedia.results, buffer, fields)
    }

    /// Reads small entries, as many as there is room for.
    func contents(_ request: Request, _ bearer: RelayStore.Bearer, on channel: any Channel) async throws -> Response {
      let names = try await withBody(of: request, bearer, channel, upTo: RelayWanted.mostBytes, copies: 2) { body in
        try Self.reading { () throws(RelayPage.Malformed) in try RelayWanted(body) }.names
      }
      count(names.count, bearer)
      let buffer = try await withAnswerRoom(bearer, channel) { bytes in
        let contents = try await store.contents(of: names, in: bearer.space, bytes: bytes)
        return RelayContents(contents.map { RelayContents.Content($0) }).bytes()
      }
      return Response(.ok, RelayMedia.contents, buffer)
    }

    private static func reading<T>(_ body: () throws(RelayPage.Malformed) -> T) throws(RelayProblem) -> T {
      do {
        return try body()
      } catch {
        throw RelayProblem(.badRequest, "the body is malformed: \(error.rawValue)")
      }
    }

    /// The request itself has been counted. Many entries count as several.
    private func count(_ entries: Int, _ bearer: RelayStore.Bearer) {
      rates.charge(bearer.hash, (entries - 1) / Self.entriesOfARequest)
    }

    private func announce(_ outcomes: [RelayStore.Outcome], _ bearer: RelayStore.Bearer) {
      let hasRemoved = outcomes.contains(.removed(true))
      let hasPut = outcomes.contains { if case .put(let put) = $0 { !put.isKnown } else { false } }
      if hasRemoved || hasPut { news.announce(bearer.space) }
      if hasRemoved { removals.announce(0) }
    }
  }

  extension RelayResults.Result {
    fileprivate init(_ outcome: RelayStore.Outcome) {
      switch outcome {
      case .put(let put):
        let position = UInt64(put.position)
        self = put.isKnown ? .known(position: position) : .put(position: position)
      case .removed(true): self = .removed
      case .removed(false): self = .refused(.noSuchEntry, retryAfter: nil)
      case .refused(let problem): self = .refused(problem.code, retryAfter: problem.retryAfter)
      }
    }
  }

  extension RelayContents.Content {
    fileprivate init(_ content: RelayStore.Content) {
      switch content {
      case .whole(let bytes): self = .whole(bytes)
      case .elsewhere(let byteCount): self = .elsewhere(byteCount: byteCount)
      case .missing: self = .missing
      }
    }
  }

  extension RelayStore.Bearer {
    /// Whoever writes with the token.
    var writer: RelayWriter { RelayWriter(space: space, token: hash) }
  }
#endif
