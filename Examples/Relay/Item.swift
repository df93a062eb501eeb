import Tally

/// Something to buy.
struct Item: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Item", .text("title"), .integer("amount"), .bool("isBought"))
  var id = RecordName<Item>()
  var title: String?
  var amount: Int?
  var isBought: Bool?

  init(_ title: String, _ amount: Int) {
    (self.title, self.amount, isBought) = (title, amount, false)
  }
}
