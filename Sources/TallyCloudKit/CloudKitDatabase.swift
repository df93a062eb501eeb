#if canImport(CloudKit)
  import CloudKit

  /// All that a mailbox asks of a database: six calls, with the signatures of `CKDatabase`.
  package protocol CloudKitDatabase: Sendable {
    func recordZoneChanges(
      inZoneWith zoneID: CKRecordZone.ID, since changeToken: CKServerChangeToken?, desiredKeys: [CKRecord.FieldKey]?,
      resultsLimit: Int?
    ) async throws -> (
      modificationResultsByID: [CKRecord.ID: Result<CKDatabase.RecordZoneChange.Modification, any Error>],
      deletions: [CKDatabase.RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
    )

    func records(for ids: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]?) async throws
      -> [CKRecord.ID: Result<CKRecord, any Error>]

    func modifyRecords(
      saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
      savePolicy: CKModifyRecordsOperation.RecordSavePolicy, atomically: Bool
    ) async throws -> (
      saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]
    )

    func modifyRecordZones(saving recordZonesToSave: [CKRecordZone], deleting recordZoneIDsToDelete: [CKRecordZone.ID])
      async throws -> (
        saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
        deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
      )

    func modifySubscriptions(
      saving subscriptionsToSave: [CKSubscription], deleting subscriptionIDsToDelete: [CKSubscription.ID]
    ) async throws -> (
      saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
      deleteResults: [CKSubscription.ID: Result<Void, any Error>]
    )

    func subscriptions(for ids: [CKSubscription.ID]) async throws
      -> [CKSubscription.ID: Result<CKSubscription, any Error>]
  }

  extension CKDatabase: CloudKitDatabase {}

  /// All that is asked of a container: who is signed in.
  package protocol CloudKitContainer: Sendable {
    func accountStatus() async throws -> CKAccountStatus
    func userRecordID() async throws -> CKRecord.ID
  }

  extension CKContainer: CloudKitContainer {}
#endif
