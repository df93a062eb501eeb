#if CloudKitStub
  import CloudKit
  import Synchronization
  import TallyCloudKit
  import TallySync
  import TallyTesting

  /// iCloud as the devices of a simulated world have it: notifications come late, twice or never, tokens expire, zones
  /// vanish, apps end, and requests fail. A call that fails in passing is made again, as the next pass would, so that a
  /// history goes on; `CloudHistory` has passes that end there.
  package final class CloudRelay: WorldRelay {
    private struct Seat {
      let device: FakeDevice
      let clock: TestClock
      var mailbox: CloudKitMailbox
      /// Whether a notification has come that the device has not looked after.
      var isTold = false
    }

    private struct State {
      var seats: [Int: Seat] = [:]
      var hasRested = false
    }

    package let cloud = FakeCloud()
    private let seed: UInt64
    private let state = Mutex(State())

    package init(seed: UInt64) { self.seed = seed }

    package func mailbox(_ device: Int) -> any Mailbox {
      state.withLock { state in
        guard state.seats[device] == nil else { return }
        let fake = FakeDevice(cloud, person: "ann", seed: seed &+ UInt64(device) &* 77)
        let clock = TestClock()
        state.seats[device] = Seat(device: fake, clock: clock, mailbox: made(fake, clock, device))
      }
      return SeatMailbox(relay: self, device: device)
    }

    private func made(_ fake: FakeDevice, _ clock: TestClock, _ device: Int) -> CloudKitMailbox {
      var settings = Phone.settings(fake, clock)
      // Some of what a world writes is large enough for an asset then.
      settings.inlineBytes = 300
      let mailbox = CloudKitMailbox(fake.container, account: "ann", settings)
      fake.onNotification { [weak self, weak mailbox] userInfo in
        guard let self, let mailbox, mailbox.handle(userInfo) else { return }
        self.state.withLock { $0.seats[device]?.isTold = true }
      }
      return mailbox
    }

    fileprivate func current(_ device: Int) -> CloudKitMailbox? { state.withLock { $0.seats[device]?.mailbox } }

    package func wait(_ device: Int, after cursor: MailboxCursor?) throws {
      state.withLock { $0.seats[device]?.isTold = false }
    }

    /// The app has ended: what it knew of iCloud is gone, what its store knows is not.
    package func forget(_ device: Int) {
      guard let seat = state.withLock({ $0.seats[device] }) else { return }
      let mailbox = made(seat.device, seat.clock, device)
      state.withLock { $0.seats[device]?.mailbox = mailbox }
    }

    // MARK: What happens

    package func happen(_ random: inout SplitMix64) throws -> Event {
      let devices = state.withLock { $0.seats.keys.sorted() }
      guard !devices.isEmpty else { return ("nobody uses iCloud", nil) }
      let device = random.pick(devices)
      guard let seat = state.withLock({ $0.seats[device] }) else { return ("nobody uses iCloud", nil) }
      switch random.below(24) {
      case 0..<9:
        return seat.device.deliver() ? ("replica \(device) is notified", device) : ("nothing is on its way", nil)
      case 9:
        return seat.device.deliverAgain() ? ("replica \(device) is notified again", device) : ("nothing came", nil)
      case 10:
        seat.device.loseNotifications()
        return ("what was on its way to replica \(device) is lost", nil)
      case 11:
        cloud.expireTokens()
        return ("all tokens expire", nil)
      case 12:
        cloud.resetEncryptedData(of: "ann")
        return ("encrypted data is reset", nil)
      case 13:
        cloud.loseZones(of: "ann")
        return ("the zone vanishes", nil)
      case 14, 15:
        seat.device.faults.failures = random.pick([0, 10, 40])
        seat.device.faults.lostAnswers = random.pick([0, 10, 30])
        seat.device.faults.partial = random.pick([0, 20])
        seat.device.faults.emptyPages = random.pick([0, 30])
        return ("the network of replica \(device) changes", nil)
      case 16:
        seat.mailbox.lookAgain()
        return ("the app of replica \(device) comes to the front", device)
      case 17:
        seat.mailbox.didRegisterForNotifications()
        return ("the app of replica \(device) is registered for notifications", nil)
      case 18:
        forget(device)
        return ("the app of replica \(device) is started again", device)
      case 19:
        cloud.limits.pageItems = random.pick([1, 3, 200])
        cloud.limits.tokenReach = random.pick([nil, 2, 10])
        return ("iCloud's limits change", nil)
      case 20:
        seat.device.wrapsErrors.toggle()
        return ("errors of replica \(device) come otherwise", nil)
      case 21:
        seat.clock.pass(.seconds(7_200))
        return ("hours pass for replica \(device)", nil)
      default:
        seat.clock.pass(.seconds(random.pick([1, 30])))
        return ("time passes for replica \(device)", nil)
      }
    }

    /// Ends all faults. Everybody looks once more, since silence is not believed for ever; from then on who is told.
    package func tellAll() throws -> [Int] {
      let (seats, isFirst) = state.withLock { state in
        defer { state.hasRested = true }
        return (state.seats, !state.hasRested)
      }
      return seats.keys.sorted().filter { device in
        guard let seat = seats[device] else { return false }
        seat.device.faults = FakeDevice.Faults()
        if isFirst { seat.clock.pass(.seconds(7_200)) }
        while seat.device.deliver() {}
        return isFirst || state.withLock { $0.seats[device]?.isTold ?? false }
      }
    }

    /// Waits as long as an error asks for.
    fileprivate func pause(_ device: Int, _ error: CloudKitError) {
      let clock = state.withLock { $0.seats[device]?.clock }
      clock?.pass(error.retryAfter ?? .seconds(1))
    }
  }

  /// iCloud as one device reaches it.
  private struct SeatMailbox: Mailbox {
    let relay: CloudRelay
    let device: Int

    private struct Gone: Error {}
    private func seat() throws -> CloudKitMailbox {
      guard let mailbox = relay.current(device) else { throw Gone() }
      return mailbox
    }

    var name: String { "iCloud" }
    var identity: String { "cloudkit simulated" }
    var kind: MailboxKind { .log }

    /// Does it again while what fails passes by itself.
    private func again<T>(_ body: (CloudKitMailbox) async throws -> T) async throws -> T {
      for _ in 0..<200 {
        do { return try await body(try seat()) } catch let error as CloudKitError where !error.isPermanent {
          relay.pause(device, error)
        }
      }
      return try await body(try seat())
    }

    func changes(after cursor: MailboxCursor?) async throws -> MailboxPage {
      try await again { try await $0.changes(after: cursor) }
    }

    func get(_ name: String, from offset: Int) async throws -> any AsyncSequence<[UInt8], any Error> {
      try await again { try await $0.get(name, from: offset) }
    }

    func put(_ upload: MailboxUpload) async throws -> MailboxReceipt { try await again { try await $0.put(upload) } }
    func contents(of names: [String]) async throws -> [String: [UInt8]] {
      try await again { try await $0.contents(of: names) }
    }
    func ask(for names: [String]) async throws { try await again { try await $0.ask(for: names) } }
    func remove(_ names: [String]) async throws { try await again { try await $0.remove(names) } }
    func wait(after cursor: MailboxCursor?) async throws { try await seat().wait(after: cursor) }
  }
#endif
