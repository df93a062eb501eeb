import Foundation
import GRDB
import Tally

/// What items refer to.
struct Owner: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Owner", .text("name"))
  var id: RecordName<Owner>
  var name: String?
}

/// The entity that is measured.
struct Item: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema(
    "Item", .text("name"), .text("notes"), .integer("count"), .real("price"), .date("day"),
    .reference("owner", to: "Owner"))
  var id: RecordName<Item>
  var name: String?
  var notes: String?
  var count: Int?
  var price: Double?
  var day: Date?
  var owner: RecordName<Owner>?

  init(_ row: ItemRow) throws {
    guard let id = RecordName<Item>(try AnyRecordName(row.id)) else { throw Mistake("not an item: \(row.id)") }
    self.id = id
    owner = RecordName<Owner>(try AnyRecordName(row.owner))
    (name, notes, count, price) = (row.name, row.notes, row.count, row.price)
    day = Date.fromDatabaseValue(row.day.databaseValue)
  }
}

/// The same for a table without Tally: what somebody writes who uses GRDB alone.
struct PlainItem: Codable, Sendable, FetchableRecord, PersistableRecord {
  static let databaseTableName = "Item"
  var id: String
  var name: String?
  var notes: String?
  var count: Int?
  var price: Double?
  var day: Date?
  var owner: String?

  init(_ row: ItemRow) {
    (id, name, notes, count, price, owner) = (row.id, row.name, row.notes, row.count, row.price, row.owner)
    day = Date.fromDatabaseValue(row.day.databaseValue)
  }
}

/// A team with a to-many relationship to owners.
struct Team: Entity {
  static let schema = EntitySchema("Team", .text("name"), .toMany("members", to: "Owner"))
  var id = RecordName<Team>()
}

/// What a store of the benchmarks has.
enum Tables {
  static let schema = Schema(Owner.self, Item.self, Team.self)
}

/// A benchmark that cannot go on.
struct Mistake: Error, CustomStringConvertible {
  var description: String
  init(_ description: String) { self.description = description }
}
