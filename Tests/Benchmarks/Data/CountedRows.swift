import GRDB
import Tally

/// An item with a counter beside its fields.
struct Counted: Entity {
  static let schema = EntitySchema(
    "Counted", .text("name"), .text("notes"), .integer("count"), .real("price"), .date("day"), .counter("score"),
    .reference("owner", to: "Owner"))
  var id = RecordName<Counted>()
}

/// The items once more, as records that count.
enum CountedRows {
  static let schema = Schema(Owner.self, Counted.self)

  /// The table of a store; a plain database has one for all.
  static func table(_ side: any Side) -> String { side is Store ? "Counted" : "Item" }

  /// The same items under names of the type.
  static func items(_ rows: ArraySlice<ItemRow>, _ side: any Side) -> [ItemRow] {
    rows.map { row in
      var row = row
      if side is Store { row.id = "Counted" + row.id.drop { $0 != "|" } }
      return row
    }
  }
}
