import CloudKit
import Foundation
import GRDB
import Tally
import TallyCloudKit
import TallyRig
import TallySync
import Testing

/// Who is signed in, row by row: nobody, in, out, another person, back, and what iCloud does not know.
@Suite struct CloudKitAccountTests {
  /// A device whose data follows the account.
  private final class Seat {
    let device: FakeDevice
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-\(UUID().uuidString)")
    let container: Container
    let iCloud: CloudKitAccount
    let clock = TestClock()
    var store: Store

    init(_ cloud: FakeCloud, _ person: String? = nil) throws {
      device = FakeDevice(cloud, person: person)
      container = try Container(directory: folder, schema: Schema(Note.self))
      iCloud = CloudKitAccount(device.container, Phone.settings(device, clock))
      store = try container.store()
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// What an app does at each change of the account.
    @discardableResult
    func follow(_ localData: LocalData = .move) async throws -> Account {
      store = try await container.follow(await iCloud.state(), localData: localData)
      if let mailbox = iCloud.mailbox(for: container.current) { try await store.sync(through: mailbox) }
      return container.current
    }

    func write(_ text: String) throws { try store.write { try Note(text: text).insert($0) } }
    var texts: [String] { get throws { try store.read { try Note.fetchAll($0) }.compactMap(\.text).sorted() } }
  }

  @Test func nobodyThenInThenOutThenBack() async throws {
    let cloud = FakeCloud()
    let seat = try Seat(cloud)
    #expect(try await seat.follow() == .local)
    try seat.write("made by nobody")
    #expect(cloud.zones(of: "ann").isEmpty)
    seat.device.signIn("ann")
    #expect(try await seat.follow() == .person("ann"))
    #expect(try seat.texts == ["made by nobody"])
    try seat.write("made by ann")
    try await seat.follow()
    seat.device.signIn(nil)
    #expect(try await seat.follow() == .local)
    #expect(try seat.texts == [])
    try seat.write("made by nobody again")
    seat.device.signIn("ann")
    try await seat.follow()
    #expect(try seat.texts == ["made by ann", "made by nobody", "made by nobody again"])
  }

  @Test func twoPeopleOnOneDeviceNeverMix() async throws {
    let cloud = FakeCloud()
    let (seat, annsPhone, bobsPhone) = (try Seat(cloud, "ann"), try Phone(cloud, "ann"), try Phone(cloud, "bob"))
    try annsPhone.write("ann's")
    try await annsPhone.pass()
    try bobsPhone.write("bob's")
    try await bobsPhone.pass()
    try await seat.follow(.copy)
    try seat.write("ann's, here")
    try await seat.follow(.copy)
    // From one to the other with nobody between them.
    for _ in 0..<2 {
      seat.device.signIn("bob")
      #expect(try await seat.follow(.copy) == .person("bob"))
      #expect(try seat.texts == ["bob's"])
      seat.device.signIn("ann")
      #expect(try await seat.follow(.copy) == .person("ann"))
      #expect(try seat.texts == ["ann's", "ann's, here"])
    }
    try await CloudWorld.settle(annsPhone, bobsPhone)
    #expect(try annsPhone.texts == ["ann's", "ann's, here"])
    #expect(try bobsPhone.texts == ["bob's"])
  }

  /// Nothing follows from not knowing: what was shown stays, and waits.
  @Test(arguments: [CKAccountStatus.couldNotDetermine, .restricted, .temporarilyUnavailable])
  func whatICloudDoesNotKnowChangesNothing(_ status: CKAccountStatus) async throws {
    let cloud = FakeCloud()
    let seat = try Seat(cloud, "ann")
    try await seat.follow()
    try seat.write("ann's")
    try await seat.follow()
    seat.device.signIn("ann", status: status)
    seat.store = try await seat.container.follow(await seat.iCloud.state(), localData: .move)
    #expect(seat.container.current == .person("ann"))
    #expect(try seat.texts == ["ann's"])
    let mailbox = try #require(seat.iCloud.mailbox(for: seat.container.current))
    let expected: [CKAccountStatus: CloudKitError.Code] = [
      .couldNotDetermine: .unreachable, .restricted: .restricted, .temporarilyUnavailable: .temporarilyUnavailable,
    ]
    let error = await #expect(throws: CloudKitError.self) { try await seat.store.sync(through: mailbox) }
    #expect(error?.code == expected[status])
    #expect(error?.isPermanent == (status == .restricted))
    seat.device.signIn("ann")
    try await seat.follow()
    #expect(try seat.texts == ["ann's"])
  }

  /// An app that does not follow the account still cannot put one person's data into another's iCloud.
  @Test func aMailboxRefusesToWorkForAnotherPerson() async throws {
    let cloud = FakeCloud()
    let phone = try Phone(cloud, "ann")
    try phone.write("ann's")
    try await phone.pass()
    phone.mailbox.didRegisterForNotifications()
    phone.device.signIn("bob")
    try phone.write("ann's, too")
    let error = try await phone.failure()
    #expect(error?.code == .accountChanged && error?.isPermanent == true)
    await #expect(throws: CloudKitError.self) { try await phone.mailbox.putAgain() }
    for result in try await phone.mailbox.put([MailboxUpload(name: "tally1-entry", bytes: [1])]) {
      #expect(throws: CloudKitError.self) { try result.get() }
    }
    await #expect(throws: CloudKitError.self) { try await phone.mailbox.remove(["tally1-entry"]) }
    #expect(cloud.zones(of: "bob").isEmpty)
    phone.device.signIn(nil)
    #expect(try await phone.failure()?.code == .notSignedIn)
    phone.device.signIn("ann")
    #expect(try await phone.failure() == nil)
    #expect(cloud.names(of: "ann", zone: Phone.zone).count == 2)
  }

