import CloudKit
import Foundation
import GRDB
import Synchronization
import Tally
import TallyCloudKit
import TallyStore
import TallySync
import Testing

struct Note: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Note", .text("text"), .integer("stars"), .blob("picture"))
  var id = RecordName<Note>()
  var text: String?
  var stars: Int?
  var picture: Data?
}

/// A clock that goes on when a test says so.
final class TestClock: Sendable {
  private let start = ContinuousClock.now
  private let passed = Mutex(Duration.zero)

  var now: ContinuousClock.Instant { passed.withLock { start + $0 } }
  func pass(_ time: Duration) { passed.withLock { $0 += time } }
}

/// A device with the app: its iCloud, its mailbox, and a store.
final class Phone {
  static let zone = zone(of: "ann")

  /// The zone of a person's store.
  static func zone(of person: String) -> String {
    CloudKitMailbox(FakeDevice(FakeCloud(), person: person).container, account: person).zoneName
  }

  let device: FakeDevice
  let clock: TestClock
  let account: String
  var store: Store
  private(set) var mailbox: CloudKitMailbox

  /// The person is signed in, and it is their store.
  init(_ cloud: FakeCloud, _ person: String = "ann", store: Store? = nil, seed: UInt64 = 0) throws {
    (device, clock, account) = (FakeDevice(cloud, person: person, seed: seed), TestClock(), person)
    self.store = try store ?? Store(inMemory: Schema(Note.self))
    mailbox = Self.mailbox(device, clock, person)
  }

  static func settings(_ device: FakeDevice, _ clock: TestClock) -> CloudKitMailbox.Settings {
    var settings = CloudKitMailbox.Settings()
    settings.center = device.center
    settings.now = { clock.now }
    return settings
  }

  static func mailbox(_ device: FakeDevice, _ clock: TestClock, _ person: String) -> CloudKitMailbox {
    let mailbox = CloudKitMailbox(device.container, account: person, settings(device, clock))
    device.onNotification { [weak mailbox] in mailbox?.handle($0) }
    return mailbox
  }

  /// The app is ended and started again; its store stays.
  func restart() { mailbox = Self.mailbox(device, clock, account) }

  @discardableResult
  func pass(_ settings: MailboxSettings = MailboxSettings()) async throws -> MailboxReport {
    try await store.sync(through: mailbox, settings)
  }

  func write(_ texts: String..., picture: Data? = nil) throws {
    try store.write { db in for text in texts { try Note(text: text, stars: 1, picture: picture).insert(db) } }
  }

  func insert(_ notes: [Note]) throws { try store.write { db in for note in notes { try note.insert(db) } } }

  /// What the store shows, soundly.
  var isSound: Bool { get throws { try store.verify().isSound } }
  var notes: [Note] { get throws { try store.read { try Note.fetchAll($0) } } }

  var texts: [String] { get throws { try store.read { try Note.fetchAll($0) }.compactMap(\.text).sorted() } }

  /// The code of the error that a pass ends with; nil if it does not.
  func failure() async throws -> CloudKitError? {
    do {
      try await pass()
      return nil
    } catch let error as CloudKitError {
      return error
    }
  }
}

enum CloudWorld {
  /// Bytes that do not compress, from a seed.
  static func noise(_ count: Int, _ seed: UInt64 = 1) -> Data {
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

  static func dump(_ store: Store) throws -> String {
    var text = ""
    try store.dump(.canonical) { text += $0 }
    return text
  }

  /// All pass in turn until none has anything to put or take.
  static func settle(_ phones: Phone..., sourceLocation: Testing.SourceLocation = #_sourceLocation) async throws {
    try await settle(phones, sourceLocation: sourceLocation)
  }

  /// The same for any number of them.
  static func settle(_ phones: [Phone], sourceLocation: Testing.SourceLocation = #_sourceLocation) async throws {
    for _ in 0..<12 {
      var isQuiet = true
      for phone in phones {
        phone.mailbox.lookAgain()
        let report = try await phone.pass()
        if !report.taken.isEmpty || !report.written.isEmpty { isQuiet = false }
      }
      if isQuiet { return }
    }
    Issue.record("the phones do not come to rest", sourceLocation: sourceLocation)
  }

  /// All hold the same, byte for byte, and are sound.
  static func expectEqual(_ phones: Phone..., sourceLocation: Testing.SourceLocation = #_sourceLocation) throws {
    let first = try dump(phones[0].store)
    for phone in phones {
      #expect(try dump(phone.store) == first, sourceLocation: sourceLocation)
      #expect(try phone.store.verify().problems == [], sourceLocation: sourceLocation)
    }
  }
}
