import Foundation
import GRDB
import Tally
import TallyStore
import Testing

/// An app's schema grows; devices with older versions keep what they do not know.
@Suite struct EvolutionTests {
  let scratch: Scratch
  static let old = Schema([EntitySchema("Note", .text("title"))])
  static let new = Schema([
    EntitySchema(
      "Note", .text("title"), .integer("stars", default: 3), .text("color"), .reference("folder", to: "Folder"),
      .toMany("tags", to: "Tag")),
    EntitySchema("Folder", .text("name")), EntitySchema("Tag", .text("name")),
  ])

  init() throws { scratch = try Scratch() }

  private func fill(_ store: Store) throws {
    try store.write { db in
      try db.execute(
        sql: """
          INSERT INTO Folder(id, name) VALUES('Folder|~|f', 'Home');
          INSERT INTO Tag(id, name) VALUES('Tag|~|t', 'red');
          INSERT INTO Note(id, title, stars, color, folder) VALUES('Note|~|a', 'A', 5, 'blue', 'Folder|~|f');
          INSERT INTO Note_tags(source, target) VALUES('Note|~|a', 'Tag|~|t');
          """)
    }
  }

  @Test func unknownTypesAndFieldsAreKeptForwardedAndShownAfterTheUpgrade() throws {
    let newer = try scratch.store("newer", schema: Self.new)
    let older = try scratch.store("older", schema: Self.old)
    try fill(newer)
    #expect(try newer.sync(with: older).isConverged)
    try older.write { try $0.execute(sql: "UPDATE Note SET title = 'B'") }
    try expectConverged(older)
    let third = try scratch.store("third", schema: Self.new)
    #expect(try older.sync(with: third).isConverged)
    let row = try third.read { try Row.fetchOne($0, sql: "SELECT title, stars, color, folder FROM Note") }
    #expect(row == ["title": "B", "stars": 5, "color": "blue", "folder": "Folder|~|f"])
    #expect(try third.read { try String.fetchOne($0, sql: "SELECT target FROM Note_tags") } == "Tag|~|t")
    try older.close()
    let upgraded = try scratch.store("older", schema: Self.new)
    let shown = try upgraded.read { try Row.fetchOne($0, sql: "SELECT title, stars, color, folder FROM Note") }
    #expect(shown == row)
    #expect(try upgraded.read { try String.fetchOne($0, sql: "SELECT target FROM Note_tags") } == "Tag|~|t")
    #expect(try newer.sync(with: third).isConverged)
    #expect(try upgraded.sync(with: newer).isConverged)
    try expectConverged(newer, third, upgraded)
  }

  /// An older app inserts a deleted record anew and so ends the fields that it does not know. A column that takes no
  /// null shows its default then, also in a row that is there already.
  @Test func aFieldThatAnOlderAppEndedReadsAsItsDefault() throws {
    let newer = try scratch.store("newer", schema: Self.new)
    let older = try scratch.store("older", schema: Self.old)
    try fill(newer)
    #expect(try newer.sync(with: older).isConverged)
    try older.write { try $0.execute(sql: "DELETE FROM Note") }
    try older.write { try $0.execute(sql: "INSERT INTO Note(id, title) VALUES('Note|~|a', 'B')") }
    #expect(try newer.sync(with: older).isConverged)
    let row = try newer.read { try Row.fetchOne($0, sql: "SELECT title, stars, color, folder FROM Note") }
    #expect(row == ["title": "B", "stars": 3, "color": nil, "folder": nil])
    try expectConverged(newer)
  }

  /// What a deleted record owns keeps it; an app that did not know the reference could not tell.
  @Test func anUpgradeThatLearnsOfOwnershipBringsBackTheOwner() throws {
    func folders(_ properties: EntitySchema.Property...) -> Schema {
      var entity = EntitySchema("Folder", .text("name"))
      for case .reference(let reference) in properties { entity.references.append(reference) }
      return Schema([entity])
    }
    let nested = folders(.reference("inside", to: "Folder", onDelete: .cascade))
    let newer = try scratch.store("newer", schema: nested)
    let older = try scratch.store("older", schema: folders())
    try newer.write { try $0.execute(sql: "INSERT INTO Folder(id) VALUES('Folder|~|a')") }
    #expect(try newer.sync(with: older).isConverged)
    try older.write { try $0.execute(sql: "DELETE FROM Folder") }
    for name in ["b", "c"] {
      try newer.write { db in
        try db.execute(
          sql: "INSERT INTO Folder(id, name, inside) VALUES(?, 'x', 'Folder|~|a')", arguments: ["Folder|~|\(name)"])
      }
    }
    #expect(try newer.sync(with: older).isConverged)
    try older.close()
    let upgraded = try scratch.store("older", schema: nested)
    #expect(try upgraded.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM Folder") } == 3)
    try expectConverged(newer, upgraded)
  }

  @Test func anUpgradeWritesNoCells() throws {
    let store = try scratch.store("a", schema: Self.old)
    try store.write { try $0.execute(sql: "INSERT INTO Note(id, title) VALUES('Note|~|a', 'A')") }
    let before = try store.summary()
    try store.close()
    let upgraded = try scratch.store("a", schema: Self.new)
    #expect(try upgraded.summary() == before)
    #expect(try upgraded.read { try Int.fetchOne($0, sql: "SELECT stars FROM Note") } == 3)
    try upgraded.write { try $0.execute(sql: "UPDATE Note SET stars = 4") }
    try upgraded.write { try $0.execute(sql: "UPDATE Note SET stars = 3") }
    let other = try scratch.store("b", schema: Self.new)
    try upgraded.sync(with: other)
    try expectConverged(upgraded, other)
  }

