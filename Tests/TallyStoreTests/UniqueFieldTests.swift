import Foundation
import GRDB
import Tally
import TallyRig
import TallyStore
import Testing

/// Fields whose values no two records show: what the second one shows, and what it never loses.
@Suite struct UniqueFieldTests {
  static let schema = schema([.on("name", .rename), .on("code"), .on(["floor", "door"])])

  static func schema(_ unique: [UniqueRule]) -> Schema {
    Schema([
      EntitySchema("Mall", .text("title")),
      EntitySchema(
        "Shop", unique: unique, .text("name"), .integer("code"), .integer("floor"), .integer("door"), .text("note"),
        .reference("mall", to: "Mall", onDelete: .cascade)),
    ])
  }

  private func names(_ store: Store) throws -> [String] {
    try store.read { try String.fetchAll($0, sql: "SELECT id || ' ' || ifnull(name, '-') FROM Shop ORDER BY id") }
  }

  private func expectEqual(_ lab: Lab, sourceLocation: Testing.SourceLocation = #_sourceLocation) throws {
    try lab.expectEqual(["Mall", "Shop", "tally_unique"], sourceLocation: sourceLocation)
    #expect(try lab.a.status().setAside.isEmpty && lab.b.status().setAside.isEmpty, sourceLocation: sourceLocation)
  }

  func renamed(_ text: String, _ name: String) -> String {
    guard case .text(let text) = UniqueOracle.names(text, name)[0] else {
      Issue.record("a text is renamed to a text")
      return ""
    }
    return text
  }

  private func expectRefused(
    _ store: Store, _ sql: String, sourceLocation: Testing.SourceLocation = #_sourceLocation
  ) throws {
    let vector = try store.vector
    do {
      try store.run(sql)
      Issue.record("\(sql) was not refused", sourceLocation: sourceLocation)
    } catch let error as DatabaseError {
      #expect(error.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE, sourceLocation: sourceLocation)
    }
    #expect(try store.vector == vector, sourceLocation: sourceLocation)
    #expect(try store.verify().problems == [], sourceLocation: sourceLocation)
  }

  // MARK: Two devices

  @Test(arguments: CapturePath.allCases) func theYoungerOfTwoClaimsIsRenamedTheSameEverywhere(_ path: CapturePath)
    throws
  {
    let lab = try Lab(path, Self.schema)
    try lab.a.run("INSERT INTO Shop(id, name) VALUES('Shop|~|a', 'Market')")
    try lab.b.run("INSERT INTO Shop(id, name) VALUES('Shop|~|b', 'Market')")
    try lab.sync()
    try expectEqual(lab)
    #expect(try names(lab.a) == ["Shop|~|a Market", "Shop|~|b \(renamed("Market", "Shop|~|b"))"])
    let contested = try lab.a.read { try ContestedValue.fetchAll($0) }
    #expect(contested.map(\.name) == ["Shop|~|b"] && contested.map(\.holder) == ["Shop|~|a"])
    #expect(contested.map(\.wanted) == [.text("Market")] && contested.map(\.field) == ["name"])
  }

  @Test(arguments: CapturePath.allCases) func whoWaitsGetsTheValueOnceItIsGivenUp(_ path: CapturePath) throws {
    for giveUp in [
      "UPDATE Shop SET name = 'Bazaar' WHERE id = 'Shop|~|a'", "DELETE FROM Shop WHERE id = 'Shop|~|a'",
      "UPDATE Shop SET name = NULL WHERE id = 'Shop|~|a'",
    ] {
      for device in 0...1 {
        let lab = try Lab(path, Self.schema)
        try lab.a.run("INSERT INTO Shop(id, name, note) VALUES('Shop|~|a', 'Market', 'x')")
        try lab.b.run("INSERT INTO Shop(id, name, note) VALUES('Shop|~|b', 'Market', 'y')")
        try lab.sync()
        try [lab.a, lab.b][device].run(giveUp)
        #expect(try names([lab.a, lab.b][device]).contains("Shop|~|b Market"))
        try lab.sync()
        try expectEqual(lab)
        #expect(try names(lab.a).contains("Shop|~|b Market"))
        #expect(try lab.b.read { try ContestedValue.fetchCount($0) } == 0)
      }
    }
  }

