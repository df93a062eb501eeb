import Foundation
import GRDB
import Tally
import TallyCRDT
import TallySync
import Testing

/// Live sessions between stores that are written to all the time.
@Suite(.timeLimit(.minutes(5))) struct LiveTests {
  /// Both sides commit without waiting, from several tasks. Every commit goes out because it was told, none because
  /// somebody looked: the next look is an hour away. Then each side knows that the other has everything.
  @Test(arguments: [Link.memory, .pipes]) func everyCommitOfTwoBusySidesIsConfirmed(over link: Link) async throws {
    let sites = (try Site(notes: 10), try Site())
    let (left, right) = try await link.pair()
    try await sites.0.using { one in
      try await sites.1.using { two in
        let (a, b) = (BusySide(one), BusySide(two))
        async let here: Void = a.sync(over: left)
        async let there: Void = b.sync(over: right)
        for side in [a, b] { #expect(await side.reaches { $0.phase == .live }) }
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<4 {
            for side in [a, b] { group.addTask { try await side.write(50, number) } }
          }
          try await group.waitForAll()
        }
        let all = try one.vector.merging(try two.vector)
        for side in [a, b] { #expect(await side.reaches { $0.acknowledged.covers(all) && $0.pending == 0 }) }
        #expect(try one.vector == all && two.vector == all)
        await left.close()
        _ = try await (here, there)
      }
    }
    try Site.expectEqual(sites.0, sites.1)
  }
}

/// A store that is written to while it syncs.
private struct BusySide: Sendable {
  let store: Store
  private let steps: AsyncStream<SyncSession.Progress>
  private let feed: AsyncStream<SyncSession.Progress>.Continuation

  init(_ store: Store) {
    self.store = store
    (steps, feed) = AsyncStream.makeStream(of: SyncSession.Progress.self, bufferingPolicy: .bufferingNewest(1))
  }

  func sync(over connection: any SyncConnection) async throws {
    var settings = SyncSettings()
    settings.isLive = true
    settings.outsideInterval = .seconds(3600)
    settings.onProgress = { feed.yield($0) }
    defer { feed.finish() }
    _ = try await store.sync(over: connection, settings)
  }

  func write(_ count: Int, _ number: Int) async throws {
    for step in 0..<count {
      try await store.write { db in
        try db.execute(
          sql: "UPDATE Note SET stars = ? WHERE rowid = ?", arguments: [1000 * number + step, 1 + (number + step) % 10])
      }
    }
  }

  /// Waits for it; false if the session ends before.
  func reaches(_ goal: @Sendable (SyncSession.Progress) -> Bool) async -> Bool {
    for await step in steps where goal(step) { return true }
    return false
  }
}
