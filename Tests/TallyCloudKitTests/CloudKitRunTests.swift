import CloudKit
import Foundation
import GRDB
import Synchronization
import Tally
import TallyCloudKit
import TallyRig
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

  /// An app on a device, as its task: it follows who is signed in until that is cancelled.
  @MainActor private func app(
    on seat: RunningSeat, _ settings: SyncEngine.Settings = SyncEngine.Settings(),
    show: @escaping @MainActor (Store, SyncEngine) async throws -> Void
  ) -> Task<Void, any Error> {
    let (container, iCloud) = (seat.container, seat.iCloud)
    return Task { try await iCloud.run(container, localData: .move, settings) { try await show($0, $1) } }
  }

  /// Runs an app while the body runs, which is given what is shown first, and can wait for what comes then.
  @MainActor private func running(
    _ seat: RunningSeat, _ body: @MainActor (Store, SyncEngine, Shown) async throws -> Void
  ) async throws {
    let shown = Shown()
    let app = app(on: seat) { shown.all.append(($0, $1)) }
    let (store, engine) = try await shown.next()
    try await body(store, engine, shown)
    app.cancel()
    try await app.value
  }

  @MainActor @Test func aRefusalThatHasPassedIsTriedAgain() async throws {
    let seat = try RunningSeat(FakeCloud(), "ann")
    try await running(seat) { _, engine, _ async throws in
      await isUpToDate(engine)
      seat.device.fail(.changes, CKError(.notAuthenticated))
      seat.iCloud.mailbox(for: seat.container.current)?.lookAgain()
      #expect(try await isTrue { await engine.status.peers.first?.phase == .blocked })
      // They have signed in again: the system says that the account has changed.
      seat.device.signIn("ann")
      #expect(try await isTrue { await engine.status.peers.first?.phase != .blocked })
    }
  }

  @MainActor @Test func theSwitchStaysOff() async throws {
    let seat = try RunningSeat(FakeCloud(), "ann")
    try await running(seat) { _, engine, _ async throws in
      await isUpToDate(engine)
      await engine.pause()
      seat.device.signIn("ann", status: .temporarilyUnavailable)
      #expect(try await !isTrue(1) { await !engine.status.isPaused }, "switched on by a notification")
    }
  }

  @MainActor @Test func whoWasUnknownIsAskedForAgain() async throws {
    let seat = try RunningSeat(FakeCloud(), "ann")
    // A first launch without a network: the account is there, its record id is not.
    seat.device.failRecordID(CKError(.networkUnavailable))
    try await running(seat) { _, engine, _ async throws in
      #expect(seat.container.current == .local)
      // The network is back. Nobody has changed any account.
      seat.device.failRecordID(nil)
      #expect(try await isTrue { seat.container.current == .person("ann") })
      await engine.syncNow()
      #expect(try await isTrue { seat.container.current == .person("ann") }, "nor by syncNow")
    }
  }

  @MainActor @Test func whatIsWrittenDuringAMoveIsKept() async throws {
    let seat = try RunningSeat(FakeCloud())
    try await running(seat) { own, _, shown async throws in
      try await own.write { db in for number in 0..<5_000 { try Note(text: "n\(number)").insert(db) } }
      seat.device.signIn("ann")
      var written = 0
      // Until the store is closed.
      await #expect(throws: StoreError.self) {
        while written < 100_000 {
          let number = written
          try await own.write { try Note(text: "late \(number)").insert($0) }
          written += 1
          try await Task.sleep(for: .milliseconds(2))
        }
      }
      let (anns, _) = try await shown.next()
      #expect(try texts(anns).filter { $0.hasPrefix("late") }.count == written)
    }
  }

  @Test func aPushThatStartsTheAppIsHeard() throws {
    let seat = try RunningSeat(FakeCloud(), "ann")
    #expect(seat.iCloud.handle(["ck": ["sid": "\(Phone.zone)-changes"]]))
  }

  @MainActor @Test func onlyWhoIsSignedInIsShown() async throws {
    let seat = try RunningSeat(FakeCloud(), "ann")
    var shown: [Account] = []
    let app = app(on: seat) { _, _ in
      shown.append(seat.container.current)
      guard shown.count == 1 else { return }
      seat.device.signIn("bob")
      try await Task.sleep(for: .seconds(1))
      seat.device.signIn("ann")
      try await Task.sleep(for: .seconds(1))
    }
    _ = try await isTrue(3) { shown.count >= 3 }
    #expect(shown == [.person("ann")])
    app.cancel()
    try await app.value
  }

  @MainActor @Test func aCancelledRunReturns() async throws {
    let seat = try RunningSeat(FakeCloud(), "ann")
    let app = app(on: seat) { _, _ in
      seat.device.signIn("bob")
      try await Task.sleep(for: .seconds(1))
      withUnsafeCurrentTask { $0?.cancel() }
    }
    await #expect(throws: Never.self) { try await app.value }
  }

  @MainActor @Test func eachOfTwoRunsFollows() async throws {
    let seat = try RunningSeat(FakeCloud(), "ann")
    var (one, two): ([Account], [Account]) = ([], [])
    // An engine lives for as long as the app keeps it.
    var engines: [SyncEngine] = []
    let first = app(on: seat) { _, _ in one.append(seat.container.current) }
    let second = app(on: seat) { _, engine in
      two.append(seat.container.current)
      engines.append(engine)
      if two.count == 1 { try await Task.sleep(for: .seconds(1)) }
    }
    #expect(try await isTrue { one.count == 1 && two.count == 1 })
    seat.device.signIn("bob")
    _ = try await isTrue { one.last == .person("bob") && two.last == .person("bob") }
    #expect(two.last == .person("bob"))
    for app in [first, second] {
      app.cancel()
      try? await app.value
    }
  }

  @Test func aSignInThatFailsLeavesTheLocalDataAsItWas() async throws {
    let seat = try RunningSeat(FakeCloud())
    let container = seat.container
    _ = try await container.follow(.person("ann"), localData: .move)
    let local = try await container.follow(.noAccount, localData: .move)
    try await local.write { try Note(text: "made by nobody").insert($0) }
    // The list of accounts cannot be written: a full disk, say.
    let list = seat.folder.appendingPathComponent("accounts.json")
    try FileManager.default.removeItem(at: list)
    try FileManager.default.createDirectory(at: list.appendingPathComponent("x"), withIntermediateDirectories: true)
    await #expect(throws: (any Error).self) { try await container.follow(.person("ann"), localData: .move) }
    #expect(container.current == .local)
    // The app goes on with the store that it has.
    #expect(try container.store() === local)
    try await local.write { try Note(text: "made afterwards").insert($0) }
    #expect(try texts(local) == ["made afterwards", "made by nobody"])
  }

  @MainActor @Test(arguments: 1...3) func noHistoryOfAccountsLosesOrMixes(_ seed: Int) async throws {
    var dice = Dice(UInt64(seed))
    let cloud = FakeCloud()
    let seat = try RunningSeat(cloud, [nil, "ann"][dice.next(2)])
    let (device, container, iCloud) = (seat.device, seat.container, seat.iCloud)
    var settings = SyncEngine.Settings()
    settings.shortestRetry = .milliseconds(20)
    settings.debounceInterval = .milliseconds(1)
    var shown: (Store, SyncEngine, Account)?
    let slow = dice.next(3) == 0
    let app = app(on: seat, settings) { store, engine in
      shown = (store, engine, container.current)
      if slow { try await Task.sleep(for: .milliseconds(15)) }
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

/// What an app has shown.
@MainActor private final class Shown {
  var all: [(Store, SyncEngine)] = []
  private var taken = 0

  /// Waits for what is shown next.
  func next() async throws -> (Store, SyncEngine) {
    for _ in 0..<6_000 where all.count == taken { try await Task.sleep(for: .milliseconds(10)) }
    taken += 1
    return try #require(all.count >= taken ? all[taken - 1] : nil)
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
