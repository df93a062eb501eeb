import GRDB
import Tally

/// An item with a counter beside its fields.
struct Counted: Entity {
  static let schema = EntitySchema(
    "Counted", .text("name"), .text("notes"), .integer("count"), .real("price"), .date("day"), .counter("score"),
    .reference("owner", to: "Owner"))
  var id = RecordName<Counted>()
}

/// An item whose count takes the place of an older field.
struct Lensed: Entity {
  static let schema = EntitySchema(
    "Lensed", .text("name"), .text("notes"), .integer("count", from: .lens("dozens", .real, .scale(12))),
    .real("price"), .date("day"), .reference("owner", to: "Owner"))
  var id = RecordName<Lensed>()
}

/// The items once more, as records of a type that has more than fields.
struct TypedRows {
  static let counted = TypedRows(Counted.self)
  /// Those that older apps see through a lens.
  static let lensed = TypedRows(Lensed.self)

  let schema: Schema
  private let type: String

  private init<Record: Entity>(_ type: Record.Type) {
    schema = Schema(Owner.self, type)
    self.type = Record.schema.type
  }

  /// The table of a store; a plain database has one for all.
  func table(_ side: any Side) -> String { side is Store ? type : "Item" }

  /// The same items under names of the type.
  func items(_ rows: ArraySlice<ItemRow>, _ side: any Side) -> [ItemRow] {
    rows.map { row in
      var row = row
      if side is Store { row.id = type + row.id.drop { $0 != "|" } }
      return row
    }
  }
}