  @Test(arguments: CapturePath.allCases) func anUnchangedSaveOfARenamedRowWritesNothingAndANewValueClaimsIt(
    _ path: CapturePath
  ) throws {
    let lab = try Lab(path, Self.schema)
    try lab.a.run("INSERT INTO Shop(id, name) VALUES('Shop|~|a', 'Market')")
    try lab.b.run("INSERT INTO Shop(id, name, note) VALUES('Shop|~|b', 'Market', 'n')")
    try lab.sync()
    let vector = try lab.b.vector
    try lab.b.write { db in
      let row = try #require(try Row.fetchOne(db, sql: "SELECT * FROM Shop WHERE id = 'Shop|~|b'"))
      try db.execute(
        sql: "UPDATE Shop SET name = ?, code = ?, floor = ?, door = ?, note = ?, mall = ? WHERE id = 'Shop|~|b'",
        arguments: [
          row["name"] as String?, row["code"] as Int?, row["floor"] as Int?, row["door"] as Int?,
          row["note"] as String?, row["mall"] as String?,
        ])
    }
    #expect(try lab.b.vector == vector)
    // Another field of it is an edit of that field, and nothing else.
    try lab.b.run("UPDATE Shop SET note = 'm' WHERE id = 'Shop|~|b'")
    try lab.sync()
    try expectEqual(lab)
    #expect(try names(lab.a)[1] == "Shop|~|b \(renamed("Market", "Shop|~|b"))")
    try lab.b.run("UPDATE Shop SET name = 'Corner' WHERE id = 'Shop|~|b'")
    try lab.sync()
    try expectEqual(lab)
    #expect(try names(lab.a) == ["Shop|~|a Market", "Shop|~|b Corner"])
    #expect(try lab.a.read { try ContestedValue.fetchCount($0) } == 0)
    // What it was called before is forgotten: that is no claim any more.
    try lab.a.run("DELETE FROM Shop WHERE id = 'Shop|~|a'")
    #expect(try names(lab.a) == ["Shop|~|b Corner"])
  }

  @Test(arguments: CapturePath.allCases) func aSecondClaimBySQLFailsAndChangesNothing(_ path: CapturePath) throws {
    let lab = try Lab(path, Self.schema)
    try lab.a.run(
      "INSERT INTO Shop(id, name, code, floor, door) VALUES('Shop|~|a', 'Market', 1, 1, 1), ('Shop|~|b', 'Corner', 2, 1, 2)"
    )
    try lab.b.run("INSERT INTO Shop(id, name) VALUES('Shop|~|c', 'Market')")
    try lab.sync()
    for sql in [
      "UPDATE Shop SET name = 'Market' WHERE id = 'Shop|~|b'", "UPDATE Shop SET code = 1 WHERE id = 'Shop|~|b'",
      "UPDATE Shop SET door = 1 WHERE id = 'Shop|~|b'", "INSERT INTO Shop(id, name) VALUES('Shop|~|d', 'Corner')",
      "UPDATE Shop SET name = 'Market' WHERE id = 'Shop|~|c'",
    ] {
      for store in [lab.a, lab.b] { try expectRefused(store, sql) }
    }
    // What is shown instead is a value like any other as long as it is shown.
    let shown = try #require(try Lab.text(lab.a, "SELECT name FROM Shop WHERE id = 'Shop|~|c'"))
    try expectRefused(lab.a, "INSERT INTO Shop(id, name) VALUES('Shop|~|d', '\(shown)')")
    try lab.a.run("INSERT INTO Shop(id, door) VALUES('Shop|~|d', 1), ('Shop|~|e', 1)")
    try lab.sync()
    try expectEqual(lab)
  }

  @Test(arguments: CapturePath.allCases) func ofSeveralFieldsTheLastIsCleared(_ path: CapturePath) throws {
    let lab = try Lab(path, Self.schema)
    try lab.a.run("INSERT INTO Shop(id, code, floor, door) VALUES('Shop|~|a', 7, 1, 1), ('Shop|~|c', 8, 2, 1)")
    try lab.b.run("INSERT INTO Shop(id, code, floor, door) VALUES('Shop|~|b', 7, 1, 1)")
    try lab.sync()
    try expectEqual(lab)
    let shown = "SELECT (code IS NULL) || floor || (door IS NULL) FROM Shop WHERE id = 'Shop|~|b'"
    #expect(try Lab.text(lab.a, shown) == "111")
    // With another floor its door is its own again.
    try lab.b.run("UPDATE Shop SET floor = 3 WHERE id = 'Shop|~|b'")
    try lab.sync()
    try expectEqual(lab)
    #expect(try Lab.text(lab.a, "SELECT floor || '.' || door FROM Shop WHERE id = 'Shop|~|b'") == "3.1")
    #expect(try Lab.text(lab.a, "SELECT code FROM Shop WHERE id = 'Shop|~|b'") == nil)
  }

