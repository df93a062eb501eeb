import Foundation
import Tally

/// The app's database: its schema, its seeds, and the function that opens its store.
enum Pantry {
  static let schema = Schema(ShoppingList.self, Shop.self, Tag.self, Item.self)

  /// The records of a new installation. Every device makes the same ones, so nothing doubles when they meet.
  static let seeds = SeedSet(
    "pantry", version: 1,
    records: [SeedRecord("groceries", of: ShoppingList.self, ["title": "Groceries"])]
      + ["bakery", "dairy", "drinks", "vegetables"].map { SeedRecord($0, of: Tag.self, ["name": .text($0)]) })
  static let groceries = RecordName<ShoppingList>(seed: "groceries", of: "pantry")

  /// Opens the store, or makes it; nil for one in memory, for tests and previews.
  static func open(_ path: String?, schema: Schema = schema) throws -> Store {
    var options = StoreOptions()
    // A new release may rename what the full-text table names; it is made again below.
    options.willChangeSchema = { db, _, _ in
      guard try db.tableExists("ItemText") else { return }
      try db.drop(table: "ItemText")
      try db.dropFTS5SynchronizationTriggers(forTable: "ItemText")
    }
    let store =
      try path.map { try Store(path: $0, schema: schema, options: options) }
      ?? Store(inMemory: schema, options: options)
    try store.write { db in
      guard try !db.tableExists("ItemText") else { return }
      try db.create(virtualTable: "ItemText", using: FTS5()) { table in
        table.synchronize(withTable: "Item")
        table.column("title")
        table.column("note")
      }
    }
    try store.seed(seeds)
    return store
  }
}
