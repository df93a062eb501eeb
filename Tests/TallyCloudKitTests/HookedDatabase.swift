import CloudKit
import TallyCloudKit
import TallyRig

/// A device's database in which a test does something before a request, or to its answer.
struct HookedDatabase: CloudKitDatabase {
  typealias Records = [CKRecord.ID: Result<CKRecord, any Error>]
  typealias Zones = (
    saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
    deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
  )

  private let database: CKDatabase
  /// Before zones are saved or deleted.
  /// - Returns: whether iCloud is to say that it is done, without doing it.
  var beforeZones: @Sendable () async throws -> Bool = { false }
  /// What becomes of the records that were asked for, by their fields; all of them without.
  var onRecords: @Sendable (Records, [CKRecord.FieldKey]?) -> Records = { records, _ in records }

  init(_ device: FakeDevice) { database = device.container.privateCloudDatabase }

  func recordZoneChanges(
    inZoneWith zoneID: CKRecordZone.ID, since changeToken: CKServerChangeToken?, desiredKeys: [CKRecord.FieldKey]?,
    resultsLimit: Int?
  ) async throws -> (
    modificationResultsByID: [CKRecord.ID: Result<CKDatabase.RecordZoneChange.Modification, any Error>],
    deletions: [CKDatabase.RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
  ) {
    try await database.recordZoneChanges(
      inZoneWith: zoneID, since: changeToken, desiredKeys: desiredKeys, resultsLimit: resultsLimit)
  }

  func records(for ids: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]?) async throws -> Records {
    onRecords(try await database.records(for: ids, desiredKeys: desiredKeys), desiredKeys)
  }

  func modifyRecords(
    saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
    savePolicy: CKModifyRecordsOperation.RecordSavePolicy, atomically: Bool
  ) async throws -> (
    saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]
  ) {
    try await database.modifyRecords(
      saving: recordsToSave, deleting: recordIDsToDelete, savePolicy: savePolicy, atomically: atomically)
  }

  func modifyRecordZones(saving zones: [CKRecordZone], deleting ids: [CKRecordZone.ID]) async throws -> Zones {
    guard try await beforeZones() else { return try await database.modifyRecordZones(saving: zones, deleting: ids) }
    return (
      Dictionary(uniqueKeysWithValues: zones.map { ($0.zoneID, .success($0)) }),
      Dictionary(uniqueKeysWithValues: ids.map { ($0, .success(())) })
    )
  }

  func modifySubscriptions(
    saving subscriptionsToSave: [CKSubscription], deleting subscriptionIDsToDelete: [CKSubscription.ID]
  ) async throws -> (
    saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
    deleteResults: [CKSubscription.ID: Result<Void, any Error>]
  ) {
    try await database.modifySubscriptions(saving: subscriptionsToSave, deleting: subscriptionIDsToDelete)
  }

  func subscriptions(for ids: [CKSubscription.ID]) async throws
    -> [CKSubscription.ID: Result<CKSubscription, any Error>]
  {
    try await database.subscriptions(for: ids)
  }
}

extension Phone {
  /// A mailbox of this phone that asks a database of a test's.
  func mailbox(
    _ database: HookedDatabase, _ change: (inout CloudKitMailbox.Settings) -> Void = { _ in }
  ) -> CloudKitMailbox {
    var settings = Phone.settings(device, clock)
    change(&settings)
    return CloudKitMailbox(
      database, device.container, containerName: "iCloud.example", account: account, space: "main", settings)
  }
}