  @Test(arguments: CapturePath.allCases) func valuesMaySwapAndRotateAcrossASync(_ path: CapturePath) throws {
    let lab = try Lab(path, Self.schema)
    try lab.a.run(
      "INSERT INTO Shop(id, name, code) VALUES('Shop|~|1', 'x', 1), ('Shop|~|2', 'y', 2), ('Shop|~|3', 'z', 3)")
    try lab.sync()
    try lab.b.run(
      "CREATE TABLE note(shop TEXT REFERENCES Shop(id) ON DELETE CASCADE)", "INSERT INTO note SELECT id FROM Shop")
    try lab.a.run(
      "UPDATE Shop SET name = NULL, code = NULL WHERE id = 'Shop|~|1'",
      "UPDATE Shop SET name = 'x', code = 1 WHERE id = 'Shop|~|2'",
      "UPDATE Shop SET name = 'y', code = 2 WHERE id = 'Shop|~|3'",
      "UPDATE Shop SET name = 'z', code = 3 WHERE id = 'Shop|~|1'")
    try lab.sync()
    try expectEqual(lab)
    #expect(try names(lab.b) == ["Shop|~|1 z", "Shop|~|2 x", "Shop|~|3 y"])
    // No row went, even for a moment.
    #expect(try Lab.text(lab.b, "SELECT count(*) FROM note") == "3")
  }

  @Test(arguments: CapturePath.allCases) func theRuleIsNotOfTheState(_ path: CapturePath) throws {
    let lab = try Lab(path, Self.schema)
    let plain = try lab.scratch.store("plain", schema: Self.schema([]), options: Lab.options(path))
    try plain.run("INSERT INTO Shop(id, name) VALUES('Shop|~|a', 'Market'), ('Shop|~|b', 'Market')")
    try plain.sync(with: lab.a)
    try lab.sync()
    try expectEqual(lab)
    #expect(try names(plain) == ["Shop|~|a Market", "Shop|~|b Market"])
    #expect(try names(lab.a) == ["Shop|~|a Market", "Shop|~|b \(renamed("Market", "Shop|~|b"))"])
    try expectConverged(plain, lab.a)
  }

  // MARK: Texts that are taken

  @Test(arguments: CapturePath.allCases) func aTextThatAnotherRecordHasIsPassedOver(_ path: CapturePath) throws {
    let lab = try Lab(path, Self.schema)
    let (first, second) = (UniqueOracle.names("Market", "Shop|~|b")[0], UniqueOracle.names("Market", "Shop|~|b")[1])
    guard case .text(let short) = first, case .text(let long) = second else {
      Issue.record("no texts")
      return
    }
    try lab.a.run("INSERT INTO Shop(id, name) VALUES('Shop|~|a', 'Market'), ('Shop|~|c', '\(short)')")
    try lab.b.run("INSERT INTO Shop(id, name) VALUES('Shop|~|b', 'Market')")
    try lab.sync()
    try expectEqual(lab)
    #expect(try names(lab.a) == ["Shop|~|a Market", "Shop|~|b \(long)", "Shop|~|c \(short)"])
    // And taken once nobody has it any more.
    try lab.a.run("UPDATE Shop SET name = 'Corner' WHERE id = 'Shop|~|c'")
    try lab.sync()
    try expectEqual(lab)
    #expect(try names(lab.b)[1] == "Shop|~|b \(short)")
    // Somebody who gives a record that very text gets it, wherever it comes from.
    let other = try lab.scratch.store("other", schema: Self.schema([]), options: Lab.options(path))
    try other.run("INSERT INTO Shop(id, name) VALUES('Shop|~|d', '\(short)')")
    try lab.b.sync(with: other)
    #expect(try names(lab.b)[1] == "Shop|~|b \(long)" && names(lab.b)[3] == "Shop|~|d \(short)")
    #expect(try lab.b.verify().problems == [])
  }

  // MARK: What comes back

