#if Spaces
  import GRDB
  import Synchronization
  import TallyStore
  import TallySync
  import TallyTesting
  import Testing

  @testable import TallySpaces

  /// Values in memory, as a store and a keychain keep them.
  final class TestMemory: SpaceMemory {
    struct Broken: Error {}
    private let state = Mutex<(values: [String: [UInt8]], isBroken: Bool)>(([:], false))

    func values() throws -> [String: [UInt8]] { state.withLock { $0.values } }

    func keep(_ values: [String: [UInt8]?]) throws {
      try state.withLock { state in
        if state.isBroken { throw Broken() }
        for (name, value) in values { state.values[name] = value }
      }
    }

    /// Whether nothing can be written.
    var isBroken: Bool {
      get { state.withLock { $0.isBroken } }
      set { state.withLock { $0.isBroken = newValue } }
    }

    /// What was kept at some time; setting it is a backup that is put back.
    var all: [String: [UInt8]] {
      get { state.withLock { $0.values } }
      set { state.withLock { $0.values = newValue } }
    }
  }

  /// A space with its recovery words, from which devices come.
  struct SpaceFixture {
    let recovery = MemberKeys()
    let logKey = [UInt8](repeating: 7, count: 32)
    let space: SpaceID
    let genesis: SignedRecord

    init() throws {
      let keys = recovery.publicKeys
      space = .space(of: keys.signing)
      genesis = try SignedRecord(
        .genesis(.init(recovery: keys, name: "Family")), in: space, by: MemberID(keys, in: space), after: [],
        keys: recovery)
    }

    /// A device of the space, with all that it keeps.
    struct Device {
      let space: SealedSpace
      let keys: MemberKeys
      let records, secrets: TestMemory
      var id: MemberID { space.device }
    }

    static var noToken: SpaceDigest { SpaceDigest.of([UInt8](repeating: 0, count: 32)) }

    /// The join of a device after some records.
    func join(
      _ keys: MemberKeys, by invitation: SpaceDigest, with secret: MemberKeys, after heads: Set<SpaceDigest>,
      name: String = "device"
    ) throws -> SignedRecord {
      try SignedRecord(
        .join(.init(keys: keys.publicKeys, invitation: invitation, token: Self.noToken, name: name)), in: space,
        by: MemberID(keys.publicKeys, in: space), after: heads, keys: keys, invitation: secret)
    }

    /// A device that came by the recovery words, and knows what another one does.
    func device(_ name: String = "device", knowing other: Device? = nil) throws -> Device {
      let (keys, records, secrets) = (MemberKeys(), TestMemory(), TestMemory())
      let space = try SealedSpace(space, logKey: logKey, device: keys, records: records, secrets: secrets)
      try space.add(other?.space.records ?? [genesis])
      let join = try join(
        keys, by: genesis.record.id, with: recovery, after: space.membership.heads, name: name)
      #expect(try space.add([join]).isEmpty)
      return Device(space: space, keys: keys, records: records, secrets: secrets)
    }

    /// The same device in another process: only what was kept is there.
    func reopened(_ device: Device) throws -> SealedSpace {
      try SealedSpace(
        space, logKey: logKey, device: device.keys, records: device.records, secrets: device.secrets)
    }
  }

  extension SpaceFixture.Device {
    /// A sealed place, as this device sees it.
    func sealed(_ place: any Mailbox) throws -> SealedMailbox {
      try SealedMailbox(place, of: space, memory: records)
    }
  }

  extension SpaceDigest {
    /// The digest of 32 bytes.
    static func of(_ bytes: [UInt8]) -> SpaceDigest {
      guard let digest = SpaceDigest(bytes) else { preconditionFailure("\(bytes.count) bytes are no digest") }
      return digest
    }
  }

  extension MemberID {
    /// The id of 16 bytes.
    static func of(_ bytes: [UInt8]) -> MemberID {
      guard let id = MemberID(bytes) else { preconditionFailure("\(bytes.count) bytes are no id") }
      return id
    }
  }

  enum Samples {
    static let schema = Schema([EntitySchema("Item", .text("name"))])

    static func store(_ names: String...) throws -> Store {
      let store = try Store(inMemory: schema)
      for name in names { try insert(name, into: store) }
      return store
    }

    static func insert(_ name: String, into store: Store) throws {
      try store.write { db in
        try db.execute(sql: "INSERT INTO Item(id, name) VALUES(?, ?)", arguments: ["Item|~|\(name)", name])
      }
    }

    /// Inserts so many names of about 600 bytes that do not compress.
    static func insertNoise(_ count: Int, into store: Store, seed: UInt64 = 3) throws {
      var random = SplitMix(seed: seed)
      try store.write { db in
        for number in 0..<count {
          let noise = (0..<50).map { _ in String(random.next(), radix: 36) }.joined()
          try db.execute(sql: "INSERT INTO Item(id, name) VALUES(?, ?)", arguments: ["Item|~|\(number)", noise])
        }
      }
    }

    static func names(_ store: Store) throws -> [String] {
      try store.read { db in try String.fetchAll(db, sql: "SELECT name FROM Item ORDER BY name") }
    }
  }
#endif
