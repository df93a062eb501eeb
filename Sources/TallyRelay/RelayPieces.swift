import TallyRelayProtocol
import TallySync

/// A download of an entry, piece by piece. The first is on its way when it is made; while a piece is stored, the next
/// one is. After an error it may be asked for the piece once more.
struct RelayPieces: AsyncSequence, ResumablePieces {
  /// Two pieces, the one that is being stored and the one on its way, are the most that a process which is killed has
  /// received for nothing.
  static let pieceBytes = RelayLimits.rangeBytes / 2

  private let mailbox: RelayMailbox
  private let name: String
  private var offset: Int
  private var isAtEnd = false
  /// The size of the entry, from the first answer, and its tag, which is another one if the entry is put again; nil as
  /// long as only relays have answered that do not tell.
  private var total: Int?
  private var tag: String?
  private var ahead: Ahead?

  init(mailbox: RelayMailbox, name: String, offset: Int) {
    (self.mailbox, self.name, self.offset) = (mailbox, name, offset)
    ahead = Ahead(mailbox, name, offset)
  }

  func makeAsyncIterator() -> Self { self }

  mutating func next() async throws -> [UInt8]? {
    guard !isAtEnd else { return nil }
    let answer = try await takeAnswer()
    switch answer.status {
    case 206:
      let total = try Self.total(answer, from: offset)
      let tag = tag(of: answer)
      guard tag == nil || self.tag == nil || tag == self.tag else { throw Self.replaced }
      guard total <= RelayLimits.entryBytes, total == self.total ?? total else {
        throw RelayError(.notARelay, "not a relay: an entry changed its size")
      }
      (self.total, self.tag) = (total, self.tag ?? tag)
      offset += answer.body.count
      isAtEnd = offset == total
      if !isAtEnd { ahead = Ahead(mailbox, name, offset) }
      return answer.body
    case 416:
      guard total == nil else { throw Self.replaced }
      isAtEnd = true
      return nil
    default:
      let error = RelayError(answer)
      if error.code == .noSuchEntry { throw MailboxError(.noSuchFile, "there is no such entry", cause: error) }
      throw error
    }
  }

  /// The tag of an answer; nil if it says nothing. Older relays have the name alone, and relays of several versions may
  /// answer in turn. A proxy may have made the tag a weak one.
  private func tag(of answer: RelayAnswer) -> String? {
    guard let field = answer.field("etag") else { return nil }
    let tag = field.hasPrefix("W/") ? String(field.dropFirst(2)) : field
    return tag == "\"\(name)\"" ? nil : tag
  }

  /// What has come is of an entry that is gone, and would be mixed with another's content.
  private static let replaced = RelayError(.damaged, "an entry was removed and put again while it was read")

  /// The answer to the request that is under way, or else to one for what comes next.
  private mutating func takeAnswer() async throws -> RelayAnswer {
    guard let ahead else { return try await Self.answer(mailbox, name, offset) }
    self.ahead = nil
    return try await ahead.answer()
  }

  private static func answer(_ mailbox: RelayMailbox, _ name: String, _ offset: Int) async throws -> RelayAnswer {
    try await mailbox.send(
      "GET", "/entries/\(name)", fields: ["Range": "bytes=\(offset)-\(offset + pieceBytes - 1)"], limit: pieceBytes)
  }

  /// Returns the size of the entry, if the answer is the part that was asked for.
  private static func total(_ answer: RelayAnswer, from offset: Int) throws -> Int {
    let range = answer.field("content-range") ?? ""
    let parts = range.split(whereSeparator: { " -/".contains($0) })
    guard parts.count == 4, parts[0] == "bytes", let first = Int(parts[1]), let last = Int(parts[2]),
      let total = Int(parts[3]), first == offset, first <= last, last < total,
      answer.isCut ? answer.body.count <= last - first : answer.body.count == last - first + 1
    else { throw RelayError(.notARelay, "not a relay: the answer is not the requested range") }
    guard !answer.body.isEmpty else { throw RelayError(.unreachable, "the connection broke") }
    return total
  }

  /// A request that is made before its answer is asked for. It ends with the download.
  private final class Ahead: Sendable {
    private let task: Task<RelayAnswer, any Error>

    init(_ mailbox: RelayMailbox, _ name: String, _ offset: Int) {
      task = Task { try await RelayPieces.answer(mailbox, name, offset) }
    }

    deinit { task.cancel() }

    func answer() async throws -> RelayAnswer {
      try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        task.cancel()
      }
    }
  }
}
