import Foundation

/// `Content-Digest` of RFC 9530: `sha-256=:BASE64:`, among others that are not looked at.
public enum RelayDigest {
  /// The field's value for the thirty-two bytes of a SHA-256.
  public static func field(_ sha256: [UInt8]) -> String { "sha-256=:\(Data(sha256).base64EncodedString()):" }

  /// The thirty-two bytes that a field's value says; nil if it says none.
  public static func sha256(_ field: String) -> [UInt8]? {
    let name = "sha-256=:".utf8
    for item in field.utf8.split(separator: UInt8(ascii: ",")) {
      let item = trimmed(item)
      guard item.count > name.count + 1, item.starts(with: name), item.last == UInt8(ascii: ":") else { continue }
      let digits = Data(item.dropFirst(name.count).dropLast())
      guard let data = Data(base64Encoded: digits), data.count == 32 else { return nil }
      return Array(data)
    }
    return nil
  }

  /// A list's item without the blanks around it.
  private static func trimmed(_ item: Substring.UTF8View) -> Substring.UTF8View {
    func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    var item = item.drop(while: isBlank)
    while let last = item.last, isBlank(last) { item = item.dropLast() }
    return item
  }
}
