import Namesakes
import Tally
import protocol Tally.Entity
import struct Tally.Schema

struct Shop: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Shop", .text("name", default: ""))
  var id = RecordName<Shop>()
  var name = ""
}

func openShops() throws -> Store {
  let schema: Schema = Schema(Shop.self)
  return try Store(inMemory: schema)
}
