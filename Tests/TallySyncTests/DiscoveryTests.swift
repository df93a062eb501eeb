import Foundation
import Tally
import TallySync
import Testing

/// Peers that come and go are added and removed.
@Suite(.timeLimit(.minutes(5))) struct DiscoveryTests {
  private struct Neighbors: PeerDiscovery {
    let lists: AsyncStream<[any Transport]>
    func peers() -> AsyncStream<[any Transport]> { lists }
  }

  private func until(_ engine: SyncEngine, _ condition: (SyncStatus) -> Bool) async {
    for await status in await engine.statusUpdates() where condition(status) { return }
  }

  private static func transport(_ name: String, to store: Store) -> MemoryTransport {
    MemoryTransport(name: name) { try await store.sync(over: $0) }
  }

  @Test func whatIsFoundIsSyncedWithAndWhatGoesIsForgotten() async throws {
    let (phone, mac, tablet) = (try World.store(notes: 1), try World.store(notes: 1), try World.store(notes: 1))
    let engine = SyncEngine(phone)
    await engine.add(MemoryMailbox(), named: "drive")
    await engine.resume()
    let (lists, feed) = AsyncStream.makeStream(of: [any Transport].self)
    let following = Task { await engine.follow(Neighbors(lists: lists)) }

    feed.yield([Self.transport("mac", to: mac)])
    await until(engine) { $0.peers.map(\.id) == ["drive", "mac"] && $0.isUpToDate }
    feed.yield([Self.transport("mac", to: mac), Self.transport("tablet", to: tablet)])
    await until(engine) { $0.peers.map(\.id) == ["drive", "mac", "tablet"] && $0.isUpToDate }
    feed.yield([Self.transport("tablet", to: tablet)])
    await until(engine) { $0.peers.map(\.id) == ["drive", "tablet"] }
    // One that the app has added itself is nobody else's to replace or to remove.
    feed.yield([Self.transport("drive", to: mac)])
    await until(engine) { $0.peers.map(\.id) == ["drive"] }
    feed.yield([])
    feed.yield([Self.transport("mac", to: mac)])
    await until(engine) { $0.peers.map(\.id) == ["drive", "mac"] }

    following.cancel()
    await following.value
    #expect(await engine.status.peers.map(\.id) == ["drive"])
    await engine.pause()
    try await phone.sync(through: MemoryMailbox())
    #expect(try World.count(phone) == 3)
  }
}
