import Foundation

/// Apple: https://developer.apple.com/documentation/cloudkit/ckcurrentuserdefaultname
// swift-format-ignore: AlwaysUseLowerCamelCase, AllPublicDeclarationsHaveDocumentation
public let CKCurrentUserDefaultName = "__defaultOwner__"

/// Apple: https://developer.apple.com/documentation/cloudkit/ckrecordzone. Public code that compiles
/// `CKRecordZone(zoneID:)`: pointfreeco/sqlite-data (`SyncEngine.swift`).
public final class CKRecordZone: NSObject, @unchecked Sendable {
  /// Apple: https://developer.apple.com/documentation/cloudkit/ckrecordzone/id
  public final class ID: NSObject, @unchecked Sendable {
    /// Apple: https://developer.apple.com/documentation/cloudkit/ckrecordzone/id/zonename
    public let zoneName: String
    /// Apple: https://developer.apple.com/documentation/cloudkit/ckrecordzone/id/ownername
    public let ownerName: String

    /// Apple: https://developer.apple.com/documentation/cloudkit/ckrecordzone/id/init(zonename:ownername:)
    public init(zoneName: String, ownerName: String = CKCurrentUserDefaultName) {
      (self.zoneName, self.ownerName) = (zoneName, ownerName)
    }

    /// Two ids of one zone are equal.
    public override func isEqual(_ object: Any?) -> Bool {
      guard let other = object as? ID else { return false }
      return other.zoneName == zoneName && other.ownerName == ownerName
    }

    /// Equal ids have one hash.
    public override var hash: Int { zoneName.hashValue ^ ownerName.hashValue }
  }

  /// Apple: https://developer.apple.com/documentation/cloudkit/ckrecordzone/zoneid
  public let zoneID: ID

  /// Apple: https://developer.apple.com/documentation/cloudkit/ckrecordzone/init(zoneid:)
  public init(zoneID: ID) { self.zoneID = zoneID }
}
