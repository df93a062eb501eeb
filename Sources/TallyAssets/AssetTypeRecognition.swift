/// Tells the type of a file from its first bytes, for content that has no name with an extension.
package enum AssetTypeRecognition {
  /// The kinds of HEIF that hold HEVC (ISO/IEC 23008-12).
  private static let hevcBrands: Set<String> = ["heic", "heix", "heim", "heis", "hevc", "hevx"]
  /// The most brands that are looked at.
  private static let brandLimit = 32

  /// The extension of a file that begins with these bytes: png, jpg, gif, webp, heic or pdf, and bin for all others.
  package static func type(of bytes: [UInt8]) -> String {
    if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return "png" }
    if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "jpg" }
    if bytes.starts(with: "GIF87a".utf8) || bytes.starts(with: "GIF89a".utf8) { return "gif" }
    if bytes.starts(with: "RIFF".utf8), word(at: 8, in: bytes) == "WEBP" { return "webp" }
    if bytes.starts(with: "%PDF-".utf8) { return "pdf" }
    return isHEIC(bytes) ? "heic" : "bin"
  }

  /// Whether a file begins with a box that names such a brand, as its own or among those that it is compatible with.
  private static func isHEIC(_ bytes: [UInt8]) -> Bool {
    guard word(at: 4, in: bytes) == "ftyp" else { return false }
    let size = bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    // The word at 12 is a version.
    let places = stride(from: 8, to: min(size, 8 + 4 * brandLimit), by: 4).filter { $0 != 12 }
    return places.contains { place in word(at: place, in: bytes).map(hevcBrands.contains) ?? false }
  }

  private static func word(at place: Int, in bytes: [UInt8]) -> String? {
    guard place + 4 <= bytes.count else { return nil }
    return String(decoding: bytes[place..<place + 4], as: UTF8.self)
  }
}