  @Test(arguments: CapturePath.allCases, [false, true]) func aRestoreTakesNothing(_ path: CapturePath, _ hides: Bool)
    throws
  {
    let lab = try Lab(path, Self.schema(hides ? [.on("name", .hide)] : [.on("name", .rename)]))
    try lab.a.run("INSERT INTO Shop(id, name) VALUES('Shop|~|a', 'Market')")
    try lab.a.run("DELETE FROM Shop")
    try lab.a.run("INSERT INTO Shop(id, name) VALUES('Shop|~|b', 'Market')")
    try lab.a.restore(AnyRecordName("Shop|~|a"))
    try lab.sync()
    try lab.expectEqual(["Shop"])
    let second = hides ? [] : ["Shop|~|a \(renamed("Market", "Shop|~|a"))"]
    #expect(try names(lab.b) == second + ["Shop|~|b Market"])
  }

  /// Of a clock that is behind, the claim of the record that is there is later than anything that is written now.
  @Test(arguments: CapturePath.allCases) func aRestoreTakesNothingByAClockThatIsBehind(_ path: CapturePath) throws {
    let stage = try UniqueClock(path, Self.schema)
    try stage.behind.run("INSERT INTO Mall(id) VALUES('Mall|~|m')")
    try stage.behind.run("INSERT INTO Shop(id, name, mall) VALUES('Shop|~|a', 'Market', 'Mall|~|m')")
    try stage.behind.run("DELETE FROM Mall")
    try stage.ahead.run("INSERT INTO Shop(id, name) VALUES('Shop|~|b', 'Market')")
    try stage.sync()
    // With its owner.
    try stage.behind.restore(AnyRecordName("Mall|~|m"))
    try stage.sync()
    for store in [stage.behind, stage.ahead] {
      #expect(try names(store) == ["Shop|~|a \(renamed("Market", "Shop|~|a"))", "Shop|~|b Market"])
      #expect(try store.verify().problems == [])
    }
  }

  @Test(arguments: CapturePath.allCases) func whatASyncBringsBackKeepsItsClaim(_ path: CapturePath) throws {
    let lab = try Lab(path, Self.schema)
    try lab.a.run("INSERT INTO Shop(id, name) VALUES('Shop|~|a', 'Market')")
    try lab.sync()
    try lab.b.run("DELETE FROM Shop")
    try lab.b.run("INSERT INTO Shop(id, name) VALUES('Shop|~|b', 'Market')")
    // Whoever edits it has never seen it gone.
    try lab.a.run("UPDATE Shop SET note = 'mine'")
    try lab.sync()
    try expectEqual(lab)
    #expect(try names(lab.b) == ["Shop|~|a Market", "Shop|~|b \(renamed("Market", "Shop|~|b"))"])
  }

  // MARK: Schemas

  @Test(arguments: CapturePath.allCases) func aRuleMayComeChangeAndGo(_ path: CapturePath) throws {
    let lab = try Lab(path, Self.schema([]))
    try lab.a.run("INSERT INTO Shop(id, name) VALUES('Shop|~|a', 'Market'), ('Shop|~|b', 'Market'), ('Shop|~|c', NULL)")
    try lab.sync()
    try lab.a.close()
    let both = ["Shop|~|a Market", "Shop|~|b Market", "Shop|~|c -"]
    for (policy, second) in [
      (UniquePolicy.rename, ["Shop|~|b \(renamed("Market", "Shop|~|b"))"]), (.clear, ["Shop|~|b -"]), (.hide, []),
      (.rename, ["Shop|~|b \(renamed("Market", "Shop|~|b"))"]),
    ] {
      let a = try lab.reopened("a", Self.schema([.on("name", policy)]))
      #expect(try names(a) == ["Shop|~|a Market"] + second + ["Shop|~|c -"], "\(policy)")
      #expect(try a.verify().problems == [], "\(policy)")
      try a.close()
    }
    let a = try lab.reopened("a", Self.schema([]))
    #expect(try names(a) == both)
    #expect(try a.read { try ContestedValue.fetchCount($0) } == 0)
    try expectConverged(a, lab.b)
  }

