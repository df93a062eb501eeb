#if Macros
  import Tally
  import TallyMacros

  @Entity struct Item {
    var id = RecordName<Item>()
    var title = ""
    var isBought = false
  }
#else
  import Tally

  // The same table by hand, where the tests are built without the trait.
  struct Item: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema("Item", .text("title", default: ""), .bool("isBought", default: false))
    var id = RecordName<Item>()
    var title = ""
    var isBought = false
  }
#endif
