import Foundation
import Tally

/// An item with its tags, as a list shows it.
struct ItemRow: Decodable, Equatable, FetchableRecord, Identifiable, Sendable {
  var item: Item
  var tags: [Tag]
  var id: RecordName<Item> { item.id }

  /// The items of a list: what is still to buy first, in the order that people gave them. Equal positions, which two
  /// devices can choose apart from each other, are ordered by name, so that all devices show one order.
  static func items(of list: RecordName<ShoppingList>, matching text: String = "") -> QueryInterfaceRequest<ItemRow> {
    var items = Item.filter(Column("list") == list)
    if let pattern = FTS5Pattern(matchingAllPrefixesIn: text) {
      items = items.filter(
        literal: "\(Column.rowID) IN (SELECT rowid FROM ItemText WHERE ItemText MATCH \(pattern))")
    }
    return items.order(Column("isBought"), Column("position"), Column("id"))
      .including(all: Item.tags.association.order(Column("name"))).asRequest(of: ItemRow.self)
  }
}

extension Item {
  /// Adds an item at the end of a list, with tags by name; a tag that is not there is made.
  static func add(
    _ db: Database, _ title: String, amount: Int = 1, due: Date? = nil, tags names: [String] = [],
    to list: RecordName<ShoppingList> = Pantry.groceries
  ) throws -> Item {
    let last = try Double.fetchOne(db, Item.filter(Column("list") == list).select(max(Column("position")))) ?? 0
    let item = Item(title: title, amount: amount, position: last + 1, due: due, list: list)
    try item.insert(db)
    for name in names {
      let tag = try Tag.filter(Column("name") == name).fetchOne(db) ?? Tag(name: name).inserted(db)
      try Item.tags.insert(db, tag.id, to: item.id)
    }
    return item
  }

  /// Moves an item behind another of its list, or to the front. Only its own position changes.
  static func move(_ db: Database, _ id: RecordName<Item>, after other: RecordName<Item>?) throws {
    var item = try Item.find(db, id: id)
    let before = try other.map { try Item.find(db, id: $0).position }
    let next = Item.filter(
      Column("list") == item.list && Column("id") != id && Column("position") > (before ?? -.infinity))
    let after = try Double.fetchOne(db, next.select(min(Column("position"))))
    try item.updateChanges(db) { item in
      switch (before, after) {
      case (let before?, let after?): item.position = (before + after) / 2
      case (let before?, nil): item.position = before + 1
      case (nil, let after): item.position = (after ?? 1) - 1
      }
    }
  }
}
