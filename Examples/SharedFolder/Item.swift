import Foundation
import Tally

/// Something to take along.
struct Item: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Item", .text("name"), .text("carrier"), .bool("isPacked", default: false))

  var id = RecordName<Item>()
  var name: String
  var carrier: String?
  var isPacked = false
}

extension Item {
  /// Adds things to the list.
  static func add(_ names: String..., to db: Database) throws {
    for name in names { try Item(name: name).insert(db) }
  }

  /// Changes the thing with this name.
  static func change(_ db: Database, _ name: String, _ change: (inout Item) -> Void) throws {
    guard var item = try Item.filter(Column("name") == name).fetchOne(db) else { return }
    try item.updateChanges(db, modify: change)
  }

  /// The list as one line.
  static func line(_ db: Database) throws -> String {
    try Item.order(Column("name")).fetchAll(db).map { item in
      "\(item.isPacked ? "☑" : "☐") \(item.name)" + (item.carrier.map { " (\($0))" } ?? "")
    }.joined(separator: "  ")
  }
}
