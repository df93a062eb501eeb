import TallyRelayProtocol
import TallySync

extension RelayMailbox {
  /// Puts several entries, up to 256 or 4 MiB in each request. Larger entries, and all entries if the relay is an older
  /// one, have requests of their own. If a proxy before the relay accepts less in a request, each contains fewer
  /// entries.
  /// - Returns: the result for each upload, in their order: a receipt or a `RelayError`. Of entries that were sent
  ///   together, the last one's receipt has the cursor, if no other entry has arrived.
  /// - Throws: `CancellationError`. Entries that were put stay.
  public func put(_ uploads: [MailboxUpload]) async throws -> [Result<MailboxReceipt, any Error>] {
    var results: [Int: Result<MailboxReceipt, any Error>] = [:]
    var rest = uploads.indices[...]
    while let first = rest.first {
      try Task.checkCancellation()
      let (batch, limits) = (together(rest, of: uploads), client.limits)
      if batch.count > 1, let outcome = try await putTogether(batch, of: uploads) {
        for (index, result) in zip(batch, outcome) { results[index] = result }
        rest = rest.dropFirst(batch.count)
      } else if batch.count <= 1 || limits == client.limits {
        results[first] = try await putAlone(uploads[first])
        rest = rest.dropFirst()
      }
      // Otherwise the relay or a proxy takes less than that, and the next batch is smaller.
    }
    return uploads.indices.map { results[$0] ?? .failure(RelayError(.failed, "an entry was not put")) }
  }

  /// The next uploads that fit into one request.
  private func together(_ rest: Range<Int>, of uploads: [MailboxUpload]) -> Range<Int> {
    var bytes = RelayWrites.headBytes
    let most = client.largestBatch
    var end = rest.lowerBound
    while end < rest.upperBound, end - rest.lowerBound < most, RelayNames.isEntry(uploads[end].name) {
      bytes += RelayWrites.overhead + uploads[end].byteCount
      guard bytes <= client.largestBody else { break }
      end += 1
    }
    return rest.lowerBound..<end
  }

  private func putAlone(_ upload: MailboxUpload) async throws -> Result<MailboxReceipt, any Error> {
    do {
      return .success(try await put(upload))
    } catch {
      guard !(error is CancellationError), !Task.isCancelled else { throw CancellationError() }
      return .failure(error)
    }
  }

  /// - Returns: nil if nothing was put, since this request is not taken, or not as large.
  private func putTogether(_ batch: Range<Int>, of uploads: [MailboxUpload]) async throws
    -> [Result<MailboxReceipt, any Error>]?
  {
    // What cannot be read keeps none of the others from being put.
    let read = batch.map { index in Result { try Self.write(uploads[index]) } }
    let writes = read.compactMap { try? $0.get() }
    guard !writes.isEmpty else { return read.map { $0.map { _ in MailboxReceipt() } } }
    do {
      guard let written = try await write(writes, after: uploads[batch.lowerBound]) else { return nil }
      var receipts = Self.receipts(written)[...]
      var results = read.map { $0.flatMap { _ in receipts.removeFirst() } }
      // One that was refused for the moment is put again, as if it had come alone.
      for (number, result) in results.enumerated() {
        guard case .failure(let error as RelayError) = result, error.code == .busy else { continue }
        results[number] = try await putAlone(uploads[batch.lowerBound + number])
      }
      return results
    } catch {
      guard !(error is CancellationError), !Task.isCancelled else { throw CancellationError() }
      return read.map { $0.flatMap { _ in .failure(error) } }
    }
  }

  private static func write(_ upload: MailboxUpload) throws -> RelayWrites.Write {
    let bytes = try upload.bytes(from: 0, count: upload.byteCount)
    guard bytes.count == upload.byteCount else { throw MailboxError(.malformed, "an upload is shorter than it says") }
    return .put(name: upload.name, content: bytes)
  }

  private static func receipts(_ written: Written) -> [Result<MailboxReceipt, any Error>] {
    let last = written.results.lastIndex { if case .put = $0 { true } else { false } }
    return written.results.enumerated().map { number, result -> Result<MailboxReceipt, any Error> in
      switch result {
      case .put, .known: .success(MailboxReceipt(cursor: number == last ? written.cursor : nil))
      case .removed: .failure(RelayError(.notARelay, "not a relay: a put was answered as a removal"))
      case .refused(let code, let retryAfter): .failure(RelayError(code, retryAfter: retryAfter))
      }
    }
  }

  /// The answer to several writes.
  struct Written {
    let results: [RelayResults.Result]
    let cursor: MailboxCursor?
  }

  /// Makes several writes by one request.
  /// - Returns: nil if nothing was done, since the relay is an older one, or a proxy before it takes less in a request.
  func write(_ writes: [RelayWrites.Write], after upload: MailboxUpload?) async throws -> Written? {
    let body = RelayWrites(writes).bytes()
    var fields = upload.map(Self.fields) ?? [:]
    fields["Content-Type"] = RelayMedia.writes
    let answer = try await send(
      "POST", "/entries", fields: fields, body: body,
      limit: max(RelayLimits.problemBytes, RelayResults.mostBytes(for: writes.count)))
    if client.refusesBatches(answer) || client.triesSmallerBodies(after: answer, byteCount: body.count) { return nil }
    guard answer.status == 200 else { throw RelayError(answer) }
    let results = try Self.decoded { () throws(RelayPage.Malformed) in try RelayResults(answer.body) }.results
    guard results.count == writes.count else {
      throw RelayError(.notARelay, "not a relay: other writes were answered than were made")
    }
    let cursor = answer.field(RelayHeader.cursor).flatMap(RelayCursor.init)
    return Written(
      results: results, cursor: cursor.map { MailboxCursor(position: $0.position, entry: $0.chainText) })
  }

  /// Returns the contents of small entries, as many as the relay sends in one answer. Request the others one by one; an
  /// older relay returns none this way.
  /// - Throws: `RelayError`; `CancellationError`.
  public func contents(of names: [String]) async throws -> [String: [UInt8]] {
    let wanted = Array(names.filter { RelayNames.isEntry($0) }.prefix(client.largestBatchOfNames))
    guard wanted.count > 1 else { return [:] }
    let body = RelayWanted(wanted).bytes()
    let answer = try await send(
      "POST", "/contents", fields: ["Content-Type": RelayMedia.wanted], body: body, limit: RelayLimits.pageBytes)
    if client.refusesBatches(answer) || client.triesSmallerBodies(after: answer, byteCount: body.count) { return [:] }
    guard answer.status == 200 else { throw RelayError(answer) }
    let contents = try Self.decoded { () throws(RelayPage.Malformed) in try RelayContents(answer.body) }.contents
    guard contents.count == wanted.count else {
      throw RelayError(.notARelay, "not a relay: other entries were answered than were asked for")
    }
    return zip(wanted, contents).reduce(into: [:]) { found, pair in
      if case .whole(let bytes) = pair.1 { found[pair.0] = bytes }
    }
  }

  private static func decoded<T>(_ body: () throws(RelayPage.Malformed) -> T) throws(RelayError) -> T {
    do {
      return try body()
    } catch .check {
      throw RelayError(.damaged, "the relay's answer was changed on the way")
    } catch {
      throw RelayError(.notARelay, "not a relay: malformed answer, \(error.rawValue)")
    }
  }
}
