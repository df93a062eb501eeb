import Foundation
import GRDB
import Tally
import TallySync
import Testing

@Suite(.timeLimit(.minutes(5))) struct SessionTests {
  @Test func equalReplicasPartAfterOneMessageEach() async throws {
    let (a, b) = (try World.store(notes: 3), try World.store())
    _ = try await World.sync(a, b)
    let (one, two) = try await World.sync(a, b)
    #expect(one.messageBytes == two.messageBytes)
    #expect(one.messageBytes < 200)
    #expect(one.bytesSent == 0 && one.bytesReceived == 0)
  }

  @Test func bothSidesGetWhatTheyLack() async throws {
    let (a, b) = (try World.store(notes: 50, "a"), try World.store(notes: 70, "b"))
    let (one, two) = try await World.sync(a, b)
    #expect(one.changes == 70 && two.changes == 50)
    try World.expectEqual(a, b)
    #expect(try World.count(a) == 120)
  }

  @Test func aTransferOfManyChunksArrivesWhole() async throws {
    let (a, b) = (try World.store(), try World.store())
    try await a.write { db in
      for number in 0..<200 {
        let text = (0..<2_000).map { _ in String(UInt64.random(in: 0...UInt64.max), radix: 36) }.joined()
        try Note(text: text, stars: number).insert(db)
      }
    }
    let (one, _) = try await World.sync(a, b)
    #expect(one.bytesSent > 3 << 20)
    try World.expectEqual(a, b)
  }

  @Test func concurrentEditsGoToTheJournals() async throws {
    let (a, b) = (try World.store(notes: 1), try World.store())
    _ = try await World.sync(a, b)
    try await a.write { try $0.execute(sql: "UPDATE Note SET text = 'from a'") }
    try await b.write { try $0.execute(sql: "UPDATE Note SET text = 'from b'") }
    let (one, two) = try await World.sync(a, b)
    #expect(one.conflicts + two.conflicts >= 1)
    try World.expectEqual(a, b)
  }

  @Test func copiesWithOneReplicaIdKeepBothEdits() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (path, copy) = (folder.appendingPathComponent("a").path, folder.appendingPathComponent("b").path)
    var options = StoreOptions()
    options.detectsCopies = false
    let original = try Store(path: path, schema: Schema(Note.self), options: options)
    try World.insert(2, "shared", original)

    try original.close()
    for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: path + suffix) {
      try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
    }
    let (a, b) = (
      try Store(path: path, schema: Schema(Note.self), options: options),
      try Store(path: copy, schema: Schema(Note.self), options: options)
    )
    #expect(try a.summary().replica == b.summary().replica)
    // The same counter for different content: what no vector can tell.
    try World.insert(1, "only a", a)
    try World.insert(1, "only b", b)
    let (one, _) = try await World.sync(a, b)
    #expect(one.repaired)
    try World.expectEqual(a, b)
    #expect(try World.count(a) == 4)
    try World.insert(1, "later a", a)
    try World.insert(1, "later b", b)
    #expect(try a.summary().replica != b.summary().replica)
    _ = try await World.sync(a, b)
    try World.expectEqual(a, b)
    #expect(try World.count(a) == 6)
    #expect(try a.lastRenewal() != nil)
  }

  @Test func liveSessionsPassChangesOnAsTheyAreCommitted() async throws {
    let (a, b) = (try World.store(notes: 10), try World.store())
    let (left, right) = MemoryConnection.pair()
    var settings = SyncSettings()
    settings.isLive = true
    let (phases, feed) = AsyncStream.makeStream(of: SyncSession.Progress.self)
    var watching = settings
    watching.onProgress = { feed.yield($0) }
    let changes = b.changes()
    let one = Task { [watching] in try await a.sync(over: left, watching) }
    let two = Task { [settings] in try await b.sync(over: right, settings) }
    for await progress in phases where progress.phase == .live { break }
    let before = try a.summary().vector
    try await a.write { try $0.execute(sql: "UPDATE Note SET stars = 5 WHERE rowid = 1") }
    for await _ in changes {
      if try b.summary().vector.covers(try a.summary().vector) { break }
    }
    #expect(try a.summary().vector != before)
    try World.expectEqual(a, b)
    for await progress in phases where progress.pending == 0 { break }
    await left.close()
    let outcome = try await one.value
    _ = try await two.value
    #expect(outcome.peer == nil)
  }

  @Test func oneLiveChangeTakesAtMostSixtyBytes() async throws {
    let (a, b) = (try World.store(notes: 100), try World.store())
    _ = try await World.sync(a, b)
    var (left, right) = (SyncSession(mode: .live), SyncSession(mode: .live))
    _ = try left.handle(.started(try a.summary()))
    _ = try right.handle(.started(try b.summary()))
    func hello(_ store: Store) throws -> SyncMessage {
      .hello(
        SyncHello(
          versions: 1...1, replica: try store.summary().replica, digest: SyncDigest(try store.summary()), isLive: true,
          messageLimit: SyncLimits.messageBytes))
    }
    _ = try left.handle(.message(try hello(b)))
    _ = try right.handle(.message(try hello(a)))
    #expect(left.progress.phase == .live && right.progress.phase == .live)
    var sizes: [Int] = []
    for stars in 2...20 {
      try World.change(stars: stars, a)
      let asked = try left.handle(.changed(try a.summary()))
      guard case .collect(let base)? = asked.first else { throw SyncError(.protocolViolation, "\(asked)") }
      let (header, blocks) = try a.blocks(since: base)
      let sent = try left.handle(.collected(header, blocks))
      guard case .send(let message)? = sent.first else { throw SyncError(.protocolViolation, "\(sent)") }
      sizes.append(message.encoded().count)
      for action in try right.handle(.message(try SyncMessage(message.encoded()))) {
        guard case .applyLive(let header, let block) = action else { continue }
        _ = try b.apply(header, block.map { [$0] } ?? [])
        let answers = try right.handle(.applied(try b.summary(), target: header.target))
        guard case .send(let answer)? = answers.first else { throw SyncError(.protocolViolation, "\(answers)") }
        _ = try left.handle(.message(answer))
      }
    }
    #expect(sizes.max() ?? 0 <= 60, "\(sizes)")
    try World.expectEqual(a, b)
  }

  @Test func aBrokenConnectionLeavesBothStoresSound() async throws {
    for cut in [0, 1, 2, 3, 5, 8, 12] {
      let (a, b) = (try World.store(notes: 300, "a"), try World.store(notes: 300, "b"))
      let (left, right) = MemoryConnection.pair()
      let fragile = FragileConnection(left, messages: cut)
      async let one = a.sync(over: fragile, SyncSettings())
      async let two = b.sync(over: right, SyncSettings())
      _ = try? await one
      _ = try? await two
      for store in [a, b] { #expect(try await store.verify().problems == []) }
      _ = try await World.sync(a, b)
      try World.expectEqual(a, b)
    }
  }
}