  @Test func aRenamedColumnKeepsItsWireName() throws {
    let store = try scratch.store("a", schema: Self.old)
    try store.write { try $0.execute(sql: "INSERT INTO Note(id, title) VALUES('Note|~|a', 'A')") }
    try store.close()
    let renamed = Schema([EntitySchema("Note", .text("heading", renamedFrom: "title"))])
    let upgraded = try scratch.store("a", schema: renamed)
    try upgraded.write { try $0.execute(sql: "UPDATE Note SET heading = 'B'") }
    let other = try scratch.store("b", schema: Self.old)
    try upgraded.sync(with: other)
    #expect(try other.read { try String.fetchOne($0, sql: "SELECT title FROM Note") } == "B")
    try expectConverged(upgraded, other)
  }

  /// With its second name instead of its first, the column would be another field, empty, and nobody would be told.
  @Test func aSecondRenameIsDeclaredWithTheFirstName() throws {
    let store = try scratch.store("a", schema: Self.old)
    try store.write { try $0.execute(sql: "INSERT INTO Note(id, title) VALUES('Note|~|a', 'A')") }
    try store.close()
    func renamed(_ name: String, from oldName: String) -> Schema {
      Schema([EntitySchema("Note", .text(name, renamedFrom: oldName))])
    }
    try scratch.store("a", schema: renamed("heading", from: "title")).close()
    let error = #expect(throws: StoreError.self) { try scratch.store("a", schema: renamed("name", from: "heading")) }
    #expect(error?.code == .incompatibleSchema)
    #expect(
      error?.message
        == "Note.heading was first declared as title: rename it to name with renamedFrom: \"title\"")
    let upgraded = try scratch.store("a", schema: renamed("name", from: "title"))
    #expect(try upgraded.read { try String.fetchOne($0, sql: "SELECT name FROM Note") } == "A")
  }

  @Test func anIncompatibleChangeIsRefusedAndTheStoreStaysUsable() throws {
    try scratch.store("a", schema: Self.old).close()
    let changed = Schema([EntitySchema("Note", .integer("title"))])
    let error = #expect(throws: StoreError.self) { try scratch.store("a", schema: changed) }
    #expect(error?.code == .incompatibleSchema)
    try scratch.store("a", schema: Self.old).write {
      try $0.execute(sql: "INSERT INTO Note(id, title) VALUES('Note|~|a', 'A')")
    }
  }

  @Test func aDeleteRuleThatChangesIsAppliedToWhatIsThere() throws {
    func schema(_ rule: DeleteRule) -> Schema {
      Schema([
        EntitySchema("Box", .text("name")),
        EntitySchema("Thing", .text("name"), .reference("box", to: "Box", onDelete: rule)),
      ])
    }
    let store = try scratch.store("a", schema: schema(.nullify))
    try store.write { db in
      try db.execute(
        sql: """
          INSERT INTO Box(id) VALUES('Box|~|b');
          INSERT INTO Thing(id, box) VALUES('Thing|~|t', 'Box|~|b');
          """)
    }
    try store.write { try $0.execute(sql: "DELETE FROM Box") }
    #expect(try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM Thing WHERE box IS NULL") } == 1)
    try store.close()
    let owning = try scratch.store("a", schema: schema(.cascade))
    #expect(try owning.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM Thing") } == 0)
    try expectConverged(owning)
    try owning.close()
    let again = try scratch.store("a", schema: schema(.nullify))
    #expect(try again.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM Thing") } == 1)
    try expectConverged(again)
  }

  @Test func aDeletedRecordWaitsForNoOwnerOnceTheRuleIsGone() throws {
    func schema(_ rule: DeleteRule) -> Schema {
      Schema([EntitySchema("F", .text("name"), .reference("twin", to: "F", onDelete: rule))])
    }
    let store = try scratch.store("a", schema: schema(.cascade))
    try store.run(
      "INSERT INTO F(id) VALUES('F|~|1'), ('F|~|2')",
      "UPDATE F SET twin = CASE id WHEN 'F|~|1' THEN 'F|~|2' ELSE 'F|~|1' END")
    try store.run("DELETE FROM F WHERE id = 'F|~|1'")
    try expectConverged(store)
    try store.close()
    let free = try scratch.store("a", schema: schema(.nullify))
    #expect(try Lab.text(free, "SELECT group_concat(id) FROM F") == "F|~|2")
    try expectConverged(free)
    try free.close()
    try expectConverged(try scratch.store("a", schema: schema(.cascade)))
  }

  @Test func aToolOpensAStoreWithTheSchemaInTheFile() throws {
    let store = try scratch.store("a", schema: Self.new)
    try fill(store)
    try store.close()
    let tool = try Store(existing: scratch.path("a"))
    #expect(try tool.schema == Self.new.normalized)
    let schema = try tool.schema
    let note = try AnyRecordName("Note|~|a")
    try tool.write { try schema.put($0, note, ["stars": .integer(1)]) }
    let record = try #require(try tool.read { try schema.record($0, note) })
    #expect(record.fields["stars"] == .integer(1))
    #expect(record.links == ["tags": [try AnyRecordName("Tag|~|t")]])
    try expectConverged(tool)
  }
}

extension Schema {
  /// As JSON gives it back: columns by name.
  fileprivate var normalized: Schema {
    Schema(
      entities.map { entity in
        var entity = entity
        entity.fields.sort { $0.name < $1.name }
        entity.references.sort { $0.name < $1.name }
        entity.relationships.sort { $0.name < $1.name }
        return entity
      })
  }
}
