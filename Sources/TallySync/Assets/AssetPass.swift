import Foundation
import TallyAssets
import TallyCRDT
import TallySchema
import TallyStore

/// The part of a pass through a mailbox that exchanges files, after the records: gets those that are waited for,
/// and puts those that the mailbox lacks.
///
/// A file is put whole or not at all, and is here whole or not at all, so a pass may end anywhere. What has come of one
/// stays, and the next pass goes on from there. Trouble with one file is reported and keeps no other from travelling.
struct AssetPass {
  private let mailbox: any Mailbox
  private let store: Store
  private let folder: AssetFolder
  private let places: AssetPlaces
  private let use: AssetUse
  /// When it lets records go first, and the number of files so far.
  private let end: ContinuousClock.Instant
  private var fileCount = 0
  /// The files of the place by their names; nil for a log, which is asked for each.
  private var listed: [AssetName: MailboxItem]?
  /// The entries by which devices doubt the place's content of a file.
  private var doubts: [AssetName: MailboxItem] = [:]
  /// The files that a device has doubted, except those for which this device has answered.
  private var doubted = Set<AssetName>()
  /// The versions of entries that need no further doubt or answer.
  private var settled: [String: String] = [:]
  /// Whether the listing has ended before the place's files did.
  private var isCut = false
  /// The files that the place is known to have.
  private var reached: Set<AssetName>
  /// The wishes from before `use` was read.
  private let earlierWishes: Set<AssetName>
  /// What had removed content before that: a file may be a purged record's since.
  private let removals: StateVector
  /// The file that comes next, if it has begun to.
  private var ahead: (name: AssetName, coming: Result<Coming?, any Error>)?
  private var report = AssetTransfers()
  private var (bytesRead, bytesWritten) = (0, 0)

  /// Nil if the mailbox carries no files, or if the store has no folder, cannot be written to, is damaged, or has
  /// neither files nor records that name any. Notes which names have left with the records, in any mailbox.
  init?(_ store: Store, _ mailbox: any Mailbox, lasting time: Duration) throws {
    guard store.file != nil, !store.options.isReadOnly, try !store.isDamaged else { return nil }
    guard mailbox.carriesAssets else {
      store.assets.noteNames()
      return nil
    }
    guard try store.assets.folder.exists || store.assets.areNamed() else { return nil }
    (self.store, self.mailbox) = (store, mailbox)
    let assets = store.assets
    folder = try assets.folder
    places = try assets.places()
    earlierWishes = try places.wishes()
    removals = try assets.removals()
    use = try assets.use()
    try places.noteNamed(use)
    reached = try places.reached(at: mailbox.identity, since: store.now)
    end = .now + time
  }

  /// - Throws: `MailboxError` of code `unavailable`, `CancellationError`; the report has what was done until then.
  mutating func run(into pass: inout MailboxReport) async throws {
    defer {
      report.failure = pass.assets.failure
      report.missing = use.shown.count { !folder.has($0) }
      (pass.assets, pass.bytesRead) = (report, pass.bytesRead + bytesRead)
      pass.bytesWritten += bytesWritten
    }
    try await list()
    try await getAll()
    try await putAll()
    if pass.isComplete, !isCut { try await removeUnnamed() }
  }

  /// Does something with one file. What goes wrong is noted, unless nothing else can go right.
  private mutating func trying(_ name: AssetName, _ body: (inout Self) async throws -> Void) async throws {
    do {
      try await body(&self)
    } catch let error as MailboxError where error.code == .unavailable {
      throw error
    } catch let error where !(error is CancellationError) && !Task.isCancelled {
      if let error = error as? MailboxError, [.noSuchFile, .contentLost, .unreadable].contains(error.code) {
        reached.remove(name)
        try places.forget(name, at: mailbox.identity)
      }
      if (error as? AssetError)?.code == .wrongContent {
        reached.remove(name)
        try places.note(wrong: name, at: mailbox.identity, store.now)
        try await doubt(name)
      }
      // Another pass is getting it.
      if (error as? AssetError)?.code == .busy { return }
      report.issues.append(AssetTransfers.Issue(name, error))
    }
  }

  // MARK: Looking around

