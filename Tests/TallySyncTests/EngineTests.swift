import Foundation
import GRDB
import Synchronization
import Tally
import TallyCRDT
import TallySync
import Testing

@Suite(.timeLimit(.minutes(5))) struct EngineTests {
  private struct Refused: Error {}

  /// Waits until the status is as wanted.
  private func until(_ engine: SyncEngine, _ isWanted: (SyncStatus) throws -> Bool) async throws {
    for await status in await engine.statusUpdates() where try isWanted(status) { return }
  }

  private func peer(_ name: String, _ store: Store, isLive: Bool = true) -> MemoryTransport {
    MemoryTransport(name: name) { connection in
      var settings = SyncSettings()
      settings.isLive = isLive
      _ = try await store.sync(over: connection, settings)
    }
  }

  @Test func allPeersGetEverythingAndEachOthersChanges() async throws {
    let (phone, mac, watch) = (
      try World.store(notes: 5, "phone"), try World.store(notes: 6, "mac"), try World.store(notes: 7, "watch")
    )
    let engine = SyncEngine(phone)
    await engine.add(peer("mac", mac))
    await engine.add(peer("watch", watch))
    await engine.resume()
    try await until(engine) { status in
      let vectors = try [phone, mac, watch].map { try $0.summary().vector }
      return status.peers.allSatisfy { $0.phase == .live } && vectors.allSatisfy { $0 == vectors[0] }
        && vectors[0].count == 3
    }
    let told = watch.changes()
    try World.insert(1, "late", mac)
    for await _ in told where try World.count(watch) == 19 { break }
    await engine.pause()
    try World.expectEqual(phone, mac, watch)
    #expect(await engine.status.peers.allSatisfy { $0.phase == .paused && $0.lastSuccess != nil })
    #expect(await engine.status.peers.allSatisfy { $0.protocolVersions == 1...5 })
  }

  @Test func aPeerThatFailsIsTriedAgainWithGrowingPausesAndHoldsUpNobody() async throws {
    let (phone, mac) = (try World.store(notes: 1), try World.store())
    let pauses = Mutex<[Duration]>([])
    var settings = SyncEngine.Settings()
    settings.jitter = { 1 }
    settings.sleep = { duration in
      let count = pauses.withLock { pauses in
        pauses.append(duration)
        return pauses.count
      }
      if count >= 12 { try await Task.sleep(for: .seconds(3600)) }
    }
    let engine = SyncEngine(phone, settings)
    await engine.add(MemoryTransport(name: "broken") { _ in throw Refused() })
    await engine.add(peer("mac", mac))
    await engine.resume()
    try await until(engine) { $0.peers[1].phase == .live && $0.peers[0].failures == 12 }
    #expect(pauses.withLock { $0.prefix(5) } == [.seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16)])
    #expect(pauses.withLock { $0.max() } == .seconds(300))
    let status = await engine.status
    #expect(status.peers[0].lastError?.contains("disconnected") == true)
    #expect(!status.isUpToDate)
    await engine.pause()
    try World.expectEqual(phone, mac)
  }

  @Test func aPeerOfANewerProtocolIsGivenUpUntilTheSwitchIsUsed() async throws {
    let phone = try World.store(notes: 1)
    let attempts = Atomic<Int>(0)
    let engine = SyncEngine(phone)
    let hello = SyncHello(
      versions: 9...12, zone: .default, replica: nil, digest: SyncDigest(try phone.summary()), isLive: false,
      messageLimit: 1 << 20)
    await engine.add(
      MemoryTransport(name: "newer") { connection in
        attempts.add(1, ordering: .relaxed)
        try await connection.send(SyncMessage.hello(hello).encoded())
        _ = try await connection.receive()
        _ = try await connection.receive()
      })
    await engine.resume()
    try await until(engine) { $0.peers[0].phase == .blocked }
    #expect(await engine.status.peers[0].lastError?.contains("upgradeRequired") == true)
    await engine.pause()
    await engine.resume()
    try await until(engine) { _ in attempts.load(ordering: .relaxed) == 2 }
    await engine.pause()
  }

  /// A way to a peer that always fails in the same way.
  private struct Failing: Transport {
    struct Refusal: TallyError {
      enum Code: String { case gone, busy }
      var code: Code
      var message: String { "refused" }
      var isPermanent: Bool { code == .gone }
      var retryAfter: Duration? { code == .busy ? .seconds(100) : nil }
      var description: String { "refused (\(code.rawValue))" }
    }
    let name: String
    let error: any Error
    func open() async throws -> any SyncConnection { throw error }
  }

  /// The status is what an app answers: as soon as it says that a peer is given up, a sync can be wanted again.
  @Test func aPeerThatIsGivenUpIsTriedAgainAsSoonAsTheStatusSaysSo() async throws {
    let engine = SyncEngine(try World.store(notes: 1))
    await engine.add(Failing(name: "gone", error: Failing.Refusal(code: .gone)))
    await engine.resume()
    for failures in 1...20 {
      try await until(engine) { $0.peers[0].phase == .blocked && $0.peers[0].failures == failures }
      await engine.syncNow()
    }
    try await until(engine) { $0.peers[0].failures == 21 }
    await engine.pause()
  }

  /// An error itself says whether, and when, there is another attempt.
  @Test func anErrorSaysWhetherToTryAgain() async throws {
    let (pauses, feed) = AsyncStream.makeStream(of: Duration.self)
    var settings = SyncEngine.Settings()
    settings.sleep = { duration in
      feed.yield(duration)
      try await Task.sleep(for: .seconds(3600))
    }
    let engine = SyncEngine(try World.store(), settings)
    await engine.add(Failing(name: "gone", error: Failing.Refusal(code: .gone)))
    await engine.add(Failing(name: "busy", error: Failing.Refusal(code: .busy)))
    await engine.add(Failing(name: "row", error: StoreError(.typeMismatch, "a row cannot be captured")))
    await engine.add(Failing(name: "closed", error: StoreError(.closed, "the store is closed")))
    await engine.add(Failing(name: "reading", error: StoreError(.readOnly, "the store only reads")))
    let before = Date()
    await engine.resume()
    try await until(engine) { $0.peers.allSatisfy { $0.failures == 1 } }
    let status = await engine.status
    #expect(status.peers.map(\.phase) == [.blocked, .retrying, .retrying, .blocked, .blocked])
    #expect(status.peers.map(\.errorCode) == ["gone", "busy", "typeMismatch", "closed", "readOnly"])
    // Those that are given up are not tried again; the one that was asked for a pause makes it.
    #expect(status.peers.map { $0.nextRetry != nil } == [false, true, true, false, false])
    let (busy, row) = (try #require(status.peers[1].nextRetry), try #require(status.peers[2].nextRetry))
    #expect(busy > before + 100 && busy < Date() + 101 && row > before && row < Date() + 1)
    for await pause in pauses where pause == .seconds(100) { break }
    await engine.pause()
    #expect(await engine.status.peers.allSatisfy { $0.nextRetry == nil })
  }

  @Test func connectionsThatPeersOpenAreServed() async throws {
    let (phone, mac) = (try World.store(notes: 3), try World.store(notes: 4))
    let engine = SyncEngine(phone)
    await engine.resume()
    let (here, there) = MemoryConnection.pair()
    async let served = engine.accept(here, from: "mac")
    let outcome = try await mac.sync(over: there)
    #expect(outcome.changes == 3)
    #expect(try await served.changes == 4)
    #expect(await engine.status.peers == [])
    try World.expectEqual(phone, mac)
  }

  @Test func aPausedEngineRefusesConnections() async throws {
    let engine = SyncEngine(try World.store())
    let (here, there) = MemoryConnection.pair()
    await #expect(throws: SyncError.self) { try await engine.accept(here, from: "mac") }
    #expect(try await there.receive() == nil)
  }

  /// A peer that does not stay connected is synced with again after the interval or a change, and not all the time.
  @Test func eachRoundWaitsForAChangeOrTheInterval() async throws {
    let (phone, mac) = (try World.store(notes: 1), try World.store())
    let (waits, feed) = AsyncStream.makeStream(of: CheckedContinuation<Void, any Error>.self)
    let rounds = Atomic<Int>(0)
    let sleeps = Atomic<Int>(0)
    var settings = SyncEngine.Settings()
    settings.isLive = false
    settings.sleep = { _ in
      guard sleeps.add(1, ordering: .relaxed).newValue <= 5 else { return try await Task.sleep(for: .seconds(3600)) }
      try await withCheckedThrowingContinuation { feed.yield($0) }
    }
    let engine = SyncEngine(phone, settings)
    await engine.add(
      MemoryTransport(name: "mac") { connection in
        rounds.add(1, ordering: .relaxed)
        try await mac.sync(over: connection)
      })
    await engine.resume()
    var number = 0
    for await wait in waits {
      number += 1
      // Each wait follows exactly one round, however many intervals have passed.
      #expect(rounds.load(ordering: .relaxed) == number)
      wait.resume()
      if number == 5 { break }
    }
    await engine.pause()
  }

  @Test func aMailboxIsPassedThroughLikeAnyPeer() async throws {
    let (phone, mac) = (try World.store(notes: 3, "phone"), try World.store(notes: 4, "mac"))
    let mailbox = MemoryMailbox()
    var settings = SyncEngine.Settings()
    settings.debounceInterval = .zero
    settings.sleep = { _ in try await Task.sleep(for: .seconds(3600)) }
    let engine = SyncEngine(phone, settings)
    await engine.add(mailbox, named: "drive")
    await engine.resume()
    try await until(engine) { $0.peers[0].phase == .idle && $0.isUpToDate }
    try await mac.sync(through: mailbox)
    #expect(try World.count(mac) == 7)
    // What is written goes out without waiting for the interval, and what others have put comes with it.
    try World.insert(1, "late", phone)
    try await until(engine) { _ in try World.count(phone) == 8 && mailbox.files.count >= 3 }
    try await until(engine) { $0.peers[0].phase == .idle }
    await engine.pause()
    try await mac.sync(through: mailbox)
    try World.expectEqual(phone, mac)
    #expect(await engine.status.peers[0].changesReceived == 4)
  }

  /// The network has come back, or somebody has touched the button.
  /// A live session may last for hours: what it brings counts when it is committed, not when it ends.
  @Test func changesCountAsTheyArrive() async throws {
    let (phone, mac) = (try World.store(), try World.store(notes: 5, "mac"))
    let engine = SyncEngine(phone)
    await engine.add(peer("mac", mac))
    await engine.resume()
    try await until(engine) { $0.peers[0].phase == .live && $0.peers[0].changesReceived == 5 }
    try World.insert(2, "late", mac)
    try await until(engine) { $0.peers[0].phase == .live && $0.peers[0].changesReceived == 7 }
    await engine.pause()
    #expect(await engine.status.peers[0].changesReceived == 7)
  }

  /// Of a mailbox with many files each counts once it is applied.
  @Test func filesOfAMailboxCountAsTheyAreTaken() async throws {
    let (phone, mailbox) = (try World.store(), MemoryMailbox())
    for number in 0..<3 {
      let other = try World.store(notes: 4, "device \(number)")
      try await other.sync(through: mailbox)
    }
    let seen = Mutex<[MailboxProgress]>([])
    var settings = MailboxSettings()
    settings.onProgress = { step in seen.withLock { $0.append(step) } }
    try await phone.sync(through: mailbox, settings)
    let taken = seen.withLock { $0 }.filter { $0.phase == .taking }
    #expect(Set(taken.map(\.changes)).isSuperset(of: [4, 8, 12]))
    #expect(taken.allSatisfy { ($0.fraction ?? -1) >= 0 && ($0.fraction ?? 2) <= 1 })
  }

  /// What is written while nobody can be reached counts as pending at once, and not at the next try.
  @Test func whatIsWrittenWhileAPeerIsAwayIsPendingAtOnce() async throws {
    let (phone, mac) = (try World.store(notes: 1), try World.store())
    let isAway = Mutex(false)
    let mailbox = MemoryMailbox()
    var settings = SyncEngine.Settings()
    settings.isLive = false
    settings.outsideInterval = nil
    // No next try before the test is over; changes are gathered as ever.
    settings.sleep = { try await Task.sleep(for: $0 < .milliseconds(300) ? $0 : .seconds(3600)) }
    let engine = SyncEngine(phone, settings)
    await engine.add(
      MemoryTransport(name: "mac") { connection in
        if isAway.withLock({ $0 }) { throw Refused() }
        _ = try await mac.sync(over: connection)
      })
    await engine.add(mailbox, named: "folder")
    await engine.resume()
    try await until(engine) { $0.peers.allSatisfy { $0.phase == .idle && $0.pending == 0 } }
    isAway.withLock { $0 = true }
    mailbox.faults.callsLeft = 0
    for number in 1...3 {
      try World.insert(1, "away \(number)", phone)
      try await until(engine) { status in
        status.peers.allSatisfy { $0.phase == .retrying && $0.pending == UInt64(number) } && !status.isUpToDate
      }
    }
    isAway.withLock { $0 = false }
    mailbox.faults.callsLeft = nil
    await engine.syncNow()
    try await until(engine) { $0.peers.allSatisfy { $0.phase == .idle && $0.pending == 0 } }
    await engine.pause()
  }

  @Test func whoWantsItNowDoesNotWaitForTheNextTry() async throws {
    let (phone, mac) = (try World.store(notes: 1), try World.store())
    let isAway = Mutex(true)
    var settings = SyncEngine.Settings()
    settings.sleep = { _ in try await Task.sleep(for: .seconds(3600)) }
    let engine = SyncEngine(phone, settings)
    await engine.add(
      MemoryTransport(name: "mac") { connection in
        if isAway.withLock({ $0 }) { throw Refused() }
        try await mac.sync(over: connection)
      })
    await engine.syncNow()
    #expect(await engine.status.peers[0].phase == .paused)
    await engine.resume()
    try await until(engine) { $0.peers[0].phase == .retrying }
    isAway.withLock { $0 = false }
    await engine.syncNow()
    try await until(engine) { $0.peers[0].phase == .live || $0.peers[0].phase == .idle }
    #expect(await engine.status.peers[0].nextRetry == nil)
    await engine.pause()
    try World.expectEqual(phone, mac)
  }

  /// A background task has some seconds, and says afterwards how it went.
  @Test func syncingOnceBeginsAndPausesAgain() async throws {
    let (phone, mailbox) = (try World.store(notes: 2), MemoryMailbox())
    let engine = SyncEngine(phone)
    await engine.add(mailbox, named: "drive")
    let status = await engine.syncOnce(within: .seconds(250))
    #expect(status.isUpToDate && mailbox.files.count == 1)
    #expect(await engine.status.isPaused)
    mailbox.faults.callsLeft = 0
    let failed = await engine.syncOnce(within: .seconds(250))
    #expect(!failed.isUpToDate && failed.peers[0].lastError != nil)
    // One that runs goes on running.
    mailbox.faults.callsLeft = nil
    await engine.resume()
    try await until(engine) { $0.peers[0].phase == .idle }
    try World.insert(1, "late", phone)
    #expect(await engine.syncOnce(within: .seconds(250)).peers[0].lastError == nil)
    #expect(await !engine.status.isPaused)
    await engine.pause()
    #expect(mailbox.files.count == 2)
  }

  @Test func syncingOnceEndsWhenTheTimeIsOver() async throws {
    var settings = SyncEngine.Settings()
    settings.sleep = { duration in
      // The time that the task has is over at once; nothing else is.
      if duration != .seconds(25) { try await Task.sleep(for: .seconds(3600)) }
    }
    let engine = SyncEngine(try World.store(notes: 1), settings)
    await engine.add(MemoryTransport(name: "silent") { _ in try await Task.sleep(for: .seconds(3600)) })
    let status = await engine.syncOnce(within: .seconds(25))
    #expect(!status.isUpToDate)
    #expect(await engine.status.isPaused)
  }

  /// Each letter is a commit, and a file for each would be too many.
  @Test func typingBecomesFewFiles() async throws {
    let (phone, mailbox) = (try World.store(notes: 1), MemoryMailbox())
    let (gatherings, feed) = AsyncStream.makeStream(of: CheckedContinuation<Void, Never>.self)
    var settings = SyncEngine.Settings()
    // Longer than any machine needs, so that each change comes within it; the test ends it.
    settings.debounceInterval = .seconds(600)
    settings.interval = .seconds(3600)
    settings.outsideInterval = nil
    settings.sleep = { duration in
      guard duration <= .seconds(600) else { return try await Task.sleep(for: duration) }
      await withCheckedContinuation { _ = feed.yield($0) }
    }
    let engine = SyncEngine(phone, settings)
    await engine.add(mailbox, named: "drive")
    await engine.resume()
    try await until(engine) { $0.peers[0].phase == .idle }
    #expect(mailbox.files.count == 1)
    try World.insert(1, "first letter", phone)
    for await gathering in gatherings {
      for stars in 2...40 { try World.change(stars: stars, phone) }
      gathering.resume()
      break
    }
    try await until(engine) { _ in mailbox.files.count > 1 }
    try await until(engine) { $0.peers[0].phase == .idle }
    #expect(mailbox.files.count == 2)
    await engine.pause()
  }

  /// An extension of the app, or a script, writes into the same file; nobody opens the app.
  @Test func whatAnotherProgramWritesIsPublished() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-engine-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("notes.sqlite").path
    let (phone, mac, mailbox) = (try Store(path: path, schema: Schema(Note.self)), try World.store(), MemoryMailbox())
    var settings = SyncEngine.Settings()
    settings.interval = .seconds(3600)
    settings.outsideInterval = .milliseconds(10)
    let engine = SyncEngine(phone, settings)
    await engine.add(mailbox, named: "drive")
    await engine.resume()
    try await until(engine) { $0.peers[0].phase == .idle }
    let texts = phone.values { db in try String.fetchAll(db, sql: "SELECT text FROM Note") }
    // The engine looks every ten milliseconds, and may have the file just then.
    var configuration = Configuration()
    configuration.busyMode = .timeout(60)
    let other = try DatabaseQueue(path: path, configuration: configuration)
    try await other.write { db in
      try db.execute(sql: "INSERT INTO Note(id, text, stars) VALUES('Note|~|outside', 'outside', 3)")
    }
    try other.close()
    // Who observes the table is told, though only the engine looks.
    for try await seen in texts where seen == ["outside"] { break }
    try await until(engine) { _ in !mailbox.files.isEmpty }
    await engine.pause()
    try await mac.sync(through: mailbox)
    #expect(try await mac.read { try Note.fetchAll($0) }.map(\.text) == ["outside"])
  }

  @Test func aMailboxThatIsGoneIsTriedAgain() async throws {
    let mailbox = MemoryMailbox()
    mailbox.faults.callsLeft = 0
    let tries = Atomic<Int>(0)
    var settings = SyncEngine.Settings()
    settings.sleep = { _ in
      if tries.add(1, ordering: .relaxed).newValue == 3 { mailbox.faults.callsLeft = nil }
      if tries.load(ordering: .relaxed) > 3 { try await Task.sleep(for: .seconds(3600)) }
    }
    let engine = SyncEngine(try World.store(notes: 1), settings)
    await engine.add(mailbox, named: "drive")
    await engine.resume()
    try await until(engine) { $0.peers[0].phase == .idle && $0.peers[0].lastSuccess != nil }
    #expect(mailbox.files.count == 1)
    await engine.pause()
  }

  /// Pausing waits for what is under way; whoever uses the switch meanwhile means it.
  @Test func resumingWhileAPauseIsUnderWayStartsEveryPeer() async throws {
    let (phone, mac, watch) = (try World.store(notes: 1), try World.store(), try World.store())
    let engine = SyncEngine(phone)
    await engine.add(peer("mac", mac))
    await engine.add(peer("watch", watch))
    await engine.resume()
    for _ in 0..<20 {
      try await until(engine) { $0.peers.allSatisfy { $0.phase == .live } }
      async let paused: Void = engine.pause()
      await engine.resume()
      await paused
      await engine.resume()
    }
    try await until(engine) { $0.peers.allSatisfy { $0.phase == .live } }
    await engine.pause()
    try World.expectEqual(phone, mac, watch)
  }

  /// A peer that connects and then neither reads nor says anything, while there is much to send to it.
  @Test func aPeerThatReadsNothingHoldsUpNobody() async throws {
    let (phone, mac) = (try World.store(), try World.store(notes: 3, "mac"))
    let text = (0..<200_000).map { _ in String(UInt64.random(in: 0...UInt64.max), radix: 36) }.joined()
    try await phone.write { try Note(text: text, stars: 1).insert($0) }
    let hello = SyncHello(
      versions: 1...2, replica: nil, digest: SyncDigest(try World.store().summary()), isLive: true,
      messageLimit: SyncLimits.messageBytes)
    let engine = SyncEngine(phone)
    await engine.add(
      MemoryTransport(name: "stuck") { connection in
        for message in [SyncMessage.hello(hello), .vector(StateVector())] {
          try await connection.send(message.encoded())
        }
        try await Task.sleep(for: .seconds(3600))
      })
    await engine.add(peer("mac", mac))
    await engine.resume()
    try await until(engine) { $0.peers[0].phase == .syncing && $0.peers[1].phase == .live }
    let told = mac.changes()
    try World.insert(1, "late", phone)
    for await _ in told where try World.count(mac) == 5 { break }
    await engine.pause()
    try World.expectEqual(phone, mac)
  }
}
