import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyStore
import TallyTesting
import TallyWire
import Testing

@testable import TallySync

/// What a store remembers of a mailbox, and when it must not rely on it.
@Suite(.timeLimit(.minutes(5))) struct MailboxMemoryTests {
  /// A log and a folder, as most laws hold for both.
  enum Place: String, CaseIterable {
    case log, folder

    func make() -> any Mailbox {
      switch self {
      case .log: MemoryLog()
      case .folder: MemoryMailbox(identity: "folder")
      }
    }
  }

  /// A place with a chain of deltas in it, and who put them.
  private func chain(_ count: Int, _ mailbox: any Mailbox) async throws -> Store {
    let store = try World.store()
    for number in 0..<count {
      try World.insert(1, "link \(number)", store)
      try await store.sync(through: mailbox)
    }
    return store
  }

  // MARK: Nothing is read twice

  @Test(arguments: Place.allCases) func aSecondPassReadsNothingInAnotherProcessEither(_ place: Place) async throws {
    let (mailbox, files) = (CountingMailbox(place.make()), try SharedFolder())
    let a = try await chain(5, mailbox)
    var b = try files.store("b")
    try World.insert(2, "b", b)
    try await b.sync(through: mailbox)
    // What a folder's owner has put is read back once, to see whether it can be.
    for store in [a, b] { try await store.sync(through: mailbox) }
    for _ in 0..<2 {
      try b.close()
      b = try files.store("b")
      mailbox.reset()
      let report = try await b.sync(through: mailbox)
      #expect(mailbox.bytesReadByName == [:])
      #expect(report.taken == [] && report.written == [] && report.isComplete && report.bytesRead == 0)
    }
    // Of what is new, only that.
    try World.insert(1, "new", a)
    let written = try await a.sync(through: mailbox).written
    mailbox.reset()
    #expect(try await b.sync(through: mailbox).taken == written)
    #expect(Set(mailbox.bytesReadByName.keys) == Set(written))
  }

  @Test func aRealFolderIsNotReadTwiceByTheNextProcess() async throws {
    let folder = try SharedFolder()
    for number in 0..<3 {
      let store = try World.store(notes: 3, "device \(number)")
      try await store.sync(through: folder.mailbox)
    }
    var store = try folder.store("a")
    try await store.sync(through: folder.mailbox)
    try store.close()
    store = try folder.store("a")
    let counting = CountingMailbox(FolderMailbox(folder.url))
    let report = try await store.sync(through: counting)
    #expect(report == MailboxReport() && counting.bytesReadByName == [:])
    #expect(try World.count(store) == 9)
  }

  @Test(arguments: Place.allCases) func aPassThatFindsNothingWritesNothingToTheStore(_ place: Place) async throws {
    let (mailbox, files) = (place.make(), try SharedFolder())
    _ = try await chain(3, mailbox)
    let store = try files.store("b")
    for _ in 0..<2 { try await store.sync(through: mailbox) }
    // Another connection sees whether this one has committed.
    let other = try DatabaseQueue(path: files.root.appendingPathComponent("b").path)
    let version = try await other.read { try Int.fetchOne($0, sql: "PRAGMA data_version") }
    try await store.sync(through: mailbox)
    #expect(try await other.read { try Int.fetchOne($0, sql: "PRAGMA data_version") } == version)
    try World.insert(1, "new", store)
    #expect(try await other.read { try Int.fetchOne($0, sql: "PRAGMA data_version") } != version)
  }

  // MARK: Content and memory of it

  /// The power goes at each call that changes the disk, one after the other.
  @Test(arguments: Place.allCases) func aPowerCutNeverLeavesAMemoryOfWhatIsNotThere(_ place: Place) async throws {
    let mailbox = place.make()
    let a = try await chain(2, mailbox)
    var generator = SystemOrder(state: 7)
    for call in 1... {
      let disk = SimulatedDisk()
      var store = try disk.store(schema: Schema(Note.self))
      let before = disk.calls
      disk.inject(.powerFailure, atCall: call)
      let isWhole: Bool
      do {
        try await store.sync(through: mailbox)
        isWhole = true
      } catch {
        isWhole = false
      }
      let made = disk.calls - before
      disk.powerCut(using: &generator)
      store = try disk.store(schema: Schema(Note.self))
      let (memory, vector) = (try MailboxMemory(of: mailbox, in: store), try store.vector)
      for (name, entry) in memory.entries where entry.isJoined {
        #expect(vector.covers(try #require(entry.content).header.target), "\(name), after call \(call)")
      }
      try await store.sync(through: mailbox)
      #expect(try World.dump(store) == World.dump(a), "after call \(call)")
      if isWhole, made < call { break }
    }
  }

  /// What is noted goes with the transaction that applies, whichever way that ends.
  @Test func whatIsNotAppliedIsNotNoted() throws {
    let (a, b) = (try World.store(notes: 3), try World.store())
    let bytes = try a.delta()
    var pieces = [Array(bytes.prefix(bytes.count / 2)), nil]
    #expect(throws: WireError.self) {
      try b.apply(
        from: { pieces.removeFirst() }, isRepair: true, refusesMismatch: false, noting: NoteBatch("place", ["key": [1]])
      )
    }
    #expect(try b.notes("place").values == [:])
    var whole: [UInt8]? = bytes
    _ = try b.apply(
      from: {
        defer { whole = nil }
        return whole
      }, isRepair: true, refusesMismatch: false, noting: NoteBatch("place", ["key": [1]]))
    #expect(try b.notes("place").values == ["key": [1]])
    #expect(try World.count(b) == 3)
  }

  @Test(arguments: Place.allCases) func aCopyOfAFileGoesOnWithItsMemory(_ place: Place) async throws {
    let (mailbox, files) = (CountingMailbox(place.make()), try SharedFolder())
    let a = try await chain(3, mailbox)
    var store = try files.store("b")
    for _ in 0..<2 { try await store.sync(through: mailbox) }
    try store.close()
    try files.copyStore("b", to: "copy")
    store = try files.store("b")
    let copy = try files.store("copy")
    mailbox.reset()
    #expect(try await copy.sync(through: mailbox).bytesRead == 0 && mailbox.bytesRead == 0)
    // Each goes its own way from there, and neither leaves out what the other put.
    try World.insert(1, "in the copy", copy)
    try World.insert(1, "in the original", store)
    for one in [copy, store, copy, a, store, copy, a] { try await one.sync(through: mailbox) }
    try MailboxWorld.expectEqual([a, store, copy])
    #expect(try World.count(a) == 5)
  }

  @Test(arguments: Place.allCases) func aFileThatWasSetBackReadsAgainWhatItHasForgotten(_ place: Place) async throws {
    let (mailbox, files) = (place.make(), try SharedFolder())
    let a = try await chain(2, mailbox)
    var store = try files.store("b")
    try await store.sync(through: mailbox)
    try store.close()
    try files.copyStore("b", to: "backup")
    store = try files.store("b")
    try World.insert(3, "since", a)
    try await a.sync(through: mailbox)
    try await store.sync(through: mailbox)
    try store.close()
    try files.copyStore("backup", to: "b")
    store = try files.store("b")
    #expect(try await store.sync(through: mailbox).taken.count == 1)
    try MailboxWorld.expectEqual([a, store])
  }

  // MARK: Damage costs reading again

  @Test(arguments: [
    "UPDATE tally_note SET value = x'00'", "DELETE FROM tally_note WHERE key = ''",
    "DELETE FROM tally_note WHERE key = '/'",
    "DELETE FROM tally_note WHERE rowid_of = 1", "UPDATE tally_note SET key = key || 'x' WHERE key <> ''",
    "UPDATE tally_note SET value = CAST(value || x'00' AS BLOB) WHERE length(key) > 1", "DELETE FROM tally_note",
    "DROP TABLE tally_note",
  ]) func aDamagedMemoryCostsReadingAgain(_ sql: String) async throws {
    // One row of an entry, whichever it is.
    let sql = sql.replacingOccurrences(
      of: "rowid_of = 1", with: "key = (SELECT max(key) FROM tally_note WHERE key LIKE 'tally%')")
    for place in Place.allCases {
      let (mailbox, files) = (CountingMailbox(place.make()), try SharedFolder())
      let a = try await chain(3, mailbox)
      var store = try files.store("b")
      for _ in 0..<2 { try await store.sync(through: mailbox) }
      try store.close()
      let queue = try DatabaseQueue(path: files.root.appendingPathComponent("b").path)
      try await queue.write { try $0.execute(sql: sql) }
      try queue.close()
      store = try files.store("b")
      mailbox.reset()
      try World.insert(1, "new", a)
      try await a.sync(through: mailbox)
      let report = try await store.sync(through: mailbox)
      #expect(report.taken.count == 1 && report.written == [] && report.isComplete, "\(place) \(sql)")
      try MailboxWorld.expectEqual([a, store])
      try await store.sync(through: mailbox)
      mailbox.reset()
      try await store.sync(through: mailbox)
      #expect(mailbox.bytesRead == 0, "\(place) \(sql)")
    }
  }

  /// The pages themselves, so that SQLite cannot read the table.
  @Test(arguments: [0x00, 0xFF, 0x0D] as [UInt8])
  func aMemoryWhosePagesCannotBeReadIsInNobodysWay(_ byte: UInt8) async throws {
    let (mailbox, files) = (CountingMailbox(MemoryLog()), try SharedFolder())
    let a = try await chain(3, mailbox)
    var store = try files.store("b")
    try await store.sync(through: mailbox)
    try store.close()
    let path = files.root.appendingPathComponent("b").path
    let queue = try DatabaseQueue(path: path)
    let (page, size) = try await queue.read { db in
      (
        try Int.fetchOne(db, sql: "SELECT rootpage FROM sqlite_master WHERE name = 'tally_note'") ?? 0,
        try Int.fetchOne(db, sql: "PRAGMA page_size") ?? 0
      )
    }
    try queue.close()
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try file.seek(toOffset: UInt64((page - 1) * size))
    try file.write(contentsOf: Data(repeating: byte, count: size))
    try file.close()
    store = try files.store("b")
    try World.insert(1, "new", a)
    try await a.sync(through: mailbox)
    for _ in 0..<2 {
      let report = try await store.sync(through: mailbox)
      #expect(report.isComplete && report.written == [])
    }
    #expect(try World.dump(store) == World.dump(a))
  }

  @Test func eachFlippedBitOfTheMemoryIsNoticed() async throws {
    let log = MemoryLog()
    _ = try await chain(2, log)
    let store = try World.store()
    try await store.sync(through: log)
    let scope = "mailbox " + log.identity
    let sound = try store.notes(scope).values
    #expect(sound.count == 3)
    for (key, value) in sound {
      for bit in 0..<8 * value.count {
        var damaged = value
        damaged[bit / 8] ^= 1 << (bit % 8)
        try overwrite(scope, key, damaged, store)
        let notes = try store.notes(scope)
        #expect(notes.isDamaged && notes.values.isEmpty, "bit \(bit) of \(key)")
        try overwrite(scope, key, value, store)
      }
    }
    #expect(try store.notes(scope).values == sound)
  }

  private func overwrite(_ scope: String, _ key: String, _ value: [UInt8], _ store: Store) throws {
    try store.write { db in
      try db.execute(
        sql: "UPDATE tally_note SET value = ? WHERE scope = ? AND key = ?", arguments: [Data(value), scope, key])
    }
  }

  /// What was joined may be gone: the memory of it counts no more.
  @Test(arguments: Place.allCases) func aDoubtAboutTheStoreVoidsTheMemory(_ place: Place) async throws {
    let (mailbox, files) = (CountingMailbox(place.make()), try SharedFolder())
    let a = try await chain(3, mailbox)
    let store = try files.store("b")
    for _ in 0..<2 { try await store.sync(through: mailbox) }
    try files.breakSum("b")
    _ = try? store.rebuild()
    #expect(try store.doubt() != nil)
    mailbox.reset()
    try await store.sync(through: mailbox)
    #expect(mailbox.bytesRead > 0)
    mailbox.reset()
    try await store.sync(through: mailbox)
    #expect(mailbox.bytesRead == 0)
    try await a.sync(through: mailbox)
    #expect(try World.dump(a) == World.dump(store))
  }

  // MARK: Bounds

  @Test func namesThatAreGoneAreForgotten() async throws {
    let mailbox = MemoryMailbox()
    let a = try await chain(3, mailbox)
    let store = try World.store()
    try await store.sync(through: mailbox)
    #expect(try MailboxMemory(of: mailbox, in: store).entries.count == 3)
    for file in mailbox.files { try (mailbox as any FileMailbox).remove(file.name) }
    try await store.sync(through: mailbox)
    try await store.sync(through: mailbox)
    #expect(try MailboxMemory(of: mailbox, in: store).entries.count == 1)
    try await a.sync(through: mailbox)
    try MailboxWorld.expectEqual([a, store])
  }

  @Test func ofManyMailboxesTheOldestAreForgotten() async throws {
    let store = try World.store(notes: 1)
    let mailboxes = (0..<40).map { MemoryMailbox(identity: "number \($0)") }
    for mailbox in mailboxes {
      try await store.sync(through: mailbox)
      try await store.sync(through: mailbox)
    }
    let scopes = try await store.read { db in
      try Int.fetchOne(db, sql: "SELECT count(DISTINCT scope) FROM tally_note WHERE scope LIKE 'mailbox %'")
    }
    #expect(scopes == 32)
    #expect(try MailboxMemory(of: mailboxes[39], in: store).entries.count == 1)
    #expect(try MailboxMemory(of: mailboxes[0], in: store).entries.isEmpty)
    #expect(try await store.sync(through: mailboxes[0]).written == [])
  }

  // MARK: What cannot be read

  @Test(arguments: Place.allCases) func aDamagedEntryIsReadAgainOnceItIsReplaced(_ place: Place) async throws {
    let mailbox = place.make()
    let a = try await chain(1, mailbox)
    let b = try World.store()
    let name = try #require(try await mailbox.changes(after: nil).items.first?.name)
    let bytes = try a.delta()
    (mailbox as? MemoryLog)?.faults.damaged = [name]
    (mailbox as? MemoryMailbox)?.faults.zeroed = [name: 20]
    for pass in 0..<3 {
      let report = try await b.sync(through: mailbox)
      // Out of a log it is removed.
      let isThere = place != .log || pass == 0
      #expect(report.pending.map(\.reason) == (isThere ? [.incomplete] : []) && report.taken == [])
      #expect(report.removed == (place == .log && pass == 0 ? [name] : []))
    }
    // Its owner replaces it.
    (mailbox as? MemoryMailbox)?.faults.zeroed = [:]
    (mailbox as? MemoryLog)?.faults.damaged = []
    _ = try await mailbox.put(MailboxUpload(name: name, bytes: bytes))
    #expect(try await b.sync(through: mailbox).taken == [name])
    try MailboxWorld.expectEqual([a, b])
  }

  @Test func aFileThatIsDamagedAfterItWasReadIsNoticedByItsVersion() async throws {
    let folder = try SharedFolder()
    let a = try World.store(notes: 5)
    for _ in 0..<2 { try await a.sync(through: folder.mailbox) }
    let name = try #require(try folder.names.first)
    var bytes = try folder.bytes(name)
    bytes[bytes.count / 2] ^= 1
    try folder.place(bytes, as: name)
    let report = try await a.sync(through: folder.mailbox)
    #expect(report.pending.map(\.reason) == [.incomplete] && report.written.count == 1)
  }

  /// What a newer version has written is not asked for again and again, and is read once this version can.
  @Test(arguments: Place.allCases) func whatANewerVersionWroteIsReadAgainAfterAnUpdate(_ place: Place) async throws {
    let mailbox = CountingMailbox(place.make())
    let a = try World.store(notes: 2)
    let bytes = try a.delta()
    var newer = bytes
    newer[2] = 9
    let name = try MailboxUpload(delta: bytes, by: try #require(try a.summary().replica)).name
    _ = try await mailbox.put(MailboxUpload(name: name, bytes: newer))
    let b = try World.store()
    #expect(try await b.sync(through: mailbox).refused.map(\.reason) == [.newerVersion])
    mailbox.reset()
    for _ in 0..<2 {
      let report = try await b.sync(through: mailbox)
      #expect(report.refused.map(\.reason) == [.newerVersion] && mailbox.bytesRead == 0)
    }
    // The update: what the entry begins with is what this version reads. The entry itself always was.
    let memory = try MailboxMemory(of: mailbox, in: b)
    var entry = try #require(memory[name])
    #expect(entry.unreadableHead == Array(newer.prefix(MailboxReader.headBytes)))
    entry.unreadableHead = Array(bytes.prefix(MailboxReader.headBytes))
    try b.note(NoteBatch("mailbox " + mailbox.identity, [name: entry.encoded]))
    let report = try await b.sync(through: mailbox)
    #expect(mailbox.bytesRead > 0 && report.refused.map(\.reason) == [.newerVersion])
  }

  @Test func anEntryThatThisVersionReadsIsNotRefusedForItsHead() throws {
    let bytes = try World.store(notes: 2).delta()
    for count in 0...min(64, bytes.count) { #expect(MailboxReader.fault(ofHead: Array(bytes.prefix(count))) == nil) }
    var newer = bytes
    newer[2] = 9
    #expect(MailboxReader.fault(ofHead: Array(newer.prefix(32)))?.reason == .newerVersion)
  }

  @Test func whatIsRememberedReadsBackTheSame() throws {
    let header = try #require(try? DeltaReaderSample.header())
    for flags in 0..<32 {
      var entry = MailboxMemory.Entry()
      if flags & 1 != 0 { entry.version = "7-ä" }
      if flags & 2 != 0 { entry.byteCount = 1 << 40 }
      if flags & 4 != 0 { entry.content = EntryContent(header: header, check: .max, byteCount: 12) }
      (entry.isVerified, entry.isJoined) = (flags & 8 != 0, flags & 8 == 0)
      if flags & 16 != 0 { entry.unreadableHead = [1, 2, 3] }
      #expect(try MailboxMemory.Entry(entry.encoded) == entry)
      for count in 0..<entry.encoded.count {
        #expect(throws: WireError.self) { try MailboxMemory.Entry(Array(entry.encoded.prefix(count))) }
      }
    }
  }
}

private enum DeltaReaderSample {
  static func header() throws -> DeltaHeader {
    let store = try World.store(notes: 1)
    return DeltaHeader(
      base: StateVector(), target: try store.vector, fingerprint: try store.summary().fingerprint)
  }
}

/// SplitMix64, for the order in which a disk forgets.
private struct SystemOrder: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }
}
