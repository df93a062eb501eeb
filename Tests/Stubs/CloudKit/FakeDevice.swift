import Foundation
import Synchronization

/// A device that reaches an iCloud: who is signed in on it, its network, what comes to it, and how many requests it has
/// made.
public final class FakeDevice: Sendable {
  /// The kinds of requests.
  public enum Call: String, Sendable, CaseIterable {
    case changes, records, modify, zones, subscriptions
  }

  /// What goes wrong at random, in percent of requests or, for `partial`, of items.
  public struct Faults: Sendable {
    /// The request does not arrive, or is refused: network, server, throttling.
    public var failures = 0
    /// It is done, and the answer is lost.
    public var lostAnswers = 0
    /// One item of several fails.
    public var partial = 0
    /// A page of changes has nothing in it though more is coming.
    public var emptyPages = 0

    /// None.
    public init() {}
  }

  struct State: @unchecked Sendable {
    var person: String?
    var status: CKAccountStatus?
    var counts: [Call: Int] = [:]
    var planned: [(call: Call?, error: CKError)] = []
    var plannedPartial: [CKError] = []
    var faults = Faults()
    var random: UInt64
    /// Whether an error of a zone comes inside a `partialFailure`, as some calls have it.
    var wrapsErrors = false
    /// What is on its way, by the subscription's id.
    var pending: [String] = []
    var last: String?
    var delivers = false
    var receive: (@Sendable ([AnyHashable: Any]) -> Void)?
    var files: [URL] = []
    var meanwhile: (@Sendable () -> Void)?
    var fileCount = 0
    var recordIDError: CKError?
    var refusal: CKError?
  }

  /// The iCloud that it reaches.
  public let cloud: FakeCloud
  /// Where changes of the account are posted.
  public let center = NotificationCenter()
  private let folder: URL
  let state: Mutex<State>

  /// A device on which somebody is signed in, or nobody.
  /// - Parameters:
  ///   - cloud: the iCloud that it reaches.
  ///   - person: the person's record name; nil if nobody is signed in.
  ///   - seed: what its faults follow from.
  public init(_ cloud: FakeCloud, person: String? = nil, seed: UInt64 = 0) {
    self.cloud = cloud
    state = Mutex(State(person: person, random: seed &* 0x9E37_79B9_7F4A_7C15 | 1))
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("fake-\(UUID().uuidString)")
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// The app's container as it is on this device.
  public var container: CKContainer { CKContainer(self, "iCloud.example") }

  // MARK: The account

  /// Somebody signs in, or out, or in as another person; whoever follows the account is told.
  public func signIn(_ person: String?, status: CKAccountStatus? = nil) {
    state.withLock { ($0.person, $0.status) = (person, status) }
    center.post(name: .CKAccountChanged, object: nil)
  }

  func accountStatus() throws -> CKAccountStatus {
    state.withLock { $0.status ?? ($0.person == nil ? .noAccount : .available) }
  }

  /// The person's record id cannot be had, as without a network after a first launch; nil ends that.
  public func failRecordID(_ error: CKError?) { state.withLock { $0.recordIDError = error } }

  func userRecordID() throws -> CKRecord.ID {
    if let error = state.withLock({ $0.recordIDError }) { throw error }
    guard let person = state.withLock({ $0.person }) else { throw CKError(.notAuthenticated) }
    return CKRecord.ID(recordName: person, zoneID: CKRecordZone.ID(zoneName: "_defaultZone"))
  }

  // MARK: Faults

  /// The next requests of a kind, or of any, fail with these errors, in this order, one each.
  public func fail(_ call: Call? = nil, _ errors: CKError...) {
    state.withLock { state in for error in errors { state.planned.append((call, error)) } }
  }

  /// The next items that are saved or deleted fail with these errors, one each.
  public func failItems(_ errors: CKError...) { state.withLock { $0.plannedPartial += errors } }

  /// Subscriptions cannot be saved from now on; nil ends that.
  public func refuseSubscriptions(_ error: CKError?) { state.withLock { $0.refusal = error } }

  /// What goes wrong at random, from now on.
  public var faults: Faults {
    get { state.withLock { $0.faults } }
    set { state.withLock { $0.faults = newValue } }
  }

  /// Whether an error of a zone comes inside a `partialFailure`.
  public var wrapsErrors: Bool {
    get { state.withLock { $0.wrapsErrors } }
    set { state.withLock { $0.wrapsErrors = newValue } }
  }

  /// How many errors that were planned have not happened.
  public var plannedCount: Int { state.withLock { $0.planned.count + $0.plannedPartial.count } }

  func partialFailure() -> CKError? {
    state.withLock { state in
      if !state.plannedPartial.isEmpty { return state.plannedPartial.removeFirst() }
      guard state.chance(state.faults.partial) else { return nil }
      return state.pick([CKError(.zoneBusy), CKError(.serverRejectedRequest), CKError(.internalError)])
    }
  }

  // MARK: Requests

  /// Does something while the next answer is on its way.
  public func meanwhile(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.meanwhile = body } }

