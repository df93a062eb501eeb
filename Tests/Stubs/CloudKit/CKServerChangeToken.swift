import Foundation

/// Apple: https://developer.apple.com/documentation/cloudkit/ckserverchangetoken. Public code archives it with
/// `NSKeyedArchiver.archivedData(withRootObject:requiringSecureCoding:)`: apple/sample-cloudkit-zonechanges.
public final class CKServerChangeToken: NSObject, NSSecureCoding, @unchecked Sendable {
  /// Apple: https://developer.apple.com/documentation/foundation/nssecurecoding/supportssecurecoding
  public static var supportsSecureCoding: Bool { true }

  /// To which zone it belongs, which making of that zone, how far it goes, and how far the zone had gone when it was
  /// given.
  let zone: String
  let making: Int
  let sequence: Int
  let given: Int

  init(zone: String, making: Int, sequence: Int, given: Int) {
    (self.zone, self.making, self.sequence, self.given) = (zone, making, sequence, given)
  }

  /// Apple: https://developer.apple.com/documentation/foundation/nscoding/init(coder:)
  public required init?(coder: NSCoder) {
    guard let zone = coder.decodeObject(of: NSString.self, forKey: "zone") else { return nil }
    self.zone = zone as String
    making = coder.decodeInteger(forKey: "making")
    sequence = coder.decodeInteger(forKey: "sequence")
    given = coder.decodeInteger(forKey: "given")
  }

  /// Apple: https://developer.apple.com/documentation/foundation/nscoding/encode(with:)
  public func encode(with coder: NSCoder) {
    coder.encode(zone as NSString, forKey: "zone")
    coder.encode(making, forKey: "making")
    coder.encode(sequence, forKey: "sequence")
    coder.encode(given, forKey: "given")
  }
}
