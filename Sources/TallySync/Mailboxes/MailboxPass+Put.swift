import Synchronization
import TallyAssets
import TallyCRDT
import TallyStore
import TallyWire

/// Putting what the mailbox lacks, and removing what it needs no longer.
extension MailboxPass {
  /// Puts a file, so that a store that has nothing can get everything of this one from the mailbox.
  mutating func put(beyond shelf: MailboxShelf) async throws {
    try Task.checkCancellation()
    if try needsRepair(shelf) {
      report.repaired = true
      return try await put(since: StateVector(), .repair, besides: shelf)
    }
    if isSnapshotOwed(shelf) {
      try await put(since: StateVector(), nil, besides: shelf)
      return noteSnapshot()
    }
    var base = shelf.reach()
    if elsewhere.isEmpty {
      guard !base.covers(own.vector) else { return }
      if shelf.isSnapshotDue(settings) { base = StateVector() }
    } else {
      // What is in files that are elsewhere cannot be seen. They exist, so only what is new of this replica's own is
      // put.
      for entry in own.vector.entries where entry.replica != writer { base.include(entry) }
      for name in elsewhere where name.replica == writer {
        base.include(Dot(replica: writer, sequence: name.sequence))
      }
      guard !base.covers(own.vector) else { return }
    }
    try await put(since: base, nil, besides: shelf)
  }

  /// Whether a file that covers exactly what the store covers holds something else, and no repair says what this store
  /// does.
  private func needsRepair(_ shelf: MailboxShelf) throws -> Bool {
    let equal = shelf.files.filter { $0.header.target == own.vector && $0.header.fingerprint != nil }
    // No store takes the word of one that is in doubt: what others have put heals it.
    guard try store.doubt() == nil else { return false }
    guard isContradicted || equal.contains(where: { $0.header.fingerprint != own.fingerprint }) else { return false }
    return !equal.contains { $0.name.kind == .repair && $0.isFull && $0.header.fingerprint == own.fingerprint }
  }

  private mutating func put(
    since base: StateVector, _ kind: MailboxFileName.Kind?, besides shelf: MailboxShelf
  ) async throws {
    let outgoing = Outgoing()
    defer { outgoing.discard() }
    let header = try store.writeDelta(since: base, to: progress.preparing(outgoing.append))
    // The names of files that leave now; by the end of the pass their rows may show others.
    store.assets.noteNames()
    let relative = try relativeHeader(for: header, of: outgoing.end().byteCount, on: shelf)
    if let relative { try outgoing.replaceHeader(ofLength: header.byteCount, with: relative) }
    let (check, byteCount) = try outgoing.end()
    let name = MailboxFileName(
      replica: writer, sequence: header.target[writer], check: check,
      kind: kind ?? (header.base.isEmpty ? .snapshot : .delta)
    ).text
    let upload = MailboxUpload(
      name: name, byteCount: byteCount, after: memory.cursor, read: progress.uploading(byteCount, outgoing.read))
    let receipt = try await mailbox.put(upload)
    if mailbox.kind == .log, !unremoved.contains(name) {
      let content = EntryContent(header: header, reference: relative?.reference, check: check, byteCount: byteCount)
      remember(name, content, receipt)
    }
    report.written.append(name)
    report.bytesWritten += byteCount
  }

  /// Returns the header with which a delta of so many bytes goes into the mailbox; nil if that is its own. One that
  /// names another entry is written where it makes the file noticeably smaller, and only of version 3: builds that read
  /// no other version than 2 do not know it.
  private func relativeHeader(for header: DeltaHeader, of byteCount: Int, on shelf: MailboxShelf) -> RelativeHeader? {
    switch settings.namesBases {
    case .always: return shelf.relative(to: header, saving: .min, removals: removals)
    case .whereItSaves:
      // Nothing is looked at for the few replicas that most groups have.
      guard header.version >= 3, header.byteCount >= 512 else { return nil }
      return shelf.relative(to: header, saving: max(256, byteCount / 8), removals: removals)
    }
  }

  /// Remembers an entry that was put into a log and need not be read there.
  private mutating func remember(_ name: String, _ content: EntryContent, _ receipt: MailboxReceipt) {
    var entry = MailboxMemory.Entry(byteCount: content.byteCount, content: content)
    (entry.isVerified, entry.isJoined, entry.isBehindCursor) = (true, true, receipt.cursor == nil)
    memory.join(name, entry, nil)
    if let cursor = receipt.cursor { memory.cursor = cursor }
  }

  /// Removes own files that two snapshots replace, and stale ones that one does. Only what this pass has found and read
  /// counts, not what it has just put.
  mutating func remove(from shelf: MailboxShelf) async throws {
    let stale = Set(replacedStale(on: shelf))
    let replaced = files.filter { file in
      isReadable(file)
        && (stale.contains(file.item.name) || file.name.replica == writer && shelf.isReplaced(file.shelved))
    }
    // What names another goes before it.
    let names =
      unreadable(besides: shelf) + replaced.filter { $0.content.reference != nil }.map(\.item.name)
      + replaced.filter { $0.content.reference == nil }.map(\.item.name)
    guard !names.isEmpty else { return }
    do {
      try await mailbox.remove(names)
    } catch {
      // What cannot be removed now is removed another time.
      return try Task.checkCancellation()
    }
    report.removed += names
    for name in names { memory[name] = nil }
  }

  /// Forgets entries of a log that newer ones replace: a log may keep them forever, and does not list them again. What
  /// was not joined, since it came another way, is kept for as long as in a folder: a contradiction may call for it.
  mutating func forgetReplaced(on shelf: MailboxShelf) {
    guard mailbox.kind == .log else { return }
    for file in files where isReadable(file) && own.vector.covers(file.content.header.target) {
      let isJoined = memory[file.item.name]?.isJoined == true
      guard isJoined || file.name.kind != .repair else { continue }
      if shelf.isReplaced(file.shelved, by: isJoined ? 1 : 2) { memory[file.item.name] = nil }
    }
  }

  /// A delta on its way into the mailbox.
  private final class Outgoing: Sendable {
    private let spool = Mutex(DeltaSpool())

    @Sendable func append(_ bytes: [UInt8]) throws { try spool.withLock { try $0.append(bytes) } }
    @Sendable func read(_ offset: Int, _ count: Int) throws -> [UInt8] {
      try spool.withLock { try $0.read(at: offset, count) }
    }
    func discard() { spool.withLock { $0.discard() } }
    func replaceHeader(ofLength length: Int, with header: RelativeHeader) throws {
      try spool.withLock { spool in
        let new = try spool.replacingHeader(ofLength: length, with: header.bytes)
        spool.discard()
        spool = new
      }
    }

    /// The checksum at the end, and the number of bytes.
    func end() throws -> (check: UInt64, byteCount: Int) {
      try spool.withLock { spool in
        (try spool.read(at: spool.byteCount - 8, 8).reduce(0) { $0 << 8 | UInt64($1) }, spool.byteCount)
      }
    }
  }
}
