import Foundation

/// `Content-Digest` of RFC 9530: `sha-256=:BASE64:`, among others that are not looked at.
public enum RelayDigest {
  /// The field's value for the thirty-two bytes of a SHA-256.
  public static func field(_ sha256: [UInt8]) -> String { "sha-256=:\(Data(sha256).base64EncodedString()):" }

  /// The thirty-two bytes that a field's value says; nil if it says none.
  public static func sha256(_ field: String) -> [UInt8]? {
    for item in field.split(separator: ",") {
      let item = item.trimmingCharacters(in: .whitespaces)
      guard item.hasPrefix("sha-256=:"), item.hasSuffix(":"), item.utf8.count > 10 else { continue }
      guard let data = Data(base64Encoded: String(item.dropFirst(9).dropLast())), data.count == 32 else { return nil }
      return Array(data)
    }
    return nil
  }
}
