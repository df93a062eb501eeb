/// The kinds of picture that a page may show of a blob or a file: those that browsers draw and that hold no script, by
/// the bytes that they begin with. The raw value is the media type.
package enum PictureType: String, Sendable, Codable, CaseIterable {
  /// Portable Network Graphics.
  case png = "image/png"
  /// JPEG.
  case jpeg = "image/jpeg"
  /// Graphics Interchange Format.
  case gif = "image/gif"
  /// WebP.
  case webp = "image/webp"

  /// The most bytes of a blob that is shown.
  package static let limit = 4 << 20
  /// The most bytes of a file that is shown.
  package static let fileLimit = 32 << 20
  /// The extensions of files that can be such pictures.
  package static let extensions: Set<String> = ["png", "jpg", "jpeg", "gif", "webp"]

  /// The kind of picture that begins with these bytes; nil if they begin none.
  package init?(_ bytes: some Collection<UInt8>) {
    let head = Array(bytes.prefix(12))
    // https://mimesniff.spec.whatwg.org/#matching-an-image-type-pattern
    if head.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
      self = .png
    } else if head.starts(with: [0xFF, 0xD8, 0xFF]) {
      self = .jpeg
    } else if head.starts(with: "GIF87a".utf8) || head.starts(with: "GIF89a".utf8) {
      self = .gif
    } else if head.starts(with: "RIFF".utf8), head.dropFirst(8).elementsEqual("WEBP".utf8) {
      self = .webp
    } else {
      return nil
    }
  }
}
