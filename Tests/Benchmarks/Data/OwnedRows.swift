import Foundation
import GRDB
import Tally

/// An item that its owner owns: it is not shown without it.
struct Part: Entity {
  static let schema = EntitySchema(
    "Part", .text("name"), .text("notes"), .integer("count"), .real("price"), .date("day"),
    .reference("owner", to: "Owner", onDelete: .cascade))
  var id = RecordName<Part>()
}

/// The same, of a type that may own itself, as folders do.
struct Folder: Entity {
  static let schema = EntitySchema(
    "Folder", .text("name"), .text("notes"), .integer("count"), .real("price"), .date("day"),
    .reference("owner", to: "Folder", onDelete: .cascade))
  var id = RecordName<Folder>()
}

/// The items once more, as records of a type that is owned: the same values under other names, so that a figure differs
/// from that of plain items by the ownership alone.
enum OwnedRows: String, CaseIterable {
  /// Each is owned by one of a thousand owners.
  case owned = "Part"
  /// Each is owned by one of a thousand of its own type.
  case nested = "Folder"

  static let schema = Schema(Owner.self, Item.self, Part.self, Folder.self)

  /// The table of a store; a plain database has one for all.
  func table(_ side: any Side) -> String { side is Store ? rawValue : "Item" }

  /// Inserts those that own, and what they own; returns the latter.
  func insert(_ rows: Rows, into side: any Side) throws -> [ItemRow] {
    guard side is Store else {
      try side.insertThroughC(rows.items)
      return rows.items
    }
    let owners = self == .owned ? "Owner" : rawValue
    try side.run("INSERT INTO \(owners)(id, name) VALUES(?, 'owner')", rows.owners.count) {
      [Self.name(rows.owners[$0], in: owners)]
    }
    let items = rows.items.map { row in
      var row = row
      (row.id, row.owner) = (Self.name(row.id, in: rawValue), Self.name(row.owner, in: owners))
      return row
    }
    try side.insertThroughC(items, into: rawValue)
    return items
  }

  private static func name(_ name: String, in table: String) -> String {
    table + name.drop { $0 != "|" }
  }
}
