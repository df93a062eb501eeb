import CloudKit
import Foundation
import GRDB
import Synchronization
import Tally
import TallyCloudKit
import TallyStore
import TallySync
import Testing

/// `CloudKitAccount.run` while people come and go, and what it is made of.
@Suite struct CloudKitRunTests {
  private func isTrue(
    _ seconds: Double = 60, isolation: isolated (any Actor)? = #isolation, _ condition: () async throws -> Bool
  ) async throws -> Bool {
    for _ in 0..<Int(seconds * 100) {
      if try await condition() { return true }
      try await Task.sleep(for: .milliseconds(10))
    }
    return try await condition()
  }

  private func texts(_ store: Store) throws -> [String] {
    try store.read { try Note.fetchAll($0) }.compactMap(\.text).sorted()
  }

  private func isUpToDate(_ engine: SyncEngine, isolation: isolated (any Actor)? = #isolation) async {
    for await status in await engine.statusUpdates() where status.isUpToDate { return }
  }

  @MainActor @Test func aRefusalThatHasPassedIsTriedAgain() async throws {
    let seat = try RunningSeat(FakeCloud(), "ann")
    let (container, iCloud) = (seat.container, seat.iCloud)
    let (shows, feed) = AsyncStream.makeStream(of: (Store, SyncEngine).self)
    let app = Task { try await iCloud.run(container, localData: .move) { feed.yield(($0, $1)) } }
    var shown = shows.makeAsyncIterator()
    let (_, engine) = try #require(await shown.next())
    await isUpToDate(engine)
    seat.device.fail(.changes, CKError(.notAuthenticated))
    iCloud.mailbox(for: container.current)?.lookAgain()
    #expect(try await isTrue { await engine.status.peers.first?.phase == .blocked })
    // They have signed in again: the system says that the account has changed.
    seat.device.signIn("ann")
    #expect(try await isTrue { await engine.status.peers.first?.phase != .blocked })
    app.cancel()
    try await app.value
  }

  @MainActor @Test func theSwitchStaysOff() async throws {
    let seat = try RunningSeat(FakeCloud(), "ann")
    let (container, iCloud) = (seat.container, seat.iCloud)
    let (shows, feed) = AsyncStream.makeStream(of: (Store, SyncEngine).self)
    let app = Task { try await iCloud.run(container, localData: .move) { feed.yield(($0, $1)) } }
    var shown = shows.makeAsyncIterator()
    let (_, engine) = try #require(await shown.next())
    await isUpToDate(engine)
    await engine.pause()
    seat.device.signIn("ann", status: .temporarilyUnavailable)
    #expect(try await !isTrue(1) { await !engine.status.isPaused }, "switched on by a notification")
    app.cancel()
    try await app.value
  }

  @MainActor @Test func whoWasUnknownIsAskedForAgain() async throws {
    let seat = try RunningSeat(FakeCloud(), "ann")
    let (container, iCloud) = (seat.container, seat.iCloud)
    // A first launch without a network: the account is there, its record id is not.
    seat.device.failRecordID(CKError(.networkUnavailable))
    let (shows, feed) = AsyncStream.makeStream(of: (Store, SyncEngine).self)
    let app = Task { try await iCloud.run(container, localData: .move) { feed.yield(($0, $1)) } }
    var shown = shows.makeAsyncIterator()
    let (_, engine) = try #require(await shown.next())
    #expect(container.current == .local)
    // The network is back. Nobody has changed any account.
    seat.device.failRecordID(nil)
    #expect(try await isTrue { container.current == .person("ann") })
    await engine.syncNow()
    #expect(try await isTrue { container.current == .person("ann") }, "nor by syncNow")
    app.cancel()
    try await app.value
  }