/// Breaks after a number of messages sent.
actor FragileConnection: SyncConnection {
  private let base: MemoryConnection
  private var left: Int

  init(_ base: MemoryConnection, messages: Int) {
    self.base = base
    left = messages
  }

  func send(_ message: [UInt8]) async throws {
    guard left > 0 else {
      await base.close()
      throw SyncError(.disconnected, "cut")
    }
    left -= 1
    try await base.send(message)
  }

  nonisolated func receive() async throws -> [UInt8]? { try await base.receive() }
  nonisolated func close() async { await base.close() }
}

/// Somebody else who writes all the time.
@Suite(.timeLimit(.minutes(5))) struct NewerChangesTests {
  /// Writes between the moment at which a session looked at its store and that at which it reads the delta.
  @Test func whatAnotherProcessWritesBeforeTheDeltaIsReadGoesOver() throws {
    let (one, other) = (try World.store(notes: 1), try World.store())
    let a = try SessionSide(one)
    a.holdsPreparing = true
    let b = try SessionSide(other)
    try SessionSide.settle(a, b)
    // Nobody tells the session.
    try World.insert(1, "meanwhile", one)
    try a.release()
    try SessionSide.settle(a, b)
    #expect(a.session.isFinished && b.session.isFinished)
    try World.expectEqual(one, other)
  }

  @Test func aSyncTellsHowMuchWasWrittenMeanwhile() async throws {
    let (one, other) = (try World.store(notes: 3), try World.store(notes: 2, "other"))
    // Both hold what the other had; the change comes when they part.
    var settings = SyncSettings()
    settings.onProgress = { step in
      if step.phase == .finished { try? World.insert(1, "late", one) }
    }
    let (left, right) = MemoryConnection.pair()
    async let first = one.sync(over: left, settings)
    async let second = other.sync(over: right)
    let outcomes = (try await first, try await second)
    #expect(outcomes.0.newerChanges == 1 && outcomes.1.newerChanges == 0)
    let rest = try await one.sync(with: other)
    #expect(rest.isConverged && rest.newerChanges == 0 && rest.second.changes == 1)
  }
}
