import Foundation
import Synchronization

/// iCloud in memory, as far as `CKDatabase`'s private database of one app goes: accounts with zones, whose records have
/// a change log with tokens that expire; limits, quotas, and what a person does in Settings. Everything follows from
/// what tests call; it reads no clock and draws nothing but from a device's seed.
public final class FakeCloud: Sendable {
  /// What the servers allow.
  public struct Limits: Sendable {
    /// The most items of one request (`limitExceeded`).
    public var items = 400
    /// The most bytes of a record without its assets (`limitExceeded`).
    public var recordBytes = 1_000_000
    /// The most bytes of a request without its assets (`limitExceeded`).
    public var requestBytes = 2_000_000
    /// The most records of a page of changes.
    public var pageItems = 200
    /// The most bytes of records without assets in a page of changes; one record always fits.
    public var pageBytes = 1 << 20
    /// After how many further changes of its zone a change token expires; nil for never.
    public var tokenReach: Int?

    /// Those that Apple names, and for pages those that are usual.
    public init() {}
  }

  struct Stored: @unchecked Sendable {
    var type: String
    var values: [String: any CKRecordValueProtocol]
    var encrypted: [String: any CKRecordValueProtocol]
    var assets: [String: Data]
    var created: Date
    var tag: Int
    /// What is said to who asks for its asset, if the server has lost that.
    var lost: CKError.Code?

    var byteCount: Int {
      (Array(values.values) + Array(encrypted.values)).reduce(0) { $0 + (($1 as? Data)?.count ?? 8) }
    }
    var assetBytes: Int { assets.values.reduce(0) { $0 + $1.count } }
  }

  /// A record that is there, or was.
  struct Change {
    var sequence: Int
    var record: Stored?
    var type: String
  }

  struct Zone {
    /// Tells a zone from an earlier one of the same name.
    var making: Int
    var sequence = 0
    var changes: [String: Change] = [:]
    /// Tokens from before are not known any more.
    var oldestToken = 0
  }

  struct Account {
    var zones: [String: Zone] = [:]
    /// Zones that the person has deleted in Settings.
    var deletedByPerson: Set<String> = []
    /// Zones that went with the keys of encrypted data.
    var reset: Set<String> = []
    var quota: Int?
    /// Which device wants to hear of which zone, by the subscription's id.
    var subscriptions: [Subscription] = []

    var byteCount: Int {
      zones.values.reduce(0) { sum, zone in
        zone.changes.values.reduce(sum) { $0 + ($1.record.map { $0.byteCount + $0.assetBytes } ?? 0) }
      }
    }
  }

  struct Subscription {
    var id: String
    var zone: String
    var device: Weak
  }

  struct Weak: @unchecked Sendable { weak var device: FakeDevice? }

  struct State: @unchecked Sendable {
    var limits = Limits()
    var accounts: [String: Account] = [:]
    var ticks = 0
    var makings = 0
  }

  let state = Mutex(State())

  /// An iCloud with nothing in it.
  public init() {}

  /// What the servers allow, from now on.
  public var limits: Limits {
    get { state.withLock { $0.limits } }
    set { state.withLock { $0.limits = newValue } }
  }

  // MARK: What a person or time does

  /// The person has room for so many bytes; nil for any number.
  public func setQuota(_ bytes: Int?, of person: String) {
    state.withLock { $0.accounts[person, default: Account()].quota = bytes }
  }

  /// The person deletes the app's data in Settings: its zones are gone, and stay so until one is made again.
  public func deleteData(of person: String) {
    state.withLock { state in
      var account = state.accounts[person, default: Account()]
      account.deletedByPerson.formUnion(account.zones.keys)
      (account.zones, account.subscriptions) = ([:], [])
      state.accounts[person] = account
    }
  }

  /// The person resets what is encrypted: the zones are gone, and nobody meant to delete anything.
  public func resetEncryptedData(of person: String) {
    state.withLock { state in
      var account = state.accounts[person, default: Account()]
      account.reset.formUnion(account.zones.keys)
      (account.zones, account.subscriptions) = ([:], [])
      state.accounts[person] = account
    }
  }

  /// The zones are gone, and nothing says why.
  public func loseZones(of person: String) {
    state.withLock { state in
      state.accounts[person]?.zones = [:]
      state.accounts[person]?.subscriptions = []
    }
  }

  /// Every token that was given so far has expired.
  public func expireTokens() {
    state.withLock { state in
      for (person, account) in state.accounts {
        for name in account.zones.keys {
          let sequence = account.zones[name]?.sequence ?? 0
          state.accounts[person]?.zones[name]?.sequence = sequence + 1
          state.accounts[person]?.zones[name]?.oldestToken = sequence + 1
        }
      }
    }
  }

  /// The names of the records of a zone, oldest first.
  public func names(of person: String, zone: String) -> [String] {
    state.withLock { state in
      let changes = state.accounts[person]?.zones[zone]?.changes ?? [:]
      return changes.filter { $0.value.record != nil }.sorted { $0.value.sequence < $1.value.sequence }.map(\.key)
    }
  }

  /// The names of the zones of a person.
  public func zones(of person: String) -> [String] {
    state.withLock { ($0.accounts[person]?.zones.keys.sorted() ?? []) }
  }

  /// The bytes that a person's records and assets take.
  public func byteCount(of person: String) -> Int { state.withLock { $0.accounts[person]?.byteCount ?? 0 } }

  /// How many devices are told of changes of a zone.
  public func subscriberCount(of person: String) -> Int {
    state.withLock { $0.accounts[person]?.subscriptions.filter { $0.device.device != nil }.count ?? 0 }
  }

  /// Changes a byte of a record, as nobody but a fault does.
  public func damage(_ name: String, of person: String, zone: String) {
    state.withLock { state in
      guard var stored = state.accounts[person]?.zones[zone]?.changes[name]?.record else { return }
      for (key, value) in stored.encrypted {
        guard var data = value as? Data, !data.isEmpty else { continue }
        data[data.count / 2] ^= 1
        stored.encrypted[key] = data
      }
      for (key, var data) in stored.assets where !data.isEmpty {
        data[data.count / 2] ^= 1
        stored.assets[key] = data
      }
      state.accounts[person]?.zones[zone]?.changes[name]?.record = stored
    }
  }

  /// The files of assets are not at the server any more, though their records are. Who asks for one is given the record
  /// without it, or an error.
  public func loseAssets(of person: String, zone: String, _ code: CKError.Code? = nil) {
    state.withLock { state in
      for (name, change) in state.accounts[person]?.zones[zone]?.changes ?? [:] {
        guard var record = change.record, !record.assets.isEmpty else { continue }
        (record.assets, record.lost) = ([:], code)
        state.accounts[person]?.zones[zone]?.changes[name]?.record = record
      }
    }
  }
}
