import TallyCRDT
import TallyStore

/// A value as it is shown: the beginning of a long one, and how long it is.
package struct ValuePreview: Sendable, Hashable, Codable {
  /// The storage class of a value.
  package enum Kind: String, Sendable, Codable {
    /// No value.
    case null
    /// A signed 64-bit integer, in decimal digits, since JSON's readers round.
    case integer
    /// A double, as the shortest text that reads back as the same.
    case real
    /// A text, or its beginning.
    case text
    /// Bytes, or the first of them, in hexadecimal digits.
    case blob
  }

  /// The storage class.
  package var kind: Kind
  /// The value or its beginning as text; empty for null.
  package var text: String
  /// The number of bytes of the whole value.
  package var bytes: Int
  /// Whether `text` is only the beginning.
  package var isCut: Bool
  /// The kind of picture that a blob begins as; nil for any other value.
  package var picture: PictureType?

  /// The most bytes of a value that a list shows.
  package static let listLimit = 200
  /// The most bytes of a value that a record's own page shows.
  package static let pageLimit = 4_000

  /// The beginning of a value.
  package init(_ value: Value, limit: Int = ValuePreview.pageLimit) {
    bytes = value.byteCount
    switch value {
    case .null: (kind, text, isCut) = (.null, "", false)
    case .integer(let number): (kind, text, isCut) = (.integer, String(number), false)
    case .real(let number): (kind, text, isCut) = (.real, "\(number)", false)
    case .text(let whole):
      let head = Self.head(of: whole, limit)
      (kind, text, isCut) = (.text, head, head.utf8.count < bytes)
    case .blob(let whole):
      (kind, text, isCut) = (.blob, Hexadecimal.text(whole.prefix(limit)), whole.count > limit)
      picture = PictureType(whole)
    }
  }

  /// The beginning of a text, cut between two characters as Unicode counts them.
  private static func head(of text: String, _ limit: Int) -> String {
    guard text.utf8.count > limit else { return text }
    var end = text.utf8.index(text.startIndex, offsetBy: limit)
    while end > text.startIndex, end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
    return String(text[..<end])
  }
}

extension SQLStatement {
  /// The beginning of a column's value, without a copy of the rest.
  func preview(_ column: Int, limit: Int = ValuePreview.listLimit) -> ValuePreview {
    let count = byteCount(column)
    // A number counts as eight bytes.
    guard count > max(limit, 8) else { return ValuePreview(value(column), limit: limit) }
    let head = withBlob(column) { Array($0.prefix(limit + 4)) }
    var preview = ValuePreview(isText(column) ? Self.text(head) : .blob(head), limit: limit)
    (preview.bytes, preview.isCut) = (count, true)
    return preview
  }

  /// The text of bytes whose last character may be cut.
  private static func text(_ bytes: [UInt8]) -> Value {
    for count in stride(from: bytes.count, through: max(0, bytes.count - 4), by: -1) {
      if let text = String(validating: bytes.prefix(count), as: UTF8.self) { return .text(text) }
    }
    return .blob(bytes)
  }
}
