import TallyCRDT

/// A list that people order: the members of a relationship, or the records that refer to one record.
package struct OrderedList: Sendable, Hashable {
  /// The name in SQL: the join table's, or type and column with a point between them.
  package let name: String
  /// The type of the records that have such a list.
  package let owner: String
  /// The table of its rows, with the columns of the record whose list it is, of the element, and of its position.
  package let (table, source, member, position): (String, String, String, String)

  /// The list that an ordered relationship is; nil for any other.
  package init?(_ entity: EntitySchema, relationship name: String) {
    guard entity.relationships.contains(where: { $0.name == name && $0.isOrdered }) else { return nil }
    let table = Schema.joinTable(entity.type, name)
    (self.name, owner) = (table, entity.type)
    (self.table, source, member, position) = (table, "source", "target", "position")
  }

  /// The list that a column of positions makes; nil if the column is none.
  package init?(_ entity: EntitySchema, position column: String) {
    guard let field = entity.fields.first(where: { $0.name == column && $0.kind == .position }),
      let reference = entity.references.first(where: { $0.name == field.within })
    else { return nil }
    (name, owner) = ("\(entity.type).\(column)", reference.to)
    (table, source, member, position) = (entity.type, reference.name, "id", column)
  }
}

extension Schema {
  /// The lists of records of a type.
  package func orderedLists(of type: String) -> [OrderedList] {
    entities.flatMap { entity in
      entity.fields.compactMap { OrderedList(entity, position: $0.name) }
        + entity.relationships.compactMap { OrderedList(entity, relationship: $0.name) }
    }.filter { $0.owner == type }
  }
}

/// The place in an ordered list to which an element is inserted or moved.
///
/// ```swift
/// try Chapter.inBook.move(db, intro, to: .before(ending), of: novel)
/// ```
///
/// A named element must be in the list. An index counts the other elements from 0; an index below 0 means the
/// beginning, one beyond the last element the end.
public enum ListPlace<Member: Hashable & Sendable>: Hashable, Sendable {
  /// Before all other elements of the list.
  case first
  /// After all other elements of the list.
  case last
  /// Directly before this element of the list.
  case before(Member)
  /// Directly after this element of the list.
  case after(Member)
  /// After this number of the other elements.
  case index(Int)

  /// The same place with another kind of names.
  package func map<Other>(_ transform: (Member) throws -> Other) rethrows -> ListPlace<Other> {
    switch self {
    case .first: .first
    case .last: .last
    case .before(let member): .before(try transform(member))
    case .after(let member): .after(try transform(member))
    case .index(let index): .index(index)
    }
  }
}
