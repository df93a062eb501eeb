import TallyRelayProtocol
import TallySync

extension RelayMailbox {
  /// Puts an entry in one request, or in pieces of 4 MiB if it is larger, and returns a receipt; pieces of a file have
  /// 1 MiB. An interrupted upload, even one of another process, continues with the bytes that the relay does not have
  /// yet. If a proxy before the relay accepts less in a request, pieces are smaller: see `bodyLimit`.
  /// - Throws: `MailboxError`; `RelayError`, with `tooLarge` if a proxy does not even accept a piece of 4 KiB. The
  ///   relay keeps the received part of an upload for three days, and the next put continues it.
  public func put(_ upload: MailboxUpload) async throws -> MailboxReceipt {
    guard RelayNames.isEntry(upload.name) else { throw MailboxError(.invalidName, "no entry has such a name") }
    guard upload.byteCount <= largestBody(of: upload) else { return try await putInPieces(upload) }
    let bytes = try upload.bytes(from: 0, count: upload.byteCount)
    guard bytes.count == upload.byteCount else { throw MailboxError(.malformed, "an upload is shorter than it says") }
    let answer = try await send(
      "PUT", "/entries/\(upload.name)", fields: Self.fields(upload), body: bytes, limit: RelayLimits.problemBytes)
    if let receipt = try Self.receipt(answer) { return receipt }
    guard client.triesSmallerBodies(after: answer, byteCount: bytes.count) else { throw RelayError(answer) }
    return try await putInPieces(upload)
  }

  private func largestBody(of upload: MailboxUpload) -> Int {
    min(client.largestBody, upload.largestPiece ?? .max)
  }

  private func putInPieces(_ upload: MailboxUpload) async throws -> MailboxReceipt {
    let path = "/uploads/\(upload.name)"
    let state = try await send("HEAD", path, limit: 0)
    var offset = try Self.offset(state, in: upload)
    // Each piece moves the offset on, or another upload of the same does; a relay that does neither is none.
    var pieces = 0
    while pieces <= upload.byteCount / largestBody(of: upload) * 8 + 64 {
      try Task.checkCancellation()
      pieces += 1
      let count = min(largestBody(of: upload), upload.byteCount - offset)
      let bytes = try upload.bytes(from: offset, count: count)
      guard bytes.count == count else { throw MailboxError(.malformed, "an upload is shorter than it says") }
      var fields = Self.fields(upload)
      fields[RelayHeader.uploadOffset] = "\(offset)"
      fields[RelayHeader.uploadLength] = "\(upload.byteCount)"
      let answer = try await send("PATCH", path, fields: fields, body: bytes, limit: RelayLimits.problemBytes)
      if let receipt = try Self.receipt(answer) { return receipt }
      if client.triesSmallerBodies(after: answer, byteCount: count) { continue }
      guard answer.status == 204 || answer.field(RelayHeader.problem) == RelayProblem.Code.offsetMismatch.rawValue,
        let next = answer.field(RelayHeader.uploadOffset).flatMap(Int.init), (0...upload.byteCount).contains(next)
      else { throw RelayError(answer) }
      offset = next
    }
    throw RelayError(.notARelay, "not a relay: an upload does not end")
  }

  /// Returns the offset at which to begin, from the answer to `HEAD`. An upload of another length starts over.
  private static func offset(_ answer: RelayAnswer, in upload: MailboxUpload) throws -> Int {
    if answer.status == 404, answer.field(RelayHeader.problem) == RelayProblem.Code.noSuchUpload.rawValue { return 0 }
    guard answer.status == 200, let offset = answer.field(RelayHeader.uploadOffset).flatMap(Int.init),
      let length = answer.field(RelayHeader.uploadLength).flatMap(Int.init)
    else { throw RelayError(answer) }
    return length == upload.byteCount && (0...length).contains(offset) ? offset : 0
  }

  static func fields(_ upload: MailboxUpload) -> [String: String] {
    guard let cursor = upload.cursor.flatMap({ RelayCursor("\($0)") }) else { return [:] }
    return [RelayHeader.after: "\(cursor)"]
  }

  /// Returns the receipt for an entry that is there now, from an answer; nil if the answer says something else.
  private static func receipt(_ answer: RelayAnswer) throws -> MailboxReceipt? {
    guard answer.status == 200 || answer.status == 201 else { return nil }
    guard answer.field(RelayHeader.position).flatMap(UInt64.init) != nil else {
      throw RelayError(.notARelay, "not a relay: the answer to a put has no position")
    }
    let cursor = answer.field(RelayHeader.cursor).flatMap(RelayCursor.init)
    return MailboxReceipt(cursor: cursor.map { MailboxCursor(position: $0.position, entry: $0.chainText) })
  }
}
