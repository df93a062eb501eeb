import Foundation
import Tally
import TallyCRDT
import TallyStore

/// The printed form of a record.
extension DynamicRecord {
  /// One JSON object, which an import reads back.
  func json(_ entity: EntitySchema) throws -> JSON {
    var values: [String: JSON] = [:]
    for (field, value) in fields { values[field] = try entity.fieldType(field).json(value) }
    return .object([
      "name": .string(name.text), "fields": .object(values),
      "links": .object(links.mapValues { .array($0.map { .string($0.text) }) }),
    ])
  }

  /// The name, then assignments as `tally put` takes them, then the members of each relationship.
  func lines(_ entity: EntitySchema) throws -> [String] {
    var lines = [name.text]
    for (field, value) in fields.sorted(by: { $0.key < $1.key }) {
      lines.append("  " + assignment(field, value, try entity.fieldType(field)))
    }
    for (relationship, targets) in links.sorted(by: { $0.key < $1.key }) {
      lines += targets.map { "  \(relationship) -> \($0)" }
    }
    return lines
  }
}

/// A field and its value as `tally put` takes them.
func assignment(_ field: String, _ value: Value, _ type: FieldType) -> String {
  type.text(value).map { "\(field)=\($0)" } ?? "\(field):=\(printableJSON(type.json(value).text))"
}

/// The same JSON without anything that a terminal takes for a command. What JSON itself leaves of that stands in
/// strings alone, as one UTF-16 unit each.
private func printableJSON(_ text: String) -> String {
  text.unicodeScalars.map { isPrintable($0) ? String($0) : String(format: "\\u%04x", $0.value) }.joined()
}
