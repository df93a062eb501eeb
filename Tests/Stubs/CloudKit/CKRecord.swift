import Foundation

/// Apple: https://developer.apple.com/documentation/cloudkit/ckrecord. Public code that compiles
/// `CKRecord(recordType:recordID:)` and `encryptedValues[key]`: pointfreeco/sqlite-data
/// (`CloudKit+StructuredQueries.swift`), apple/sample-cloudkit-encryption.
public final class CKRecord: NSObject, CKRecordKeyValueSetting, @unchecked Sendable {
  /// Apple: https://developer.apple.com/documentation/cloudkit/ckrecord/recordtype-swift.typealias
  public typealias RecordType = String
  /// Apple: https://developer.apple.com/documentation/cloudkit/ckrecord/fieldkey
  public typealias FieldKey = String

  /// Apple: https://developer.apple.com/documentation/cloudkit/ckrecord/id
  public final class ID: NSObject, @unchecked Sendable {
    /// Apple: https://developer.apple.com/documentation/cloudkit/ckrecord/id/recordname
    public let recordName: String
    /// Apple: https://developer.apple.com/documentation/cloudkit/ckrecord/id/zoneid
    public let zoneID: CKRecordZone.ID

    /// Apple: https://developer.apple.com/documentation/cloudkit/ckrecord/id/init(recordname:zoneid:)
    public init(recordName: String, zoneID: CKRecordZone.ID) { (self.recordName, self.zoneID) = (recordName, zoneID) }

    /// Two ids of one record are equal.
    public override func isEqual(_ object: Any?) -> Bool {
      guard let other = object as? ID else { return false }
      return other.recordName == recordName && other.zoneID == zoneID
    }

    /// Equal ids have one hash.
    public override var hash: Int { recordName.hashValue ^ zoneID.hash }
  }

  /// Apple: https://developer.apple.com/documentation/cloudkit/ckrecord/recordtype-swift.property
  public let recordType: RecordType
  /// Apple: https://developer.apple.com/documentation/cloudkit/ckrecord/recordid
  public let recordID: ID
  /// Apple: https://developer.apple.com/documentation/cloudkit/ckrecord/creationdate
  public internal(set) var creationDate: Date?
  /// Apple: https://developer.apple.com/documentation/cloudkit/ckrecord/encryptedvalues
  public var encryptedValues: any CKRecordKeyValueSetting & Sendable { encrypted }

  /// A record's encrypted fields. Their keys are those of the record: no field is both.
  final class Encrypted: NSObject, CKRecordKeyValueSetting, @unchecked Sendable {
    var values: [FieldKey: any CKRecordValueProtocol] = [:]
  }

  var values: [FieldKey: any CKRecordValueProtocol] = [:]
  let encrypted = Encrypted()
  /// Which version of the record at the server this is; nil for one that was made here.
  var changeTag: Int?

  /// Apple: https://developer.apple.com/documentation/cloudkit/ckrecord/init(recordtype:recordid:)
  public init(recordType: RecordType, recordID: ID) { (self.recordType, self.recordID) = (recordType, recordID) }
}

/// Apple: https://developer.apple.com/documentation/cloudkit/ckrecordkeyvaluesetting
public protocol CKRecordKeyValueSetting: NSObjectProtocol {
  /// Apple: https://developer.apple.com/documentation/cloudkit/ckrecordkeyvaluesetting/subscript(_:)
  subscript(key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? { get set }
}

extension CKRecord {
  /// Apple: https://developer.apple.com/documentation/cloudkit/ckrecordkeyvaluesetting/subscript(_:)
  public subscript(key: FieldKey) -> (any CKRecordValueProtocol)? {
    get { values[key] }
    set { values[key] = newValue }
  }
}

extension CKRecord.Encrypted {
  subscript(key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
    get { values[key] }
    set { values[key] = newValue }
  }
}

/// Apple: https://developer.apple.com/documentation/cloudkit/ckrecordvalueprotocol
public protocol CKRecordValueProtocol {}
extension Int64: CKRecordValueProtocol {}
extension String: CKRecordValueProtocol {}
extension Data: CKRecordValueProtocol {}

/// Apple: https://developer.apple.com/documentation/cloudkit/ckasset. Public code that compiles `CKAsset(fileURL:)`:
/// pointfreeco/sqlite-data (`CloudKit+StructuredQueries.swift`).
public final class CKAsset: NSObject, CKRecordValueProtocol, @unchecked Sendable {
  /// Apple: https://developer.apple.com/documentation/cloudkit/ckasset/fileurl
  public let fileURL: URL?

  /// Apple: https://developer.apple.com/documentation/cloudkit/ckasset/init(fileurl:)
  public init(fileURL: URL) { self.fileURL = fileURL }
}

/// Apple: https://developer.apple.com/documentation/cloudkit/ckmodifyrecordsoperation. Only the policy is declared.
public enum CKModifyRecordsOperation {
  /// Apple: https://developer.apple.com/documentation/cloudkit/ckmodifyrecordsoperation/recordsavepolicy
  public enum RecordSavePolicy: Int, Sendable {
    case ifServerRecordUnchanged = 0
    case changedKeys = 1
    case allKeys = 2
  }
}
