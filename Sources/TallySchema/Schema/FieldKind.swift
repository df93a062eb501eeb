import TallyCRDT
import TallyWire

/// The kind of a field's values. It determines the column's type and how the value merges: the last writer wins, except
/// for counters and for numbers that keep the greatest or the least value.
public enum FieldKind: String, Sendable, CaseIterable {
  /// Text in UTF-8. Column type TEXT.
  case text
  /// A signed 64-bit integer. Column type INTEGER.
  case integer
  /// A double. Column type REAL.
  case real
  /// Bytes of any content. Column type BLOB.
  case blob
  /// 0 or 1. Column type INTEGER.
  case bool
  /// A date as GRDB writes it, `YYYY-MM-DD HH:MM:SS.SSS` in UTC; every other form that SQLite and GRDB read as a date
  /// is accepted too. Column type TEXT.
  case date
  /// Sixteen bytes as GRDB writes a `UUID`. Column type BLOB.
  case uuid
  /// Any `Codable` value as JSON (RFC 8259), which merges as a whole. Column type TEXT.
  case json
  /// A number to which devices add: every device's additions count. Column type INTEGER, with a default.
  case counter
  /// A place in a list that people order: a `ListPosition` of 1 to 512 bytes that sort like the list. Column type BLOB.
  case position
  /// The `AssetName` of a file that is beside the store, such as a picture. Column type TEXT.
  case asset

  /// The kind with its article, for messages.
  package var withArticle: String { ([.integer, .asset].contains(self) ? "an " : "a ") + rawValue }
  /// The same for a value of the kind: that of a counter is a number.
  package var valueWithArticle: String { self == .counter ? "an integer" : withArticle }

  package var columnType: String {
    switch self {
    case .text, .date, .json, .asset: "TEXT"
    case .integer, .bool, .counter: "INTEGER"
    case .real: "REAL"
    case .blob, .uuid, .position: "BLOB"
    }
  }

  /// Whether a value other than null fits.
  package func accepts(_ value: Value) -> Bool {
    switch (self, value) {
    case (.date, .text(let text)): FieldSyntax.isDate(text)
    case (.json, .text(let text)): FieldSyntax.isJSON(text)
    case (.asset, .text(let text)): AssetName(text) != nil
    case (.text, .text), (.integer, .integer), (.counter, .integer), (.real, .real), (.blob, .blob): true
    case (.bool, .integer(let number)): number == 0 || number == 1
    case (.uuid, .blob(let bytes)): bytes.count == 16
    case (.position, .blob(let bytes)): (1...ListPosition.byteLimit).contains(bytes.count)
    default: false
    }
  }
}

/// When a device gets the file of an asset that another device has added.
public enum AssetDownload: String, Sendable, Codable {
  /// When the app asks for it: `Assets.url(for:)`.
  case lazy
  /// With the next sync, whether the app asks for it or not.
  case eager
}
