import TallyCRDT

/// The small schema of the generated histories: few records, so that writes collide.
enum Model {
  static let lists = ["List|~|a", "List|~|b"]
  static let items = [
    "Item|~|386c1919-5f25-4be2-975f-5b34506c51db", "Item|~|p", "Item|~|q", "Item|~|r",
  ]
  static let records = lists + items
  static let relationship = "members"

  private static let names = Dictionary(
    uniqueKeysWithValues: records.compactMap { text in (try? AnyRecordName(text)).map { (text, $0) } })

  /// The name of one of the model's records.
  static func name(_ text: String) -> AnyRecordName {
    guard let name = names[text] else { preconditionFailure("no record of the model is called \(text)") }
    return name
  }
}

/// The fields of the model's records.
enum ModelField: String, CaseIterable, Hashable, Sendable {
  case title
  case note
  /// Owned by a list: `onDelete: cascade`.
  case list
  /// Owned by another item: `onDelete: cascade`. Cycles are possible.
  case parent
  /// Refers to an item: `onDelete: nullify`.
  case friend

  var isOwner: Bool { self == .list || self == .parent }
  var isReference: Bool { isOwner || self == .friend }
  /// The records that the field may refer to.
  var targets: [String] { self == .list ? Model.lists : Model.items }

  var id: FieldID {
    switch self {
    case .title: FieldID(rawValue: 0)
    case .note: FieldID(rawValue: 1)
    case .list: FieldID(rawValue: 2)
    case .parent: FieldID(rawValue: 3)
    case .friend: FieldID(rawValue: 4)
    }
  }
}

/// What an app does to records. What has no row to act on does nothing, as an SQL statement would.
enum Operation: Hashable, Sendable {
  /// Writes a row that the app does not see yet; of a record that was deleted, a new life.
  case insert(String, [ModelField: String])
  case update(String, ModelField, String?)
  case delete(String)
  /// Brings back a record that is not visible, as it was.
  case restore(String)
  case link(String, String)
  case unlink(String, String)
}

/// A row as an app sees it: the fields that are not null, and the elements of the relationship.
struct ModelRow: Equatable {
  var fields: [ModelField: String] = [:]
  var members: Set<String> = []
}

/// All rows by record name.
typealias ModelView = [String: ModelRow]

extension Operation: CustomStringConvertible {
  var description: String {
    switch self {
    case .insert(let record, let values):
      let pairs = values.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key): \($0.value)" }
      return "insert \(record) [\(pairs.joined(separator: ", "))]"
    case .update(let record, let field, let value): return "update \(record) \(field) = \(value ?? "null")"
    case .delete(let record): return "delete \(record)"
    case .restore(let record): return "restore \(record)"
    case .link(let source, let target): return "link \(source) -> \(target)"
    case .unlink(let source, let target): return "unlink \(source) -> \(target)"
    }
  }
}
