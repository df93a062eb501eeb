import TallyAssets

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
    switch AssetTypeRecognition.type(of: Array(bytes.prefix(12))) {
    case "png": self = .png
    case "jpg": self = .jpeg
    case "gif": self = .gif
    case "webp": self = .webp
    default: return nil
    }
  }
}
