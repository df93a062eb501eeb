import Foundation
import GRDB
import Synchronization
import Tally
import TallyAssets
import TallyCRDT
import TallyStore
import Testing

@testable import TallySync

/// Files that travel in sessions, behind the records.
@Suite(.timeLimit(.minutes(15))) struct AssetSessionTests {
  typealias Place = AssetFileTests.Place
  private static let large = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 8) })

  private func sync(
    _ a: Store, _ b: Store, _ settings: SyncSettings = SyncSettings(),
    through wrap: (MemoryConnection) -> any SyncConnection = { $0 }
  ) async throws -> (SyncOutcome, SyncOutcome) {
    let (left, right) = MemoryConnection.pair()
    let end = wrap(right)
    async let first = a.sync(over: left, settings)
    async let second = b.sync(over: end, settings)
    return try await (first, second)
  }

  /// Waits until something is so.
  private func wait(_ what: String, _ body: () throws -> Bool) async throws {
    for _ in 0..<600 {
      if try body() { return }
      try await Task.sleep(for: .milliseconds(50))
    }
    Issue.record("\(what) has not happened")
  }

  private func holds(_ store: Store, _ name: AssetName, _ data: Data) throws -> Bool {
    guard let url = try store.assets.url(of: name) else { return false }
    return try Data(contentsOf: url) == data
  }

  private func addBob(_ store: Store, _ name: AssetName) throws {
    try store.write {
      try $0.execute(sql: "INSERT INTO Person(id, avatar) VALUES('Person|~|bob', ?)", arguments: [name])
    }
  }

  // MARK: One session

  @Test func eagerFilesComeWithTheRecords() async throws {
    let (a, b) = (try Place(), try Place())
    let (avatar, photo) = (
      try a.store.assets.add(Self.large, type: "jpg"), try a.store.assets.add(Data("p".utf8), type: "jpg")
    )
    try a.person("avatar", avatar)
    try a.person("photo", photo)
    let (given, taken) = try await sync(a.store, b.store)
    #expect(try holds(b.store, avatar, Self.large) && b.store.assets.url(of: photo) == nil)
    #expect(taken.assets?.taken == [avatar] && taken.assets?.wanted == 0 && taken.assets?.missing == 1)
    #expect(given.assets?.written == [avatar] && given.assets?.taken == [] && taken.assets?.issues == [])
    // A wish is met although both hold the same records.
    try b.store.assets.want(photo)
    let (_, again) = try await sync(a.store, b.store)
    #expect(again.changes == 0 && again.assets?.taken == [photo] && again.assets?.missing == 0)
    #expect(try holds(b.store, photo, Data("p".utf8)))
    #expect(try b.store.assets.places().wishes().isEmpty)
  }

  @Test func bothGiveAndTake() async throws {
    let (a, b) = (try Place(), try Place())
    let names = try (0..<20).map { number in
      let store = number % 2 == 0 ? a.store : b.store
      let name = try store.assets.add(Data(repeating: UInt8(number), count: number * 20_000), type: "bin")
      try store.write {
        try $0.execute(sql: "INSERT INTO Person(id, avatar) VALUES(?, ?)", arguments: ["Person|~|\(number)", name])
      }
      return name
    }
    let (first, second) = try await sync(a.store, b.store)
    for (number, name) in names.enumerated() {
      for store in [a.store, b.store] {
        #expect(try holds(store, name, Data(repeating: UInt8(number), count: number * 20_000)))
      }
    }
    #expect(first.assets?.taken.count == 10 && second.assets?.taken.count == 10)
    // The empty one, number 0, needs no message.
    #expect(first.assets?.written.count == 9 && second.assets?.written.count == 10)
  }

  /// It is cut after so many messages; the next session goes on.
  @Test func whatWasCutOffGoesOn() async throws {
    let (a, b) = (try Place(), try Place())
    let avatar = try a.store.assets.add(Self.large, type: "jpg")
    try a.person("avatar", avatar)
    var settings = SyncSettings()
    settings.timeout = .seconds(10)
    await #expect(throws: SyncError.self) {
      _ = try await sync(a.store, b.store, settings) { CutConnection($0, after: 30) }
    }
    #expect(try b.store.assets.url(of: avatar) == nil)
    #expect(try a.store.summary().vector == b.store.summary().vector)
    let (_, taken) = try await sync(a.store, b.store)
    #expect(try holds(b.store, avatar, Self.large))
    // At least ten pieces of 64 KiB had come before.
    #expect(taken.messageBytes < Self.large.count - 10 * 65_536)
  }

  @Test func aFileThatThePeerLacksEndsNothing() async throws {
    let (a, b) = (try Place(), try Place())
    let avatar = try a.store.assets.add(Self.large, type: "jpg")
    try a.person("avatar", avatar)
    try FileManager.default.removeItem(at: #require(try a.store.assets.url(of: avatar)))
    let (_, taken) = try await sync(a.store, b.store)
    #expect(taken.assets?.taken == [] && taken.assets?.wanted == 1 && taken.assets?.issues == [])
    #expect(try a.store.summary().vector == b.store.summary().vector)
  }

  @Test func aDamagedFileIsNotTaken() async throws {
    let (a, b) = (try Place(), try Place())
    let avatar = try a.store.assets.add(Self.large, type: "jpg")
    let other = try a.store.assets.add(Data("other".utf8), type: "jpg")
    try a.person("avatar", avatar)
    try addBob(a.store, other)
    var damaged = Self.large
    damaged[1_000_000] ^= 1
    let url = try #require(try a.store.assets.url(of: avatar))
    try FileManager.default.removeItem(at: url)
    try damaged.write(to: url)
    let (_, taken) = try await sync(a.store, b.store)
    #expect(taken.assets?.issues.map(\.code) == ["wrongContent"] && taken.assets?.taken == [other])
    #expect(try b.store.assets.url(of: avatar) == nil && b.names.allSatisfy { !$0.hasPrefix("parts/") })
    // It is not asked for again at once, and after an hour it is.
    let (_, again) = try await sync(a.store, b.store)
    #expect(again.assets?.issues == [] && again.messageBytes < 10_000)
    b.clock.value = 0.05
    try FileManager.default.removeItem(at: url)
    try Self.large.write(to: url)
    _ = try await sync(a.store, b.store)
    #expect(try holds(b.store, avatar, Self.large))
  }

  /// What has come of it before is wrong, and the peer is not to blame.
  @Test func aWrongPartIsTakenAgain() async throws {
    let (a, b) = (try Place(), try Place())
    let avatar = try a.store.assets.add(Self.large, type: "jpg")
    try a.person("avatar", avatar)
    let part = try b.store.assets.folder.part(of: avatar)
    let folder = URL(fileURLWithPath: part).deletingLastPathComponent()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data(repeating: 7, count: 1_000_000).write(to: URL(fileURLWithPath: part))
    let (_, taken) = try await sync(a.store, b.store)
    #expect(taken.assets?.issues == [] && taken.assets?.taken == [avatar])
    #expect(try holds(b.store, avatar, Self.large))
  }

  @Test func whatTheAppWaitsForComesFirst() async throws {
    let (a, b) = (try Place(), try Place())
    let (avatar, photo) = (
      try a.store.assets.add(Data("small".utf8), type: "jpg"), try a.store.assets.add(Self.large, type: "jpg")
    )
    try a.person("avatar", avatar)
    try a.person("photo", photo)
    try b.store.assets.want(photo)
    let (_, taken) = try await sync(a.store, b.store)
    #expect(taken.assets?.taken == [photo, avatar])
  }

  /// Nothing shows it, and it is no negative number of missing files.
  @Test func aFileOfADeletedRecordCanBeWanted() async throws {
    let (a, b) = (try Place(), try Place())
    let photo = try a.store.assets.add(Self.large, type: "jpg")
    try a.person("photo", photo)
    try await a.store.write { try $0.execute(sql: "DELETE FROM Person") }
    _ = try await sync(a.store, b.store)
    try b.store.assets.want(photo)
    let (_, taken) = try await sync(a.store, b.store)
    #expect(taken.assets?.taken == [photo] && taken.assets?.missing == 0 && taken.assets?.wanted == 0)
  }

  /// In an engine files take their time, and no record waits for all of them.
  @Test func filesHaveTheirTime() async throws {
    let (a, b) = (try Place(), try Place())
    let avatar = try a.store.assets.add(Self.large, type: "jpg")
    try a.person("avatar", avatar)
    var settings = SyncSettings()
    settings.fileTime = .zero
    let (_, taken) = try await sync(a.store, b.store, settings)
    #expect(taken.assets?.taken == [] && taken.assets?.wanted == 1 && taken.changes == 1)
    _ = try await sync(a.store, b.store)
    #expect(try holds(b.store, avatar, Self.large))
  }

  // MARK: Live

  @Test func filesComeWhileASessionIsLive() async throws {
    let (a, b) = (try Place(), try Place())
    var settings = SyncSettings()
    settings.isLive = true
    let (left, right) = MemoryConnection.pair()
    let progress = Mutex<SyncSession.Progress?>(nil)
    var watched = settings
    watched.onProgress = { step in progress.withLock { $0 = step } }
    let (first, second, plain, following) = (a.store, b.store, settings, watched)
    let sessions = Task {
      async let one = first.sync(over: left, plain)
      async let two = second.sync(over: right, following)
      _ = try await (one, two)
    }
    try await wait("live") { progress.withLock { $0?.phase == .live } }
    let avatar = try a.store.assets.add(Self.large, type: "jpg")
    try a.person("avatar", avatar)
    try await wait("the eager file") { try holds(b.store, avatar, Self.large) }
    let photo = try a.store.assets.add(Data("p".utf8), type: "jpg")
    try a.person("photo", photo)
    try await wait("the row") {
      try b.store.read { try String.fetchOne($0, sql: "SELECT photo FROM Person") } == photo.text
    }
    let url = try await b.store.assets.url(for: photo)
    #expect(try Data(contentsOf: url) == Data("p".utf8))
    // A row whose file the peer does not have yet: it comes as soon as the peer has it.
    let late = try #require(AssetName("sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad.3.txt"))
    try a.person("avatar", late)
    try await wait("the refusal") { progress.withLock { $0?.assets?.wanted == 1 && $0?.file == nil } }
    #expect(try a.store.assets.add(Data("abc".utf8), type: "txt") == late)
    try await wait("the late file") { try holds(b.store, late, Data("abc".utf8)) }
    try await wait("the report") { progress.withLock { $0?.assets?.taken } == [avatar, photo, late] }
    await left.close()
    await right.close()
    _ = await sessions.result
  }

  /// Another process that uses the same store has got the file meanwhile: nothing tells this one of it.
  @Test func aFileThatAnotherProcessBroughtGoesOn() async throws {
    let (a, b) = (try Place(), try Place())
    var settings = SyncSettings()
    settings.isLive = true
    let (left, right) = MemoryConnection.pair()
    let (first, second, live) = (a.store, b.store, settings)
    let sessions = Task {
      async let one = first.sync(over: left, live)
      async let two = second.sync(over: right, live)
      _ = try await (one, two)
    }
    let late = try #require(AssetName("sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad.3.txt"))
    try a.person("avatar", late)
    try await wait("the row") { try b.store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM Person") } == 1 }
    try await Task.sleep(for: .seconds(2))
    let path = try URL(fileURLWithPath: a.store.assets.folder.path(of: late))
    try FileManager.default.createDirectory(
      at: path.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data("abc".utf8).write(to: path)
    try await wait("the file") { try holds(b.store, late, Data("abc".utf8)) }
    await left.close()
    await right.close()
    _ = await sessions.result
  }

  /// Without the arrival the engine's next pass would be an hour away.
  @Test func whatAPeerBringsGoesOnToMailboxes() async throws {
    let (a, b) = (try Place(), try Place())
    let mailbox = MemoryMailbox()
    var settings = SyncEngine.Settings()
    settings.interval = .seconds(3_600)
    let engine = SyncEngine(b.store, settings)
    await engine.add(mailbox, named: "memory")
    await engine.resume()
    for await status in await engine.statusUpdates() where status.peers.first?.lastSuccess != nil { break }
    let avatar = try a.store.assets.add(Self.large, type: "jpg")
    try a.person("avatar", avatar)
    let (left, right) = MemoryConnection.pair()
    let first = a.store
    async let one = first.sync(over: left)
    _ = try await engine.accept(right, from: "a")
    _ = try await one
    #expect(try holds(b.store, avatar, Self.large))
    try await wait("the mailbox's file") {
      mailbox.files.contains { $0.name.hasPrefix("asset1") && $0.bytes.count == Self.large.count }
    }
    await engine.pause()
  }

  /// A background task has what it came for.
  @Test func syncingOnceWaitsForFiles() async throws {
    let (a, b) = (try Place(), try Place())
    let avatar = try a.store.assets.add(Self.large, type: "jpg")
    try a.person("avatar", avatar)
    var live = SyncSettings()
    live.isLive = true
    let (first, settings) = (a.store, live)
    let engine = SyncEngine(b.store)
    await engine.add(MemoryTransport(name: "a") { try await first.sync(over: $0, settings) })
    let status = await engine.syncOnce(within: .seconds(60))
    #expect(status.peers.first?.assets?.taken == [avatar])
    #expect(try holds(b.store, avatar, Self.large))
  }

  /// One side would stay, the other does not: both end with the files.
  @Test func onlyOneSideIsLive() async throws {
    let (a, b) = (try Place(), try Place())
    let avatar = try a.store.assets.add(Self.large, type: "jpg")
    try a.person("avatar", avatar)
    var live = SyncSettings()
    live.isLive = true
    let (left, right) = MemoryConnection.pair()
    let (first, settings) = (a.store, live)
    async let one = first.sync(over: left, settings)
    let taken = try await b.store.sync(over: right)
    #expect(try await one.assets?.written == [avatar] && taken.assets?.taken == [avatar])
  }

  // MARK: Others

  /// Its records can name no files, or its app knows of none.
  @Test func aPeerWithoutFilesSyncsAsBefore() async throws {
    let a = try Place()
    let b = try Place(Schema([EntitySchema("Person", .text("name"))]))
    let avatar = try a.store.assets.add(Self.large, type: "jpg")
    try a.person("avatar", avatar)
    let (given, taken) = try await sync(a.store, b.store)
    #expect(given.assets == nil && taken.assets == nil && taken.changes == 1)
    #expect(!FileManager.default.fileExists(atPath: b.store.path + "-assets"))
  }
}

/// A connection that breaks after some messages have come.
private actor CutConnection: SyncConnection {
  private let base: MemoryConnection
  private var left: Int

  init(_ base: MemoryConnection, after count: Int) { (self.base, left) = (base, count) }

  func send(_ message: [UInt8]) async throws { try await base.send(message) }

  func receive() async throws -> [UInt8]? {
    left -= 1
    guard left >= 0 else {
      await base.close()
      throw SyncError(.disconnected, "cut")
    }
    return try await base.receive()
  }

  func close() async { await base.close() }
}
