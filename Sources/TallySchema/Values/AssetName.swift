/// The name of a file that records refer to, such as a picture: `sha256-<64 hexadecimal digits>.<bytes>.<type>`.
///
/// ```swift
/// let name = try store.assets.add(jpeg, type: "jpg")
/// print(name, name.byteCount)
/// ```
///
/// The name follows from the content: the same bytes have the same name on every device, and a name never stands for
/// two contents. So a file is never changed, and a record that shows another picture has another name.
public struct AssetName: Sendable, Hashable, CustomStringConvertible {
  /// The 64 lowercase hexadecimal digits of the SHA-256 of the bytes.
  public let hash: String
  /// The number of bytes, 0 to ``byteLimit``.
  public let byteCount: Int
  /// The file's extension, such as `jpg`: 1 to 12 lowercase letters and digits. It tells apps how to open the file, and
  /// nothing checks it.
  public let type: String

  /// The most bytes of a file: 4 GiB.
  public static let byteLimit = 4 << 30
  private static let prefix = "sha256-"

  /// Creates a name from its parts; nil if a part has another form.
  public init?(hash: String, byteCount: Int, type: String) {
    guard hash.utf8.count == 64, hash.utf8.allSatisfy(Self.isHexadecimal), (0...Self.byteLimit).contains(byteCount),
      Self.isType(type)
    else { return nil }
    (self.hash, self.byteCount, self.type) = (hash, byteCount, type)
  }

  /// Reads a name in the form that ``text`` has; nil for any other text. There is one form for each name.
  public init?(_ text: String) {
    guard text.utf8.count <= 112, text.hasPrefix(Self.prefix) else { return nil }
    let parts = text.dropFirst(Self.prefix.count).split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let count = Int(parts[1]), String(count) == parts[1] else { return nil }
    self.init(hash: String(parts[0]), byteCount: count, type: String(parts[2]))
  }

  /// Whether a text can be the extension of a file: 1 to 12 lowercase letters and digits.
  public static func isType(_ text: String) -> Bool {
    (1...12).contains(text.utf8.count)
      && text.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) }
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
  }

  /// The name as columns have it.
  public var text: String { "\(Self.prefix)\(hash).\(byteCount).\(type)" }
  /// The name in the same form as ``text``.
  public var description: String { text }
}
