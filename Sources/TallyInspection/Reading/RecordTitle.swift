import Foundation
import TallyCRDT
import TallyStore

/// What a person recognizes a record by: the text of a field called name or title, or its first other texts. A date,
/// JSON and the name of another record tell little of what a record is, and are no title.
enum RecordTitle {
  /// A field of a record and what it holds.
  typealias Field = (column: String, value: ValuePreview)

  /// The title of a record with these fields, of so many texts at most; empty if it has none.
  static func text(_ fields: [Field], _ entity: EntitySchema?, count: Int = 2) -> String {
    let places = Dictionary(
      (entity?.columnNames ?? []).enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    let ranked = fields.filter { isTitle($0.value, kind(of: $0.column, entity)) }
      .map { (rank: rank($0.column), place: places[$0.column] ?? .max, column: $0.column, value: $0.value) }
      .sorted { ($0.rank, $0.place, $0.column) < ($1.rank, $1.place, $1.column) }
    return ranked.prefix(count).map { $0.value.text.prefix(limit) }.joined(separator: " · ")
  }

  /// The columns of a type to read for a title, by their places: the first few, and as far as the one that is called
  /// name or title.
  static func columns(of entity: EntitySchema?) -> Range<Int> {
    let ranks = (entity?.columnNames ?? []).map(rank)
    guard let best = ranks.min(), best < others, let place = ranks.firstIndex(of: best) else { return 0..<few }
    return 0..<max(few, place + 1)
  }

  /// The most characters of a text that a title has.
  private static let limit = 80
  private static let few = 8

  /// How well a column's name says that it holds what the record is called: `name` and `title` best, then such as
  /// `fullName` and `book_title`.
  private static func rank(_ column: String) -> Int {
    let name = column.lowercased()
    if ["name", "title"].contains(name) { return 0 }
    return name.hasSuffix("name") || name.hasSuffix("title") ? 1 : others
  }

  private static let others = 2

  private static func kind(of column: String, _ entity: EntitySchema?) -> FieldKind? {
    entity?.fields.first { $0.name == column }?.kind
  }

  private static func isTitle(_ value: ValuePreview, _ kind: FieldKind?) -> Bool {
    guard value.kind == .text, kind != .date, kind != .json, !value.text.contains(AnyRecordName.delimiter),
      value.text.contains(where: { !$0.isWhitespace })
    else { return false }
    return !FieldSyntax.isDate(value.text) && !isJSON(value)
  }

  /// Whether a text is an object or array of JSON; of a long one the beginning decides.
  private static func isJSON(_ value: ValuePreview) -> Bool {
    guard let first = value.text.first, first == "{" || first == "[" else { return false }
    guard value.isCut else { return FieldSyntax.isJSON(value.text) }
    let rest = value.text.dropFirst().drop { $0.isWhitespace }
    guard let next = rest.first else { return true }
    return first == "{" ? next == "\"" : "\"{[-0123456789".contains(next)
  }
}
