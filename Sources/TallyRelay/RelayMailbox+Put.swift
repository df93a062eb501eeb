import TallyRelayProtocol
import TallySync

extension RelayMailbox {
  /// Puts an entry: in one request, or in pieces of 4 MiB if it is larger. An upload that broke off goes on where the
  /// relay stands, also one of another process.
  public func put(_ upload: MailboxUpload) async throws -> MailboxReceipt {
    guard RelayNames.isEntry(upload.name) else { throw MailboxError(.invalidName, "no entry has such a name") }
    if upload.byteCount > RelayLimits.bodyBytes { return try await putInPieces(upload) }
    let bytes = try upload.bytes(from: 0, count: upload.byteCount)
    guard bytes.count == upload.byteCount else { throw MailboxError(.malformed, "an upload is shorter than it says") }
    let answer = try await send(
      "PUT", "/entries/\(upload.name)", fields: Self.fields(upload), body: bytes, limit: RelayLimits.problemBytes)
    guard let receipt = try Self.receipt(answer) else { throw RelayError(answer) }
    return receipt
  }

  private func putInPieces(_ upload: MailboxUpload) async throws -> MailboxReceipt {
    let path = "/uploads/\(upload.name)"
    let state = try await send("HEAD", path, limit: 0)
    var offset = try Self.offset(state, in: upload)
    // Each piece moves the offset on, or somebody who puts the same does; a relay that does neither is none.
    for _ in 0...(upload.byteCount / RelayLimits.bodyBytes * 8 + 64) {
      try Task.checkCancellation()
      let bytes = try upload.bytes(from: offset, count: min(RelayLimits.bodyBytes, upload.byteCount - offset))
      guard bytes.count == min(RelayLimits.bodyBytes, upload.byteCount - offset) else {
        throw MailboxError(.malformed, "an upload is shorter than it says")
      }
      var fields = Self.fields(upload)
      fields[RelayHeader.uploadOffset] = "\(offset)"
      fields[RelayHeader.uploadLength] = "\(upload.byteCount)"
      let answer = try await send("PATCH", path, fields: fields, body: bytes, limit: RelayLimits.problemBytes)
      if let receipt = try Self.receipt(answer) { return receipt }
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

  private static func fields(_ upload: MailboxUpload) -> [String: String] {
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
