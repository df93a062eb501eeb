/// A column as the specification knows it.
package protocol SpecifiedField: Hashable, Sendable {
  /// Breaks ties between the edges of a cycle.
  var name: String { get }
  /// Whether it refers to a record that owns this one.
  var isOwner: Bool { get }
  /// Whether it refers to a record, owner or not.
  var isReference: Bool { get }
  /// Whether it is a counter: what is written is a number, and what is added to it counts as well.
  var isCounter: Bool { get }
  /// The value that it shows when it was never written.
  var defaultValue: String? { get }
}

extension SpecifiedField {
  package var isCounter: Bool { false }
}

/// The part of a schema that decides what a user sees.
package struct SpecifiedSchema<Field: SpecifiedField>: Sendable {
  /// The fields of a record; empty for a type that the schema lacks.
  package var fields: @Sendable (String) -> [Field]
  /// Whether the schema has the record's type.
  package var knows: @Sendable (String) -> Bool
  /// Whether the schema has the link's relationship.
  package var knowsLink: @Sendable (Link) -> Bool
  /// Whether a delete of the record beats concurrent edits.
  package var deleteWins: @Sendable (String) -> Bool

  package init(
    fields: @escaping @Sendable (String) -> [Field], knows: @escaping @Sendable (String) -> Bool = { _ in true },
    knowsLink: @escaping @Sendable (Link) -> Bool = { _ in true },
    deleteWins: @escaping @Sendable (String) -> Bool = { _ in false }
  ) {
    self.fields = fields
    self.knows = knows
    self.knowsLink = knowsLink
    self.deleteWins = deleteWins
  }
}

/// A member of a relationship.
package struct Link: Hashable, Sendable {
  package var source: String
  package var relationship: String
  package var target: String

  package init(_ source: String, _ relationship: String, _ target: String) {
    (self.source, self.relationship, self.target) = (source, relationship, target)
  }
}

/// A row as an app sees it: the fields that are not null, and the members of its relationships.
package struct ShownRow<Field: SpecifiedField>: Equatable, Sendable {
  package var fields: [Field: String]
  package var links: Set<Link>

  package init(fields: [Field: String] = [:], links: Set<Link> = []) {
    self.fields = fields
    self.links = links
  }

  /// The targets of all links.
  package var members: Set<String> { Set(links.map(\.target)) }
}