  @MainActor @Test func whatIsWrittenDuringAMoveIsKept() async throws {
    let seat = try RunningSeat(FakeCloud())
    let (container, iCloud) = (seat.container, seat.iCloud)
    let (shows, feed) = AsyncStream.makeStream(of: (Store, SyncEngine).self)
    let app = Task { try await iCloud.run(container, localData: .move) { feed.yield(($0, $1)) } }
    var shown = shows.makeAsyncIterator()
    let (own, _) = try #require(await shown.next())
    try await own.write { db in for number in 0..<5_000 { try Note(text: "n\(number)").insert(db) } }
    seat.device.signIn("ann")
    var written = 0
    do {
      while written < 100_000 {
        let number = written
        try await own.write { try Note(text: "late \(number)").insert($0) }
        written += 1
        try await Task.sleep(for: .milliseconds(2))
      }
    } catch { print("T7 the app's write ends with", error) }
    let (anns, _) = try #require(await shown.next())
    let late = try texts(anns).filter { $0.hasPrefix("late") }.count
    #expect(late == written)
    app.cancel()
    try await app.value
  }

  @Test func aPushThatStartsTheAppIsHeard() throws {
    let seat = try RunningSeat(FakeCloud(), "ann")
    #expect(seat.iCloud.handle(["ck": ["sid": "\(Phone.zone)-changes"]]))
  }

  @MainActor @Test func onlyWhoIsSignedInIsShown() async throws {
    let seat = try RunningSeat(FakeCloud(), "ann")
    let (container, iCloud, device) = (seat.container, seat.iCloud, seat.device)
    var shown: [Account] = []
    let app = Task { @MainActor in
      try await iCloud.run(container, localData: .move) { _, _ in
        shown.append(container.current)
        guard shown.count == 1 else { return }
        device.signIn("bob")
        try await Task.sleep(for: .seconds(1))
        device.signIn("ann")
        try await Task.sleep(for: .seconds(1))
      }
    }
    _ = try await isTrue(3) { shown.count >= 3 }
    #expect(shown == [.person("ann")])
    app.cancel()
    try await app.value
  }

  @MainActor @Test func aCancelledRunReturns() async throws {
    let seat = try RunningSeat(FakeCloud(), "ann")
    let (container, iCloud, device) = (seat.container, seat.iCloud, seat.device)
    let app = Task { @MainActor in
      try await iCloud.run(container, localData: .move) { _, _ in
        device.signIn("bob")
        try await Task.sleep(for: .seconds(1))
        withUnsafeCurrentTask { $0?.cancel() }
      }
    }
    await #expect(throws: Never.self) { try await app.value }
  }

  @MainActor @Test func eachOfTwoRunsFollows() async throws {
    let seat = try RunningSeat(FakeCloud(), "ann")
    let (device, container, iCloud) = (seat.device, seat.container, seat.iCloud)
    var (one, two): ([Account], [Account]) = ([], [])
    var engines: [SyncEngine] = []
    let first = Task { @MainActor in
      try await iCloud.run(container, localData: .move) { _, _ in one.append(container.current) }
    }
    let second = Task { @MainActor in
      try await iCloud.run(container, localData: .move) { _, engine in
        two.append(container.current)
        engines.append(engine)
        if two.count == 1 { try await Task.sleep(for: .seconds(1)) }
      }
    }
    #expect(try await isTrue { one.count == 1 && two.count == 1 })
    device.signIn("bob")
    _ = try await isTrue { one.last == .person("bob") && two.last == .person("bob") }
    #expect(two.last == .person("bob"))
    first.cancel()
    second.cancel()
    try? await first.value
    try? await second.value
  }

