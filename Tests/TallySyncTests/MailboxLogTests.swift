import Foundation
import Synchronization
import Tally
import TallyTesting
import Testing

@testable import TallySync

/// Mailboxes that keep a log, as a relay does.
@Suite(.timeLimit(.minutes(5))) struct MailboxLogTests {
  private let log = MemoryLog(pageSize: 3)

  private func settle(_ stores: [Store], sourceLocation: Testing.SourceLocation = #_sourceLocation) async throws {
    for _ in 0..<8 {
      var isQuiet = true
      for store in stores {
        let report = try await store.sync(through: log)
        if !report.taken.isEmpty || !report.written.isEmpty { isQuiet = false }
      }
      if isQuiet { return }
    }
    Issue.record("the stores do not come to rest", sourceLocation: sourceLocation)
  }

  @Test func devicesConvergeThroughALog() async throws {
    let stores = try (0..<3).map { try World.store(notes: 2, "of \($0)") }
    for _ in 0..<3 {
      for (number, store) in stores.enumerated() {
        try World.insert(1, "more of \(number)", store)
        try await store.sync(through: log)
      }
    }
    try await settle(stores)
    try MailboxWorld.expectEqual(stores)
    #expect(try World.count(stores[0]) == 15)
  }

  @Test func whatOnePutsItNeverReads() async throws {
    let store = try World.store()
    for number in 0..<5 {
      try World.insert(1, "\(number)", store)
      try await store.sync(through: log)
    }
    try await store.sync(through: log)
    #expect(log.reads == [:] && log.names.count == 5)
  }

  @Test func whatIsSentAlongIsNotAskedFor() async throws {
    let log = MemoryLog(pageSize: 2, inlineBytes: 1 << 16)
    let (a, b) = (try World.store(), try World.store())
    for number in 0..<5 {
      try World.insert(1, "\(number)", a)
      try await a.sync(through: log)
    }
    let report = try await b.sync(through: log)
    #expect(log.reads == [:] && report.taken.count == 5 && report.bytesRead > 0)
    try MailboxWorld.expectEqual([a, b])
  }

  /// Its writer never reads it again, and nobody else has what it held: whoever finds it damaged removes it.
  @Test(arguments: [0, 1 << 16]) func anEntryThatIsDamagedInTheLogIsPutAgain(inlineBytes: Int) async throws {
    let log = MemoryLog(name: "damaged \(inlineBytes)", inlineBytes: inlineBytes)
    let (a, b) = (try World.store(notes: 2, "of a"), try World.store())
    try await a.sync(through: log)
    let name = try #require(log.names.first)
    log.faults.damaged = [name]
    let found = try await b.sync(through: log)
    #expect(found.pending.map(\.name) == [name] && found.removed == [name])
    #expect(log.names.isEmpty)
    // What is put now is sound.
    log.faults.damaged = []
    try await a.sync(through: log)
    try await b.sync(through: log)
    try MailboxWorld.expectEqual([a, b])
  }

  /// What is changed on the way each time is not removed again and again.
  @Test func anEntryThatNeverArrivesSoundIsRemovedOnce() async throws {
    let log = MemoryLog(name: "never sound")
    let (a, b) = (try World.store(notes: 2, "of a"), try World.store())
    try await a.sync(through: log)
    log.faults.damaged = Set(log.names)
    #expect(try await b.sync(through: log).removed.count == 1)
    for _ in 0..<3 {
      try await a.sync(through: log)
      let report = try await b.sync(through: log)
      #expect(report.removed.isEmpty && report.pending.count == 1)
    }
    log.faults.damaged = []
    try await b.sync(through: log)
    try MailboxWorld.expectEqual([a, b])
  }

  // MARK: Logs that go back

  @Test(arguments: 0...4) func whatALogHasLostIsPutAgain(_ kept: Int) async throws {
    let stores = [try World.store(), try World.store()]
    for number in 0..<6 {
      try World.insert(1, "\(number)", stores[number % 2])
      try await stores[number % 2].sync(through: log)
    }
    try await settle(stores)
    log.goBack(to: kept)
    // Somebody new has come meanwhile, and stands where the others have read.
    let third = try World.store(notes: 4, "third")
    for _ in 0..<2 { try await third.sync(through: log) }
    let put = try await stores[0].sync(through: log).written
    #expect(put.count == 1)
    try await settle(stores + [third])
    let late = try World.store()
    try await late.sync(through: log)
    try MailboxWorld.expectEqual(stores + [third, late])
    #expect(try World.count(late) == 10)
  }

  /// What a store puts behind entries that it has not read is beyond its cursor, which is good although that is lost.
  @Test func whatWasPutBehindTheCursorAndLostIsPutAgain() async throws {
    let (a, b) = (try World.store(notes: 1, "a"), try World.store(notes: 1, "b"))
    try await a.sync(through: log)
    try World.insert(1, "more of a", a)
    let overtaking = OvertakenLog(log) { try await b.sync(through: self.log) }
    #expect(try await a.sync(through: overtaking).written.count == 1)
    #expect(log.count == 3)
    log.goBack(to: 2)
    #expect(try await a.sync(through: log).written.count == 1)
    let late = try World.store()
    try await late.sync(through: log)
    #expect(try World.count(late) == 3)
  }

  @Test func whatWasPutBehindTheCursorIsNotPutTwice() async throws {
    let (a, b) = (try World.store(notes: 1, "a"), try World.store(notes: 1, "b"))
    try await a.sync(through: log)
    try World.insert(1, "more of a", a)
    let overtaking = OvertakenLog(log) { try await b.sync(through: self.log) }
    let put = try await a.sync(through: overtaking).written
    // Others' entries fill the page in between.
    for number in 0..<4 {
      let other = try World.store(notes: 1, "other \(number)")
      try await other.sync(through: log)
    }
    try await settle([a, b])
    #expect(log.names.filter { $0 == put.first }.count == 1)
    let own = try #require(a.summary().replica)
    #expect(log.names.filter { $0.contains("\(own)") }.count == 2)
  }

  /// A place may count nothing, and give another token each time.
  @Test func aLogWithTokensThatHasLostAnEntryEndsALook() async throws {
    let place = TokenLog(log)
    let store = try World.store(notes: 1)
    try await store.sync(through: place)
    log.goBack(to: 0)
    #expect(try await store.sync(through: place).written.count == 1)
    #expect(log.count == 1)
  }

  @Test func aStandbyThatLagsLosesNothing() async throws {
    let (a, b) = (try World.store(notes: 2, "a"), try World.store(notes: 2, "b"))
    try await settle([a, b])
    let standby = MemoryLog(name: log.name)
    // It has the first entry only.
    let first = try #require(log.names.first)
    let bytes = try await log.bytes(of: first)
    _ = try await standby.put(MailboxUpload(name: first, bytes: bytes))
    for store in [a, b, a] { try await store.sync(through: standby) }
    let late = try World.store()
    try await late.sync(through: standby)
    try MailboxWorld.expectEqual([a, b, late])
    // The first is back, without what the standby got.
    for store in [a, b, late] { try await store.sync(through: log) }
    try MailboxWorld.expectEqual([a, b, late])
  }

  /// A position alone would not tell.
  @Test func aLogThatHasGrownAgainIsNotTakenForTheOld() async throws {
    let (a, b) = (try World.store(notes: 1, "a"), try World.store(notes: 1, "b"))
    try await settle([a, b])
    let position = log.count
    log.goBack(to: 0)
    let others = MemoryLog(name: log.name)
    for number in 0..<position {
      let store = try World.store(notes: 1, "stranger \(number)")
      try await store.sync(through: log)
      try await store.sync(through: others)
    }
    #expect(log.count >= position)
    try await settle([a, b])
    #expect(try World.count(a) == 2 + position)
    try MailboxWorld.expectEqual([a, b])
  }

  // MARK: Downloads and uploads

  @Test(arguments: [false, true]) func aDownloadThatIsCutOffGoesOnAtItsOffset(isSilent: Bool) async throws {
    let (a, b) = (try World.store(notes: 2_000), try World.store())
    try await a.sync(through: log)
    log.faults.cutAfter = 1_500
    log.faults.isCutSilent = isSilent
    let report = try await b.sync(through: log)
    #expect(report.taken.count == 1 && report.isComplete)
    // Not a byte twice, but for the header.
    #expect(log.bytesRead <= report.bytesRead + 1_500 && report.bytesRead > 5_000)
    try MailboxWorld.expectEqual([a, b])
  }

  @Test func aDownloadThatDoesNotGoOnIsPending() async throws {
    let (a, b) = (try World.store(notes: 20), try World.store())
    try await a.sync(through: log)
    log.faults.cutAfter = 0
    #expect(try await b.sync(through: log).pending.map(\.reason) == [.unreadable])
    // The cursor has gone on, and the entry is not forgotten.
    log.faults.cutAfter = nil
    #expect(try await b.sync(through: log).taken.count == 1)
    try MailboxWorld.expectEqual([a, b])
  }

  /// There is no queue that could lose it.
  @Test func whatCouldNotBePutIsStillPending() async throws {
    let (a, b) = (try World.store(notes: 1), try World.store())
    try await a.sync(through: log)
    #expect(try await a.pending(through: log) == 0)
    try World.insert(1, "one", a)
    try World.insert(1, "two", a)
    log.faults.isFull = true
    await #expect(throws: MailboxError.self) { try await a.sync(through: log) }
    #expect(try await a.pending(through: log) == 2)
    log.faults.isFull = false
    #expect(try await a.sync(through: log).written.count == 1)
    #expect(try await a.pending(through: log) == 0)
    try await b.sync(through: log)
    try MailboxWorld.expectEqual([a, b])
  }

  @Test func aLogThatGoesAwayMidwayLeavesStoresSound() async throws {
    for calls in 0..<16 {
      let log = MemoryLog(pageSize: 2)
      let (a, b) = (try World.store(), try World.store(notes: 3, "b"))
      for number in 0..<4 {
        try World.insert(1, "\(number)", a)
        try await a.sync(through: log)
      }
      log.faults.callsLeft = calls
      do { try await b.sync(through: log) } catch let error as MailboxError { #expect(error.code == .unavailable) }
      log.faults.callsLeft = nil
      for store in [b, a, b] { try await store.sync(through: log) }
      try MailboxWorld.expectEqual([a, b])
    }
  }

  // MARK: Long logs

  /// A log keeps everything; a store remembers what it needs.
  @Test func theMemoryOfALongLogStaysSmall() async throws {
    let (a, b) = (try World.store(), try World.store())
    for number in 0..<60 {
      try World.insert(1, "\(number)", a)
      try await a.sync(through: log, MailboxWorld.eager)
      if number % 5 == 0 { try await b.sync(through: log, MailboxWorld.eager) }
    }
    for store in [b, a, b] { try await store.sync(through: log, MailboxWorld.eager) }
    for store in [a, b] { #expect(try MailboxMemory(of: log, in: store).entries.count < 15) }
    let late = try World.store()
    let report = try await late.sync(through: log)
    #expect(report.written == [])
    try MailboxWorld.expectEqual([a, b, late])
  }

  @Test func whatALogRemovesIsForgotten() async throws {
    let (a, b) = (try World.store(notes: 1), try World.store())
    for store in [a, b] { try await store.sync(through: log) }
    try await log.remove(log.names)
    let reports = [try await b.sync(through: log), try await a.sync(through: log)]
    #expect(reports.map(\.written.count) == [1, 0])
  }

  @Test func copiesWithOneReplicaIDKeepBothEdits() async throws {
    let files = try SharedFolder()
    let first = try files.store("a")
    try World.insert(2, "shared", first)
    try first.close()
    try files.copyStore("a", to: "b")
    let (a, b, other) = (try files.store("a"), try files.store("b"), try World.store(notes: 2, "other"))
    try World.insert(1, "only a", a)
    try World.insert(1, "only b", b)
    try await settle([a, b, other])
    try MailboxWorld.expectEqual([a, b, other])
    #expect(try World.count(a) == 6)
  }

  // MARK: Places that do not keep to the contract

  @Test func aPlaceThatAlwaysHasMoreIsAnError() async throws {
    let store = try World.store(notes: 1)
    let cursor = MailboxCursor(position: 1, entry: "x")
    for page in [
      MailboxPage(items: [], cursor: cursor, isListing: true, hasMore: true),
      MailboxPage(items: [], cursor: nil, isListing: true, hasMore: true),
    ] {
      let error = await #expect(throws: MailboxError.self) {
        try await store.sync(through: ScriptedMailbox { _ in page })
      }
      #expect(error?.code == .malformed)
    }
    // Nor does one come to an end that begins anew with each page.
    let count = Atomic<UInt64>(0)
    let error = await #expect(throws: MailboxError.self) {
      try await store.sync(
        through: ScriptedMailbox { _ in
          let number = count.add(1, ordering: .relaxed).newValue
          return MailboxPage(
            items: [], cursor: MailboxCursor(position: number, entry: ""), isListing: true, hasMore: true)
        })
    }
    #expect(error?.code == .malformed)
  }

  @Test func aCursorReadsBackTheSame() {
    for cursor in [
      MailboxCursor(position: 0, entry: ""), MailboxCursor(position: .max, entry: "a.b.ä"),
      MailboxCursor(position: 42, entry: "9f04"),
    ] {
      #expect(MailboxCursor("\(cursor)") == cursor)
    }
    for text in ["", "1", ".x", "-1.x", "+1.x", "01.x", "18446744073709551616.x", "x.1"] {
      #expect(MailboxCursor(text) == nil, "\(text)")
    }
  }

  // MARK: The engine

  @Test func anEngineHearsOfNewsFromALogAndNeedsNoInterval() async throws {
    let (phone, mac) = (try World.store(), try World.store())
    var settings = SyncEngine.Settings()
    settings.sleep = { _ in try await Latch.never() }
    let engine = SyncEngine(phone, settings)
    await engine.add(log, named: "relay")
    let changes = phone.changes()
    await engine.resume()
    try World.insert(1, "from the mac", mac)
    try await mac.sync(through: log)
    for await _ in changes { if try World.count(phone) == 1 { break } }
    #expect(try World.count(phone) == 1)
    await engine.pause()
    #expect(log.waiterCount == 0)
  }

  @Test func anEngineSaysWhatIsPendingAfterAFailure() async throws {
    let phone = try World.store(notes: 1)
    let log = log
    log.faults.isFull = true
    var settings = SyncEngine.Settings()
    settings.sleep = { _ in try await Latch.never() }
    let engine = SyncEngine(phone, settings)
    await engine.add(log, named: "relay")
    let updates = await engine.statusUpdates()
    await engine.resume()
    for await status in updates where status.peers[0].phase == .retrying {
      #expect(status.peers[0].pending == 1 && status.peers[0].failures == 1)
      break
    }
    await engine.pause()
  }

  /// A mailbox that always says that there is something new makes passes, but not as fast as it can.
  @Test func aLogThatCallsForNothingIsAskedAfterAPause() async throws {
    let phone = try World.store(notes: 1)
    let pauses = Atomic<Int>(0)
    var settings = SyncEngine.Settings()
    let shortest = settings.shortestRetry
    let enough = Latch()
    settings.sleep = { duration in
      guard duration == shortest else { return try await Latch.never() }
      if pauses.add(1, ordering: .relaxed).newValue == 3 { enough.open() }
    }
    let engine = SyncEngine(phone, settings)
    let inner = log
    await engine.add(StirredMailbox(inner), named: "relay")
    await engine.resume()
    #expect(await enough.wait(atMost: .seconds(200)))
    await engine.pause()
  }
}