  /// How many requests of each kind it has made since the counts were reset.
  public var counts: [Call: Int] { state.withLock { $0.counts } }
  /// How many requests it has made.
  public var count: Int { counts.values.reduce(0, +) }
  /// Counts from zero again.
  public func resetCounts() { state.withLock { $0.counts = [:] } }

  /// Makes a request, unless something is in the way of it or of its answer.
  private func request<T>(_ call: Call, _ zone: CKRecordZone.ID?, _ body: (String) throws -> T) throws -> T {
    let (person, fails, isLost) = try state.withLock { state -> (String, CKError?, Bool) in
      state.counts[call, default: 0] += 1
      // The files of earlier answers are the system's to remove.
      for url in state.files { try? FileManager.default.removeItem(at: url) }
      state.files = []
      if let index = state.planned.firstIndex(where: { $0.call == nil || $0.call == call }) {
        throw state.planned.remove(at: index).error
      }
      if state.status == .temporarilyUnavailable { throw CKError(.accountTemporarilyUnavailable) }
      guard let person = state.person, state.status ?? .available == .available else {
        throw CKError(.notAuthenticated)
      }
      let fails = state.chance(state.faults.failures) ? state.randomError() : nil
      return (person, fails, state.chance(state.faults.lostAnswers))
    }
    if let fails { throw fails }
    do {
      let value = try body(person)
      let meanwhile = state.withLock { state in
        defer { state.meanwhile = nil }
        return state.meanwhile
      }
      meanwhile?()
      if isLost { throw CKError(.serverResponseLost) }
      return value
    } catch let error as CKError where error.code != .serverResponseLost {
      guard wrapsErrors, let zone else { throw error }
      throw CKError(.partialFailure, userInfo: [CKPartialErrorsByItemIDKey: [zone as AnyHashable: error as any Error]])
    }
  }

  func changes(_ zone: CKRecordZone.ID, _ token: CKServerChangeToken?, _ keys: [String]?, _ limit: Int?) throws
    -> FakeCloud.Page
  {
    try request(.changes, zone) { person in
      let isEmpty = state.withLock { $0.chance($0.faults.emptyPages) }
      let page = try cloud.changes(of: person, zone, token, keys, limit, for: self)
      guard isEmpty, let token, page.moreComing || !page.modificationResultsByID.isEmpty else { return page }
      return ([:], [], token, true)
    }
  }

