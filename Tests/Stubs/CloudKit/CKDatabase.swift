import Foundation

/// Apple: https://developer.apple.com/documentation/cloudkit/ckdatabase. Public code that compiles
/// `records(for:desiredKeys:)`, `modifyRecords` and `modifyRecordZones` as requirements of a protocol that `CKDatabase`
/// conforms to: pointfreeco/sqlite-data (`CloudDatabase.swift`).
public final class CKDatabase: NSObject, @unchecked Sendable {
  /// Apple: https://developer.apple.com/documentation/cloudkit/ckdatabase/recordzonechange
  public enum RecordZoneChange {
    /// Apple: https://developer.apple.com/documentation/cloudkit/ckdatabase/recordzonechange/modification
    public struct Modification: Sendable {
      /// Apple: https://developer.apple.com/documentation/cloudkit/ckdatabase/recordzonechange/modification/record
      public let record: CKRecord
    }

    /// Apple: https://developer.apple.com/documentation/cloudkit/ckdatabase/recordzonechange/deletion
    public struct Deletion: Sendable {
      /// Apple: https://developer.apple.com/documentation/cloudkit/ckdatabase/recordzonechange/deletion/recordid
      public let recordID: CKRecord.ID
      /// Apple: https://developer.apple.com/documentation/cloudkit/ckdatabase/recordzonechange/deletion/recordtype
      public let recordType: CKRecord.RecordType
    }
  }

  private let device: FakeDevice

  init(_ device: FakeDevice) { self.device = device }

  /// Apple: on the page of `CKDatabase`, /recordzonechanges(inzonewith:since:desiredkeys:resultslimit:).
  /// Public code that compiles it: several repositories that page with `moreComing` and `modificationResultsByID`.
  public func recordZoneChanges(
    inZoneWith zoneID: CKRecordZone.ID, since changeToken: CKServerChangeToken?,
    desiredKeys: [CKRecord.FieldKey]? = nil, resultsLimit: Int? = nil
  ) async throws -> (
    modificationResultsByID: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>],
    deletions: [RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
  ) {
    try device.changes(zoneID, changeToken, desiredKeys, resultsLimit)
  }

  /// Apple: https://developer.apple.com/documentation/cloudkit/ckdatabase/records(for:desiredkeys:)
  public func records(for ids: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]? = nil) async throws
    -> [CKRecord.ID: Result<CKRecord, any Error>]
  {
    try device.records(ids, desiredKeys)
  }

  /// Apple:
  /// developer.apple.com/documentation/cloudkit/ckdatabase/modifyrecords(saving:deleting:savepolicy:atomically:)
  public func modifyRecords(
    saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
    savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true
  ) async throws -> (
    saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]
  ) {
    guard savePolicy == .ifServerRecordUnchanged, !atomically else { throw CKError(.invalidArguments) }
    return try device.modify(recordsToSave, recordIDsToDelete)
  }

  /// Apple: https://developer.apple.com/documentation/cloudkit/ckdatabase/modifyrecordzones(saving:deleting:)
  public func modifyRecordZones(
    saving recordZonesToSave: [CKRecordZone], deleting recordZoneIDsToDelete: [CKRecordZone.ID]
  ) async throws -> (
    saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
    deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
  ) {
    try device.modifyZones(recordZonesToSave, recordZoneIDsToDelete)
  }

  /// Apple: https://developer.apple.com/documentation/cloudkit/ckdatabase/modifysubscriptions(saving:deleting:)
  public func modifySubscriptions(
    saving subscriptionsToSave: [CKSubscription], deleting subscriptionIDsToDelete: [CKSubscription.ID]
  ) async throws -> (
    saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
    deleteResults: [CKSubscription.ID: Result<Void, any Error>]
  ) {
    try device.modifySubscriptions(subscriptionsToSave, subscriptionIDsToDelete)
  }

  /// Apple: https://developer.apple.com/documentation/cloudkit/ckdatabase/subscriptions(for:)
  public func subscriptions(for ids: [CKSubscription.ID]) async throws
    -> [CKSubscription.ID: Result<CKSubscription, any Error>]
  {
    try device.subscriptions(ids)
  }
}
