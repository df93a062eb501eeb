import TallyCRDT
import TallyStore
import TallyWire

/// One pass of one store through a mailbox: take in what others have put, put what the mailbox lacks, tidy up.
///
/// Each file is applied whole or not at all, and nothing that a pass does must happen: if it ends anywhere, the next
/// one goes on.
struct MailboxPass {
  /// A listed file, and what is known of it so far.
  struct Found {
    enum State {
      /// The header is known; the checksum has not been verified.
      case opened
      /// Read to its end, now or in an earlier pass.
      case verified
      /// Not to be had in this pass.
      case failed
    }

    let item: MailboxItem
    let name: MailboxFileName
    var content: MailboxNotes.Content
    var state = State.opened
    /// Whether the store could not take it in this pass. It is in the mailbox all the same.
    var isRefused = false
  }

  let store: Store
  let mailbox: any Mailbox
  let settings: MailboxSettings
  let checkCancellation: () throws -> Void
  let reader: MailboxReader

  /// Where the store stands.
  var own: StoreSummary
  let formerReplica: ReplicaID?
  /// The replica that this pass writes files as, also if the store gives up the id meanwhile; zeros if the store has
  /// none.
  var writer: ReplicaID { formerReplica ?? ReplicaID(high: 0, low: 0) }
  /// All names of ours, readable or not.
  var names: [MailboxFileName] = []
  var files: [Found] = []
  /// Files of ours that are known to exist and are not on this device.
  var elsewhere: [MailboxFileName] = []
  /// Whether content contradicted the store's.
  var isContradicted = false
  /// Whether a file that this replica is said to have put held what the store lacked, though it had gone further:
  /// another copy has put it.
  var isDoubled = false
  var vectorEntryLimit = MailboxLimits.vectorEntries
  private var vectorEntries = 0
  var report = MailboxReport()

  init(
    _ store: Store, _ mailbox: any Mailbox, _ settings: MailboxSettings,
    _ checkCancellation: @escaping () throws -> Void
  ) throws {
    self.store = store
    self.mailbox = mailbox
    self.settings = settings
    self.checkCancellation = checkCancellation
    reader = MailboxReader(mailbox: mailbox)
    own = try store.summary()
    formerReplica = own.replica
  }

  mutating func run() throws -> MailboxReport {
    for item in try mailbox.list(prefix: MailboxFileName.prefix).sorted(by: { $0.name < $1.name }) {
      try checkCancellation()
      open(item)
    }
    try noticeOlderCopy()
    try healKnownDamage()
    try takeIn()
    try verifyTheRest()
    try noticeOlderCopy()
    if isContradicted || own.replica != formerReplica { try joinEverything() }
    if isDoubled, own.replica == formerReplica {
      try renewReplica(
        "a file in \(mailbox.name) holds what another copy of this store has written under its replica id")
    }
    let shelf = shelf()
    try put(beyond: shelf)
    remove(from: shelf)
    mailbox.notes.replace(files.filter { $0.state == .verified }.map { ($0.item, $0.content) })
    return report
  }

  // MARK: Looking around

  private mutating func open(_ item: MailboxItem) {
    let name: MailboxFileName
    switch MailboxFileName.parse(item.name) {
    case .foreign: return
    case .newer: return note(item.name, .init(.newerVersion, "the name is of a later version"))
    case .file(let parsed): name = parsed
    }
    guard name.zone == .default else { return }
    names.append(name)
    switch item.state {
    case .notAFile: return note(item.name, .init(.notAFile, "it is not a plain file"))
    case .elsewhere:
      elsewhere.append(name)
      return note(item.name, .init(.elsewhere, "it is not on this device yet"))
    case .here: break
    }
    do throws(MailboxReader.Fault) {
      let known = mailbox.notes.content(of: item)
      let header = if let known { known.header } else { try reader.header(of: item.name) }
      vectorEntries += header.target.count
      guard vectorEntries <= vectorEntryLimit else {
        throw MailboxReader.Fault(.waitsForOthers, "the files together name too many replicas")
      }
      guard header.zone == name.zone else { throw MailboxReader.Fault(.wrongZone, "it belongs to another zone") }
      let content = known ?? MailboxNotes.Content(header: header, check: name.check, byteCount: 0)
      files.append(Found(item: item, name: name, content: content, state: known == nil ? .opened : .verified))
    } catch {
      note(item.name, error)
    }
  }

  /// Reports a file that is not taken in.
  mutating func note(_ name: String, _ fault: MailboxReader.Fault) {
    let issue = MailboxReport.Issue(name: name, reason: fault.reason, message: fault.message)
    if fault.isPassing { report.pending.append(issue) } else { report.refused.append(issue) }
  }

  mutating func fail(_ index: Int, _ fault: MailboxReader.Fault) {
    files[index].state = .failed
    note(files[index].item.name, fault)
  }

  /// Reads what nobody needed to the end, so that only what is really there counts as being there.
  private mutating func verifyTheRest() throws {
    for index in files.indices where files[index].state == .opened {
      try checkCancellation()
      do {
        files[index].content = try reader.content(of: files[index].item.name)
        files[index].state = .verified
        report.bytesRead += files[index].content.byteCount
      } catch let fault as MailboxReader.Fault {
        fail(index, fault)
      }
    }
    for index in files.indices where files[index].state == .verified && !files[index].isRefused {
      guard !own.vector.covers(files[index].content.header.target) else { continue }
      note(files[index].item.name, .init(.waitsForOthers, "it builds on files that have not arrived"))
    }
  }

  /// What can be read.
  private func shelf() -> MailboxShelf {
    var shelf = MailboxShelf()
    for file in files where file.state == .verified {
      shelf.add(
        .init(
          name: file.name, header: file.content.header, check: file.content.check, byteCount: file.content.byteCount))
    }
    return shelf
  }

  // MARK: Identity

  /// Gives up the replica id if a file leads to more of this replica than the store has: then the store is an older
  /// copy of itself, and what it writes next would have the numbers of something else. The name is enough to tell; the
  /// file need not have arrived.
  private mutating func noticeOlderCopy() throws {
    guard let replica = own.replica else { return }
    let isKnown =
      names.contains { $0.replica == replica && $0.sequence > own.vector[replica] }
      || files.contains { $0.state == .verified && $0.content.header.target[replica] > own.vector[replica] }
    guard isKnown else { return }
    try renewReplica("a file in \(mailbox.name) knows more of this store than the store itself: it is an older copy")
  }

  mutating func renewReplica(_ reason: String) throws {
    guard own.replica != nil else { return }
    try store.renewReplica(because: reason)
    own = try store.summary()
  }
}
