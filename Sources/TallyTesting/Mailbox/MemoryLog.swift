import Synchronization
import TallyCRDT
import TallySync

/// A mailbox in memory that keeps a log, as a relay does: it tells what is new, and lets wait for it. For tests, with
/// what can go wrong with a relay.
package final class MemoryLog: Mailbox {
  /// The faults of the log.
  package struct Faults: Sendable {
    /// Each download breaks off after so many bytes.
    package var cutAfter: Int?
    /// Whether a download that breaks off looks as if it had come to its end.
    package var isCutSilent = false
    /// Names whose bytes are zeros.
    package var damaged: Set<String> = []
    /// The number of calls that succeed before the log becomes unreachable; nil if it stays.
    package var callsLeft: Int?
    /// Whether entries are refused, for lack of room.
    package var isFull = false
    /// Whether a cursor is known by its position alone.
    package var knowsPositionsOnly = false

    /// No faults.
    package init() {}
  }

  /// A place in the log: an entry, or the news that one has gone.
  fileprivate struct Row {
    var name: String
    /// Nil if the entry was removed, or this is the news of that.
    var bytes: [UInt8]?
    var isRemoval = false
    /// Depends on this entry and all before it.
    var link: UInt64
  }

  private struct State {
    var rows: [Row] = []
    var faults = Faults()
    var reads: [String: Int] = [:]
    var nextWaiter = 0
    var waiting: [Int: CheckedContinuation<Void, any Error>] = [:]

    func cursor(_ position: Int) -> MailboxCursor {
      // As long as a relay's.
      let link = Hexadecimal.text(position == 0 ? 0 : rows[position - 1].link)
      return MailboxCursor(position: UInt64(position), entry: link + link)
    }

    /// The position of a cursor; nil if it is of another log, or of this one before it went back.
    func position(of cursor: MailboxCursor) -> Int? {
      guard let position = Int(exactly: cursor.position), position <= rows.count,
        faults.knowsPositionsOnly || self.cursor(position) == cursor
      else { return nil }
      return position
    }

    mutating func append(_ name: String, _ bytes: [UInt8]?, isRemoval: Bool = false) {
      var hash = SipHash()
      hash.combine(word: rows.last?.link ?? 0)
      hash.combine(word: isRemoval ? 1 : 0)
      Array(name.utf8).withUnsafeBytes { hash.combine(bytes: $0) }
      rows.append(Row(name: name, bytes: bytes, isRemoval: isRemoval, link: hash.finalized()))
    }

    mutating func takeWaiting() -> [CheckedContinuation<Void, any Error>] {
      defer { waiting = [:] }
      return Array(waiting.values)
    }
  }

  package let name: String
  package var identity: String { "log \(name)" }
  package var kind: MailboxKind { .log }
  /// The maximum number of entries of a page.
  private let pageSize: Int
  /// The maximum size of an entry that is sent along.
  private let inlineBytes: Int
  private let state = Mutex(State())

  package init(name: String = "log", pageSize: Int = 1_000, inlineBytes: Int = 0) {
    (self.name, self.pageSize, self.inlineBytes) = (name, pageSize, inlineBytes)
  }

  // MARK: As a mailbox

  package func changes(after cursor: MailboxCursor?) async throws -> MailboxPage {
    try call { page(after: cursor, $0) }
  }

  private func page(after cursor: MailboxCursor?, _ state: State) -> MailboxPage {
    let known = cursor.flatMap(state.position)
    let start = known ?? 0
    let end = min(state.rows.count, start + pageSize)
    let isListing = known == nil
    let items = state.rows[start..<end].compactMap { row -> MailboxItem? in
      if row.isRemoval { return isListing ? nil : MailboxItem(name: row.name, state: .removed) }
      guard let bytes = row.bytes else { return nil }
      let isInline = bytes.count <= inlineBytes && !state.faults.damaged.contains(row.name)
      return MailboxItem(name: row.name, byteCount: bytes.count, content: isInline ? bytes : nil)
    }
    return MailboxPage(items: items, cursor: state.cursor(end), isListing: isListing, hasMore: end < state.rows.count)
  }

  package func get(_ name: String, from offset: Int) async throws -> any AsyncSequence<[UInt8], any Error> {
    let (bytes, faults) = try call { state in
      guard let bytes = state.rows.last(where: { $0.name == name && $0.bytes != nil })?.bytes else {
        throw MailboxError(.noSuchFile, "there is no such entry")
      }
      return (state.faults.damaged.contains(name) ? bytes.map { _ in 0 } : bytes, state.faults)
    }
    return MemoryPieces(bytes: bytes, offset: min(offset, bytes.count), start: offset, faults: faults) { count in
      self.state.withLock { $0.reads[name, default: 0] += count }
    }
  }

  package func put(_ upload: MailboxUpload) async throws -> MailboxReceipt {
    var bytes: [UInt8] = []
    let source = upload.source()
    while let piece = try source() { bytes += piece }
    let (receipt, waiting) = try call { state -> (MailboxReceipt, [CheckedContinuation<Void, any Error>]) in
      guard !state.faults.isFull else { throw MailboxError(.unwritable, "the log is full") }
      if let index = state.rows.lastIndex(where: { $0.name == upload.name && $0.bytes != nil }) {
        // What is damaged is replaced, and is news.
        guard state.faults.damaged.remove(upload.name) != nil else { return (MailboxReceipt(), []) }
        state.rows[index].bytes = nil
      }
      let before = state.cursor(state.rows.count)
      state.append(upload.name, bytes)
      let isNext = upload.cursor == before || upload.cursor == nil && before.position == 0
      return (MailboxReceipt(cursor: isNext ? state.cursor(state.rows.count) : nil), state.takeWaiting())
    }
    for continuation in waiting { continuation.resume() }
    return receipt
  }

  package func remove(_ names: [String]) async throws {
    let waiting = try call { state in
      for name in names {
        guard let index = state.rows.lastIndex(where: { $0.name == name && $0.bytes != nil }) else { continue }
        state.rows[index].bytes = nil
        state.append(name, nil, isRemoval: true)
      }
      return state.takeWaiting()
    }
    for continuation in waiting { continuation.resume() }
  }

  package func wait(after cursor: MailboxCursor?) async throws {
    let id = state.withLock { state in
      defer { state.nextWaiter += 1 }
      return state.nextWaiter
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let now: Result<Void, any Error>? = state.withLock { state in
          if Task.isCancelled { return .failure(CancellationError()) }
          let position = cursor.map(state.position) ?? 0
          if position != state.rows.count { return .success(()) }
          state.waiting[id] = continuation
          return nil
        }
        if let now { continuation.resume(with: now) }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: id) }?.resume(throwing: CancellationError())
    }
  }

  private func call<T>(_ body: (inout State) throws -> T) throws -> T {
    try Task.checkCancellation()
    return try state.withLock { state in
      if let left = state.faults.callsLeft {
        guard left > 0 else { throw MailboxError(.unavailable, "the log cannot be reached") }
        state.faults.callsLeft = left - 1
      }
      return try body(&state)
    }
  }

  // MARK: For tests

  /// The faults that occur from now on.
  package var faults: Faults {
    get { state.withLock { $0.faults } }
    set { state.withLock { $0.faults = newValue } }
  }

  /// The names of the entries that are there, oldest first.
  package var names: [String] { state.withLock { state in state.rows.filter { $0.bytes != nil }.map(\.name) } }
  /// The number of positions.
  package var count: Int { state.withLock { $0.rows.count } }
  /// The number of bytes of each entry that were downloaded.
  package var reads: [String: Int] { state.withLock { $0.reads } }
  /// The number of bytes that were downloaded.
  package var bytesRead: Int { reads.values.reduce(0, +) }
  /// The number of callers that wait for news.
  package var waiterCount: Int { state.withLock { $0.waiting.count } }

  /// Changes what is kept of an entry, as a disk does that nobody watches.
  package func change(_ name: String, _ body: (inout [UInt8]) -> Void) {
    state.withLock { state in
      for index in state.rows.indices where state.rows[index].name == name && state.rows[index].bytes != nil {
        var bytes = state.rows[index].bytes ?? []
        body(&bytes)
        state.rows[index].bytes = bytes
      }
    }
  }

  /// Loses what came after a position, as a log that is restored from a backup.
  package func goBack(to count: Int) { state.withLock { $0.rows.removeLast(max(0, $0.rows.count - count)) } }

  /// Returns the page after a cursor, as `changes(after:)` does, in spite of faults of calls.
  package func page(after cursor: MailboxCursor?) -> MailboxPage { state.withLock { page(after: cursor, $0) } }
  /// The cursor of the log's end.
  package var head: MailboxCursor { state.withLock { $0.cursor($0.rows.count) } }

  /// The entries at some time.
  package struct Backup: Sendable {
    fileprivate let rows: [Row]
  }

  package func backUp() -> Backup { state.withLock { Backup(rows: $0.rows) } }

  /// Puts back what was there at some time, and drops what has come since.
  package func restore(_ backup: Backup) { state.withLock { $0.rows = backup.rows } }

  /// Lets waiting calls look, though there is nothing new.
  package func stir() { for waiting in state.withLock({ $0.takeWaiting() }) { waiting.resume() } }
}

/// A download, which may break off.
private struct MemoryPieces: AsyncSequence, AsyncIteratorProtocol {
  let bytes: [UInt8]
  var offset: Int
  let start: Int
  let faults: MemoryLog.Faults
  let note: @Sendable (Int) -> Void

  func makeAsyncIterator() -> Self { self }

  mutating func next() async throws -> [UInt8]? {
    let end = Swift.min(bytes.count, offset + 1_024, faults.cutAfter.map { start + $0 } ?? .max)
    guard offset < end else {
      guard offset == bytes.count || faults.isCutSilent else {
        throw MailboxError(.unreadable, "the download broke off")
      }
      return nil
    }
    defer { offset = end }
    note(end - offset)
    return Array(bytes[offset..<end])
  }
}
