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
    var content: EntryContent
    var state = State.opened
    /// Whether the store could not take it in this pass. It is in the mailbox all the same.
    var isRefused = false

    var shelved: MailboxShelf.File { MailboxShelf.File(name, content) }
  }

  let store: Store
  let mailbox: any Mailbox
  let settings: MailboxSettings
  let reader: MailboxReader
  var ahead: MailboxReadAhead
  /// The memory that the store has of the mailbox.
  var memory: MailboxMemory

  /// The state of the store.
  var own: StoreSummary
  let formerReplica: ReplicaID?
  /// The removals that this store knows of, so that files which may still hold the removed content are replaced.
  var removals = Removals()
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
  /// Files whose bytes are not those of their names, or were not as they arrived.
  var doubtful: [(item: MailboxItem, name: MailboxFileName)] = []
  /// Entries that the place has without their content.
  var lost: [MailboxItem] = []
  /// Those of them that are here and could not be removed: who puts one finds it there, and it is not what it says.
  var unremoved: Set<String> = []
  /// Files whose headers name another one that has not been found.
  var relative: [(item: MailboxItem, name: MailboxFileName, header: RelativeHeader)] = []
  var vectorEntryLimit = MailboxLimits.vectorEntries
  private(set) var vectorEntries = 0
  /// Why the memory could not be kept.
  private var failure: (any Error)?
  var report = MailboxReport()
  let progress: ProgressTeller

  init(_ store: Store, _ mailbox: any Mailbox, _ settings: MailboxSettings) throws {
    self.store = store
    self.mailbox = mailbox
    self.settings = settings
    progress = ProgressTeller(settings.onProgress)
    reader = MailboxReader(mailbox: mailbox)
    ahead = MailboxReadAhead(mailbox)
    memory = try MailboxMemory(of: mailbox, in: store)
    if settings.namesBases == .always { memory.fewestPast = 0 }
    own = try store.summary()
    formerReplica = own.replica
  }

  mutating func run() async throws -> MailboxReport {
    progress.begin(.looking)
    let items = try await list()
    progress.begin(.looking, of: items.count)
    ahead.plan(items.filter { isUnknown($0) })
    for item in items {
      try Task.checkCancellation()
      try await open(item)
      progress.nextFile()
    }
    try await resolveReferences()
    let coming = files.filter { file in
      mailbox.kind == .folder && file.state == .opened || !own.vector.covers(file.content.header.target)
    }
    progress.begin(.taking, of: coming.count, bytes: coming.reduce(0) { $0 + $1.content.byteCount })
    save()
    try noticeOlderCopy()
    try await heal()
    try await takeIn()
    try await verifyTheRest()
    noteUnresolved()
    save()
    try noteOthers()
    try noticeOlderCopy()
    if isContradicted || own.replica != formerReplica { try await joinEverything() }
    if isDoubled, own.replica == formerReplica {
      try renewReplica(
        "a file in \(mailbox.name) holds what another copy of this store has written under its replica id")
    }
    let shelf = shelf()
    removals = try store.removals().limited(to: own.vector)
    noteStale()
    await removeDamaged()
    try await replaceLost(besides: shelf)
    progress.begin(.putting)
    do {
      try await put(beyond: shelf)
    } catch {
      // Where there is no room, what is replaced makes some. That it could not be removed either is the lesser news.
      if !Task.isCancelled, (try? await remove(from: shelf)) != nil { save() }
      throw error
    }
    try await remove(from: shelf)
    forgetReplaced(on: shelf)
    save()
    if let failure { throw failure }
    report.cursor = memory.cursor
    return report
  }

  /// Notes what others have by their files: from then on deletes that they have seen count as synced.
  private func noteOthers() throws {
    let others = writers().filter { $0.key != own.replica && $0.key != formerReplica }
    if settings.remembersDevices { try store.remember(writers: writers()) }
    let shared = others.reduce(StateVector()) { $0.merging($1.value) }
    if !shared.isEmpty { try store.noteShared(shared) }
  }

  /// The vectors to which the files of each writer lead.
  private func writers() -> [ReplicaID: StateVector] {
    var writers: [ReplicaID: StateVector] = [:]
    for file in files where isReadable(file) && file.name.replica != ReplicaID(high: 0, low: 0) {
      writers[file.name.replica, default: StateVector()].merge(file.content.header.target)
    }
    return writers
  }

  /// Keeps what is known so far. A disk that is full must not keep the pass from putting what is new here, which needs
  /// none, so the error is thrown at its end.
  private mutating func save() {
    do { try memory.save() } catch { failure = failure ?? error }
  }

  // MARK: Looking around

  private mutating func open(_ item: MailboxItem) async throws {
    let name: MailboxFileName
    switch MailboxFileName.parse(item.name) {
    case .foreign: return
    case .newer: return note(item.name, .init(.newerVersion, "the name is of a later version"))
    case .file(let parsed): name = parsed
    }
    guard name.zone == .default else { return }
    names.append(name)
    switch item.state {
    case .notAFile:
      // A link in the place of what this store had put, as git-annex leaves it: the file is not put once more.
      if name.replica == writer { elsewhere.append(name) }
      return note(item.name, .init(.notAFile, "it is not a plain file"))
    case .notDownloaded:
      elsewhere.append(name)
      return note(item.name, .init(.notDownloaded, "it is not on this device yet"))
    case .available, .removed: break
    }
    do {
      if let file = try await look(into: item, name) { files.append(file) }
    } catch let fault as MailboxReader.Fault {
      note(item.name, fault)
      if fault.reason == .incomplete { doubtful.append((item, name)) }
      if fault.isLost { lost.append(item) }
      if !fault.isPassing, let head = fault.head { memory[item.name]?.unreadableHead = head }
    }
  }

  /// Whether the header of an entry is going to be read.
  private func isUnknown(_ item: MailboxItem) -> Bool {
    guard item.state == .available, case .file(let name) = MailboxFileName.parse(item.name) else { return false }
    let known = memory[item.name]
    guard name.zone == .default, known?.unreadableHead == nil else { return false }
    return known?.content == nil && known?.relative == nil || isAskedFor(item)
  }

  /// Returns what is known of an entry, or what its header contains; nil if it names another entry for that, and is put
  /// off until all have been looked at.
  private mutating func look(into item: MailboxItem, _ name: MailboxFileName) async throws -> Found? {
    let known = memory[item.name]
    if let head = known?.unreadableHead, let fault = MailboxReader.fault(ofHead: head) { throw fault }
    memory[item.name]?.unreadableHead = nil
    if let content = known?.content {
      if isAskedFor(item) { try await lookAgain(item) }
      return try found(item, name, content, isVerified: known?.isVerified == true)
    }
    if let header = known?.relative {
      try putOff(item, name, header)
      return nil
    }
    let header = try await reader.header(of: try await ahead.item(item))
    if mailbox.kind == .log { memory[item.name]?.version = nil }
    switch header {
    case .ordinary(let header):
      return try found(item, name, EntryContent(header: header, check: name.check, byteCount: item.byteCount ?? 0))
    case .relative(let header):
      try putOff(item, name, header)
      return nil
    }
  }

  private mutating func putOff(
    _ item: MailboxItem, _ name: MailboxFileName, _ header: RelativeHeader
  ) throws(MailboxReader.Fault) {
    try checkLimit(with: header.changeCount)
    vectorEntries += header.changeCount
    relative.append((item, name, header))
  }

  /// - Throws: `MailboxReader.Fault` if all vectors together would have too many entries with so many more.
  func checkLimit(with count: Int) throws(MailboxReader.Fault) {
    guard vectorEntries + count <= vectorEntryLimit else {
      throw MailboxReader.Fault(.waitsForOthers, "the files together name too many replicas")
    }
  }

  /// Notes what an entry contains.
  mutating func found(
    _ item: MailboxItem, _ name: MailboxFileName, _ content: EntryContent, isVerified: Bool = false
  ) throws(MailboxReader.Fault) -> Found {
    try checkLimit(with: content.header.target.count)
    vectorEntries += content.header.target.count
    memory[item.name]?.content = content
    memory[item.name]?.relative = nil
    guard content.header.zone == name.zone else {
      throw MailboxReader.Fault(.wrongZone, "it belongs to another zone")
    }
    return Found(item: item, name: name, content: content, state: isVerified ? .verified : .opened)
  }

  /// Reports a file that is not taken in.
  mutating func note(_ name: String, _ fault: MailboxReader.Fault) {
    let issue = MailboxReport.Issue(name: name, reason: fault.reason, message: fault.message)
    if fault.isPassing { report.pending.append(issue) } else { report.refused.append(issue) }
  }

  mutating func fail(_ index: Int, _ fault: MailboxReader.Fault) {
    files[index].state = .failed
    if fault.reason == .incomplete { doubtful.append((files[index].item, files[index].name)) }
    if fault.isLost { lost.append(files[index].item) }
    note(files[index].item.name, fault)
    memory[files[index].item.name]?.isVerified = false
    // What has other bytes than it should may have another header as well.
    if fault.reason != .unreadable { memory[files[index].item.name]?.content = nil }
  }

  /// Reads what was not needed to the end, so that only what is really there counts as being there. A log is taken at
  /// its word.
  private mutating func verifyTheRest() async throws {
    for index in files.indices where files[index].state == .opened && mailbox.kind == .folder {
      try Task.checkCancellation()
      do {
        progress.beginFile(files[index].content.byteCount)
        let content = try await reader.content(
          of: files[index].item, knownAs: files[index].content, to: progress.reading()
        ).content
        progress.nextFile()
        files[index].content = content
        files[index].state = .verified
        memory[files[index].item.name]?.content = content
        memory[files[index].item.name]?.isVerified = true
        report.bytesRead += content.byteCount
      } catch let fault as MailboxReader.Fault {
        fail(index, fault)
      }
    }
    for index in files.indices where isReadable(files[index]) && !files[index].isRefused {
      guard !own.vector.covers(files[index].content.header.target) else { continue }
      note(files[index].item.name, .init(.waitsForOthers, "it builds on files that have not arrived"))
    }
  }

  /// Whether everybody can read a file.
  func isReadable(_ file: Found) -> Bool {
    switch file.state {
    case .verified: true
    case .opened: mailbox.kind == .log
    case .failed: false
    }
  }

  /// Returns the entries that can be read.
  private func shelf() -> MailboxShelf {
    MailboxShelf(kind: mailbox.kind, files.filter(isReadable).map(\.shelved))
  }

  // MARK: Identity

  /// Gives up the replica id if a file leads to more of this replica than the store has: then the store is an older
  /// copy of itself, and what it writes next would have the numbers of something else. The name is enough to tell; the
  /// file need not have arrived.
  private mutating func noticeOlderCopy() throws {
    guard let replica = own.replica else { return }
    let isKnown =
      names.contains { $0.replica == replica && $0.sequence > own.vector[replica] }
      || files.contains { isReadable($0) && $0.content.header.target[replica] > own.vector[replica] }
      || relative.contains { isVerified($0.item) && $0.header.target(of: replica) ?? 0 > own.vector[replica] }
    guard isKnown else { return }
    try renewReplica("a file in \(mailbox.name) knows more of this store than the store itself: it is an older copy")
  }

  private func isVerified(_ item: MailboxItem) -> Bool { memory[item.name]?.isVerified == true }

  mutating func renewReplica(_ reason: String) throws {
    guard own.replica != nil else { return }
    try store.renewReplica(because: reason)
    own = try store.summary()
  }
}
