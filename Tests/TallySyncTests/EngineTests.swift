import Foundation
import Synchronization
import Tally
import TallySync
import Testing

@Suite(.timeLimit(.minutes(1))) struct EngineTests {
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
}