  private mutating func list() async throws {
    guard let files = mailbox as? any FileMailbox else { return }
    let items = try files.list(prefix: AssetFileName.prefix)
    isCut = items.count >= MailboxLimits.files
    var found: [AssetName: MailboxItem] = [:]
    for item in items where item.state != .removed {
      if let name = AssetFileName(item.name) { found[name.asset] = item }
      if let name = AssetFileName(doubt: item.name) { doubts[name.asset] = item }
    }
    listed = found
    settled = try places.settled(at: mailbox.identity)
    if !isCut, !settled.isEmpty {
      let gone = Set(settled.keys).subtracting(items.lazy.filter { $0.state != .removed }.map(\.name))
      try places.forget(settled: gone, at: mailbox.identity)
    }
    doubted = Set(doubts.filter { $1.state != .notAFile && !isSettled($1) }.keys)
    // What has not arrived as a whole may never do so. Where the place tells no sizes, what was put or read counts.
    let known = reached
    reached = Set(
      found.filter { name, item in
        item.state != .notAFile && item.byteCount.map { $0 == name.byteCount } ?? known.contains(name)
      }.keys)
    reached.subtract(try places.wrong(at: mailbox.identity, store.now).union(doubted))
    if isCut { reached.formUnion(known.subtracting(doubted)) }
    for name in known.subtracting(reached) { try forget(name) }
    try places.note(reached, at: mailbox.identity, store.now)
  }

  private func forget(_ name: AssetName) throws { try places.forget(name, at: mailbox.identity) }

  /// A text that changes whenever an entry may have changed: with each day, where the place does not tell.
  private func version(of item: MailboxItem) -> String { item.version ?? "day \(store.today)" }

  private func isSettled(_ item: MailboxItem) -> Bool { settled[item.name] == version(of: item) }

  private mutating func settle(_ item: MailboxItem) throws {
    settled[item.name] = version(of: item)
    try places.note(settled: item.name, version(of: item), at: mailbox.identity)
  }

  /// Whether the place has a file. A log is asked for the last byte.
  private mutating func has(_ name: AssetName) async throws -> Bool {
    if reached.contains(name) { return true }
    guard listed == nil else { return false }
    var count = 0
    do {
      for try await piece in try await mailbox.get(AssetFileName(name).text, from: max(0, name.byteCount - 1)) {
        count += piece.count
      }
    } catch let error as MailboxError where [.noSuchFile, .contentLost].contains(error.code) {
      // What is listed without its content cannot be put again before it is removed.
      if error.code == .contentLost { try await remove([AssetFileName(name).text]) }
      return false
    }
    guard count == min(1, name.byteCount) else { return false }
    try await note(name)
    return true
  }

  /// Notes that the place has a file as it should be, which answers a doubt. Where its entry cannot be removed, that
  /// version of it is answered all the same: the file is not put once more with each pass.
  private mutating func note(_ name: AssetName) async throws {
    reached.insert(name)
    try places.note([name], at: mailbox.identity, store.now)
    guard doubted.remove(name) != nil else { return }
    if let doubt = doubts[name] { try settle(doubt) }
    try await remove(doubtsOf: [name])
  }

  /// Says that what the place has under a name is something else. Devices that have the file then put it once more: by
  /// the listing alone they would believe that the place has it, and evict it. The entry itself stays, since a drive
  /// may still be filling it.
  ///
  /// It says so once of each version of the entry: where a drive gives two devices different bytes for good, the one
  /// would otherwise have the other put the file each hour.
  private mutating func doubt(_ name: AssetName) async throws {
    guard let item = listed?[name], !isSettled(item) else { return }
    // What another device says of this version need not be said again. But where this one has doubted an earlier
    // version, the doubt that is there may be that one, answered by devices that could not remove it.
    guard !doubted.contains(name) || settled[item.name] != nil else { return try settle(item) }
    do {
      guard doubts[name]?.state != .notAFile else {
        throw MailboxError(.notAFile, "something else than a file has the name of its doubt")
      }
      // Some drives do not carry empty files.
      let upload = MailboxUpload(name: AssetFileName(name).doubt, bytes: Array("\(name)\n".utf8))
      _ = try await mailbox.put(upload)
      doubted.insert(name)
      try settle(item)
    } catch let error as MailboxError where error.code != .unavailable {
      report.issues.append(AssetTransfers.Issue(name, error))
    }
  }

  private mutating func remove(doubtsOf names: [AssetName]) async throws {
    guard !names.isEmpty else { return }
    do {
      try await remove(names.map { AssetFileName($0).doubt })
    } catch let error as MailboxError where error.code != .unavailable {
      report.issues += names.map { AssetTransfers.Issue($0, error) }
    }
  }

