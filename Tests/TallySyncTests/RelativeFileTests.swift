import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyStore
import TallyTesting
import TallyWire
import Testing

@testable import TallySync

/// A record of a type that needs version 3 of the formats.
private struct Tile: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Tile", .text("text"), .counter("count"))
  var id = RecordName<Tile>()
  var text: String?
  var count = 0
}

/// Files whose headers name another file instead of listing every replica that has ever written.
@Suite(.timeLimit(.minutes(5))) struct RelativeFileTests {
  private static var always: MailboxSettings {
    var settings = MailboxSettings()
    settings.namesBases = .always
    return settings
  }

  private static func store() throws -> Store { try Store(inMemory: Schema(Tile.self)) }

  private static func insert(_ text: String, _ store: Store) throws {
    try store.write { try Tile(text: text).insert($0) }
  }

  /// So many replicas have written before, and nothing of it is left.
  private static func crowd(_ count: Int, _ store: Store) throws {
    var header = DeltaHeader(
      base: StateVector(),
      target: StateVector((0..<UInt64(count)).map { (ReplicaID(high: $0 &* 0x9E37_79B9_7F4A_7C15, low: $0), 3) }),
      version: 3)
    header.fingerprint = nil
    var bytes: [UInt8] = []
    var writer = try DeltaWriter(header: header) { bytes += $0 }
    try writer.finish()
    try store.apply(bytes)
  }

  private static func isRelative(_ bytes: [UInt8]) throws -> Bool {
    guard case .relative = try MailboxHeader.decode(bytes)?.header else { return false }
    return true
  }

  private static func relativeNames(_ mailbox: MemoryMailbox) throws -> [String] {
    try mailbox.files.filter { try isRelative($0.bytes) }.map(\.name)
  }

  private static func texts(_ store: Store) throws -> [String] {
    try store.read { try String.fetchAll($0, sql: "SELECT text FROM Tile ORDER BY text") }
  }

  /// The bytes of the file that one changed field costs, where so many replicas have written before.
  private func cost(ofReplicas count: Int) throws -> Int {
    let mailbox = MemoryMailbox()
    let (a, b) = (try Self.store(), try Self.store())
    try Self.crowd(count - 1, a)
    try Self.insert("first", a)
    try a.sync(through: mailbox)
    try b.sync(through: mailbox)
    try a.write { try $0.execute(sql: "UPDATE Tile SET text = 'second'") }
    let report = try a.sync(through: mailbox)
    #expect(report.written.count == 1)
    try b.sync(through: mailbox)
    try MailboxWorld.expectEqual([a, b])
    return report.bytesWritten
  }

  @Test func aFieldCostsTheSameHoweverManyHaveWritten() throws {
    let (few, many) = (try cost(ofReplicas: 2), try cost(ofReplicas: 1_000))
    #expect(2 * many <= 3 * few, "\(many) bytes with 1,000 replicas, \(few) with two")
  }

  /// A build that reads version 2 alone would not know such a header.
  @Test func whatVersion2CanSayIsSaidAsBefore() throws {
    let mailbox = MemoryMailbox()
    let store = try World.store(notes: 1)
    var bytes: [UInt8] = []
    let target = StateVector((0..<1_000).map { (ReplicaID(high: 7, low: $0), 3) })
    var writer = try DeltaWriter(header: DeltaHeader(base: StateVector(), target: target)) { bytes += $0 }
    try writer.finish()
    try store.apply(bytes)
    try store.sync(through: mailbox)
    try World.change(stars: 5, store)
    try World.insert(1, "more", store)
    #expect(try store.sync(through: mailbox).bytesWritten > 16_000)
    #expect(try Self.relativeNames(mailbox) == [])
  }

  /// Those who were there, and one who comes later, read the same.
  @Test func everybodyReadsThem() throws {
    let mailbox = MemoryMailbox()
    let stores = try (0..<3).map { _ in try Self.store() }
    for round in 0..<4 {
      for (number, store) in stores.enumerated() {
        try Self.insert("\(round) of \(number)", store)
        try store.sync(through: mailbox, Self.always)
      }
    }
    try MailboxWorld.settle(stores, mailbox, Self.always)
    #expect(try Self.relativeNames(mailbox).count >= 10)
    let late = try Self.store()
    #expect(try late.sync(through: mailbox).pending.isEmpty)
    try MailboxWorld.expectEqual(stores + [late])
    // Nothing is read twice, by any of them.
    for store in stores + [late] { #expect(try store.sync(through: mailbox).bytesRead == 0) }
  }

  /// A snapshot and a delta that names it, from a store that goes on to write.
  private func named(_ mailbox: MemoryMailbox) throws -> (store: Store, snapshot: String, delta: String) {
    let store = try Self.store()
    try Self.insert("first", store)
    let snapshot = try store.sync(through: mailbox, Self.always).written
    try Self.insert("second", store)
    let delta = try store.sync(through: mailbox, Self.always).written
    #expect(try Self.relativeNames(mailbox) == delta)
    return (store, try #require(snapshot.first), try #require(delta.first))
  }

  /// If a named snapshot is removed, any device that has the content of the delta puts it again for newcomers.
  @Test func whatNewcomersCannotReadIsPutAgain() throws {
    let mailbox = MemoryMailbox()
    let (store, snapshot, delta) = try named(mailbox)
    let other = try Self.store()
    try other.sync(through: mailbox)
    let bytes = try #require(mailbox.files.first { $0.name == snapshot }).bytes
    try mailbox.remove(snapshot)
    // The one who is late has nothing but a delta that it cannot read, and says so.
    let late = try Self.store()
    let report = try late.sync(through: mailbox)
    #expect(report.pending.map(\.reason) == [.waitsForOthers] && report.pending.map(\.name) == [delta])
    // Any device that has the content sees to it.
    #expect(try other.sync(through: mailbox).written.count == 1)
    #expect(try late.sync(through: mailbox).pending.isEmpty)
    #expect(try store.sync(through: mailbox).written == [])
    try MailboxWorld.expectEqual([store, other, late])
    // If it comes back after all, it is read like any other.
    mailbox.place(bytes, as: snapshot)
    let later = try Self.store()
    #expect(try later.sync(through: mailbox).pending.isEmpty)
    try MailboxWorld.expectEqual([store, later])
  }

  /// A file that names another may arrive before it.
  @Test func aFileWaitsForTheOneThatItNames() throws {
    let mailbox = MemoryMailbox()
    let (store, snapshot, delta) = try named(mailbox)
    let late = try Self.store()
    mailbox.faults.unlisted = [snapshot]
    #expect(try late.sync(through: mailbox).pending.map(\.name) == [delta])
    mailbox.faults.unlisted = []
    #expect(try late.sync(through: mailbox).taken.count == 2)
    try MailboxWorld.expectEqual([store, late])
  }

  /// Names the snapshot that stays longest, not one that newer ones replace or that holds what was purged.
  @Test func theLatestSnapshotIsNamed() throws {
    let ann = ReplicaID(high: 1, low: 1)
    func file(_ target: UInt64, _ check: UInt64) -> MailboxShelf.File {
      let header = DeltaHeader(base: StateVector(), target: StateVector([(ann, target)]), version: 3)
      let name = MailboxFileName(replica: ann, sequence: target, check: check, kind: .snapshot)
      return .init(name: name, header: header, check: check, byteCount: 9)
    }
    func vector(_ sequence: UInt64) -> StateVector { StateVector([ann].map { ($0, sequence) }) }
    let header = DeltaHeader(base: vector(400), target: vector(401), version: 3)
    let shelf = MailboxShelf([file(100, 1), file(300, 2), file(200, 3)])
    var removals = Removals()
    #expect(shelf.relative(to: header, saving: .min, removals: removals)?.reference.check == 2)
    #expect(shelf.relative(to: header, saving: 1_000, removals: removals) == nil)
    // After a compaction on some device there may be none for a while that does not hold what was removed.
    removals.all = vector(301)
    #expect(shelf.relative(to: header, saving: .min, removals: removals)?.reference.check == 2)
    removals.purges = vector(301)
    #expect(shelf.relative(to: header, saving: .min, removals: removals) == nil)
    let other = MailboxShelf([file(100, 1), file(500, 2), file(501, 3)])
    #expect(other.relative(to: header, saving: .min, removals: Removals()) == nil)
  }

  /// It stays while a file names it, however many snapshots replace it, and goes with that one.
  @Test func whatIsNamedStays() {
    let (ann, ben) = (ReplicaID(high: 1, low: 1), ReplicaID(high: 2, low: 2))
    func file(_ target: UInt64, base: UInt64 = 0, check: UInt64, by writer: ReplicaID, of: MailboxShelf.File? = nil)
      -> MailboxShelf.File
    {
      let header = DeltaHeader(base: StateVector([(ann, base)]), target: StateVector([(ann, target)]), version: 3)
      let name = MailboxFileName(replica: writer, sequence: target, check: check, kind: base == 0 ? .snapshot : .delta)
      return .init(name: name, header: header, check: check, byteCount: 9, reference: of?.name.reference)
    }
    let first = file(2, check: 1, by: ann)
    let second = file(5, base: 2, check: 2, by: ben, of: first)
    let snapshots = [file(4, check: 3, by: ann), file(4, check: 4, by: ben)]
    #expect(MailboxShelf([first] + snapshots).isReplaced(first))
    let shelf = MailboxShelf([first, second] + snapshots)
    #expect(!shelf.isReplaced(first) && shelf.reach()[ann] == 5)
    // A file that is replaced itself holds nothing back, also if its writer never removes it.
    let later = [file(6, check: 5, by: ann), file(6, check: 6, by: ben)]
    #expect(MailboxShelf([first, second] + later).isReplaced(second))
    #expect(MailboxShelf([first, second] + later).isReplaced(first))
    // Without it, or with other bytes under its name, what builds on it does not count as being there.
    #expect(MailboxShelf([second] + snapshots).reach()[ann] == 4)
    var other = first
    other.check = 9
    #expect(MailboxShelf([other, second] + snapshots).reach()[ann] == 4)
    // A copy of it goes as any copy does.
    var copy = first
    copy.name.isCopy = true
    #expect(MailboxShelf([first, copy, second]).isReplaced(copy))
  }

  /// A log does not list again what a store has forgotten because newer entries replace it. It is asked for by name,
  /// and what builds on it is there for everybody.
  @Test func whatAStoreHasForgottenIsAskedForByName() async throws {
    let log = MemoryLog()
    let (a, b) = (try Self.store(), try Self.store())
    try Self.insert("first", a)
    let snapshot = try #require(try await a.sync(through: log, Self.always).written.first)
    try await b.sync(through: log)
    var memory = try MailboxMemory(of: log, in: b)
    memory.fewestPast = 0
    memory[snapshot] = nil
    try memory.save()
    try Self.insert("second", a)
    let delta = try #require(try await a.sync(through: log, Self.always).written.first)
    let report = try await b.sync(through: log, Self.always)
    #expect(report.taken == [delta] && report.written == [])
    let before = log.reads
    #expect(try await b.sync(through: log, Self.always).bytesRead == 0 && log.reads == before)
    try MailboxWorld.expectEqual([a, b])
  }

  /// As apps do it, in a group that is barely large enough; also by a store whose notes an older build has kept.
  @Test(arguments: [8, 100]) func whatIsNamedInALogCanBeForgotten(_ fewest: Int) async throws {
    let log = MemoryLog()
    let (a, b) = (try Self.store(), try Self.store())
    try Self.crowd(28, a)
    try Self.insert("first", a)
    let snapshot = try #require(try await a.sync(through: log).written.first)
    try await b.sync(through: log)
    var memory = try MailboxMemory(of: log, in: b)
    memory.fewestPast = fewest
    memory[snapshot] = nil
    try memory.save()
    #expect(try MailboxMemory(of: log, in: b).past.count == (fewest == 8 ? 1 : 0))
    try Self.insert("second", a)
    let report = try await a.sync(through: log)
    #expect(report.bytesWritten < 512)
    let taken = try await b.sync(through: log)
    #expect(taken.taken == report.written && taken.written == [] && taken.isComplete)
    try MailboxWorld.expectEqual([a, b])
  }

  /// A drive takes a snapshot off the device, and its owner removes it: what it led to is known.
  @Test func whatWasEvictedIsRemembered() throws {
    let mailbox = MemoryMailbox()
    let (a, b) = (try Self.store(), try Self.store())
    try Self.insert("first", a)
    let snapshot = try #require(try a.sync(through: mailbox, Self.always).written.first)
    try b.sync(through: mailbox, Self.always)
    mailbox.faults.notDownloaded = [snapshot]
    try b.sync(through: mailbox, Self.always)
    mailbox.faults.notDownloaded = []
    try Self.insert("second", a)
    let delta = try #require(try a.sync(through: mailbox, Self.always).written.first)
    try mailbox.remove(snapshot)
    let report = try b.sync(through: mailbox, Self.always)
    #expect(report.taken == [delta] && report.isComplete)
    try MailboxWorld.expectEqual([a, b])
  }

  /// A header that cannot be resolved still says how far this store's own replica has gone.
  @Test func anOlderCopyIsNoticedByIt() throws {
    let mailbox = MemoryMailbox()
    let (a, b) = (try Self.store(), try Self.store())
    try Self.insert("first", a)
    try b.apply(try a.delta())
    try Self.insert("of the other", b)
    let snapshot = try #require(try b.sync(through: mailbox, Self.always).written.first)
    let copy = try Store(inMemoryCopyOf: a)
    let replica = try copy.summary().replica
    try Self.insert("second", a)
    try b.apply(try a.delta())
    #expect(try b.sync(through: mailbox, Self.always).written.count == 1)
    mailbox.faults.unlisted = [snapshot]
    try copy.sync(through: mailbox, Self.always)
    #expect(try replica != nil && copy.summary().replica != replica)
  }

  /// A drive may bring a file long after the snapshot that it names was replaced and removed, when its writer is gone.
  @Test func aFileThatComesVeryLateIsReadByThoseWhoKnewWhatItNames() throws {
    let (mailbox, laptop) = (MemoryMailbox(), MemoryMailbox())
    let (a, c) = (try Self.store(), try Self.store())
    try Self.insert("first", a)
    let first = try #require(try a.sync(through: mailbox, Self.always).written.first)
    for file in mailbox.files { laptop.place(file.bytes, as: file.name) }
    try c.sync(through: laptop, Self.always)
    try Self.insert("of the laptop", c)
    let late = try #require(try c.sync(through: laptop, Self.always).written.first)
    let bytes = try #require(laptop.files.first { $0.name == late }).bytes
    #expect(try Self.isRelative(bytes))
    // Two snapshots replace the first.
    var eager = Self.always
    (eager.deltaBytes, eager.minimumDeltaWeight) = (0, 1 << 20)
    for number in 0..<6 {
      try Self.insert("later \(number)", a)
      try a.sync(through: mailbox, eager)
    }
    #expect(!mailbox.files.contains { $0.name == first })
    mailbox.place(bytes, as: late)
    let report = try a.sync(through: mailbox, Self.always)
    #expect(report.taken == [late] && report.pending.isEmpty && report.written.count == 1)
    let newcomer = try Self.store()
    #expect(try newcomer.sync(through: mailbox, Self.always).pending.isEmpty)
    #expect(try Self.texts(newcomer).contains("of the laptop"))
    try MailboxWorld.expectEqual([a, newcomer])
  }

  /// What another device has forwarded is in nobody's own file: it is waited for, whoever wrote it.
  @Test func whatWasForwardedIsWaitedFor() throws {
    let mailbox = MemoryMailbox()
    let (a, c, d, f) = (try Self.store(), try Self.store(), try Self.store(), try Self.store())
    try Self.insert("first", a)
    let snapshot = try #require(try a.sync(through: mailbox, Self.always).written.first)
    try Self.insert("second", d)
    try c.sync(through: mailbox, Self.always)
    try c.apply(try d.delta())
    // It has written nothing of its own.
    #expect(try c.summary().replica.map { try c.vector[$0] } ?? 0 == 0)
    let delta = try #require(try c.sync(through: mailbox, Self.always).written.first)
    #expect(try Self.relativeNames(mailbox) == [delta])
    mailbox.faults.unlisted = [snapshot]
    try f.apply(try a.delta())
    let report = try f.sync(through: mailbox, Self.always)
    #expect(report.pending.map(\.name) == [delta] && !report.isComplete)
    mailbox.faults.unlisted = []
    #expect(try f.sync(through: mailbox, Self.always).isComplete)
    try MailboxWorld.expectEqual([c, f])
  }

  /// A log does not notice that bytes have changed: who reads the entry does, though what it names seems to be missing.
  @Test(arguments: [5, 21, 30, 36]) func aDamagedReferenceIsFoundInALog(_ index: Int) async throws {
    let log = MemoryLog()
    let store = try Self.store()
    for text in ["first", "second"] {
      try Self.insert(text, store)
      try await store.sync(through: log, Self.always)
    }
    let name = try #require(log.names.last)
    log.change(name) { $0[index] ^= 1 }
    let late = try Self.store()
    for _ in 0..<3 { for store in [late, store] { try await store.sync(through: log, Self.always) } }
    #expect(try await late.sync(through: log, Self.always).isComplete)
    try MailboxWorld.expectEqual([store, late])
  }

  /// What cannot be resolved is read once, and not in each pass.
  @Test func whatCannotBeResolvedIsReadOnce() throws {
    let mailbox = MemoryMailbox()
    let (_, snapshot, delta) = try named(mailbox)
    try mailbox.remove(snapshot)
    let late = try Self.store()
    #expect(try late.sync(through: mailbox).pending.map(\.name) == [delta])
    mailbox.faults.unreadable = [delta]
    #expect(try late.sync(through: mailbox).pending.map(\.reason) == [.waitsForOthers])
  }

  /// A store that has forgotten what its own file names removes that file once everything is in others: nobody can read
  /// it, and it may hold what was purged.
  @Test func anOwnFileThatNobodyCanReadGoes() throws {
    let mailbox = MemoryMailbox()
    let (store, snapshot, delta) = try named(mailbox)
    try mailbox.remove(snapshot)
    var memory = try MailboxMemory(of: mailbox, in: store)
    for name in [snapshot, delta] { memory[name] = nil }
    try memory.save()
    try store.sync(through: mailbox)
    #expect(try store.sync(through: mailbox).removed == [delta])
    let late = try Self.store()
    #expect(try late.sync(through: mailbox).isComplete)
    try MailboxWorld.expectEqual([store, late])
  }

  /// A file cannot be read any longer, and its writer will not come back; what it held is here. Nobody is told to wait.
  @Test func nobodyWaitsForWhatIsHere() throws {
    let mailbox = MemoryMailbox()
    let (store, snapshot, delta) = try named(mailbox)
    let other = try Self.store()
    try other.apply(try store.delta())
    try mailbox.remove(snapshot)
    #expect(try other.sync(through: mailbox).pending.isEmpty)
    #expect(mailbox.files.contains { $0.name == delta })
  }

  /// A damaged store takes the folder's content in the place of its own, also from files that name others.
  @Test func aStoreHealsFromThem() throws {
    let files = try SharedFolder()
    let (a, before) = (try files.store("a"), try files.store("b"))
    for text in ["first", "second"] {
      try World.insert(1, text, a)
      for store in [a, before] { try store.sync(through: files.mailbox, Self.always) }
    }
    #expect(try files.names.filter { try Self.isRelative(files.bytes($0)) }.count == 1)
    let b = try files.tamper("b", before, "UPDATE Note SET text = 'damage' WHERE text = 'second 0'")
    #expect(throws: StoreError.self) { try b.delta() }
    #expect(try b.sync(through: files.mailbox, Self.always).isHealed)
    try MailboxWorld.settle([a, b], files.mailbox, Self.always)
    try MailboxWorld.expectEqual([a, b])
  }

  /// Its bytes are damaged on the way: noticed by the checksum of the file as it is, and put again by the others.
  @Test func damageIsNoticed() throws {
    for place in ["start", "header", "end"] {
      let mailbox = MemoryMailbox()
      let (store, _, delta) = try named(mailbox)
      var bytes = try #require(mailbox.files.first { $0.name == delta }).bytes
      let index = place == "start" ? 6 : place == "header" ? 40 : bytes.count - 9
      bytes[index] ^= 0x10
      mailbox.place(bytes, as: delta)
      let late = try Self.store()
      let report = try late.sync(through: mailbox)
      #expect(try Self.texts(late) == ["first"], "\(place)")
      #expect(report.pending.map(\.name) == [delta], "\(place)")
      try MailboxWorld.settle([store, late], mailbox)
      try MailboxWorld.expectEqual([store, late])
    }
  }

  /// What was noted of a file reads back, and what was noted of an ordinary one has the bytes of before.
  @Test func whatIsRememberedReadsBackTheSame() throws {
    let mailbox = MemoryMailbox()
    let (store, snapshot, delta) = try named(mailbox)
    try store.sync(through: mailbox)
    let memory = try MailboxMemory(of: mailbox, in: store)
    let entries = (try #require(memory[snapshot]), try #require(memory[delta]))
    #expect(entries.0.encoded.first == 1 && entries.1.encoded.first == 2)
    guard case .file(let name) = MailboxFileName.parse(snapshot) else { throw CocoaError(.coderReadCorrupt) }
    #expect(entries.1.content?.reference == name.reference && entries.0.content?.reference == nil)
    var unresolved = MailboxMemory.Entry(version: "7", byteCount: 9)
    guard
      case .relative(let header) = try MailboxHeader.decode(
        mailbox.files.first { $0.name == delta }?.bytes ?? [])?.header
    else { throw CocoaError(.coderReadCorrupt) }
    unresolved.relative = header
    for entry in [entries.1, unresolved] {
      #expect(try MailboxMemory.Entry(entry.encoded) == entry && entry.encoded.first == 2)
      for count in 0..<entry.encoded.count {
        #expect(throws: WireError.self) { try MailboxMemory.Entry(Array(entry.encoded.prefix(count))) }
      }
    }
  }

  /// Of forgotten snapshots a store keeps where they led to: the latest, of groups in which headers are long.
  @Test func forgottenSnapshotsAreRemembered() throws {
    let (mailbox, store) = (MemoryMailbox(), try Self.store())
    var memory = try MailboxMemory(of: mailbox, in: store)
    func note(_ number: UInt64, replicas: UInt64, isFull: Bool = true) {
      let target = StateVector((0..<replicas).map { (ReplicaID(high: 1, low: $0), number) })
      let name = MailboxFileName(
        replica: ReplicaID(high: 1, low: 0), sequence: number, check: number, kind: isFull ? .snapshot : .delta)
      let header = DeltaHeader(base: isFull ? StateVector() : target, target: target, version: 3)
      memory[name.text] = .init(content: EntryContent(header: header, check: number, byteCount: Int(number)))
      memory[name.text] = nil
    }
    note(1, replicas: 7)
    note(2, replicas: 32, isFull: false)
    #expect(memory.past.isEmpty)
    for number in UInt64(1)...100 { note(number, replicas: 32) }
    #expect(memory.past.map(\.reference.sequence) == Array(37...100))
    #expect(try MailboxMemory.decodePast(memory.encodedPast) == memory.past)
    for number in UInt64(200)...203 { note(number, replicas: 20_000) }
    #expect(memory.past.map(\.reference.sequence) == [201, 202, 203])
    try memory.save()
    #expect(try MailboxMemory(of: mailbox, in: store).past == memory.past)
    // A doubt about what is stored says nothing of what others had put.
    _ = try store.rebuild()
    #expect(try MailboxMemory(of: mailbox, in: store).past == memory.past)
  }
}