extension Latch {
  /// Ends with the task only.
  static func never() async throws { try await MemoryMailbox().wait(after: nil) }
}

extension Mailbox {
  /// All bytes of an entry.
  func bytes(of name: String) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    var pieces = try await get(name, from: 0).makeAsyncIterator()
    while let piece = try await pieces.next() { bytes += piece }
    return bytes
  }
}

/// A mailbox that says what it is told to say.
private struct ScriptedMailbox: Mailbox {
  let name = "scripted", identity = "scripted"
  let kind = MailboxKind.log
  let page: @Sendable (MailboxCursor?) -> MailboxPage

  init(_ page: @escaping @Sendable (MailboxCursor?) -> MailboxPage) { self.page = page }

  func changes(after cursor: MailboxCursor?) async throws -> MailboxPage { page(cursor) }
  func get(_ name: String, from offset: Int) async throws -> any AsyncSequence<[UInt8], any Error> {
    throw MailboxError(.noSuchFile, "there is nothing")
  }
  func put(_ upload: MailboxUpload) async throws -> MailboxReceipt { MailboxReceipt() }
  func remove(_ names: [String]) async throws {}
}

/// A log whose waits end at once.
private struct StirredMailbox: Mailbox {
  let inner: MemoryLog

  init(_ inner: MemoryLog) { self.inner = inner }

