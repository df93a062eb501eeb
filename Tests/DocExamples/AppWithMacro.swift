#if Macros
  import Foundation
  import Observation
  import Tally
  import TallyMacros
  import Testing

  // The shopping app whose lines HowItCompares.md counts, declared with the macro. ReadmeTests compares the counts.
  enum AppWithMacro {
    // counted: declaration
    @Entity struct ShoppingList {
      var id = RecordName<ShoppingList>()
      var title = ""
    }

    @Entity struct Shop {
      var id = RecordName<Shop>()
      var name = ""
      var hours: [String: String] = [:]
      var photo: Data?
    }

    @Entity struct Tag: Codable {
      var id = RecordName<Tag>()
      var name = ""
    }

    @Entity struct Item: Codable {
      enum Unit: String, Codable { case piece, gram, litre }
      var id = RecordName<Item>()
      var title = ""
      var note = ""
      @Field(renamedFrom: "quantity") var amount = 1
      var unit: Unit = .piece
      var price = 0.0
      var due: Date?
      var isBought = false
      @Field(onDelete: .cascade) var list: RecordName<ShoppingList>?
      var shop: RecordName<Shop>?
      @Members static var tags: Relationship<Item, Tag>
    }

    // counted: tables, renamed column, full text, index
    static func open(_ path: String) throws -> Store {
      let store = try Store(path: path, schema: Schema(ShoppingList.self, Shop.self, Tag.self, Item.self))
      try store.write { db in
        try db.create(index: "Item_due", on: "Item", columns: ["due"], options: .ifNotExists)
        try db.create(virtualTable: "ItemText", options: .ifNotExists, using: FTS5()) { table in
          table.synchronize(withTable: "Item")
          table.column("title")
        }
      }
      try store.seed(seeds)
      return store
    }

    // counted: seeds
    static let seeds = SeedSet(
      "shopping", version: 1,
      records: [SeedRecord("groceries", of: ShoppingList.self, ["title": "Groceries"])]
        + ["bakery", "dairy"].map { SeedRecord($0, of: Tag.self, ["name": .text($0)]) })
    static let groceries = RecordName<ShoppingList>(seed: "groceries", of: "shopping")

    // counted: create, read, update, delete, undelete
    static func edit(_ store: Store, _ milk: Item, _ dairy: Tag) throws {
      try store.write { db in
        try milk.insert(db)
        try Item.tags.insert(db, dairy.id, to: milk.id)
        var found = try Item.filter { $0.isBought == false }.fetchAll(db)[0]
        try found.updateChanges(db) { $0.amount = 2 }
        try found.delete(db)
      }
      try store.restore(milk.id)
    }

    // counted: observation, list with tags
    struct Row: Decodable, FetchableRecord { var item: Item, tags: [Tag] }
    @MainActor static func rows(_ store: Store) -> Observed<[Row]> {
      Observed([], in: store) { try Item.including(all: Item.tags.association).asRequest(of: Row.self).fetchAll($0) }
    }

    // counted: sync set-up
    static func sync(_ store: Store, through folder: URL) async -> SyncEngine {
      let engine = SyncEngine(store)
      await engine.add(FolderMailbox(folder), named: "iCloud Drive")
      await engine.resume()
      return engine
    }

    // counted: status view
    static func line(_ status: SyncStatus) -> String {
      if status.isPaused { return "paused" }
      if status.isUpToDate { return "up to date" }
      return status.peers.map { "\($0.id): \($0.lastError ?? "\($0.pending ?? 0) to send")" }.joined(separator: ", ")
    }

    // counted: a test with two devices
    @Test(.disabled("it is counted, and compiled")) static func bothEditsStay() throws {
      let (phone, tablet) = (try open("phone.tally"), try open("tablet.tally"))
      let milk = try phone.write { db in try Item(title: "Milk").inserted(db) }
      try phone.sync(with: tablet)
      try phone.write { db in try db.execute(sql: "UPDATE Item SET amount = 2") }
      try tablet.write { db in try db.execute(sql: "UPDATE Item SET note = 'oat'") }
      #expect(try phone.sync(with: tablet).isConverged)
      #expect(try tablet.read { db in try Item.find(db, id: milk.id).amount } == 2)
    }

    // counted: a store for previews
    static func preview() throws -> Store {
      let store = try Store(inMemory: Schema(ShoppingList.self, Shop.self, Tag.self, Item.self))
      try store.write { db in for title in ["Milk", "Bread"] { try Item(title: title).insert(db) } }
      return store
    }
  }
#endif
