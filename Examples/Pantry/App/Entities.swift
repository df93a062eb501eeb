import Foundation
import Tally

/// A list of things to buy.
struct ShoppingList: Entity, Codable, Equatable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("ShoppingList", .text("title", default: ""))
  var id = RecordName<ShoppingList>()
  var title = ""
}

/// A place to buy something, and its opening hours. No two shops show one name: where two devices give it to two of
/// them, the second one shows it with a few letters behind it, until a person calls it something else.
struct Shop: Entity, Codable, Equatable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Shop", unique: [.on("name", .rename)], .text("name"), .json("hours"))
  var id = RecordName<Shop>()
  var name: String?
  var hours: [String: String]?
}

/// A label that any number of items can have.
struct Tag: Entity, Codable, Equatable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Tag", .text("name", default: ""))
  var id = RecordName<Tag>()
  var name = ""
}

/// Something to buy. A list owns its items; the first release called `amount` "quantity".
struct Item: Entity, Codable, Equatable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema(
    "Item",
    .text("title", default: ""), .text("note", default: ""), .integer("amount", default: 1, renamedFrom: "quantity"),
    .real("position", default: 0), .date("due"), .bool("isBought", default: false),
    .reference("list", to: "ShoppingList", onDelete: .cascade), .reference("shop", to: "Shop"),
    .toMany("tags", to: "Tag"))
  static let tags = Relationship<Item, Tag>("tags")

  var id = RecordName<Item>()
  var title = ""
  var note = ""
  var amount = 1
  var position = 0.0
  var due: Date?
  var isBought = false
  var list: RecordName<ShoppingList>?
  var shop: RecordName<Shop>?
}
