import TallyCRDT
import TallyWire

/// Files whose headers name another file for their vectors, so that they need not list every replica that has ever
/// written (`Docs/WireFormat.md`, section 3.1).
///
/// A header is resolved once; from then on the store remembers what it says in full, whatever becomes of the file that
/// it names. That one has an ordinary header, so nothing is resolved twice. It stays until the file that names it is
/// replaced as well. If it goes all the same, since it holds what was removed for good, or because its owner has not
/// seen the other file yet, newcomers cannot read the other any longer. Then that one counts as missing, and a store
/// that can still read it, since it remembers where forgotten snapshots led to, puts what it held again.
extension MailboxPass {
  /// Resolves the headers that name other files, now that all files have been looked at.
  /// - Throws: `CancellationError`.
  mutating func resolveReferences() async throws {
    guard !relative.isEmpty else { return }
    var vectors: [RelativeHeader.Reference: [(hash: UInt64, vector: StateVector)]] = [:]
    func add(_ reference: RelativeHeader.Reference, _ vector: StateVector) {
      vectors[reference, default: []].append((vector.sipHash, vector))
    }
    let named = Set(relative.map(\.header.reference))
    for file in files where file.content.reference == nil && named.contains(file.name.reference) {
      add(file.name.reference, file.content.header.target)
    }
    for past in memory.past where vectors[past.reference] == nil && named.contains(past.reference) {
      // A log does not list again what a store has forgotten since newer entries replace it. Others may still read it.
      if mailbox.kind == .log, let file = try await lookUp(past) { files.append(file) }
      add(past.reference, past.target)
    }
    let found = relative
    relative = []
    for (item, name, header) in found {
      try Task.checkCancellation()
      guard let match = vectors[header.reference]?.first(where: { $0.hash == header.vectorHash }) else {
        try await keepUnresolved(item, name, header)
        continue
      }
      do {
        try checkLimit(with: match.vector)
        let content = EntryContent(
          header: try resolve(header, match.vector), reference: header.reference, check: name.check,
          byteCount: item.byteCount ?? 0)
        let isVerified = memory[item.name]?.isVerified == true
        files.append(try self.found(item, name, content, isVerified: isVerified))
      } catch let fault as MailboxReader.Fault {
        note(item.name, fault)
        if fault.reason == .incomplete { doubtful.append((item, name)) }
      }
    }
  }

  private func resolve(_ header: RelativeHeader, _ vector: StateVector) throws -> DeltaHeader {
    do { return try header.resolved(by: vector) } catch { throw MailboxReader.Fault(error) }
  }

  /// Keeps a header that names what is not known. It is read to its end once: what it names may be missing because its
  /// own bytes are damaged.
  private mutating func keepUnresolved(
    _ item: MailboxItem, _ name: MailboxFileName, _ header: RelativeHeader
  ) async throws {
    if memory[item.name]?.relative == nil {
      do {
        try await reader.verify(item, is: name.check)
      } catch let fault as MailboxReader.Fault {
        note(item.name, fault)
        if fault.reason == .incomplete { doubtful.append((item, name)) }
        if fault.isLost { lost.append(item) }
        return
      }
      memory[item.name]?.relative = header
      memory[item.name]?.isVerified = true
    }
    relative.append((item, name, header))
  }

  /// Returns an entry of a log that this store has forgotten; nil if it cannot be read.
  /// - Throws: `CancellationError`.
  private mutating func lookUp(_ past: MailboxMemory.Past) async throws -> Found? {
    guard let name = MailboxFileName(past.reference, zone: .default) else { return nil }
    let item = MailboxItem(name: name.text)
    do {
      guard case .ordinary(let header) = try await reader.header(of: item) else { return nil }
      let content = EntryContent(header: header, check: name.check, byteCount: past.byteCount)
      memory[item.name] = MailboxMemory.Entry(content: content)
      names.append(name)
      return try found(item, name, content)
    } catch is MailboxReader.Fault {
      return nil
    }
  }

  /// Reports the files whose headers name one that has not arrived, as far as they hold what is not here.
  mutating func noteUnresolved() {
    for (item, _, header) in relative where !header.isCovered(by: own.vector) {
      note(item.name, .init(.waitsForOthers, "it builds on a file that has not arrived"))
    }
  }

  /// The names of this store's files that nobody can read any longer, since what they name is gone, once everything is
  /// in others.
  func unreadable(besides shelf: MailboxShelf) -> [String] {
    let own = relative.filter { isOwn($0.name) && $0.header.isCovered(by: self.own.vector) }
    guard !own.isEmpty, elsewhere.isEmpty, shelf.reach().covers(self.own.vector) else { return [] }
    return own.map(\.item.name)
  }
}
