import Foundation

/// Apple: https://developer.apple.com/documentation/cloudkit/ckaccountstatus. The numbers are those of CKContainer.h.
public enum CKAccountStatus: Int, Sendable {
  case couldNotDetermine = 0
  case available = 1
  case restricted = 2
  case noAccount = 3
  case temporarilyUnavailable = 4
}

extension NSNotification.Name {
  /// Apple: https://developer.apple.com/documentation/foundation/nsnotification/name/ckaccountchanged
  // swift-format-ignore: AlwaysUseLowerCamelCase, AllPublicDeclarationsHaveDocumentation
  public static let CKAccountChanged = NSNotification.Name("CKAccountChangedNotification")
}

/// Apple: https://developer.apple.com/documentation/cloudkit/ckcontainer. Public code that compiles `accountStatus()`,
/// `CKContainer(identifier:)` and `privateCloudDatabase`: pointfreeco/sqlite-data (`CloudContainer.swift`).
public final class CKContainer: NSObject, @unchecked Sendable {
  /// Apple: https://developer.apple.com/documentation/cloudkit/ckcontainer/containeridentifier
  public let containerIdentifier: String?
  let device: FakeDevice

  init(_ device: FakeDevice, _ identifier: String) { (self.device, containerIdentifier) = (device, identifier) }

  /// Apple: https://developer.apple.com/documentation/cloudkit/ckcontainer/init(identifier:). Here it is that of a
  /// device without an account; tests take `FakeDevice.container`.
  public convenience init(identifier: String) { self.init(FakeDevice(FakeCloud()), identifier) }

  /// Apple: https://developer.apple.com/documentation/cloudkit/ckcontainer/default(). As `init(identifier:)`.
  public class func `default`() -> CKContainer { CKContainer(identifier: "iCloud.default") }

  /// Apple: https://developer.apple.com/documentation/cloudkit/ckcontainer/privateclouddatabase
  public var privateCloudDatabase: CKDatabase { CKDatabase(device) }

  /// Apple: https://developer.apple.com/documentation/cloudkit/ckcontainer/accountstatus(completionhandler:)
  public func accountStatus() async throws -> CKAccountStatus { try device.accountStatus() }

  /// Apple: https://developer.apple.com/documentation/cloudkit/ckcontainer/fetchuserrecordid(completionhandler:).
  /// Public code compiles `try await container.userRecordID()`: apple/sample-cloudkit-sharing.
  public func userRecordID() async throws -> CKRecord.ID { try device.userRecordID() }
}
