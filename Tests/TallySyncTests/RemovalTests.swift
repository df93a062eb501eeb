import Foundation
import Synchronization
import Tally
import TallyCRDT
import TallyTesting
import TallyWire
import Testing

@testable import TallyStore
@testable import TallySync

/// What was removed for good is gone from wherever this device has put it: files beside the store, and mailboxes.
@Suite(.timeLimit(.minutes(5))) struct RemovalTests {
  private let folder = SharedRoot()
  private let day = Day()

  /// Of two sessions that offer one part, the second has nothing to go on with, and keeps no part that begins in the
  /// middle.
  @Test func nothingIsKeptBehindAPartThatIsGone() throws {
    let store = try store("a")
    func begin() throws -> (StoreWork, [UInt64]) {
      let work = StoreWork(store)
      guard case .started(_, let parts) = try work.start() else { return (work, []) }
      return (work, parts.map(\.byteCount))
    }
    let (first, _) = try begin()
    try first.keep([UInt8](repeating: 1, count: 100_000))
    first.end(isKept: true)
    let ((one, _), (other, offered)) = (try begin(), try begin())
    #expect(offered == [100_000])
    try one.resume(100_000)
    #expect(throws: SyncError.self) { try other.resume(100_000) }
    try other.keep([UInt8](repeating: 2, count: 70_000))
    other.end(isKept: true)
    one.end(isKept: true)
    let (last, left) = try begin()
    #expect(left == [100_000])
    last.end(isKept: false)
  }

  /// A device's store in a file.
  private func store(_ name: String) throws -> Store {
    var options = StoreOptions()
    options.detectsCopies = false
    options.now = { [day] in day.date }
    return try Store(path: folder.path(name), schema: Schema(Note.self), options: options)
  }

  private static let name = RecordName<Note>()
  private static let canary = "canary-\(UUID().uuidString)-"

  /// A text that no compression makes small, so that transfers of it can break off.
  private static func secret(_ bytes: Int) -> String {
    var random = SystemRandomNumberGenerator()
    return canary + (0..<bytes).map { _ in "\(UInt8.random(in: 0...9, using: &random))" }.joined()
  }

  private func insert(_ text: String, _ store: Store) throws {
    try store.write { try Note(id: Self.name, text: text).insert($0) }
  }

  private func purge(_ store: Store) throws {
    try store.write { _ = try Note.deleteOne($0, id: Self.name) }
    #expect(try store.purge(Self.name).emptied == 1)
  }

  private func isEmptied(_ store: Store) throws -> Bool {
    try store.history(of: Self.name.name)?.fields.isEmpty == true
  }

  // MARK: Mailboxes

  /// Files that cover what was removed do not hold it. Three devices, of which two put something.
  @Test(arguments: [MailboxKind.folder, .log]) func aPurgeReplacesWhatThisDeviceHasPut(_ kind: MailboxKind) async throws
  {
    let (files, log) = (MemoryMailbox(), MemoryLog())
    let mailbox: any Mailbox = kind == .log ? log : files
    func names() -> [String] { kind == .log ? log.names : files.files.map(\.name) }
    let (a, b, c) = (try store("a"), try store("b"), try store("c"))
    try insert(Self.secret(100), a)
    for store in [a, b, c] { try await store.sync(through: mailbox) }
    let first = names()
    try purge(a)
    for store in [a, b, c] { try await store.sync(through: mailbox) }
    // The snapshot is there. A drive may carry a removal first, so the old file stays for a day in a folder.
    #expect(names().contains { $0.hasSuffix(".snapshot") && !first.contains($0) })
    try await a.sync(through: mailbox)
    #expect(names().contains(first[0]) == (kind == .folder))
    day.pass(1)
    for store in [a, b, c] { try await store.sync(through: mailbox) }
    #expect(!names().contains(first[0]))
    // Nobody needs what is gone, and it puts nothing more.
    let late = try store("late")
    #expect(try await late.sync(through: mailbox).pending.isEmpty)
    #expect(try late.vector == a.vector && isEmptied(late))
    let rest = names()
    for store in [a, b, c, late] { #expect(try await store.sync(through: mailbox).written.isEmpty) }
    #expect(names() == rest)
  }

  /// A device that has written nothing yet puts what it has under no id. Whoever purges sees to that as well.
  @Test func aFileOfADeviceWithoutAnIDIsReplaced() async throws {
    let mailbox = MemoryMailbox()
    let (a, b) = (try store("a"), try store("b"))
    try insert(Self.secret(100), a)
    try await b.sync(with: a)
    try await b.sync(through: mailbox)
    #expect(mailbox.files.count == 1)
    try purge(b)
    try await b.sync(through: mailbox)
    day.pass(1)
    for store in [b, a, b] { try await store.sync(through: mailbox) }
    for file in mailbox.files {
      let header = try DeltaReader([UInt8](file.bytes)).header
      #expect(try header.target.covers(b.removals().all), "\(file.name)")
    }
  }

  /// A device that has taken another id, because its file was put back from a backup, sees to what it had put before.
  @Test(arguments: [MailboxKind.folder, .log]) func aFileUnderAFormerIDIsReplaced(_ kind: MailboxKind) async throws {
    let (files, log) = (MemoryMailbox(), MemoryLog())
    let mailbox: any Mailbox = kind == .log ? log : files
    func names() -> [String] { kind == .log ? log.names : files.files.map(\.name) }
    let (a, b) = (try store("a"), try store("b"))
    try insert(Self.secret(100), a)
    for store in [a, b] { try await store.sync(through: mailbox) }
    let first = names()
    #expect(first.count == 1)
    try a.replicate { try $0.renewReplica(because: "the file was put back") }
    try purge(a)
    try await a.sync(through: mailbox)
    #expect(try a.summary().replica != nil && !first[0].contains("\(a.summary().replica!)"))
    day.pass(1)
    for store in [a, b, a] { try await store.sync(through: mailbox) }
    #expect(!names().contains(first[0]))
    let late = try store("late")
    try await late.sync(through: mailbox)
    #expect(try late.vector == a.vector && isEmptied(late))
  }

  /// Compaction does not put a snapshot every day.
  @Test func compactionReplacesOnceInAWindow() async throws {
    let mailbox = MemoryMailbox()
    let a = try store("a")
    var snapshots: [Int] = []
    for number in 0..<70 {
      let name = RecordName<Note>()
      try await a.write { try Note(id: name, text: Self.secret(10)).insert($0) }
      try await a.write { _ = try Note.deleteOne($0, id: name) }
      try a.noteShared(a.vector)
      try a.compactIfDue()
      let written = try await a.sync(through: mailbox).written
      if written.contains(where: { $0.hasSuffix(".snapshot") }) { snapshots.append(number) }
      day.pass(1)
    }
    // The first file is one. What was deleted first goes on day 31, and its file is replaced 30 days later.
    #expect(snapshots == [0, 61])
    let emptied = try a.removals().all
    #expect(!emptied.isEmpty)
  }

  // MARK: Files beside the store

  /// A purge that was received leaves nothing in the log, while the store stays open.
  @Test func aReceivedPurgeIsInNoFileOfAnOpenStore() throws {
    let (a, b) = (try store("a"), try store("b"))
    try insert(Self.secret(40), a)
    try a.sync(with: b)
    try purge(a)
    try a.sync(with: b)
    try folder.expectNowhere(Self.canary)
    #expect(try b.removals().all == a.removals().all && b.removals().purges.isEmpty)
    #expect(try !a.removals().isUnfinished && !b.removals().isUnfinished)
  }

  /// While somebody reads an older state the log stays, and is emptied later.
  @Test func aLogThatIsReadIsEmptiedLater() throws {
    let a = try store("a")
    try insert(Self.secret(40), a)
    do {
      let reading = try a.makeSnapshot()
      try purge(a)
      #expect(try a.removals().isUnfinished)
      #expect(try reading.read { try Note.fetchCount($0) } == 1)
    }
    try a.compactIfDue()
    #expect(try !a.removals().isUnfinished)
    try folder.expectNowhere(Self.canary)
  }

  /// Transfers that lost their connections, both the sender's and the receiver's part.
  @Test(arguments: [false, true]) func unfinishedTransfersGoWithAPurge(isReceived: Bool) throws {
    let (a, b) = (try store("a"), try store("b"))
    try insert(Self.secret(400_000), a)
    let delta = try a.delta()
    for (name, kind) in [("a", TransferShelf.Kind.outgoing), ("b", .incoming)] {
      let shelf = TransferShelf(besides: folder.path(name))
      let spool = shelf.spool(kind)
      try spool.append(Array(delta.prefix(100_000)))
      try shelf.keep(spool, kind)
      #expect(!folder.files(name + FileRole.transfers).isEmpty)
    }
    if isReceived {
      try b.apply(delta)
      try purge(b)
      try a.apply(try b.delta())
    } else {
      try purge(a)
      try b.apply(try a.delta())
      // It never had the record, so nothing was removed there; what it has received in part is of no use any more.
      #expect(folder.files("b" + FileRole.transfers).count == 1)
    }
    #expect(folder.files("a" + FileRole.transfers).isEmpty)
    #expect(!isReceived || folder.files("b" + FileRole.transfers).isEmpty)
  }

  /// A device that is put back to a backup from before the purge gets rid of the content with its next sync.
  @Test func aBackupThatIsPutBackIsCleanAfterASync() async throws {
    let mailbox = FolderMailbox(folder.url("shared"))
    let (a, b) = (try store("a"), try store("b"))
    var c = try store("c")
    try insert(Self.secret(40), a)
    for store in [a, b, c, a] { try await store.sync(through: mailbox) }
    try await c.sync(with: b)
    try c.close()
    try folder.copy("c", to: "backup")
    c = try store("c")
    try purge(b)
    for store in [b, a, c] { try await store.sync(through: mailbox) }
    try c.close()
    try folder.copy("backup", to: "c")
    try folder.remove("backup")
    c = try store("c")
    #expect(try !isEmptied(c))
    for _ in 0..<3 {
      for store in [c, a, b] { try await store.sync(through: mailbox) }
      day.pass(31)
    }
    for store in [a, b, c] { #expect(try isEmptied(store)) }
    #expect(try a.vector == c.vector && a.vector == b.vector)
    try folder.expectNowhere(Self.canary)
    // Files of the mailbox are compressed, so their bytes do not tell: all that is left has seen the purge.
    for item in try mailbox.list(prefix: "tally") {
      let header = try DeltaReader(try folder.bytes("shared/" + item.name)).header
      #expect(header.target.covers(try b.removals().all), "\(item.name)")
    }
  }
}

/// A clock that tells days.
private final class Day: Sendable {
  private let days = Mutex(20_000)
  var date: Date { Date(timeIntervalSince1970: Double(days.withLock { $0 }) * 86_400 + 3_600) }
  func pass(_ count: Int) { days.withLock { $0 += count } }
}

/// A folder with the stores of some devices, which disappears with the test.
private final class SharedRoot: Sendable {
  private let root = FileManager.default.temporaryDirectory.appendingPathComponent(
    "tally-removals-\(UUID().uuidString)")

  init() { try? FileManager.default.createDirectory(at: url("shared"), withIntermediateDirectories: true) }
  deinit { try? FileManager.default.removeItem(at: root) }

  func url(_ name: String) -> URL { root.appendingPathComponent(name) }
  func path(_ name: String) -> String { url(name).path }
  func bytes(_ name: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: url(name))) }

  func files(_ name: String) -> [String] { (try? FileManager.default.contentsOfDirectory(atPath: path(name))) ?? [] }

  func remove(_ name: String) throws { try FileManager.default.removeItem(at: url(name)) }

  /// Puts a closed store's file in the place of another.
  func copy(_ name: String, to other: String) throws {
    for suffix in ["", "-wal", "-shm", "-incarnation"] { try? remove(other + suffix) }
    try FileManager.default.copyItem(at: url(name), to: url(other))
  }

  /// No file has these bytes in it.
  func expectNowhere(_ text: String, sourceLocation: Testing.SourceLocation = #_sourceLocation) throws {
    let found = try #require(FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil))
    for case let file as URL in found {
      guard let bytes = try? Data(contentsOf: file) else { continue }
      #expect(
        bytes.range(of: Data(text.utf8)) == nil, "it is in \(file.lastPathComponent)", sourceLocation: sourceLocation)
    }
  }
}
