import TallyCRDT
import TallyTesting

/// The small schema of the generated histories: few records, so that writes collide.
package enum Model {
  package static let lists = ["List|~|a", SampleName.name("List", 1)]
  package static let items = [
    "Item|~|386c1919-5f25-4be2-975f-5b34506c51db", "Item|~|p", "Item|~|q", SampleName.name("Item", 3),
  ]
  package static let records = lists + items
  package static let relationship = "members"
  package static let schema = SpecifiedSchema<ModelField>(fields: { _ in ModelField.allCases })
  /// What an older version of the app knows.
  package static let olderFields: [ModelField] = [.title, .list, .friend]
  package static let olderSchema = SpecifiedSchema<ModelField>(fields: { _ in Model.olderFields })

  private static let names = Dictionary(
    uniqueKeysWithValues: records.compactMap { text in (try? AnyRecordName(text)).map { (text, $0) } })

  /// The name of one of the model's records.
  package static func name(_ text: String) -> AnyRecordName {
    guard let name = names[text] else { preconditionFailure("no record of the model is called \(text)") }
    return name
  }
}

/// The fields of the model's records.
package enum ModelField: String, CaseIterable, SpecifiedField {
  case title
  case note
  /// Owned by a list: `onDelete: cascade`.
  case list
  /// Owned by another item: `onDelete: cascade`. Cycles are possible.
  case parent
  /// Refers to an item: `onDelete: nullify`.
  case friend

  package var name: String { rawValue }
  package var defaultValue: String? { nil }
  package var isOwner: Bool { self == .list || self == .parent }
  package var isReference: Bool { isOwner || self == .friend }
  /// The records that the field may refer to.
  package var targets: [String] { self == .list ? Model.lists : Model.items }

  package var id: FieldID {
    switch self {
    case .title: FieldID(rawValue: 0)
    case .note: FieldID(rawValue: 1)
    case .list: FieldID(rawValue: 2)
    case .parent: FieldID(rawValue: 3)
    case .friend: FieldID(rawValue: 4)
    }
  }
}

/// What an app does to the model's records.
package typealias Operation = SpecifiedOperation<ModelField>
/// A row of the model.
package typealias ModelRow = ShownRow<ModelField>
/// All rows by record name.
package typealias ModelView = [String: ModelRow]

extension SpecifiedOperation where Field == ModelField {
  package static func link(_ source: String, _ target: String) -> Self {
    .link(Link(source, Model.relationship, target))
  }
  package static func unlink(_ source: String, _ target: String) -> Self {
    .unlink(Link(source, Model.relationship, target))
  }
}
