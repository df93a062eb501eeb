#if Relay
  import Crypto
  import Foundation
  import HTTPTypes
  import Hummingbird
  import NIOCore
  import TallyRelayProtocol

  extension RelayAPI {
    func read(_ request: Request, _ name: String, _ bearer: RelayStore.Bearer, _ channel: any Channel) async throws
      -> Response
    {
      let entry = try await store.entry(name, in: bearer.space)
      // An entry that is removed and put again has another position.
      let tag = "\"\(entry.position).\(name)\""
      let range: ByteRange
      do {
        let isOfThis = request.headers[.ifRange].map { $0 == tag } ?? true
        range = try ByteRange(isOfThis ? request.headers[.range] : nil, size: entry.size)
      } catch let problem as RelayProblem {
        var response = try Response(problem, isHead: false)
        response.headers[.contentRange] = "bytes */\(entry.size)"
        return response
      }
      var fields: Response.Fields = [(.acceptRanges, "bytes")]
      if !range.isWhole { fields.append((.contentRange, range.field)) }
      fields.append((.eTag, tag))
      // A large one is written row by row: one that the system has not taken yet, and the next.
      AnswerWatch.keep(
        try answers.room(for: min(range.end - range.first, 2 * RelayStore.chunkBytes), of: bearer.hash), on: channel)
      let status: HTTPResponse.Status = range.isWhole ? .ok : .partialContent
      if let body = entry.body {
        return Response(status, RelayMedia.entry, Array(body[range.first..<range.end]), fields)
      }
      var response = Response(status, fields)
      response.headers[.contentType] = RelayMedia.entry
      response.body = body(of: name, entry.position, bearer, range)
      return response
    }

    /// One row at a time, so that a slow reader holds only that in memory. The connection ends if the entry goes
    /// meanwhile, or the token: a download may take days.
    private func body(
      of name: String, _ position: Int64, _ bearer: RelayStore.Bearer, _ range: ByteRange
    ) -> ResponseBody {
      let pause = limits.tokenPause
      return ResponseBody(contentLength: range.end - range.first) { [store, authorization, time] writer in
        var (offset, lastLook) = (range.first, time())
        while offset < range.end {
          if time() - lastLook >= pause {
            try await authorization.checkAgain(bearer)
            lastLook = time()
          }
          let row = ByteBuffer(
            bytes: try await store.bytes(of: name, in: bearer.space, at: position, from: offset)
              .prefix(range.end - offset))
          try await writer.write(row)
          offset += row.readableBytes
        }
        try await writer.finish(nil)
      }
    }

    func put(
      _ request: Request, _ name: String, _ bearer: RelayStore.Bearer, on channel: any Channel
    ) async throws -> Response {
      let cursor = try after(request)
      let put = try await withBody(of: request, bearer, channel) {
        try await store.put(name, $0, by: bearer.writer, after: cursor)
      }
      return answer(put, bearer)
    }

    func remove(_ name: String, _ bearer: RelayStore.Bearer) async throws -> Response {
      guard try await store.remove(name, by: bearer.writer) else {
        throw RelayProblem(.noSuchEntry, "there is no such entry")
      }
      news.announce(bearer.space)
      removals.announce(0)
      return Response(.noContent)
    }

    func uploadState(_ name: String, _ bearer: RelayStore.Bearer) async throws -> Response {
      let upload = try await store.upload(name, in: bearer.space)
      return Response(.ok, [(.uploadLength, "\(upload.length)"), (.uploadOffset, "\(upload.received)")])
    }

    func putPiece(
      _ request: Request, _ name: String, _ bearer: RelayStore.Bearer, on channel: any Channel
    ) async throws -> Response {
      guard let offset = request.headers[.uploadOffset].flatMap({ Int($0) }), offset >= 0,
        let length = request.headers[.uploadLength].flatMap({ Int($0) }), length >= offset
      else { throw RelayProblem(.badRequest, "Upload-Offset and Upload-Length are needed") }
      guard length <= limits.entryBytes else {
        throw RelayProblem(.tooLarge, "an entry has at most \(limits.entryBytes) bytes")
      }
      let cursor = try after(request)
      let piece = try await withBody(of: request, bearer, channel) { body in
        guard offset + body.count <= length else {
          throw RelayProblem(.badRequest, "the piece goes beyond Upload-Length")
        }
        // An empty piece asks where the relay stands.
        guard body.isEmpty || body.count >= RelayLimits.pieceBytes || offset + body.count == length else {
          throw RelayProblem(.badRequest, "a piece has at least \(RelayLimits.pieceBytes) bytes, but for the last")
        }
        return try await store.put(piece: body, at: offset, of: length, name, by: bearer.writer, after: cursor)
      }
      switch piece {
      case .taken(let received): return Response(.noContent, [(.uploadOffset, "\(received)")])
      case .elsewhere(let received):
        var response = try Response(RelayProblem(.offsetMismatch, "the upload stands at \(received)"), isHead: false)
        response.headers[.uploadOffset] = "\(received)"
        return response
      case .put(let put): return answer(put, bearer)
      }
    }

    private func answer(_ put: RelayStore.Put, _ bearer: RelayStore.Bearer) -> Response {
      if !put.isKnown { news.announce(bearer.space) }
      var fields: Response.Fields = [(.relayPosition, "\(put.position)")]
      if let cursor = put.cursor { fields.insert((.relayCursor, "\(cursor)"), at: 0) }
      return Response(put.isKnown ? .ok : .created, fields)
    }

    func after(_ request: Request) throws -> RelayCursor? {
      guard let text = request.headers[.relayAfter] else { return nil }
      guard let cursor = RelayCursor(text) else { throw RelayProblem(.badRequest, "the cursor is malformed") }
      return cursor
    }

    /// Takes in a request's body of at most so many bytes, and hands it on. What it is made into may take as much
    /// memory again: `copies`.
    func withBody<T>(
      of request: Request, _ bearer: RelayStore.Bearer, _ channel: any Channel, upTo limit: Int = RelayLimits.bodyBytes,
      copies: Int = 1, _ use: ([UInt8]) async throws -> T
    ) async throws -> T {
      let length = request.headers[.contentLength].flatMap { Int($0) }
      if let length, length > limit { throw Self.tooLarge(limit) }
      return try await bodies.withRoom(for: copies * (length ?? limit), of: bearer.hash) {
        let pace = BodyPace(limits, time)
        // A body that does not come at all wakes nobody: its connection is closed from outside. One that comes slowly
        // has been refused by then, with an answer.
        let watch = channel.eventLoop.scheduleRepeatedTask(
          initialDelay: TimeAmount(limits.slowBody + .seconds(2)), delay: .seconds(1)
        ) { _ in if pace.isTooSlow { channel.close(promise: nil) } }
        defer { watch.cancel() }
        return try await use(try await checkedBody(of: request, length, limit, pace))
      }
    }

    private static func tooLarge(_ limit: Int) -> RelayProblem {
      RelayProblem(.tooLarge, "a body has at most \(limit) bytes")
    }

    /// A request's body, hashed as it comes.
    /// - Throws: `RelayProblem` if it is too large, comes too slowly, or is not what `Content-Digest` says.
    private func checkedBody(
      of request: Request, _ length: Int?, _ limit: Int, _ pace: BodyPace
    ) async throws -> [UInt8] {
      guard let digest = request.headers[.contentDigest].flatMap(RelayDigest.sha256) else {
        throw RelayProblem(.digestMissing, "a Content-Digest with sha-256 is needed")
      }
      var (bytes, hash) = ([UInt8](), SHA256())
      bytes.reserveCapacity(length ?? 0)
      let brokeOff = RelayProblem(.badRequest, "the body broke off")
      var parts = request.body.makeAsyncIterator()
      while true {
        let part: ByteBuffer?
        // What the connection throws says nothing that the sender could still hear.
        do { part = try await parts.next() } catch { throw brokeOff }
        guard let part else { break }
        guard bytes.count + part.readableBytes <= limit else { throw Self.tooLarge(limit) }
        hash.update(data: part.readableBytesView)
        bytes += part.readableBytesView
        pace.note(part.readableBytes)
        guard !pace.isTooSlow else { throw RelayProblem(.badRequest, "the body comes too slowly") }
      }
      pace.end()
      if let length, length != bytes.count { throw brokeOff }
      guard Array(hash.finalize()) == digest else {
        throw RelayProblem(.digestMismatch, "the body is not what Content-Digest says")
      }
      return bytes
    }
  }
#endif
