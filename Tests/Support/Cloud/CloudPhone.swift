#if CloudKitStub
  import CloudKit
  import Foundation
  import GRDB
  import Synchronization
  import Tally
  import TallyCloudKit
  import TallyStore
  import TallySync

  /// The entity of the app that the phones run.
  package struct CloudNote: Entity, Codable, FetchableRecord, PersistableRecord {
    package static let schema = EntitySchema("Note", .text("text"), .integer("stars"), .blob("picture"))
    package var id = RecordName<CloudNote>()
    package var text: String?
    package var stars: Int?
    package var picture: Data?

    package init(text: String? = nil, stars: Int? = nil, picture: Data? = nil) {
      (self.text, self.stars, self.picture) = (text, stars, picture)
    }
  }

  /// A clock that goes on when a test says so.
  package final class TestClock: Sendable {
    private let start = ContinuousClock.now
    private let passed = Mutex(Duration.zero)

    package init() {}

    package var now: ContinuousClock.Instant { passed.withLock { start + $0 } }
    package func pass(_ time: Duration) { passed.withLock { $0 += time } }
  }

  /// A device with the app: its iCloud, its mailbox, and a store.
  package final class Phone {
    package static let zone = zone(of: "ann")

    /// The zone of a person's store.
    package static func zone(of person: String) -> String {
      CloudKitMailbox(FakeDevice(FakeCloud(), person: person).container, account: person).zoneName
    }

    package let device: FakeDevice
    package let clock: TestClock
    package let account: String
    package var store: Store
    package private(set) var mailbox: CloudKitMailbox

    /// The person is signed in, and it is their store.
    package init(_ cloud: FakeCloud, _ person: String = "ann", store: Store? = nil, seed: UInt64 = 0) throws {
      (device, clock, account) = (FakeDevice(cloud, person: person, seed: seed), TestClock(), person)
      self.store = try store ?? Store(inMemory: Schema(CloudNote.self))
      mailbox = Self.mailbox(device, clock, person)
    }

    package static func settings(_ device: FakeDevice, _ clock: TestClock) -> CloudKitMailbox.Settings {
      var settings = CloudKitMailbox.Settings()
      settings.center = device.center
      settings.now = { clock.now }
      return settings
    }

    package static func mailbox(_ device: FakeDevice, _ clock: TestClock, _ person: String) -> CloudKitMailbox {
      let mailbox = CloudKitMailbox(device.container, account: person, settings(device, clock))
      device.onNotification { [weak mailbox] in mailbox?.handle($0) }
      return mailbox
    }

    /// The app is ended and started again; its store stays.
    package func restart() { mailbox = Self.mailbox(device, clock, account) }

    @discardableResult
    package func pass(_ settings: MailboxSettings = MailboxSettings()) async throws -> MailboxReport {
      try await store.sync(through: mailbox, settings)
    }

    package func write(_ texts: String..., picture: Data? = nil) throws {
      try store.write { db in for text in texts { try CloudNote(text: text, stars: 1, picture: picture).insert(db) } }
    }

    package func insert(_ notes: [CloudNote]) throws {
      try store.write { db in for note in notes { try note.insert(db) } }
    }

    /// What the store shows, soundly.
    package var isSound: Bool { get throws { try store.verify().isSound } }
    package var notes: [CloudNote] { get throws { try store.read { try CloudNote.fetchAll($0) } } }

    package var texts: [String] {
      get throws { try store.read { try CloudNote.fetchAll($0) }.compactMap(\.text).sorted() }
    }

    /// The code of the error that a pass ends with; nil if it does not.
    package func failure() async throws -> CloudKitError? {
      do {
        try await pass()
        return nil
      } catch let error as CloudKitError {
        return error
      }
    }
  }

  package enum CloudWorld {
    /// Bytes that do not compress, from a seed.
    package static func noise(_ count: Int, _ seed: UInt64 = 1) -> Data {
      var word = seed &* 0x9E37_79B9_7F4A_7C15 | 1
      var words: [UInt64] = []
      words.reserveCapacity(count / 8 + 1)
      for _ in 0...count / 8 {
        word ^= word << 13
        word ^= word >> 7
        word ^= word << 17
        words.append(word)
      }
      return words.withUnsafeBytes { Data($0.prefix(count)) }
    }

    package static func dump(_ store: Store) throws -> String {
      var text = ""
      try store.dump(.canonical) { text += $0 }
      return text
    }

    /// All pass in turn until nobody has anything to put or take, also in a second round: what one has asked for in the
    /// first, another puts in the next.
    /// - Returns: whether that came to an end.
    package static func rest(_ phones: [Phone]) async throws -> Bool {
      var quiet = 0
      for _ in 0..<16 {
        quiet += 1
        for phone in phones {
          phone.mailbox.lookAgain()
          let report = try await phone.pass()
          if !report.taken.isEmpty || !report.written.isEmpty || !report.removed.isEmpty { quiet = 0 }
        }
        if quiet == 2 { return true }
      }
      return false
    }
  }
#endif
