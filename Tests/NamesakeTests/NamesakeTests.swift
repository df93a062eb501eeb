import Namesakes
import Tally
import Testing

struct Tag: Tally.Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Tag", .text("name", default: ""))
  var id = RecordName<Tag>()
  var name = ""
}

func openTags() throws -> Store {
  let schema: Tally.Schema = Tally.Schema(Tag.self)
  return try Store(inMemory: schema)
}

/// An app that imports a module with names of Tally's says whose it means.
@Suite struct NamesakeTests {
  @Test func aQualifiedNameIsTallys() throws {
    let store = try openTags()
    try store.write { db in try Tag(name: "dairy").insert(db) }
    #expect(try store.read { db in try Tag.fetchAll(db).map(\.name) } == ["dairy"])
    #expect(Namesakes.Schema("Tag").names == ["Tag"])
    let account: Tally.Account = .person("ann")
    #expect(account.description == Namesakes.Account(name: "ann").name)
  }

  @Test func anImportOfOneNameMakesItTallys() throws {
    let store = try openShops()
    try store.write { db in try Shop(name: "Corner").insert(db) }
    #expect(try store.read { db in try Shop.fetchAll(db).map(\.name) } == ["Corner"])
  }
}
