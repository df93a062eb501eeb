import Foundation
import GRDB
import Tally
import TallySync
import TestEffort
import Testing

/// What must hold over every transport.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ScenarioTests {
  @Test(arguments: Link.allCases) func bothSidesGetWhatTheyLack(over link: Link) async throws {
    let (a, b) = (try Site(notes: 50, "a"), try Site(notes: 70, "b"))
    let outcome = try await link.sync(a, b)
    #expect(outcome.changes == 70)
    try Site.expectEqual(a, b)
    let again = try await link.sync(a, b)
    #expect(again.changes == 0 && again.bytesSent == 0 && again.messageBytes < 200)
  }

  @Test(arguments: Effort.sample(Link.allCases, 2)) func aTransferOfManyChunksArrivesWhole(over link: Link) async throws
  {
    let (a, b) = (try Site(), try Site(notes: 3, "b"))
    try a.use { store in
      try store.write { db in
        for number in 0..<40 {
          let text = (0..<4_000).map { _ in String(UInt64.random(in: 0...UInt64.max), radix: 36) }.joined()
          try Note(text: text, stars: number).insert(db)
        }
      }
    }
    let outcome = try await link.sync(a, b)
    #expect(outcome.bytesSent > 1 << 20)
    try Site.expectEqual(a, b)
  }

  @Test(arguments: Link.connected) func liveChangesPassAsTheyAreCommitted(over link: Link) async throws {
    let (a, b) = (try Site(notes: 10), try Site())
    let (phases, feed) = AsyncStream.makeStream(of: SyncSession.Progress.self)
    var settings = SyncSettings()
    settings.isLive = true
    settings.onProgress = { feed.yield($0) }
    let (here, there) = try await live(link, b)
    try await a.using { [settings] store in
      let syncing = Task { try await store.sync(over: here, settings) }
      for await progress in phases where progress.phase == .live { break }
      for stars in 2...6 {
        try await store.write { try $0.execute(sql: "UPDATE Note SET stars = ? WHERE rowid = 1", arguments: [stars]) }
        for await progress in phases where progress.pending > 0 { break }
        for await progress in phases where progress.pending == 0 { break }
      }
      await here.close()
      _ = try? await syncing.value
    }
    try await there.value
    try Site.expectEqual(a, b)
  }

  /// A connection to somebody who serves a store live, and the task that does.
  private func live(_ link: Link, _ b: Site) async throws -> (any SyncConnection, Task<Void, any Error>) {
    if link == .child {
      let command = "'\(Link.tool)' serve '\(b.path)' --stdio --timeout 30 2>/dev/null"
      return (try await ProcessTransport(command: command).open(), Task {})
    }
    let (left, right) = try await link.pair()
    let serving = Task {
      var settings = SyncSettings()
      settings.isLive = true
      _ = try await b.using { [settings] in try await $0.sync(over: right, settings) }
    }
    return (left, serving)
  }

  @Test(arguments: Effort.sample(Link.connected, 2)) func aConnectionThatBreaksAnywhereLeavesBothSound(over link: Link)
    async throws
  {
    let (a, b) = (try Site(notes: 200, "a"), try Site(notes: 200, "b"))
    for cut in 0..<7 {
      _ = try? await link.sync(a, b) { CutConnection($0, after: cut) }
      try a.insert(1, "a after \(cut)")
      try b.insert(1, "b after \(cut)")
    }
    try await link.sync(a, b)
    try Site.expectEqual(a, b)
  }

  @Test(arguments: Link.connected) func comparingTellsWhoLacksWhatAndChangesNothing(over link: Link) async throws {
    let (a, b) = (try Site(notes: 5, "a"), try Site(notes: 5, "b"))
    let before = (try a.dump(), try b.dump())
    let first = try await compare(link, a, b)
    #expect(!first.isSameVector && first.lacking == 1 && first.ahead == 1)
    #expect(try a.dump() == before.0 && b.dump() == before.1)
    try await link.sync(a, b)
    #expect(try await compare(link, a, b).isEqual)
  }

  private func compare(_ link: Link, _ a: Site, _ b: Site) async throws -> SyncComparison {
    let (here, there) = try await live(link, b)
    let result = try await a.using { try await $0.compare(over: here) }
    try await there.value
    return result
  }

  /// Every replica hears of the others through neighbors only, each over another kind of connection.
  @Test func aRingOverMixedTransportsConverges() async throws {
    #if Network
      let links: [Link] = [.memory, .child, .folder, .tls, .secret]
    #else
      let links: [Link] = [.memory, .child, .folder, .pipes, .inProcess]
    #endif
    let sites = try links.indices.map { try Site(notes: 10, "site \($0)") }
    for round in 0..<3 {
      for (index, link) in links.enumerated() {
        try sites[index].insert(1, "round \(round)")
        try await link.sync(sites[index], sites[(index + 1) % links.count])
      }
    }
    for _ in 0..<2 {
      for (index, link) in links.enumerated() { try await link.sync(sites[index], sites[(index + 1) % links.count]) }
    }
    for site in sites.dropFirst() { try Site.expectEqual(sites[0], site) }
    #expect(try sites[0].use { try $0.read { try Note.fetchCount($0) } } == 65)
  }
}

/// Breaks after a number of messages sent.
actor CutConnection: SyncConnection {
  private let base: any SyncConnection
  private var left: Int

  init(_ base: any SyncConnection, after count: Int) {
    self.base = base
    left = count
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
