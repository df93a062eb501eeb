import GRDB
import Tally

/// An item whose count takes the place of an older field.
struct Lensed: Entity {
  static let schema = EntitySchema(
    "Lensed", .text("name"), .text("notes"), .integer("count", from: .lens("dozens", .real, .scale(12))),
    .real("price"), .date("day"), .reference("owner", to: "Owner"))
  var id = RecordName<Lensed>()
}

/// The items once more, as records whose count is seen through a lens by older apps.
enum LensedRows {
  static let schema = Schema(Owner.self, Lensed.self)

  /// The table of a store; a plain database has one for all.
  static func table(_ side: any Side) -> String { side is Store ? "Lensed" : "Item" }

  /// The same items under names of the type.
  static func items(_ rows: ArraySlice<ItemRow>, _ side: any Side) -> [ItemRow] {
    rows.map { row in
      var row = row
      if side is Store { row.id = "Lensed" + row.id.drop { $0 != "|" } }
      return row
    }
  }
}
