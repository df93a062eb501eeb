import Foundation

/// Apple: https://developer.apple.com/documentation/cloudkit/cksubscription. Many public repositories compile
/// `CKRecordZoneSubscription(zoneID:subscriptionID:)` with a `NotificationInfo` whose `shouldSendContentAvailable` is
/// set.
public class CKSubscription: NSObject, @unchecked Sendable {
  /// Apple: https://developer.apple.com/documentation/cloudkit/cksubscription/id
  public typealias ID = String

  /// Apple: https://developer.apple.com/documentation/cloudkit/cksubscription/notificationinfo-swift.class
  public final class NotificationInfo: NSObject, @unchecked Sendable {
    /// Apple:
    /// developer.apple.com/documentation/cloudkit/cksubscription/notificationinfo-swift.class
    public var shouldSendContentAvailable = false
  }

  /// Apple: https://developer.apple.com/documentation/cloudkit/cksubscription/subscriptionid
  public let subscriptionID: ID
  /// Apple: https://developer.apple.com/documentation/cloudkit/cksubscription/notificationinfo-swift.property
  public var notificationInfo: NotificationInfo?

  init(_ subscriptionID: ID) { self.subscriptionID = subscriptionID }
}

/// Apple: https://developer.apple.com/documentation/cloudkit/ckrecordzonesubscription
public final class CKRecordZoneSubscription: CKSubscription, @unchecked Sendable {
  /// Apple: https://developer.apple.com/documentation/cloudkit/ckrecordzonesubscription/zoneid
  public let zoneID: CKRecordZone.ID

  /// Apple: https://developer.apple.com/documentation/cloudkit/ckrecordzonesubscription/init(zoneid:subscriptionid:)
  public init(zoneID: CKRecordZone.ID, subscriptionID: CKSubscription.ID) {
    self.zoneID = zoneID
    super.init(subscriptionID)
  }
}

/// Apple: https://developer.apple.com/documentation/cloudkit/cknotification. Public code compiles
/// `CKNotification(fromRemoteNotificationDictionary:)` in `didReceiveRemoteNotification`:
/// apple/sample-cloudkit-zonechanges.
public class CKNotification: NSObject, @unchecked Sendable {
  /// Apple: https://developer.apple.com/documentation/cloudkit/cknotification/subscriptionid
  public let subscriptionID: CKSubscription.ID?

  /// Apple: https://developer.apple.com/documentation/cloudkit/cknotification/init(fromremotenotificationdictionary:)
  ///
  /// What is in the dictionary is Apple's own business. This one reads what `FakeDevice` sends, and knows no kind of
  /// notification but that of a subscription.
  public init?(fromRemoteNotificationDictionary dictionary: [AnyHashable: Any]) {
    guard let body = dictionary["ck"] as? [String: String], let id = body["sid"] else { return nil }
    subscriptionID = id
  }
}