  var name: String { inner.name }
  var identity: String { inner.identity }
  var kind: MailboxKind { .log }

  func changes(after cursor: MailboxCursor?) async throws -> MailboxPage { try await inner.changes(after: cursor) }
  func get(_ name: String, from offset: Int) async throws -> any AsyncSequence<[UInt8], any Error> {
    try await inner.get(name, from: offset)
  }
  func put(_ upload: MailboxUpload) async throws -> MailboxReceipt { try await inner.put(upload) }
  func remove(_ names: [String]) async throws { try await inner.remove(names) }
  func wait(after cursor: MailboxCursor?) async throws { try Task.checkCancellation() }
}

/// A log in which somebody else puts something just before a store does.
private struct OvertakenLog: Mailbox {
  let log: MemoryLog
  let overtake: @Sendable () async throws -> Void

  init(_ log: MemoryLog, overtake: @escaping @Sendable () async throws -> Void) {
    (self.log, self.overtake) = (log, overtake)
  }

  var name: String { log.name }
  var identity: String { log.identity }
  var kind: MailboxKind { log.kind }

  func changes(after cursor: MailboxCursor?) async throws -> MailboxPage { try await log.changes(after: cursor) }

  func get(_ name: String, from offset: Int) async throws -> any AsyncSequence<[UInt8], any Error> {
    try await log.get(name, from: offset)
  }