  func records(_ ids: [CKRecord.ID], _ keys: [String]?) throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
    try request(.records, nil) { try cloud.records(of: $0, ids, keys, for: self) }
  }

  func modify(_ records: [CKRecord], _ ids: [CKRecord.ID]) throws -> (
    saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]
  ) {
    try request(.modify, nil) { person in
      let results = try cloud.modify(of: person, records, ids, by: self)
      let failures = results.saveResults.compactMap { id, result -> (AnyHashable, any Error)? in
        if case .failure(let error) = result { (id, error) } else { nil }
      }
      guard wrapsErrors, !failures.isEmpty else { return results }
      // As the operation beneath has it: an error that names each item that failed.
      throw CKError(
        .partialFailure, userInfo: [CKPartialErrorsByItemIDKey: Dictionary(uniqueKeysWithValues: failures)])
    }
  }

  func modifyZones(_ zones: [CKRecordZone], _ ids: [CKRecordZone.ID]) throws -> (
    saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
    deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
  ) {
    try request(.zones, nil) { person in
      let refused = zones.filter { zone in
        !ids.contains { $0.zoneName == zone.zoneID.zoneName }
          && cloud.mustBeDeletedFirst(zone.zoneID.zoneName, of: person)
      }
      cloud.modifyZones(of: person, zones.filter { !refused.contains($0) }, ids)
      return (
        Dictionary(
          uniqueKeysWithValues: zones.map {
            let error = CKError(.zoneNotFound, userInfo: [CKErrorUserDidResetEncryptedDataKey: NSNumber(value: true)])
            return ($0.zoneID, refused.contains($0) ? .failure(error) : .success($0))
          }),
        Dictionary(uniqueKeysWithValues: ids.map { ($0, .success(())) })
      )
    }
  }

  func modifySubscriptions(_ subscriptions: [CKSubscription], _ ids: [CKSubscription.ID]) throws -> (
    saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
    deleteResults: [CKSubscription.ID: Result<Void, any Error>]
  ) {
    try request(.subscriptions, nil) { person in
      if let refusal = state.withLock({ $0.refusal }) { throw refusal }
      var results: [CKSubscription.ID: Result<CKSubscription, any Error>] = [:]
      for subscription in subscriptions {
        results[subscription.subscriptionID] = Result {
          try cloud.subscribe(of: person, subscription, by: self)
          return subscription
        }
      }
      return (results, [:])
    }
  }

  func subscriptions(_ ids: [CKSubscription.ID]) throws -> [CKSubscription.ID: Result<CKSubscription, any Error>] {
    try request(.subscriptions, nil) { person in
      Dictionary(
        uniqueKeysWithValues: ids.map { id in (id, Result { try cloud.subscription(of: person, id, on: self) }) })
    }
  }

  /// A record as it arrives here, with the fields that were asked for; an asset as a file.
  func record(_ stored: FakeCloud.Stored, _ id: CKRecord.ID, _ keys: [String]?) -> CKRecord {
    let record = CKRecord(recordType: stored.type, recordID: id)
    (record.creationDate, record.changeTag) = (stored.created, stored.tag)
    func isWanted(_ key: String) -> Bool { keys?.contains(key) ?? true }
    for (key, value) in stored.values where isWanted(key) { record.values[key] = value }
    for (key, value) in stored.encrypted where isWanted(key) { record.encrypted.values[key] = value }
    for (key, data) in stored.assets where isWanted(key) {
      record.values[key] = file(data).map { CKAsset(fileURL: $0) }
    }
    return record
  }

  private func file(_ data: Data) -> URL? {
    state.withLock { state in
      state.fileCount += 1
      let url = folder.appendingPathComponent("\(state.fileCount)")
      try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      guard FileManager.default.createFile(atPath: url.path, contents: data) else { return nil }
      state.files.append(url)
      return url
    }
  }
}

extension FakeDevice.State {
  /// A small generator (xorshift): faults follow from the seed.
  mutating func next() -> UInt64 {
    random ^= random << 13
    random ^= random >> 7
    random ^= random << 17
    return random
  }

  mutating func chance(_ percent: Int) -> Bool { percent > 0 && next() % 100 < UInt64(percent) }
  mutating func pick<T>(_ all: [T]) -> T { all[Int(next() % UInt64(all.count))] }

  /// What a request may fail with that passes by itself.
  mutating func randomError() -> CKError {
    pick([
      CKError(.networkUnavailable), CKError(.networkFailure), CKError(.zoneBusy), CKError(.internalError),
      CKError(.serviceUnavailable, userInfo: [CKErrorRetryAfterKey: NSNumber(value: 3)]),
      CKError(.requestRateLimited, userInfo: [CKErrorRetryAfterKey: NSNumber(value: 30)]),
    ])
  }
}
