import TallyCRDT
import TallyStore
import TallyWire

/// Putting what the mailbox lacks, and removing what it needs no longer.
extension MailboxPass {
  /// Puts a file, so that a store that has nothing can get everything of this one from the mailbox.
  mutating func put(beyond shelf: MailboxShelf) throws {
    try checkCancellation()
    if needsRepair(shelf) {
      report.repaired = true
      return try put(since: StateVector(), .repair)
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
    try put(since: base, nil)
  }

  /// Whether a file that covers exactly what the store covers holds something else, and no repair says what this store
  /// does.
  private func needsRepair(_ shelf: MailboxShelf) -> Bool {
    let equal = shelf.files.filter { $0.header.target == own.vector && $0.header.fingerprint != nil }
    guard isContradicted || equal.contains(where: { $0.header.fingerprint != own.fingerprint }) else { return false }
    return !equal.contains { $0.name.kind == .repair && $0.isFull && $0.header.fingerprint == own.fingerprint }
  }

  private mutating func put(since base: StateVector, _ kind: MailboxFileName.Kind?) throws {
    let spool = DeltaSpool()
    defer { spool.discard() }
    let header = try store.writeDelta(since: base, to: spool.append)
    let check = try spool.read(at: spool.byteCount - 8, 8).reduce(0) { $0 << 8 | UInt64($1) }
    let name = MailboxFileName(
      replica: writer, sequence: header.target[writer], check: check,
      kind: kind ?? (header.base.isEmpty ? .snapshot : .delta)
    ).text
    try mailbox.put(name, from: try spool.reader())
    report.written.append(name)
    report.bytesWritten += spool.byteCount
  }

  /// Removes own files that two snapshots replace. Only what this pass has found and read counts, not what it has just
  /// put.
  mutating func remove(from shelf: MailboxShelf) {
    for file in files where file.state == .verified && file.name.replica == writer {
      let shelved = MailboxShelf.File(
        name: file.name, header: file.content.header, check: file.content.check, byteCount: file.content.byteCount)
      guard shelf.isReplaced(shelved) else { continue }
      // What cannot be removed now is removed another time.
      if (try? mailbox.remove(file.item.name)) != nil { report.removed.append(file.item.name) }
    }
  }
}
