import TallyCRDT
import TallyStore
import TallyWire

/// Taking in what others have put, in an order that makes progress.
extension MailboxPass {
  /// Applies deltas as far as they build on what is here; where they do not, the snapshot that brings the most, and
  /// deltas again. What is vouched for comes first: of the rest only what is beyond that counts.
  mutating func takeIn() async throws {
    let isVouched = files.map { $0.content.header.fingerprint != nil }
    repeat {
      _ = try await takeIn(files.indices.filter { isVouched[$0] })
    } while try await takeIn(files.indices.filter { !isVouched[$0] })
  }

  /// - Returns: whether any was applied.
  private mutating func takeIn(_ indices: [Int]) async throws -> Bool {
    let order = inOrder(indices)
    var deltas = order.filter { !isFull($0) }
    var snapshots = order.filter(isFull)
    var (isMoving, hasMoved) = (true, false)
    while isMoving {
      isMoving = try await takeDeltas(&deltas)
      hasMoved = hasMoved || isMoving
      if isMoving { continue }
      // The last is the one that leads furthest; those before it are often covered then.
      while !isMoving, let index = snapshots.popLast() { isMoving = try await take(index) }
      hasMoved = hasMoved || isMoving
    }
    return hasMoved
  }

  /// By what they lead to.
  func inOrder(_ indices: [Int]) -> [Int] {
    indices
      .map { (index: $0, total: files[$0].content.header.target.total) }
      .sorted { ($0.total, files[$0.index].item.name) < ($1.total, files[$1.index].item.name) }
      .map(\.index)
  }

  func isFull(_ index: Int) -> Bool { files[index].content.header.base.isEmpty }

  private mutating func takeDeltas(_ rest: inout [Int]) async throws -> Bool {
    var hasMoved = false
    var waiting: [Int] = []
    ahead.plan(rest.filter { !own.vector.covers(files[$0].content.header.target) }.map { files[$0].item })
    for index in rest {
      guard own.vector.covers(files[index].content.header.base) else {
        waiting.append(index)
        continue
      }
      if try await take(index) { hasMoved = true }
    }
    rest = waiting
    return hasMoved
  }

  /// Applies a file if there is anything in it for this store.
  /// - Returns: whether it was applied.
  private mutating func take(_ index: Int) async throws -> Bool {
    try Task.checkCancellation()
    let (header, kind) = (files[index].content.header, files[index].name.kind)
    guard own.vector.covers(header.target) else { return try await apply(index) }
    // Covered. A repair is joined all the same, and so is what covers as much as the store and says something else: one
    // of the two has what the other lacks. Of two repairs that say different things each is joined by all.
    let isEqual = header.target == own.vector && header.fingerprint != nil
    let contradicts = isEqual && header.fingerprint != own.fingerprint && (kind == .repair || !isSettled)
    guard contradicts || kind == .repair && !isEqual else { return false }
    return hasJoined(index) ? false : try await apply(index)
  }

  /// Whether a repair says exactly what the store does, so that everybody gets it.
  private var isSettled: Bool {
    files.contains { file in
      file.name.kind == .repair && file.content.header.target == own.vector
        && file.content.header.fingerprint == own.fingerprint
    }
  }

  private func hasJoined(_ index: Int) -> Bool {
    files[index].state == .verified && memory.hasJoined(files[index].content.check)
  }

  /// Joins also what the store believes that it has. Two stores wrote as one replica, or this one was set back: then a
  /// vector says that something is here, and it may be something else.
  mutating func joinEverything() async throws {
    for index in files.indices where isReadable(files[index]) && !files[index].isRefused && !hasJoined(index) {
      try Task.checkCancellation()
      guard own.vector.covers(files[index].content.header.base) else { continue }
      _ = try await apply(index)
    }
  }

  /// Applies a file. All of it is joined, covered by the vector or not; usually that is only what the vector does not
  /// cover.
  private mutating func apply(_ index: Int) async throws -> Bool {
    var spool = DeltaSpool()
    defer { spool.discard() }
    do {
      let content = try await read(index, to: &spool)
      guard own.vector.covers(content.header.base) else {
        throw MailboxReader.Fault(.incomplete, "it has changed while it was looked at")
      }
      let wasCovered = own.vector.covers(content.header.target)
      // Read to its end: it is in the mailbox, for others and for the next pass, also where this store cannot take it.
      files[index].content = content
      files[index].state = .verified
      let result = try applySpooled(spool, files[index].item, content)
      if result.fingerprintMismatch || wasCovered && result.changes > 0 { isContradicted = true }
      if wasCovered, result.changes > 0, files[index].name.replica == formerReplica { isDoubled = true }
      report.changes += result.changes
      progress.took(result.changes)
      report.conflicts += result.conflicts
      report.isHealed = report.isHealed || result.isHealed
      report.inDoubt += result.inDoubt
      report.taken.append(files[index].item.name)
      progress.nextFile()
    } catch let fault as MailboxReader.Fault where fault.reason == .refusedByStore {
      files[index].isRefused = true
      note(files[index].item.name, fault)
      return false
    } catch let fault as MailboxReader.Fault {
      fail(index, fault)
      return false
    }
    own = try store.summary()
    return true
  }

  /// Reads a file to its end into an empty spool, with its header in full.
  mutating func read(_ index: Int, to spool: inout DeltaSpool) async throws -> EntryContent {
    let file = files[index]
    progress.beginFile(file.content.byteCount)
    let (content, relativeLength) = try await reader.content(
      of: try await ahead.item(file.item), knownAs: file.content, to: progress.reading(spool.append))
    report.bytesRead += content.byteCount
    if let relativeLength {
      let full = try spool.replacingHeader(ofLength: relativeLength, with: content.header.bytes)
      spool.discard()
      spool = full
    }
    return content
  }

  /// Joins the content of an entry and remembers in the same transaction that it is joined.
  private mutating func applySpooled(_ spool: DeltaSpool, _ item: MailboxItem, _ content: EntryContent) throws
    -> ApplyResult
  {
    // That a log's entry was asked for has been answered: it is here.
    let version = mailbox.kind == .log ? nil : item.version
    var entry = MailboxMemory.Entry(version: version, byteCount: item.byteCount, content: content)
    memory[item.name]?.content = content
    memory[item.name]?.isVerified = true
    (entry.isVerified, entry.isJoined) = (true, true)
    let batch = memory.batch(joining: item.name, entry)
    do {
      let result = try store.apply(
        from: progress.applying(spool.byteCount, try spool.reader()), isRepair: true, refusesMismatch: false,
        noting: batch, tell: progress.joined)
      memory.join(item.name, entry, batch)
      return result
    } catch {
      throw MailboxReader.Fault(applying: error) ?? error
    }
  }
}
