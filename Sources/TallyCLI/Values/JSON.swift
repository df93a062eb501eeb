import Tally
import TallyStore

/// A value of JSON. Numbers keep their spelling, so that nothing is lost before the field's kind is known.
enum JSON: Equatable {
  case null
  case bool(Bool)
  case number(String)
  case string(String)
  case array([JSON])
  case object([String: JSON])

  /// The JSON text, with sorted keys and without spaces.
  var text: String {
    switch self {
    case .null: "null"
    case .bool(let flag): flag ? "true" : "false"
    case .number(let text): text
    case .string(let text): JSONText.quoted(text)
    case .array(let items): "[\(items.map(\.text).joined(separator: ","))]"
    case .object(let members): JSONText.object(members.map { ($0.key, $0.value.text) })
    }
  }

  static func integer(_ number: some BinaryInteger) -> JSON { .number(String(number)) }
  static func string(_ text: String?) -> JSON { text.map(JSON.string) ?? .null }
}