  @Test func aSignInThatFailsLeavesTheLocalDataAsItWas() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-\(UUID().uuidString)")
    let container = try Container(directory: folder, schema: Schema(Note.self))
    _ = try await container.follow(.person("ann"), localData: .move)
    let local = try await container.follow(.noAccount, localData: .move)
    try await local.write { try Note(text: "made by nobody").insert($0) }
    // The list of accounts cannot be written: a full disk, say.
    let list = folder.appendingPathComponent("accounts.json")
    try FileManager.default.removeItem(at: list)
    try FileManager.default.createDirectory(at: list.appendingPathComponent("x"), withIntermediateDirectories: true)
    await #expect(throws: (any Error).self) { try await container.follow(.person("ann"), localData: .move) }
    #expect(container.current == .local)
    let texts = try await container.store().read { try Note.fetchAll($0) }.compactMap(\.text)
    #expect(texts == ["made by nobody"])
  }

  @MainActor @Test(arguments: 1...3) func noHistoryOfAccountsLosesOrMixes(_ seed: Int) async throws {
    var dice = Dice(word: UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1)
    let cloud = FakeCloud()
    let device = FakeDevice(cloud, person: [nil, "ann"][dice.next(2)])
    device.deliversAtOnce = true
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let container = try Container(directory: folder, schema: Schema(Note.self))
    let iCloud = CloudKitAccount(device.container, Phone.settings(device, TestClock()))
    var settings = SyncEngine.Settings()
    settings.shortestRetry = .milliseconds(20)
    settings.debounceInterval = .milliseconds(1)
    var shown: (Store, SyncEngine, Account)?
    let slow = dice.next(3) == 0
    let app = Task { @MainActor in
      try await iCloud.run(container, localData: .move, settings) { store, engine in
        shown = (store, engine, container.current)
        if slow { try await Task.sleep(for: .milliseconds(15)) }
      }
    }
    while shown == nil { await Task.yield() }
    var written: [(String, Account)] = []
    for step in 0..<40 {
      switch dice.next(10) {
      case 0, 1, 2:
        device.signIn(["ann", "bob", nil][dice.next(3)], status: dice.next(6) == 0 ? .temporarilyUnavailable : nil)
      case 3: device.failRecordID(dice.next(2) == 0 ? CKError(.networkUnavailable) : nil)
      case 4: cloud.expireTokens()
      default:
        guard let shown else { continue }
        let text = "\(shown.2) \(step)"
        do {
          try await shown.0.write { try Note(text: text).insert($0) }
          written.append((text, shown.2))
        } catch let error as StoreError where error.code == .closed {}
      }
      if dice.next(2) == 0 { try await Task.sleep(for: .milliseconds(dice.next(25))) }
    }
    device.failRecordID(nil)
    device.signIn(["ann", "bob"][dice.next(2)])
    try await Task.sleep(for: .milliseconds(1_300))
    app.cancel()
    try await app.value
    var all: [String: [String]] = [:]
    for account in [Account.person("ann"), .person("bob"), .local] {
      let store = try container.store(of: account)
      if let mailbox = iCloud.mailbox(for: account), case .person(let id) = account {
        device.signIn(id)
        mailbox.lookAgain()
        _ = try await store.sync(through: mailbox)
      }
      all["\(account)"] = try await store.read { try Note.fetchAll($0) }.compactMap(\.text).sorted()
    }
    for (text, account) in written {
      let places = all.filter { $0.value.contains(text) }.map(\.key)
      #expect(places.count == 1, "\(text) is in \(places)")
      if account != .local { #expect(places == ["\(account)"], "\(text) of \(account) is in \(places)") }
    }
    for (person, other) in [("ann", "bob"), ("bob", "ann")] {
      let tablet = try Phone(cloud, person)
      try await tablet.pass()
      #expect(try tablet.texts.allSatisfy { !$0.hasPrefix(other) })
    }
  }
}

/// A device with an app whose data follows who is signed in.
private final class RunningSeat {
  let device: FakeDevice
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-\(UUID().uuidString)")
  let container: Container
  let iCloud: CloudKitAccount

  init(_ cloud: FakeCloud, _ person: String? = nil) throws {
    device = FakeDevice(cloud, person: person)
    device.deliversAtOnce = true
    container = try Container(directory: folder, schema: Schema(Note.self))
    iCloud = CloudKitAccount(device.container, Phone.settings(device, TestClock()))
  }

  deinit { try? FileManager.default.removeItem(at: folder) }
}
