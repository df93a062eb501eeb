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
    let named = Set(relative.map(\.header.reference))
    var (here, past) = (Vectors(), Vectors())
    for file in files where file.content.reference == nil && named.contains(file.name.reference) {
      here.add(file.name.reference, file.content.header.target)
    }
    for entry in memory.past where named.contains(entry.reference) { past.add(entry.reference, entry.target) }
    var missing: [RelativeHeader.Reference: LookUp] = [:]
    let unresolved = relative
    relative = []
    for (item, name, header) in unresolved {
      try Task.checkCancellation()
      var vector = here[header]
      if vector == nil {
        let isNew = memory[item.name]?.relative == nil
        // A log does not list again what a store has forgotten since newer entries replace it. Others may still read
        // it.
        if mailbox.kind == .log, isNew || past[header] != nil {
          let answer: LookUp
          if let known = missing[header.reference] {
            answer = known
          } else {
            answer = missing.count < Self.mostLookUps ? try await lookUp(header) : .unknown
            missing[header.reference] = answer
          }
          switch answer {
          case .found(let target):
            here.add(header.reference, target)
            vector = here[header]
          case .gone: break
          case .unknown:
            relative.append((item, name, header))
            continue
          }
        }
        vector = vector ?? past[header]
      }
      guard let vector else {
        try await keepUnresolved(item, name, header)
        continue
      }
      do {
        try checkLimit(with: vector.count)
        let content = EntryContent(
          header: try resolve(header, vector), reference: header.reference, check: name.check,
          byteCount: item.byteCount ?? 0)
        let isVerified = memory[item.name]?.isVerified == true
        files.append(try found(item, name, content, isVerified: isVerified))
      } catch let fault as MailboxReader.Fault {
        note(item.name, fault)
        if fault.reason == .incomplete { doubtful.append((item, name)) }
      }
    }
  }

  /// The most entries that a pass asks a log for by name.
  private static let mostLookUps = 16

  /// Vectors to which entries lead. Bytes that have changed may lead elsewhere, so there may be several for a name.
  private struct Vectors {
    private var vectors: [RelativeHeader.Reference: [(hash: UInt64, vector: StateVector)]] = [:]

    mutating func add(_ reference: RelativeHeader.Reference, _ vector: StateVector) {
      vectors[reference, default: []].append((vector.sipHash, vector))
    }

    /// The one that a header means.
    subscript(header: RelativeHeader) -> StateVector? {
      vectors[header.reference]?.first { $0.hash == header.vectorHash }?.vector
    }
  }

  /// The answer of a log that is asked for an entry by its name.
  private enum LookUp {
    case found(StateVector)
    case gone
    /// It cannot be told now.
    case unknown
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

  /// Asks a log for the entry that a header names, and goes on as if it had been listed.
  /// - Throws: `CancellationError`.
  private mutating func lookUp(_ header: RelativeHeader) async throws -> LookUp {
    guard let name = MailboxFileName(header.reference, zone: .default) else { return .gone }
    let item = MailboxItem(name: name.text)
    do {
      guard case .ordinary(let ordinary) = try await reader.header(of: item),
        ordinary.target.sipHash == header.vectorHash
      else { return .gone }
      let byteCount = memory.past.last { $0.reference == header.reference }?.byteCount ?? 0
      let content = EntryContent(header: ordinary, check: name.check, byteCount: byteCount)
      let file = try found(item, name, content)
      if memory[item.name] == nil { memory[item.name] = MailboxMemory.Entry(content: content) }
      names.append(name)
      files.append(file)
      return .found(ordinary.target)
    } catch let fault as MailboxReader.Fault {
      return fault.isMissing ? .gone : .unknown
    }
  }

  /// Reports the files whose headers name one that has not arrived, as far as they hold what is not here.
  mutating func noteUnresolved() {
    for (item, _, header) in relative where !header.isCovered(by: own.vector) {
      note(item.name, .init(.waitsForOthers, "it builds on a file that has not arrived"))
    }
  }

  /// Returns the names of this store's own files that no newcomer can read, because the snapshots that they name are
  /// gone; none as long as other files do not hold everything.
  func unreadable(besides shelf: MailboxShelf) -> [String] {
    let own = relative.filter { isOwn($0.name) && $0.header.isCovered(by: self.own.vector) }
    guard !own.isEmpty, elsewhere.isEmpty, shelf.reach().covers(self.own.vector) else { return [] }
    return own.map(\.item.name)
  }
}
