import Foundation
import Synchronization
import Tally
import TallyCRDT
import TallyStore
import TallySync
import TallyTesting
import Testing

/// A store that introduces itself remembers whom it has met, and what they are known to have.
@Suite(.timeLimit(.minutes(5))) struct DeviceTests {
  private static func settings(_ name: String, isLive: Bool = false) -> SyncSettings {
    var settings = SyncSettings()
    (settings.device, settings.isLive) = (SyncDevice(name: name, app: "Scores 2.1"), isLive)
    return settings
  }

  private func meet(
    _ one: (Store, SyncSettings), _ other: (Store, SyncSettings)
  ) async throws -> (SyncOutcome, SyncOutcome) {
    let (left, right) = MemoryConnection.pair()
    async let first = one.0.sync(over: left, one.1)
    async let second = other.0.sync(over: right, other.1)
    return (try await first, try await second)
  }

  /// A session under way, in which both sides introduce themselves.
  private struct Meeting {
    /// The progress of the first side.
    let steps: AsyncStream<SyncSession.Progress>
    private let otherSteps: AsyncStream<SyncSession.Progress>
    private let connection: MemoryConnection
    private let one: Task<SyncOutcome, any Error>
    private let other: Task<SyncOutcome, any Error>

    init(_ one: Store, _ name: String, _ other: Store, _ otherName: String, isLive: Bool = true) {
      let (left, right) = MemoryConnection.pair()
      let (steps, feed) = AsyncStream.makeStream(of: SyncSession.Progress.self)
      let (otherSteps, otherFeed) = AsyncStream.makeStream(of: SyncSession.Progress.self)
      var (settings, otherSettings) = (
        DeviceTests.settings(name, isLive: isLive), DeviceTests.settings(otherName, isLive: isLive)
      )
      settings.onProgress = { feed.yield($0) }
      otherSettings.onProgress = { otherFeed.yield($0) }
      (self.steps, self.otherSteps, connection) = (steps, otherSteps, left)
      self.one = Task { [settings] in try await one.sync(over: left, settings) }
      self.other = Task { [otherSettings] in
        defer { otherFeed.finish() }
        return try await other.sync(over: right, otherSettings)
      }
    }

    /// Closes the connection. A side that is not live by then takes that for a sync that was cut off, so the other must
    /// have come that far, too.
    func end() async throws -> (SyncOutcome, SyncOutcome) {
      for await step in otherSteps where step.phase == .live { break }
      await connection.close()
      return (try await one.value, try await other.value)
    }
  }

  /// Waits until each of two connected stores has the other's introduction in its list. They come one after the other,
  /// so that what one side knows does not say what the other knows.
  private func remembered(by phone: Store, _ mac: Store) async throws {
    while try await phone.devices().map(\.name) != ["mac"] { await Task.yield() }
    while try await mac.devices().map(\.name) != ["phone"] { await Task.yield() }
  }

  @Test func whoIsBehindIsOneLine() async throws {
    let (phone, watch) = (try World.store(notes: 2, "phone"), try World.store(notes: 1, "watch"))
    #expect(try await phone.devices().isEmpty)
    let before = Date()
    let (outcome, _) = try await meet((phone, Self.settings("phone")), (watch, Self.settings("watch")))
    #expect(outcome.device == SyncDevice(name: "watch", app: "Scores 2.1"))
    let device = try #require(try await phone.devices().first)
    #expect(device.id == (try watch.summary().replica) && device.name == "watch" && device.pending == 0)
    #expect(device.acknowledged == (try phone.vector))
    #expect(device.lastSeen > before - 1 && device.lastSeen < Date() + 1)
    for number in 0..<3 { try World.insert(1, "later \(number)", phone) }
    #expect(try await phone.devices().map(\.pending) == [3])
    #expect(try await watch.devices().map(\.pending) == [0])
    _ = try await meet((phone, Self.settings("phone")), (watch, Self.settings("Ann's watch")))
    #expect(try await phone.devices().map(\.pending) == [0])
    #expect(try await phone.devices().map(\.name) == ["Ann's watch"])
  }

  /// One side says nothing of itself, or speaks an older version: the other remembers it all the same, without a name.
  @Test func aDeviceWithoutANameIsRemembered() async throws {
    let (phone, mac) = (try World.store(notes: 1), try World.store(notes: 1))
    let (one, other) = try await meet((phone, Self.settings("phone")), (mac, SyncSettings()))
    #expect(one.device == nil && other.device?.name == "phone")
    #expect(try await phone.devices().map(\.id) == [mac.summary().replica])
    #expect(try await phone.devices().map(\.name) == [nil])
    // Who says nothing of itself keeps no list either.
    #expect(try await mac.devices().isEmpty)
    try World.expectEqual(phone, mac)
  }

  /// Two that are equal part after one message each, as before; two that stay connected introduce themselves.
  @Test func equalStoresIntroduceThemselvesIfTheyStayConnected() async throws {
    let (phone, mac) = (try World.store(notes: 1), try World.store(notes: 1))
    _ = try await World.sync(phone, mac)
    let (quiet, _) = try await meet((phone, Self.settings("phone")), (mac, Self.settings("mac")))
    #expect(quiet.device == nil && quiet.messageBytes < 200)
    let live = Meeting(phone, "phone", mac, "mac")
    try await remembered(by: phone, mac)
    let outcomes = try await live.end()
    #expect(outcomes.0.device?.name == "mac" && outcomes.1.device?.name == "phone")
    #expect(try await mac.devices().map(\.name) == ["phone"])
  }

  /// The introduction comes after the first acknowledgement, and may be the last that is heard for hours.
  @Test func aDeviceThatIsConnectedAndIdleHasItsName() async throws {
    let (phone, mac) = (try World.store(notes: 1), try World.store(notes: 1))
    _ = try await World.sync(phone, mac)
    let live = Meeting(phone, "phone", mac, "mac")
    try await remembered(by: phone, mac)
    _ = try await live.end()
  }

  /// What is acknowledged while a session goes on is remembered when it ends.
  @Test func aLiveSessionRemembersWhatArrived() async throws {
    let (phone, mac) = (try World.store(notes: 1), try World.store(notes: 1))
    let live = Meeting(phone, "phone", mac, "mac")
    for await step in live.steps where step.phase == .live { break }
    try World.insert(3, "live", phone)
    let vector = try phone.vector
    for await step in live.steps where step.acknowledged.covers(vector) { break }
    _ = try await live.end()
    #expect(try await phone.devices().map(\.pending) == [0])
    #expect(try await phone.devices()[0].acknowledged == vector)
  }

  /// A device that has written nothing yet, such as a new one that only has default data, has met the other like any.
  @Test(arguments: [false, true]) func aDeviceThatHasWrittenNothingIsRemembered(isLive: Bool) async throws {
    let (phone, tablet) = (try World.store(notes: 2), try World.store(notes: 0))
    #expect(try tablet.summary().replica == nil)
    let meeting = Meeting(phone, "phone", tablet, "tablet", isLive: isLive)
    for await step in meeting.steps where step.phase == (isLive ? .live : .finished) { break }
    _ = try await meeting.end()
    #expect(try await phone.devices().map(\.name) == ["tablet"])
    #expect(try await phone.devices().map(\.pending) == [0])
    #expect(try await phone.devices().map(\.id) == [tablet.summary().replica])
    // An id alone is nothing that a peer has to learn of.
    #expect(try tablet.vector == phone.vector)
    try World.expectEqual(phone, tablet)
  }

  /// Two copies of a file that had an id and nothing written under it are told apart.
  @Test func copiesOfADeviceThatHasWrittenNothingAreTwoDevices() async throws {
    let phone = try World.store(notes: 2)
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-devices-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    func open(_ name: String) throws -> Store {
      try Store(path: folder.appendingPathComponent(name).path, schema: Schema(Note.self))
    }
    let first = try open("tablet")
    _ = try await meet((phone, Self.settings("phone")), (first, Self.settings("tablet")))
    let id = try #require(try first.summary().replica)
    try first.close()
    try FileManager.default.copyItem(
      at: folder.appendingPathComponent("tablet"), to: folder.appendingPathComponent("copy"))
    let (one, other) = (try open("tablet"), try open("copy"))
    #expect(try one.summary().replica == id)
    #expect(try other.summary().replica == nil)
    // Equal stores part before they introduce themselves.
    try World.insert(1, "later", phone)
    _ = try await meet((phone, Self.settings("phone")), (other, Self.settings("copy")))
    let names = try await phone.devices().map(\.name)
    #expect(Set(names) == ["copy", "tablet"] && names.count == 2)
  }

  /// A list that is shown while a connection lasts says what has arrived by now.
  @Test func pendingIsTrueWhileASessionIsLive() async throws {
    let (phone, mac) = (try World.store(notes: 1), try World.store(notes: 1))
    let live = Meeting(phone, "phone", mac, "mac")
    var isLive = false
    for round in 0..<3 {
      if isLive { try World.insert(1, "live \(round)", phone) }
      let vector = try phone.vector
      for await step in live.steps where step.phase == .live && step.acknowledged.covers(vector) { break }
      defer { isLive = true }
      // A session notes the peer when it becomes live, before it collects the first change.
      if !isLive { continue }
      #expect(try await phone.devices().map(\.name) == ["mac"])
      #expect(try await phone.devices().map(\.pending) == [0])
    }
    _ = try await live.end()
  }

  /// Whoever was connected until a moment ago was not last seen when the connection began.
  @Test func aConnectionWithoutNewsIsSeenUntilItsEnd() async throws {
    let hours = Mutex(0)
    let start = Date(timeIntervalSince1970: 1_800_000_000)
    var options = StoreOptions()
    options.now = { start + 3600 * Double(hours.withLock { $0 }) }
    let (phone, mac) = (try Store(inMemory: Schema(Note.self), options: options), try World.store(notes: 1))
    let live = Meeting(phone, "phone", mac, "mac")
    for await step in live.steps where step.phase == .live { break }
    hours.withLock { $0 += 1 }
    _ = try await live.end()
    #expect(try #require(try await phone.devices().first).lastSeen > start + 3500)
  }

  /// A mailbox has no names, and says what its writers had.
  @Test func writersOfAMailboxAreRemembered() async throws {
    let (phone, mac, mailbox) = (try World.store(notes: 2), try World.store(notes: 1), MemoryMailbox())
    var settings = MailboxSettings()
    settings.remembersDevices = true
    try await phone.sync(through: mailbox, settings)
    try await mac.sync(through: mailbox)
    try World.insert(1, "late", phone)
    try await phone.sync(through: mailbox, settings)
    let devices = try await phone.devices()
    #expect(devices.map(\.id) == [try mac.summary().replica] && devices[0].name == nil)
    #expect(devices.map(\.pending) == [1])
    // A pass that finds nothing new of anybody writes nothing.
    let seen = devices[0].lastSeen
    try await phone.sync(through: mailbox, settings)
    #expect(try await phone.devices()[0].lastSeen == seen)
    try await mac.sync(through: mailbox)
    try World.insert(1, "answer", mac)
    try await mac.sync(through: mailbox)
    try await phone.sync(through: mailbox, settings)
    #expect(try await phone.devices().map(\.pending) == [0])
  }

  @Test func theListIsBoundedAndCanBeShortened() async throws {
    let store = try World.store(notes: 1)
    let start = Date(timeIntervalSince1970: 1_800_000_000)
    for number in 1...70 {
      let vector = StateVector([(ReplicaID(high: 1, low: UInt64(number)), UInt64(1))])
      try store.remember([
        KnownDevice(
          ReplicaID(high: 1, low: UInt64(number)), SyncDevice(name: "\(number)"),
          lastSeen: start.addingTimeInterval(Double(number)), acknowledged: vector)
      ])
    }
    #expect(try await store.devices().map(\.name) == (7...70).reversed().map { "\($0)" })
    try store.forget(device: ReplicaID(high: 1, low: 70))
    #expect(try await store.devices().first?.name == "69")
    // Of what is known already nothing is taken back.
    try store.remember([
      KnownDevice(ReplicaID(high: 1, low: 8), nil, lastSeen: start, acknowledged: StateVector())
    ])
    let device = try #require(try await store.devices().first { $0.id == ReplicaID(high: 1, low: 8) })
    #expect(device.name == "8" && device.acknowledged[device.id] == 1 && device.lastSeen == start.addingTimeInterval(8))
  }

  @Test func namesOfPeersAreShortAndPlain() throws {
    #expect(SyncDevice(name: "a\nb\u{0}c\u{1B}[31m").name == "abc[31m")
    let long = SyncDevice(name: String(repeating: "é", count: 100))
    #expect(long.name == String(repeating: "é", count: 64))
    #expect(throws: (any Error).self) { try SyncMessage([16, 0x81, 1] + Array(repeating: 65, count: 129) + [0]) }
  }

  /// An introduction belongs after the hello, once.
  @Test func anIntroductionOutOfItsOrderEndsTheSession() throws {
    let summary = try World.store(notes: 1).summary()
    let digest = SyncDigest(vector: StateVector(), fingerprint: Fingerprint())
    func hello(_ highest: UInt8) -> SyncMessage {
      .hello(SyncHello(versions: 1...highest, replica: nil, digest: digest, isLive: false, messageLimit: 1 << 20))
    }
    let about = SyncMessage.about(SyncDevice(name: "x"))
    for messages in [[about], [hello(3), about], [hello(4), about, about]] {
      var session = SyncSession()
      _ = try session.handle(.started(summary))
      #expect {
        for message in messages { _ = try session.handle(.message(message)) }
      } throws: {
        ($0 as? SyncError)?.code == .protocolViolation
      }
    }
  }

  /// Nobody is up to date while something of the peer's is on its way.
  @Test func upToDateIsMeantInBothDirections() async throws {
    let (phone, mac) = (try World.store(), try World.store(notes: 500, "mac"))
    var (isWrong, wasMissing) = (false, false)
    let (left, right) = MemoryConnection.pair()
    let (steps, feed) = AsyncStream.makeStream(of: SyncSession.Progress.self)
    var settings = SyncSettings()
    settings.onProgress = { feed.yield($0) }
    async let other = mac.sync(over: right)
    let outcome = try await phone.sync(over: left, settings)
    feed.finish()
    for await step in steps where step.phase == .syncing {
      wasMissing = wasMissing || step.missing == 1
      isWrong = isWrong || step.missing == 0 && step.receiveDone < step.receiveTotal
    }
    _ = try await other
    #expect(wasMissing && !isWrong && outcome.changes == 500)
    var status = SyncStatus()
    status.peers = [PeerStatus(id: "mac")]
    (status.peers[0].pending, status.peers[0].missing) = (0, 1)
    #expect(!status.isUpToDate)
    status.peers[0].missing = 0
    #expect(status.isUpToDate)
  }
}