  func put(_ upload: MailboxUpload) async throws -> MailboxReceipt {
    try await overtake()
    return try await log.put(upload)
  }

  func remove(_ names: [String]) async throws { try await log.remove(names) }
  func wait(after cursor: MailboxCursor?) async throws { try await log.wait(after: cursor) }
}

/// A log whose cursors are tokens of its own that count nothing, of which each answer has another.
private struct TokenLog: Mailbox {
  let log: MemoryLog

  init(_ log: MemoryLog) { self.log = log }

  var name: String { log.name }
  var identity: String { log.identity }
  var kind: MailboxKind { .log }

  func changes(after cursor: MailboxCursor?) async throws -> MailboxPage {
    let listing = cursor == nil ? try await log.changes(after: nil).items : []
    return MailboxPage(
      items: listing, cursor: MailboxCursor(position: 0, entry: UUID().uuidString), isListing: cursor == nil,
      hasMore: false)
  }

  func get(_ name: String, from offset: Int) async throws -> any AsyncSequence<[UInt8], any Error> {
    try await log.get(name, from: offset)
  }

  func put(_ upload: MailboxUpload) async throws -> MailboxReceipt {
    _ = try await log.put(upload)
    return MailboxReceipt()
  }

  func remove(_ names: [String]) async throws { try await log.remove(names) }
  func wait(after cursor: MailboxCursor?) async throws { try await log.wait(after: cursor) }
}