  /// Removes entries, also those that a drive has taken from this device's disk.
  private func remove(_ entries: [String]) async throws {
    let placeholders = Result { try (mailbox as? FolderMailbox)?.removePlaceholders(of: entries) }
    try await mailbox.remove(entries)
    try placeholders.get()
  }

  // MARK: Getting

  private mutating func getAll() async throws {
    let wrong = try places.wrong(at: mailbox.identity, store.now)
    let wanted = try places.wants(use, wishedBefore: earlierWishes, in: folder).names
    report.wanted = wanted.count
    defer { ahead = nil }
    for (index, name) in wanted.enumerated() {
      try Task.checkCancellation()
      guard !isOver() else { return }
      if wrong.contains(name) {
        report.issues.append(
          AssetTransfers.Issue(name: name, code: "wrongContent", message: "the mailbox has had something else"))
        continue
      }
      let next = wanted[(index + 1)...].first { !wrong.contains($0) }
      try await trying(name) { try await $0.getIfThere(name, before: next) }
    }
  }

  private mutating func getIfThere(_ name: AssetName, before next: AssetName?) async throws {
    guard !folder.has(name) else {
      report.wanted -= 1
      return
    }
    if let listed {
      guard let item = listed[name] else { return }
      if item.state == .notDownloaded {
        // Asking for it is what brings it.
        (mailbox as? FolderMailbox)?.requestDownload(of: item.name)
        throw MailboxError(.unreadable, "it is not on this device yet")
      }
    }
    do {
      guard try await get(name, before: next) else {
        report.wanted -= 1
        return
      }
    } catch let error as MailboxError where listed == nil && !reached.contains(name) {
      // A log has not listed it, and may not have it.
      if error.code == .noSuchFile { return }
      if error.code == .contentLost, try await !has(name) { return }
      throw error
    }
    report.taken.append(name)
    report.wanted -= 1
    AssetNews.arrivals.tell(folder.path)
    try await note(name)
  }

  /// A file that comes: what there is of it, and the pieces that follow.
  private struct Coming {
    let download: AssetDownloading
    let pieces: any AsyncSequence<[UInt8], any Error>
  }

  /// Nil if its record was removed for good meanwhile.
  private func begin(_ name: AssetName) async throws -> Coming? {
    guard try store.assets.isNamed(name, since: removals) else { return nil }
    let download = try AssetDownloading(name, in: folder) { try Task.checkCancellation() }
    let pieces = try await mailbox.get(AssetFileName(name).text, from: download.byteCount)
    return Coming(download: download, pieces: pieces)
  }

  /// Has a log send the beginning of the next file while this one is written to the disk. What goes wrong with it is
  /// for its own turn.
  private mutating func beginAhead(_ name: AssetName?) async {
    guard listed == nil, let name, ContinuousClock.now < end, !folder.has(name) else { return }
    do {
      ahead = (name, .success(try await begin(name)))
    } catch {
      ahead = (name, .failure(error))
    }
  }

  /// - Returns: whether it is here. It does not come if its record was removed for good meanwhile.
  private mutating func get(_ name: AssetName, before next: AssetName?) async throws -> Bool {
    let begun = ahead
    ahead = nil
    guard let coming = try await begun?.name == name ? begun?.coming.get() : begin(name) else { return false }
    let download = coming.download
    do {
      for try await piece in coming.pieces {
        try Task.checkCancellation()
        bytesRead += piece.count
        try download.append(piece[...])
      }
      await beginAhead(next)
      guard try download.finish() else { return true }
    } catch let error as AssetError where error.code == .wrongContent && download.isResumed {
      // What is wrong may have come from another place. Nothing of it is left.
      return try await get(name, before: nil)
    } catch let error as AssetError where error.code == .changed {
      // A purge removes what has come as well.
      guard try store.assets.isNamed(name, since: removals) else { return false }
      throw error
    }
    try places.noteArrival(name)
    return try store.assets.takeBack([name], since: removals).isEmpty
  }

  /// Whether it has taken its time. Then records go first, and the next pass goes on. One file travels each time.
  private mutating func isOver() -> Bool {
    defer { fileCount += 1 }
    guard fileCount > 0, ContinuousClock.now >= end else { return false }
    report.isUnfinished = true
    return true
  }

  // MARK: Putting

