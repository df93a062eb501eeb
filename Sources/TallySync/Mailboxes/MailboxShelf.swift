import TallyCRDT
import TallyStore
import TallyWire

/// The readable files of a mailbox, and the rules about them: what a newcomer can reach, when a snapshot is due, what
/// may go. Decides and never performs.
struct MailboxShelf {
  struct File {
    var name: MailboxFileName
    var header: DeltaHeader
    var check: UInt64
    var byteCount: Int
    /// The entry that its header names; nil if the header says everything.
    var reference: RelativeHeader.Reference?
    /// Whether a store that has nothing can take it in.
    var isFull: Bool { header.base.isEmpty }
  }

  private let kind: MailboxKind
  let files: [File]
  private let snapshots: [File]
  /// The entries that the headers of files name which nothing replaces.
  private var references: Set<RelativeHeader.Reference> = []

  /// Of the readable files those whose headers say everything, or name one of these: what a file with another header
  /// holds, newcomers cannot read, so that it does not count as being there.
  init(kind: MailboxKind = .folder, _ readable: [File]) {
    self.kind = kind
    // What has other bytes than its name says cannot be told by its name.
    let ordinary = Set(readable.lazy.filter { $0.reference == nil && $0.check == $0.name.check }.map(\.name.reference))
    files = readable.filter { $0.reference.map(ordinary.contains) ?? true }
    snapshots = files.filter(\.isFull)
    for file in files {
      if let reference = file.reference, !isInOthers(file, by: nil) { references.insert(reference) }
    }
  }

  /// Returns the vector that a store that has nothing reaches from these files alone. A file whose base nothing leads
  /// to adds nothing.
  func reach() -> StateVector {
    var reach = StateVector()
    // Ascending by what they lead to, so that one round is enough except where chains cross.
    var rest = files.map { (total: $0.header.target.total, header: $0.header) }.sorted { $0.total < $1.total }
    var count = 0
    repeat {
      count = rest.count
      rest.removeAll { _, header in
        guard reach.covers(header.base) else { return false }
        reach.merge(header.target)
        return true
      }
    } while rest.count < count && !rest.isEmpty
    return reach
  }

  // MARK: References

  /// Returns a shorter form of a header, which names a snapshot that is going to stay; nil if none covers enough to
  /// save what is asked for. A snapshot that does not cover `removals` goes first: at once if they were purges, some
  /// time after a compaction.
  func relative(to header: DeltaHeader, saving minimum: Int, removals: Removals) -> RelativeHeader? {
    func order(_ file: File) -> (Int, UInt64, UInt64) {
      (file.header.target.covers(removals.all) ? 1 : 0, file.header.target.total, file.check)
    }
    let byteCount = header.byteCount
    return
      snapshots
      .filter { $0.check == $0.name.check && $0.header.target.covers(removals.purges) }
      .map { (file: $0, order: order($0)) }
      .sorted { $0.order > $1.order }
      .lazy.map(\.file)
      .filter { !isInOthers($0, by: nil) }
      .prefix(4)
      .compactMap { RelativeHeader(header, since: $0.header.target, of: $0.name.reference) }
      .first { byteCount - $0.byteCount >= minimum }
  }

  // MARK: Snapshots

  /// Whether the deltas that no snapshot covers outweigh the largest snapshot.
  func isSnapshotDue(_ settings: MailboxSettings) -> Bool {
    let loose = files.filter { file in
      !file.isFull && !snapshots.contains { $0.header.target.covers(file.header.target) }
    }
    let weight = loose.reduce(0) { $0 + max($1.byteCount, settings.minimumDeltaWeight) }
    return weight > max(settings.deltaBytes, snapshots.map(\.byteCount).max() ?? 0)
  }

  // MARK: What may go

  /// Whether everything in a file is also in two other snapshots, or it is a copy of one that is here under its right
  /// name.
  ///
  /// Two, because a drive may carry the removal to the others before it carries the snapshot: what a removed file held
  /// is still in a snapshot that has been here for a while. A log shows everybody one order, so one snapshot is enough
  /// there; `count` asks for another number. The relation has no cycles, for any device and any part of the mailbox:
  /// nothing replaces the files that lead furthest, so they stay.
  ///
  /// A snapshot that a header names stays until the file with that header is replaced as well.
  func isReplaced(_ file: File, by count: Int? = nil) -> Bool {
    if file.name.isCopy, files.contains(where: { !$0.name.isCopy && $0.check == file.check }) { return true }
    return !references.contains(file.name.reference) && isInOthers(file, by: count)
  }

  /// Whether everything in a file is also in so many other snapshots.
  private func isInOthers(_ file: File, by count: Int?) -> Bool {
    let checks = snapshots.lazy.filter { Self.replaces($0, file) }.map(\.check)
    return Set(checks).count >= count ?? (kind == .log ? 1 : 2)
  }

  private static func replaces(_ snapshot: File, _ file: File) -> Bool {
    guard snapshot.isFull, snapshot.check != file.check, snapshot.header.target.covers(file.header.target) else {
      return false
    }
    guard file.isFull, snapshot.header.target == file.header.target else { return true }
    let (isRepair, wasRepair) = (snapshot.name.kind == .repair, file.name.kind == .repair)
    return isRepair != wasRepair ? isRepair : snapshot.check > file.check
  }
}

extension MailboxShelf.File {
  init(_ name: MailboxFileName, _ content: EntryContent) {
    self.init(
      name: name, header: content.header, check: content.check, byteCount: content.byteCount,
      reference: content.reference)
  }
}

extension StateVector {
  /// The number of transactions that are covered: a larger vector has a larger total.
  var total: UInt64 {
    entries.reduce(0) { sum, entry in
      let (next, overflow) = sum.addingReportingOverflow(entry.sequence)
      return overflow ? .max : next
    }
  }
}