  /// Who waits for news is woken when somebody else signs in, so that an engine stops at once.
  @Test func aChangeOfTheAccountEndsAWait() async throws {
    let phone = try Phone(FakeCloud())
    try phone.write("one")
    let report = try await phone.pass()
    let mailbox = phone.mailbox
    let waiting = Task { try await mailbox.wait(after: report.cursor) }
    phone.device.signIn("bob")
    try await waiting.value
  }

  @Test func statesTellOfChangesOnce() async throws {
    let seat = try Seat(FakeCloud())
    var states = seat.iCloud.states().makeAsyncIterator()
    #expect(await states.next() == .noAccount)
    seat.device.signIn("ann")
    #expect(await states.next() == .person("ann"))
    // Posted again with nothing new.
    seat.device.signIn("ann")
    seat.device.signIn("ann", status: .temporarilyUnavailable)
    #expect(await states.next() == .temporarilyUnavailable)
    seat.device.signIn("bob")
    #expect(await states.next() == .person("bob"))
  }

  /// What an app says once, and what it then shows as people come and go.
  @MainActor @Test func anAppShowsTheStoreOfWhoIsSignedIn() async throws {
    let cloud = FakeCloud()
    let (seat, phone) = (try Seat(cloud), try Phone(cloud, "ann"))
    try phone.write("ann's, elsewhere")
    try await phone.pass()
    seat.device.deliversAtOnce = true
    let (container, iCloud) = (seat.container, seat.iCloud)
    let (shows, feed) = AsyncStream.makeStream(of: (Store, SyncEngine).self)
    let app = Task { try await iCloud.run(container, localData: .move) { feed.yield(($0, $1)) } }
    var shown = shows.makeAsyncIterator()
    func isUpToDate(_ engine: SyncEngine) async {
      for await status in await engine.statusUpdates() where status.isUpToDate { return }
    }
    func texts(_ store: Store) throws -> [String] {
      try store.read { try Note.fetchAll($0) }.compactMap(\.text).sorted()
    }

    let (own, ownEngine) = try #require(await shown.next())
    #expect(container.current == .local)
    #expect(await ownEngine.status.peers.isEmpty)
    try await own.write { try Note(text: "made by nobody").insert($0) }

    seat.device.signIn("ann")
    let (anns, annsEngine) = try #require(await shown.next())
    #expect(container.current == .person("ann"))
    await isUpToDate(annsEngine)
    #expect(try texts(anns) == ["ann's, elsewhere", "made by nobody"])
    #expect(await ownEngine.status.isPaused)

    // Parents forbid iCloud for a while: what is shown stays, waits, and goes on.
    seat.device.signIn("ann", status: .restricted)
    for await status in await annsEngine.statusUpdates() where status.peers.first?.phase == .blocked { break }
    try await anns.write { try Note(text: "written meanwhile").insert($0) }
    seat.device.signIn("ann")
    for await status in await annsEngine.statusUpdates() where status.isUpToDate { break }
    try await phone.pass()
    #expect(try phone.texts == ["ann's, elsewhere", "made by nobody", "written meanwhile"])

    seat.device.signIn("bob")
    let (bobs, bobsEngine) = try #require(await shown.next())
    await isUpToDate(bobsEngine)
    #expect(try texts(bobs) == [])
    #expect(await annsEngine.status.isPaused)

    seat.device.signIn(nil)
    let (local, localEngine) = try #require(await shown.next())
    #expect(try container.current == .local && texts(local) == [])
    app.cancel()
    try await app.value
    #expect(await localEngine.status.isPaused)
  }

  /// An error of the app's, or of a store that cannot be opened, ends it with nothing left running.
  @MainActor @Test func anErrorEndsARunWithItsEnginePaused() async throws {
    struct Refused: Error {}
    let seat = try Seat(FakeCloud(), "ann")
    var engine: SyncEngine?
    await #expect(throws: Refused.self) {
      try await seat.iCloud.run(seat.container, localData: .move) {
        engine = $1
        throw Refused()
      }
    }
    #expect(await engine?.status.isPaused == true)
    #expect(seat.container.current == .person("ann"))
  }

  @Test func anAccountHasOneMailbox() throws {
    let seat = try Seat(FakeCloud(), "ann")
    #expect(seat.iCloud.mailbox(for: .local) == nil)
    let mailbox = try #require(seat.iCloud.mailbox(for: .person("ann")))
    #expect(seat.iCloud.mailbox(for: .person("ann")) === mailbox)
    #expect(seat.iCloud.mailbox(for: .person("bob")) !== mailbox)
    #expect(seat.iCloud.mailbox(for: .person("ann"), space: "archive") !== mailbox)
    #expect(seat.iCloud.handle(["ck": ["sid": "\(Phone.zone)-changes"]]))
    #expect(!seat.iCloud.handle(["aps": ["content-available": 1]]))
  }

  /// A push wakes an engine that waits, and what it tells of arrives without any interval.
  @Test func aNotificationWakesAnEngine() async throws {
    let cloud = FakeCloud()
    let (phone, tablet) = (try Phone(cloud), try Phone(cloud))
    for one in [phone, tablet] { one.device.deliversAtOnce = true }
    var settings = SyncEngine.Settings()
    settings.sleep = { _ in try await Task.sleep(for: .seconds(3_600)) }
    let engine = SyncEngine(tablet.store, settings)
    await engine.add(tablet.mailbox, named: "iCloud")
    await engine.resume()
    for await status in await engine.statusUpdates() where status.isUpToDate { break }
    try phone.write("news")
    try await phone.pass()
    for await status in await engine.statusUpdates() where status.peers.first?.changesReceived == 1 { break }
    await engine.pause()
    #expect(try tablet.texts == ["news"])
  }
}
