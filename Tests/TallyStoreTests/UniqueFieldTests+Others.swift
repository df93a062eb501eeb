import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyImport
import TallyRecovery
import TallyStore
import Testing

/// Unique fields beside what else a store does: default data, imports, checks and tables of the app's, healing.
extension UniqueFieldTests {
  struct Topic: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema("Topic", unique: [.on("name", .rename)], .text("name"), .text("colour"))
    var id = RecordName<Topic>()
    var name: String?
    var colour: String?
  }

  /// A seed comes before any person, so what an older version of the app made shows its name with letters behind it; it
  /// is found all the same.
  @Test func adoptionFindsDuplicatesByWhatTheyHave() throws {
    let store = try Store(inMemory: Schema(Topic.self))
    let old = Topic(name: "Toast", colour: "gold")
    try store.write { db in try old.insert(db) }
    var set = SeedSet("topics", version: 1, records: [SeedRecord("toast", of: Topic.self, ["name": "Toast"])])
    try store.seed(set)
    let toast = RecordName<Topic>(seed: "toast", of: "topics")
    #expect(try store.read { try Topic.find($0, id: toast) }.name == "Toast")
    #expect(try store.read { try Topic.find($0, id: old.id) }.name?.hasPrefix("Toast ~") == true)
    #expect(try store.verify().problems == [])
    set.adoptions = [SeedAdoption(of: Topic.self, matching: ["name"])]
    #expect(try store.seed(set).adopted == [old.id.name])
    #expect(try store.read { try Topic.fetchAll($0) }.map(\.colour) == ["gold"])
    #expect(try store.read { try ContestedValue.fetchCount($0) } == 0)
    #expect(try store.verify().problems == [])
  }

  @Test func anImportStopsAtAValueThatAnotherRecordHas() throws {
    let scratch = try Scratch()
    let store = try scratch.store(schema: Schema(Topic.self))
    let old = URL(fileURLWithPath: scratch.path("old"))
    let queue = try DatabaseQueue(path: old.path)
    try queue.write { db in
      try db.execute(
        sql:
          "CREATE TABLE topic(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO topic VALUES(1, 'a'), (2, 'b'), (3, 'a')")
    }
    try queue.close()
    var table = ImportMap.Table(from: "topic", to: "Topic", fields: ["name": "name"])
    let error = #expect(throws: StoreError.self) { try store.importDatabase(at: old, map: ImportMap(tables: [table])) }
    #expect(error?.code == .rowNotMapped && error?.message.contains("row '3'") == true, "\(error?.message ?? "")")
    #expect(try store.read { try Topic.fetchCount($0) } == 0)
    table.condition = "id < 3"
    #expect(try store.importDatabase(at: old, map: ImportMap(tables: [table])).records == ["Topic": 2])
  }

  /// A trigger of the app's that admits neither null nor letters takes one record out of view, and nothing else.
  @Test(arguments: CapturePath.allCases) func whatAnAppsTriggerRefusesIsSetAside(_ path: CapturePath) throws {
    let lab = try Lab(path, Self.schema([.on("name", .rename)]))
    try lab.b.run(
      """
      CREATE TRIGGER plain BEFORE UPDATE OF name ON Shop WHEN NEW.name IS NULL OR NEW.name GLOB '*~*'
      BEGIN SELECT RAISE(ABORT, 'a plain name is wanted'); END
      """,
      """
      CREATE TRIGGER plainer BEFORE INSERT ON Shop WHEN NEW.name IS NULL OR NEW.name GLOB '*~*'
      BEGIN SELECT RAISE(ABORT, 'a plain name is wanted'); END
      """)
    try lab.a.run("INSERT INTO Shop(id, name) VALUES('Shop|~|a', 'Market')")
    try lab.b.run("INSERT INTO Shop(id, name) VALUES('Shop|~|b', 'Market')")
    try lab.sync()
    // One of the two: the older claim's, though it came last.
    #expect(try lab.b.status().setAside.map(\.row) == ["Shop|~|b"])
    #expect(try lab.b.verify().problems == [] && lab.a.verify().problems == [])
    #expect(try Lab.rows(lab.a, "Shop").count == 2 && Lab.rows(lab.b, "Shop").count == 1)
    try lab.b.run("DROP TRIGGER plain", "DROP TRIGGER plainer")
    try lab.sync()
    try lab.expectEqual(["Shop", "tally_unique"])
    #expect(try lab.b.status().setAside.isEmpty)
  }

  /// A row that a table of the app's holds keeps its value until it is let go.
  @Test(arguments: CapturePath.allCases) func aRowThatSQLiteDoesNotLetGoKeepsItsValue(_ path: CapturePath) throws {
    let lab = try Lab(path, Self.schema([.on("name", .rename)]))
    try lab.a.run("INSERT INTO Shop(id, name) VALUES('Shop|~|a', 'Market')")
    try lab.sync()
    try lab.b.run("CREATE TABLE fav(p TEXT REFERENCES Shop(id))", "INSERT INTO fav VALUES('Shop|~|a')")
    try lab.a.run("DELETE FROM Shop", "INSERT INTO Shop(id, name) VALUES('Shop|~|b', 'Market')")
    try lab.sync()
    #expect(try lab.b.verify().problems == [])
    #expect(try Lab.text(lab.b, "SELECT name FROM Shop WHERE id = 'Shop|~|a'") == "Market")
    #expect(try Lab.text(lab.b, "SELECT name FROM Shop WHERE id = 'Shop|~|b'")?.hasPrefix("Market ~") == true)
    try lab.b.run("DELETE FROM fav")
    try lab.sync()
    try lab.b.run("INSERT INTO Mall(id) VALUES('Mall|~|m')")
    try lab.sync()
    try lab.expectEqual(["Shop", "tally_unique"])
    #expect(try Lab.text(lab.b, "SELECT group_concat(id || name) FROM Shop") == "Shop|~|bMarket")
  }

  @Test(arguments: CapturePath.allCases) func aReplaceDeletesTheHolderAsInSQL(_ path: CapturePath) throws {
    let lab = try Lab(path, Self.schema([.on("name", .rename)]))
    try lab.a.run("INSERT INTO Shop(id, name) VALUES('Shop|~|a', 'Market')")
    try lab.sync()
    try lab.b.run("INSERT OR REPLACE INTO Shop(id, name) VALUES('Shop|~|b', 'Market')")
    try lab.sync()
    try lab.shell("a", "INSERT OR REPLACE INTO Shop(id, name) VALUES('Shop|~|c', 'Market')")
    try lab.sync()
    try lab.expectEqual(["Shop", "tally_unique"])
    #expect(try Lab.text(lab.b, "SELECT group_concat(id || name) FROM Shop") == "Shop|~|cMarket")
  }

  @Test(arguments: CapturePath.allCases) func healingAndRecoveryShowTheSame(_ path: CapturePath) throws {
    let lab = try Lab(path, Self.schema)
    try lab.a.run("INSERT INTO Shop(id, name, note) VALUES('Shop|~|a', 'Market', 'x')")
    try lab.b.run("INSERT INTO Shop(id, name, note) VALUES('Shop|~|b', 'Market', 'y')")
    try lab.sync()
    let (rows, list) = (try Lab.rows(lab.b, "Shop"), try Lab.rows(lab.b, "tally_unique"))
    try lab.damage("b", "UPDATE Shop SET note = 'z' WHERE id = 'Shop|~|b'")
    let b = try lab.reopened("b", Self.schema)
    #expect(try b.verify().problems != [])
    try b.apply(try lab.a.delta(), isRepair: true)
    #expect(try Lab.rows(b, "Shop") == rows && Lab.rows(b, "tally_unique") == list)
    #expect(try b.verify().problems == [])
    try b.close()
    _ = try Store.recover(lab.scratch.path("b"), to: lab.scratch.path("c"))
    let c = try lab.reopened("c", Self.schema)
    // Types may have other numbers there, and tables their columns in another order.
    let shown = "SELECT group_concat(id || name || note) FROM (SELECT * FROM Shop ORDER BY id)"
    #expect(try Lab.text(c, shown) == Lab.text(lab.a, shown))
    #expect(try c.read { try ContestedValue.fetchAll($0) } == (try lab.a.read { try ContestedValue.fetchAll($0) }))
    #expect(try c.verify().problems == [])
  }

  /// A record that is not shown with its owner claims nothing, and claims again once it comes back with a sync.
  @Test(arguments: CapturePath.allCases) func whatGoesWithItsOwnerGivesItsValueUp(_ path: CapturePath) throws {
    let lab = try Lab(path, Self.schema)
    try lab.a.run(
      "INSERT INTO Mall(id) VALUES('Mall|~|m')",
      "INSERT INTO Shop(id, name, mall) VALUES('Shop|~|a', 'Market', 'Mall|~|m')")
    try lab.b.run("INSERT INTO Shop(id, name) VALUES('Shop|~|b', 'Market')")
    try lab.sync()
    try lab.b.run("DELETE FROM Mall")
    #expect(try Lab.text(lab.b, "SELECT group_concat(id || name) FROM Shop") == "Shop|~|bMarket")
    try lab.a.run("UPDATE Shop SET note = 'still here' WHERE id = 'Shop|~|a'")
    try lab.sync()
    try lab.expectEqual(["Shop", "tally_unique"])
    #expect(try Lab.text(lab.b, "SELECT name FROM Shop WHERE id = 'Shop|~|a'") == "Market")
    #expect(try lab.b.read { try ContestedValue.fetchAll($0) }.map(\.name) == ["Shop|~|b"])
  }
}