  @Test(arguments: CapturePath.allCases) func aRenamedColumnKeepsItsRule(_ path: CapturePath) throws {
    let lab = try Lab(path, Self.schema([.on("name", .rename)]))
    try lab.a.run("INSERT INTO Shop(id, name) VALUES('Shop|~|a', 'Market')")
    try lab.b.run("INSERT INTO Shop(id, name) VALUES('Shop|~|b', 'Market')")
    try lab.sync()
    try lab.a.close()
    let next = Schema([
      EntitySchema("Mall", .text("title")),
      EntitySchema("Shop", unique: [.on("label", .rename)], .text("label", renamedFrom: "name")),
    ])
    let a = try lab.reopened("a", next)
    #expect(
      try a.read { try String.fetchAll($0, sql: "SELECT label FROM Shop ORDER BY id") }
        == ["Market", renamed("Market", "Shop|~|b")])
    #expect(try a.verify().problems == [])
    #expect(try a.read { try ContestedValue.fetchAll($0) }.map(\.field) == ["label"])
  }

  /// The names of types and fields may be put together to the same text.
  @Test func eachRuleHasAnIndexOfItsOwn() throws {
    let store = try Store(
      inMemory: Schema([
        EntitySchema("A", unique: [.on("b_unique_c")], .text("b_unique_c")),
        EntitySchema("A_unique_b", unique: [.on("c")], .text("c")),
      ]))
    try store.run("INSERT INTO A(id, b_unique_c) VALUES('A|~|1', 'x')")
    try store.run("INSERT INTO A_unique_b(id, c) VALUES('A_unique_b|~|1', 'x')")
    try expectRefused(store, "INSERT INTO A(id, b_unique_c) VALUES('A|~|2', 'x')")
    try expectRefused(store, "INSERT INTO A_unique_b(id, c) VALUES('A_unique_b|~|2', 'x')")
    #expect(try store.verify().problems == [])
  }

  @Test(arguments: CapturePath.allCases) func aTableThatTheAppHasRebuiltGetsItsIndexBack(_ path: CapturePath) throws {
    let lab = try Lab(path, Self.schema([.on("name", .rename)]))
    try lab.a.run("INSERT INTO Shop(id, name) VALUES('Shop|~|a', 'Market')")
    try lab.b.run("INSERT INTO Shop(id, name) VALUES('Shop|~|b', 'Market')")
    try lab.sync()
    try lab.a.close()
    try lab.shell("a", "DROP INDEX \"tally_unique.Shop.name\"")
    let a = try lab.reopened("a", Self.schema([.on("name", .rename)]))
    #expect(try a.verify().problems == [])
    try expectRefused(a, "UPDATE Shop SET name = 'Market' WHERE id = 'Shop|~|b'")
  }

  /// What another program writes while the index is away is taken apart when it is back.
  @Test(arguments: CapturePath.allCases) func whatCameWithoutTheIndexIsTakenApart(_ path: CapturePath) throws {
    let lab = try Lab(path, Self.schema([.on("name", .rename)]))
    try lab.a.run("INSERT INTO Shop(id, name) VALUES('Shop|~|a', 'Market'), ('Shop|~|b', 'Corner')")
    try lab.shell("a", "DROP INDEX \"tally_unique.Shop.name\"", "UPDATE Shop SET name = 'Market' WHERE id = 'Shop|~|b'")
    try lab.a.run("INSERT INTO Mall(id) VALUES('Mall|~|m')")
    #expect(try names(lab.a) == ["Shop|~|a Market", "Shop|~|b \(renamed("Market", "Shop|~|b"))"])
    try lab.sync()
    try expectEqual(lab)
  }

  @Test func rulesThatCannotBeKeptAreRefused() throws {
    let fields: [EntitySchema.Property] = [
      .text("name"), .text("title", default: ""), .integer("code"), .real("rating"), .reference("other", to: "Shop"),
    ]
    for (rule, word) in [
      (UniqueRule.on("other"), "reference"), (.on("title"), "default"), (.on("nme"), "name"), (.on([]), "1 to 16"),
      (.on("code", .rename), "rename"), (.on(["name", "code"], .rename), "rename"), (.on(["name", "name"]), "once"),
      (.on("rating"), "real"), (.on("id"), "no field"),
    ] {
      var entity = EntitySchema("Shop", unique: [rule])
      for property in fields {
        switch property {
        case .field(let field): entity.fields.append(field)
        case .reference(let reference): entity.references.append(reference)
        default: break
        }
      }
      let error = #expect(throws: StoreError.self) { try Schema([entity]).validate() }
      #expect(error?.code == .invalidSchema && error?.message.contains(word) == true, "\(error?.message ?? "")")
    }
    let twice = EntitySchema("Shop", unique: [.on("name"), .on(["name", "code"])], .text("name"), .integer("code"))
    #expect(throws: StoreError.self) { try Schema([twice]).validate() }
  }

  @Test func aRuleIsReadFromJSONAndWrittenAsItIsRead() throws {
    let json = """
      {"entities":[{"fields":{"code":"integer","name":"text"},"type":"Shop","unique":[
      {"fields":["name"],"policy":"rename"},{"fields":["code"],"policy":"clear"}]}]}
      """
    let schema = try Schema(json: Data(json.utf8))
    #expect(schema.entities[0].unique == [.on("name", .rename), .on("code")])
    #expect(try Schema(json: schema.json()) == schema)
    let error = #expect(throws: StoreError.self) {
      try Schema(json: Data(json.replacing("rename", with: "number").utf8))
    }
    #expect(error?.message.contains("rename") == true)
    // What knows no rules reads and writes as before.
    #expect(try !String(decoding: Schema([EntitySchema("A", .text("x"))]).json(), as: UTF8.self).contains("unique"))
  }

  // MARK: Damage, observation, history

  @Test(arguments: CapturePath.allCases) func aLostListIsMadeAgain(_ path: CapturePath) throws {
    let lab = try Lab(path, Self.schema)
    try lab.a.run("INSERT INTO Shop(id, name, code) VALUES('Shop|~|a', 'Market', 1)")
    try lab.b.run("INSERT INTO Shop(id, name, code) VALUES('Shop|~|b', 'Market', 1)")
    try lab.sync()
    let before = try Lab.rows(lab.a, "tally_unique")
    try lab.a.close()
    try lab.shell("a", "DELETE FROM tally_unique")
    var a = try lab.reopened("a", Self.schema)
    #expect(try a.verify().problems.isEmpty == false)
    _ = try a.rebuild()
    #expect(try a.verify().problems == [])
    #expect(try Lab.rows(a, "tally_unique") == before)
    try a.close()
    try lab.shell("a", "DROP TABLE tally_unique")
    a = try lab.reopened("a", Self.schema)
    #expect(try a.verify().problems == [])
    #expect(try Lab.rows(a, "tally_unique") == before)
    try expectConverged(a, lab.b)
  }

  @Test func theListIsObserved() async throws {
    let (a, b) = (try Store(inMemory: Self.schema), try Store(inMemory: Self.schema))
    try await a.write { db in try db.execute(sql: "INSERT INTO Shop(id, name) VALUES('Shop|~|a', 'Market')") }
    try await b.write { db in try db.execute(sql: "INSERT INTO Shop(id, name) VALUES('Shop|~|b', 'Market')") }
    var counts = ValueObservation.tracking { try ContestedValue.fetchCount($0) }.values(in: a).makeAsyncIterator()
    #expect(try await counts.next() == 0)
    try await a.sync(with: b)
    #expect(try await counts.next() == 1)
    try await a.write { db in try db.execute(sql: "DELETE FROM Shop WHERE id = (SELECT holder FROM tally_unique)") }
    #expect(try await counts.next() == 0)
  }

  @Test func historyAndStatusSayWhoHasTheValue() throws {
    let (a, b) = (try Store(inMemory: Self.schema), try Store(inMemory: Self.schema))
    try a.run("INSERT INTO Shop(id, name) VALUES('Shop|~|a', 'Market')")
    try b.run("INSERT INTO Shop(id, name) VALUES('Shop|~|b', 'Market')")
    try a.sync(with: b)
    let holder = try #require(try a.read { try ContestedValue.fetchOne($0) }?.holder)
    let other = try #require(try a.read { try ContestedValue.fetchOne($0) }?.name)
    let field = try a.history(of: AnyRecordName(other))?.fields.first { $0.field == "name" }
    #expect(field?.value == .text("Market") && field?.hiddenReason?.contains(holder) == true)
    #expect(try a.status().contested.map(\.name) == [other])
  }
}

/// Two stores, one of whose clocks is an hour behind the other.
private struct UniqueClock {
  let scratch: Scratch
  let behind: Store
  let ahead: Store

  init(_ path: CapturePath, _ schema: Schema) throws {
    scratch = try Scratch()
    var options = Lab.options(path)
    let now = options.now
    ahead = try scratch.store("ahead", schema: schema, options: options)
    options.now = { now().addingTimeInterval(-3600) }
    behind = try scratch.store("behind", schema: schema, options: options)
  }

  func sync() throws { try behind.sync(with: ahead) }
}
