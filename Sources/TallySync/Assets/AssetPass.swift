import Foundation
import TallyAssets
import TallyCRDT
import TallyStore
import TallyWire

/// The part of a pass through a mailbox that exchanges files, after the records: gets those that somebody waits for, and
/// puts those that the mailbox lacks.
///
/// A file is put whole or not at all, and is here whole or not at all, so a pass may end anywhere. What has come of one
/// stays, and the next pass goes on from there.
struct AssetPass {
  private let mailbox: any Mailbox
  private let assets: Assets
  private let store: Store
  private let folder: AssetFolder
  private let places: AssetPlaces
  private let use: AssetUse
  private let reader: MailboxReader
  /// The files of the place by the names that it lists them under; nil for a log, which is asked for each.
  private var listed: [AssetName: MailboxItem]?
  /// The files that the place is known to have.
  private var reached: Set<AssetName>

  /// Nil if the store has no folder, or neither files nor fields for them.
  init?(_ store: Store, _ mailbox: any Mailbox) throws {
    guard store.file != nil, try store.assets.folder.exists || store.assets.areDeclared else { return nil }
    (self.store, self.mailbox, assets) = (store, mailbox, store.assets)
    folder = try assets.folder
    places = try assets.places()
    use = try assets.use()
    reader = MailboxReader(mailbox: mailbox)
    reached = try places.reached(at: mailbox.identity, since: store.now)
  }

  mutating func run(into report: inout MailboxReport) async throws {
    try await list()
    try await getAll(&report)
    try await putAll(&report)
    if report.isComplete { try await removeUnnamed(&report) }
    report.assets.missing = use.shown.count { !folder.has($0) }
  }

  // MARK: Looking around

  private mutating func list() async throws {
    guard mailbox.kind == .folder else { return }
    var (found, cursor): ([AssetName: MailboxItem], MailboxCursor?) = ([:], nil)
    while true {
      try Task.checkCancellation()
      let page = try await mailbox.changes(after: cursor)
      for item in page.items {
        if let name = AssetFileName(item.name) { found[name.asset] = item }
      }
      guard page.hasMore, let next = page.cursor, next != cursor, found.count < MailboxLimits.files else { break }
      cursor = next
    }
    listed = found
    // What has not arrived as a whole may never do so. Where the place tells no sizes, what was put there or read counts.
    let known = reached
    reached = Set(
      found.filter { name, item in
        item.state != .notAFile && item.state != .removed
          && item.byteCount.map { $0 == name.byteCount } ?? known.contains(name)
      }.keys)
    for name in known.subtracting(reached) { try places.forget(name, at: mailbox.identity) }
    try places.note(reached, at: mailbox.identity, store.now)
  }

  /// Whether the place has a file. A log is asked for its end, which is no byte.
  private mutating func has(_ name: AssetName) async throws -> Bool {
    if reached.contains(name) { return true }
    guard listed == nil else { return false }
    do {
      for try await piece in try await mailbox.get(AssetFileName(name).text, from: name.byteCount) where !piece.isEmpty {
        return false
      }
    } catch let error as MailboxError where [.noSuchFile, .contentLost].contains(error.code) {
      return false
    }
    try note(name)
    return true
  }

  private mutating func note(_ name: AssetName) throws {
    reached.insert(name)
    try places.note([name], at: mailbox.identity, store.now)
  }

  // MARK: Getting

  private mutating func getAll(_ report: inout MailboxReport) async throws {
    let wanted = try use.eager.union(places.wishes()).filter { !folder.has($0) }
    report.assets.wanted = wanted.count
    for name in wanted.sorted(by: { ($0.byteCount, $0.text) < ($1.byteCount, $1.text) }) {
      try Task.checkCancellation()
      do {
        if let listed {
          guard listed[name] != nil else { continue }
        } else {
          guard try await has(name) else { continue }
        }
        if listed?[name]?.state == .notDownloaded {
          report.pending.append(.init(name: name.text, reason: .notDownloaded, message: "it is not on this device yet"))
          continue
        }
        try await get(name, &report)
        report.assets.wanted -= 1
      } catch let error as MailboxError where [.noSuchFile, .contentLost, .unreadable].contains(error.code) {
        reached.remove(name)
        try places.forget(name, at: mailbox.identity)
        report.pending.append(.init(name: name.text, reason: .unreadable, message: error.message))
      } catch let error as AssetError where [.wrongContent, .missing].contains(error.code) {
        report.pending.append(.init(name: name.text, reason: .incomplete, message: error.message))
      }
    }
  }

  private mutating func get(_ name: AssetName, _ report: inout MailboxReport) async throws {
    let download = try AssetDownloading(name, in: folder)
    for try await piece in try await mailbox.get(AssetFileName(name).text, from: download.byteCount) {
      try Task.checkCancellation()
      report.bytesRead += piece.count
      try download.append(piece[...])
    }
    try download.finish()
    try places.noteArrival(name)
    try note(name)
    report.assets.taken.append(name)
    AssetNews.arrivals.tell(folder.path)
  }

  // MARK: Putting

  private mutating func putAll(_ report: inout MailboxReport) async throws {
    let here = try folder.named(use)
    report.assets.unsent = here.count { !reached.contains($0) }
    for name in here {
      try Task.checkCancellation()
      let wasKnown = reached.contains(name)
      if try await !has(name) {
        let source = try AssetSource(folder.path(of: name), followsLinks: false)
        // A file that has been damaged since must not stand under its name everywhere.
        guard try Hexadecimal.text(source.hash()) == name.hash else {
          report.pending.append(.init(name: name.text, reason: .incomplete, message: "this device's file is damaged"))
          continue
        }
        let upload = MailboxUpload(name: AssetFileName(name).text, byteCount: name.byteCount) { offset, count in
          try source.bytes(from: offset, count: count)
        }
        _ = try await mailbox.put(upload)
        try note(name)
        report.bytesWritten += name.byteCount
        report.assets.written.append(name)
      }
      if !wasKnown { report.assets.unsent -= 1 }
    }
  }

  // MARK: Removing

  /// Removes what nothing here has named for a restore window: by then others have sent what names it.
  private func removeUnnamed(_ report: inout MailboxReport) async throws {
    guard let listed else { return }
    let unnamed = listed.keys.filter { !use.names($0.hash) }
    let since = try places.note(unnamed: Set(unnamed), at: mailbox.identity, store.now)
    let days = max(1, store.options.compaction.restoreWindow.days)
    let limit = store.now.addingTimeInterval(-Double(days) * 86_400)
    let old = unnamed.filter { name in since[name].map { $0 < limit } ?? false }
    guard !old.isEmpty else { return }
    try await mailbox.remove(old.map { AssetFileName($0).text })
    report.assets.removed += old.sorted { $0.text < $1.text }
  }
}

/// What a pass through a mailbox has done with files.
public struct AssetTransfers: Sendable, Equatable {
  /// The files that have come.
  public var taken: [AssetName] = []
  /// The files that were put.
  public var written: [AssetName] = []
  /// The files that were removed because nothing has named them for a restore window.
  public var removed: [AssetName] = []
  /// The number of files on this device that the mailbox is not known to have.
  public var unsent = 0
  /// The number of files that this device waits for and the mailbox does not have: those of eager fields, and those
  /// that somebody has asked for.
  public var wanted = 0
  /// The number of files that records name and that are not on this device, whether it waits for them or not.
  public var missing = 0

  /// Creates a report of a pass that found no files.
  public init() {}
}
