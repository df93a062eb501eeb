import Foundation
import Tally
import TallyCRDT
import TallySync
import TestEffort
import Testing

/// A transfer that was cut off goes on where it broke.
@Suite(.timeLimit(.minutes(5))) struct ResumeTests {
  private static let chunk = UInt64(SyncLimits.chunkBytes)
  private let a: Site
  private let b: Site
  /// The bytes of all that `a` has.
  private let total: UInt64
  private var chunks: Int { Int((total + Self.chunk - 1) / Self.chunk) }

  init() throws {
    (a, b) = (try Site(), try Site())
    try Self.fill(a, seed: 1)
    total = UInt64(try a.use { try $0.delta().count })
  }

  /// Half a megabyte that does not compress well.
  private static func fill(_ site: Site, seed: UInt64) throws {
    var state = seed
    func word() -> String {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return String(state, radix: 36)
    }
    try site.use { store in
      try store.write { db in
        for stars in 0..<10 { try Note(text: (0..<6_000).map { _ in word() }.joined(), stars: stars).insert(db) }
      }
    }
  }

  /// Syncs until `a` has sent that many chunks, then breaks. Both sides have ended on return.
  private func cut(after count: Int) async throws {
    let (left, right) = MemoryConnection.pair()
    let cut = ChunkCut(left, after: count)
    try await a.using { one in
      try await b.using { two in
        let here = Task { try await one.sync(over: cut) }
        let there = Task { try await two.sync(over: right) }
        await #expect(throws: SyncError.self) { try await here.value }
        await #expect(throws: SyncError.self) { try await there.value }
      }
    }
  }

  private func parts(of site: Site, _ prefix: String) -> [String] {
    let names = try? FileManager.default.contentsOfDirectory(atPath: site.path + "-transfers")
    return (names ?? []).filter { $0.hasPrefix(prefix) }.map { "\(site.path)-transfers/\($0)" }
  }

  private func forget(_ site: Site) throws { try FileManager.default.removeItem(atPath: site.path + "-transfers") }

  // MARK: Going on

  @Test func cutAfterAnyChunkOnlyTheRestIsSent() async throws {
    #expect(chunks >= 7)
    for count in Effort.sample(1...chunks - 1, 3) {
      let other = try ResumeTests()
      try await other.cut(after: count)
      #expect(try other.b.use { try $0.verify().problems } == [])
      let outcome = try await Link.memory.sync(other.a, other.b)
      #expect(outcome.bytesSent == other.total - UInt64(count) * Self.chunk, "cut after \(count) of \(chunks)")
      try Site.expectEqual(other.a, other.b)
      // Nothing is left of it.
      for site in [other.a, other.b] { #expect(!FileManager.default.fileExists(atPath: site.path + "-transfers")) }
    }
  }

  @Test(arguments: Effort.sample(Link.connected, 2)) func aConnectionThatLastsForOneChunkGetsThereInTheEnd(
    over link: Link
  ) async throws {
    for _ in 1..<chunks { _ = try? await link.sync(a, b) { ChunkCut($0, after: 1) } }
    let outcome = try await link.sync(a, b)
    try Site.expectEqual(a, b)
    // A cut may take with it what was under way.
    #expect(outcome.bytesSent < total / 2)
  }

  @Test func aChangedSourceSendsTheRestAndThenTheChange() async throws {
    try await cut(after: 4)
    try a.insert(1, "meanwhile")
    try b.insert(1, "there too")
    let outcome = try await Link.memory.sync(a, b)
    #expect(outcome.bytesSent < total - 4 * Self.chunk + 500)
    try Site.expectEqual(a, b)
  }

  @Test func bothDirectionsGoOn() async throws {
    try Self.fill(b, seed: 2)
    try await cut(after: 4)
    let outcome = try await Link.memory.sync(a, b)
    #expect(outcome.bytesSent == total - 4 * Self.chunk)
    #expect(outcome.bytesReceived < UInt64(try b.use { try $0.delta().count }))
    try Site.expectEqual(a, b)
  }

  @Test func withoutTheSendersCopyTheSameContentStillGoesOn() async throws {
    try await cut(after: 4)
    try forget(a)
    let outcome = try await Link.memory.sync(a, b)
    #expect(outcome.bytesSent == total - 4 * Self.chunk)
    try Site.expectEqual(a, b)
  }

  @Test func withoutTheSendersCopyOtherContentBeginsAnew() async throws {
    try await cut(after: 4)
    try forget(a)
    try a.insert(1, "meanwhile")
    let outcome = try await Link.memory.sync(a, b)
    // Another record can make the compressed whole a few bytes shorter.
    #expect(outcome.bytesSent > total - Self.chunk)
    try Site.expectEqual(a, b)
  }

  @Test func withoutTheReceiversPartItBeginsAnew() async throws {
    try await cut(after: 4)
    try forget(b)
    #expect(try await Link.memory.sync(a, b).bytesSent == total)
    try Site.expectEqual(a, b)
  }

  /// The process died after the last chunk and before the delta was applied.
  @Test func whatIsAllHereIsAppliedWithoutASecondTransfer() async throws {
    try await cut(after: 1)
    let part = try #require(parts(of: b, "in-").first)
    try Data(try a.use { try $0.delta() }).write(to: URL(fileURLWithPath: part))
    let outcome = try await Link.memory.sync(a, b)
    #expect(outcome.bytesSent == 0)
    try Site.expectEqual(a, b)
  }

  /// The switch is turned off while the delta is being applied: that is rolled back or done, and nothing comes a second
  /// time.
  @Test func aSyncThatIsCancelledWhileItAppliesHasAllOfItNextTime() async throws {
    let (steps, feed) = AsyncStream.makeStream(of: SyncSession.Progress.self)
    var settings = SyncSettings()
    settings.onProgress = { feed.yield($0) }
    let watched = settings
    let (left, right) = MemoryConnection.pair()
    try await a.using { one in
      try await b.using { two in
        let here = Task { try await one.sync(over: left) }
        let there = Task { try await two.sync(over: right, watched) }
        for await step in steps where step.receiveTotal > 0 && step.receiveDone == step.receiveTotal { break }
        there.cancel()
        _ = await (here.result, there.result)
      }
    }
    #expect(try b.use { try $0.verify().problems } == [])
    #expect(try await Link.memory.sync(a, b).bytesSent == 0)
    try Site.expectEqual(a, b)
  }

  /// What a third replica brought meanwhile makes the part needless.
  @Test func aPartThatIsNoLongerNeededIsNotSent() async throws {
    try await cut(after: 4)
    let c = try Site()
    try await Link.memory.sync(a, c)
    try await Link.memory.sync(c, b)
    #expect(try await Link.memory.sync(a, b).bytesSent == 0)
    try Site.expectEqual(a, b, c)
  }

  /// The sender's file is an older copy: what it gave away once is not its own any more.
  @Test func aSenderThatWasRestoredDoesNotSendWhatItLost() async throws {
    let old = try Data(contentsOf: URL(fileURLWithPath: a.path))
    try a.insert(1, "lost")
    try await cut(after: 4)
    for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: a.path + suffix) }
    try old.write(to: URL(fileURLWithPath: a.path))
    try a.insert(1, "instead")
    try await Link.memory.sync(a, b)
    try Site.expectEqual(a, b)
    #expect(try b.use { try $0.read { try Note.fetchCount($0) } } == 11)
  }

  // MARK: What is damaged or forged

  @Test func aTornPartGoesOnFromWhatIsLeft() async throws {
    try await cut(after: 4)
    let handle = try FileHandle(forUpdating: URL(fileURLWithPath: try #require(parts(of: b, "in-").first)))
    try handle.truncate(atOffset: 3 * Self.chunk + 5)
    try handle.close()
    #expect(try await Link.memory.sync(a, b).bytesSent == total - 3 * Self.chunk - 5)
    try Site.expectEqual(a, b)
  }

  @Test(arguments: Effort.sample([0, 10, 250_000, 262_143], 2)) func aDamagedPartIsFoundOutAndDropped(_ offset: UInt64)
    async throws
  {
    try await cut(after: 4)
    let handle = try FileHandle(forUpdating: URL(fileURLWithPath: try #require(parts(of: b, "in-").first)))
    try handle.seek(toOffset: offset)
    let byte = try #require(try handle.read(upToCount: 1)?.first)
    try handle.seek(toOffset: offset)
    try handle.write(contentsOf: Data([byte ^ 0x20]))
    try handle.close()
    #expect(try await Link.memory.sync(a, b).bytesSent == total)
    try Site.expectEqual(a, b)
  }

  /// Between the samples that stand for a part only the delta's own checksum finds damage.
  @Test func damageInTheMiddleOfAPartCostsOneAttempt() async throws {
    try await cut(after: 4)
    let before = try b.dump()
    let handle = try FileHandle(forUpdating: URL(fileURLWithPath: try #require(parts(of: b, "in-").first)))
    try handle.seek(toOffset: 2 * Self.chunk)
    try handle.write(contentsOf: Data(repeating: 0, count: 100))
    try handle.close()
    await #expect(throws: (any Error).self) { try await Link.memory.sync(a, b) }
    #expect(try b.dump() == before)
    #expect(parts(of: b, "in-") == [])
    #expect(try await Link.memory.sync(a, b).bytesSent == total)
    try Site.expectEqual(a, b)
  }

  /// Who claims to have what it has not harms nobody.
  @Test(arguments: [0, 1]) func aForgedPartGetsEverythingFromTheBeginning(_ check: UInt64) async throws {
    let (here, there) = MemoryConnection.pair()
    let hello = SyncHello(
      versions: 1...2, replica: nil, digest: SyncDigest(vector: StateVector(), fingerprint: Fingerprint()),
      isLive: false, messageLimit: SyncLimits.messageBytes)
    let parts = [64, 65_536, total, 1 << 40].map { SyncPart(byteCount: $0, check: check) }
    try await a.using { store in
      let syncing = Task { try await store.sync(over: here) }
      for message in [SyncMessage.hello(hello), .held(parts), .vector(StateVector())] {
        try await there.send(message.encoded())
      }
      while let bytes = try await there.receive() {
        guard case .transfer(1, let offset, let byteCount) = try SyncMessage(bytes) else { continue }
        #expect(offset == 0 && byteCount == total)
        break
      }
      await there.close()
      _ = await syncing.result
    }
  }

  @Test func aPeerOfVersion1HearsNothingOfParts() async throws {
    try await cut(after: 4)
    let (here, there) = MemoryConnection.pair()
    let hello = SyncHello(
      versions: 1...1, replica: nil, digest: SyncDigest(vector: StateVector(), fingerprint: Fingerprint()),
      isLive: false, messageLimit: SyncLimits.messageBytes)
    let heard = try await a.using { store in
      let syncing = Task { try await store.sync(over: here) }
      for message in [SyncMessage.hello(hello), .vector(StateVector())] { try await there.send(message.encoded()) }
      var tags: [UInt8] = []
      while tags.last != 4, let bytes = try await there.receive() { tags.append(bytes[0]) }
      await there.close()
      _ = await syncing.result
      return tags
    }
    // Hello, vector, done, chunks.
    #expect(Set(heard) == [1, 2, 3, 4])
  }
}

/// Breaks when a number of chunks has been sent.
actor ChunkCut: SyncConnection {
  private let base: any SyncConnection
  private var left: Int

  init(_ base: any SyncConnection, after count: Int) {
    self.base = base
    left = count
  }

  func send(_ message: [UInt8]) async throws {
    if message[0] == 3 || message[0] == 4 {
      guard left > 0 else {
        await base.close()
        throw SyncError(.disconnected, "cut")
      }
      left -= 1
    }
    try await base.send(message)
  }

  nonisolated func receive() async throws -> [UInt8]? { try await base.receive() }
  nonisolated func close() async { await base.close() }
}