  private mutating func putAll() async throws {
    let here = try folder.named(use)
    report.unsent = here.count { !reached.contains($0) }
    for name in here where !reached.contains(name) {
      try Task.checkCancellation()
      guard !isOver() else { return }
      try await trying(name) { try await $0.putIfMissing(name) }
    }
  }

  private mutating func putIfMissing(_ name: AssetName) async throws {
    // A link is another program's, as git-annex leaves it, and stays like a folder or a pipe.
    if listed?[name]?.state == .notAFile { throw MailboxError(.notAFile, "it is not a plain file") }
    if try await !has(name) {
      let source = try AssetSource(folder.path(of: name), followsLinks: false)
      // A file that has been damaged since must not stand under its name everywhere, nor here.
      guard try Hexadecimal.text(source.hash { _ in try Task.checkCancellation() }) == name.hash else {
        let isAside = try folder.putAsideIfDamaged(name) { try Task.checkCancellation() }
        if isAside { report.unsent -= 1 }
        throw AssetError(.damaged, "this device's file was damaged\(isAside ? ", and was put aside" : "")")
      }
      var upload = MailboxUpload(name: AssetFileName(name).text, byteCount: name.byteCount) { offset, count in
        try Task.checkCancellation()
        return try source.bytes(from: offset, count: count)
      }
      upload.largestPiece = 1 << 20
      _ = try await mailbox.put(upload)
      bytesWritten += name.byteCount
      report.written.append(name)
      try await note(name)
    }
    report.unsent -= 1
  }

  // MARK: Removing

  /// Removes what nothing here has named on as many days as the restore window has: by then others have sent what names
  /// it.
  private mutating func removeUnnamed() async throws {
    guard let listed, try !store.isDamaged else { return }
    // What is no file is not ours to remove.
    let unnamed = listed.filter { $0.value.state != .notAFile && !use.names($0.key.hash) }.map(\.key)
    let days = try places.note(unnamed: Set(unnamed), at: mailbox.identity, store.now)
    let window = max(1, store.options.compaction.restoreWindow.days)
    let old = unnamed.filter { days[$0] ?? 0 >= window }.sorted { $0.text < $1.text }
    for name in old { try forget(name) }
    if !old.isEmpty { try await remove(old.map { AssetFileName($0).text }) }
    report.removed = old
    // Without its file a doubt says nothing. But that may still come, as drives bring files in any order.
    let ours = doubts.filter { $1.state != .notAFile }.keys
    let lone = Set(ours.filter { listed[$0] == nil })
    let loneDays = try places.note(unnamed: lone, at: "\(mailbox.identity) doubts", store.now)
    let idle = ours.filter { loneDays[$0] ?? 0 >= AssetPlaces.days || old.contains($0) }
    try await remove(doubtsOf: idle.sorted { $0.text < $1.text })
  }
}

/// The files that a session or a pass through a mailbox has transferred, and those that are still to be transferred.
public struct AssetTransfers: Sendable, Equatable {
  /// A file that could not be got or put. The next session or pass tries again.
  public struct Issue: Sendable, Hashable {
    /// The name of the file in question.
    public var name: AssetName
    /// The code of the error, such as `wrongContent`.
    public var code: String
    /// The reason in words, for a log.
    public var message: String

    init(name: AssetName, code: String, message: String) {
      (self.name, self.code, self.message) = (name, code, message)
    }

    init(_ name: AssetName, _ error: any Error) {
      let error = error as? any TallyError
      self.init(name: name, code: error?.code.rawValue ?? "failed", message: error?.message ?? "it failed")
    }
  }

  /// The files that have come.
  public var taken: [AssetName] = []
  /// The files that were put, or given to the peer.
  public var written: [AssetName] = []
  /// The files that were removed because nothing has named them for a restore window.
  public var removed: [AssetName] = []
  /// The files that could not be got or put.
  public var issues: [Issue] = []
  /// The number of files on this device that the mailbox is not known to have; 0 for a session.
  public var unsent = 0
  /// The number of files that this device waits for and that have not come: those of eager fields, and those that the
  /// app has asked for.
  public var wanted = 0
  /// The number of files that records name and that are not on this device, whether it waits for them or not.
  public var missing = 0
  /// Whether the pass or session has ended before all files had travelled, so that records need not wait. An engine
  /// begins the next one at once.
  public var isUnfinished = false

  /// Why no further file could travel, for a log; nil if all could be tried. Records are not affected.
  public var failure: String?

  /// Creates a report of a pass that found no files.
  public init() {}
}
