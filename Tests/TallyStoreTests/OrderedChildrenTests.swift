import Foundation
import GRDB
import Tally
import TallyCRDT
import TallySchema
import TallyStore
import TallySync
import Testing

/// Records in an order that people give them: a column of positions.
@Suite struct OrderedChildrenTests {
  struct Aisle: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema("OCAisle", .text("name"))
    var id = RecordName<Aisle>()
    var name: String?
  }

  struct Item: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema(
      "OCItem", .text("name"), .reference("aisle", to: "OCAisle", onDelete: .cascade),
      .position("rank", within: "aisle"))
    static let inAisle = OrderedChildren<Item, Aisle>("rank")
    var id = RecordName<Item>()
    var name: String?
    var aisle: RecordName<Aisle>?
    var rank: ListPosition?
  }

  private let schema = Schema(Aisle.self, Item.self)
  private let scratch: Scratch
  private let store: Store
  private let dairy: RecordName<Aisle>

  init() throws {
    scratch = try Scratch()
    store = try scratch.store(schema: schema)
    dairy = try RecordName(key: "dairy")
    try store.write { [dairy] db in try Aisle(id: dairy, name: "Dairy").insert(db) }
  }

  private func id(_ key: String) throws -> RecordName<Item> { try RecordName(key: key) }

  private func add(_ keys: String..., at place: ListPlace<RecordName<Item>> = .last, to store: Store? = nil) throws {
    try (store ?? self.store).write { db in
      var place = place
      for key in keys {
        let rank = try Item.inAisle.position(db, at: place, of: dairy)
        let item = Item(id: try id(key), name: key, aisle: dairy, rank: rank)
        try item.insert(db)
        place = .after(item.id)
      }
    }
  }

  private func order(_ store: Store? = nil, of aisle: RecordName<Aisle>? = nil) throws -> [String] {
    try (store ?? self.store).read { db in
      try Item.inAisle.ordered(db, of: aisle ?? dairy).map { $0.name.key.description }
    }
  }

  private func move(_ key: String, _ place: ListPlace<RecordName<Item>>, in store: Store? = nil) throws {
    try (store ?? self.store).write { db in try Item.inAisle.move(db, try id(key), to: place, of: dairy) }
  }

  // MARK: One device

  @Test func elementsStandWhereTheyArePut() throws {
    try add("a", "b", "c")
    try add("d", at: .first)
    try add("e", at: .before(try id("b")))
    try add("f", at: .after(try id("b")))
    try add("g", at: .index(1))
    try add("h", at: .index(99))
    #expect(try order() == ["d", "g", "a", "e", "b", "f", "c", "h"])
    try move("h", .first)
    try move("d", .last)
    try move("a", .after(try id("c")))
    try move("g", .index(2))
    #expect(try order() == ["h", "e", "g", "b", "f", "c", "a", "d"])
    try expectConverged(store)
  }

  @Test func anOrderThatIsSetMovesAsFewAsItTakes() throws {
    try add("a", "b", "c", "d", "e")
    let before = try ranks()
    try store.write { db in
      try Item.inAisle.setOrder(db, ["a", "e", "b", "gone", "c", "d"].map(id), of: dairy)
    }
    #expect(try order() == ["a", "e", "b", "c", "d"])
    #expect(try ranks().filter { before[$0.key] != $0.value }.keys.sorted() == ["e"])
    // One that is not given stays where it is.
    try store.write { db in try Item.inAisle.setOrder(db, ["d", "a"].map(id), of: dairy) }
    #expect(Set(try order()) == ["a", "b", "c", "d", "e"])
    let now = try order()
    #expect(now.filter { ["a", "d"].contains($0) } == ["d", "a"])
    let summary = try store.summary()
    try store.write { db in try Item.inAisle.setOrder(db, try Item.inAisle.ordered(db, of: dairy), of: dairy) }
    #expect(try store.summary() == summary)
  }

  private func ranks() throws -> [String: ListPosition] {
    try store.read { db in
      Dictionary(uniqueKeysWithValues: try Item.fetchAll(db).map { ($0.name ?? "", try #require($0.rank)) })
    }
  }

  @Test func elementsWithoutAPositionStandFirstAndStayInTheirOrder() throws {
    try store.write { db in
      for key in ["y", "x", "z"] { try Item(id: try id(key), name: key, aisle: dairy).insert(db) }
    }
    #expect(try order() == ["x", "y", "z"])
    try add("a", at: .before(try id("y")))
    #expect(try order() == ["x", "a", "y", "z"])
    try store.write { db in try db.execute(sql: "UPDATE OCItem SET rank = NULL WHERE name = 'z'") }
    try move("y", .last)
    #expect(try order() == ["z", "x", "a", "y"])
  }

  @Test func anElementThatMovesToAnotherListLeavesTheFirst() throws {
    let fruit = try RecordName<Aisle>(key: "fruit")
    try store.write { db in try Aisle(id: fruit, name: "Fruit").insert(db) }
    try add("a", "b")
    try store.write { db in
      try Item.inAisle.move(db, try id("a"), to: .last, of: fruit)
      try Item.inAisle.move(db, try id("b"), to: .first, of: fruit)
    }
    #expect(try order() == [])
    #expect(try order(of: fruit) == ["b", "a"])
  }

  @Test func aPlaceBesideWhatIsNotInTheListIsRefused() throws {
    try add("a")
    for place in [ListPlace.before(try id("none")), .after(try id("none"))] {
      let error = #expect(throws: StoreError.self) { try add("b", at: place) }
      #expect(error?.code == .noSuchRecord)
    }
    let error = #expect(throws: StoreError.self) { try move("none", .last) }
    #expect(error?.code == .noSuchRecord)
    #expect(try order() == ["a"])
  }

  @Test func whereThereIsNoRoomAnOrderGivesAllNewPositions() throws {
    try add("a", "b")
    let deep = Data(repeating: 1, count: 512)
    try store.write { db in
      try db.execute(sql: "UPDATE OCItem SET rank = ? WHERE name = 'a'", arguments: [deep])
      try db.execute(sql: "UPDATE OCItem SET rank = ? WHERE name = 'b'", arguments: [deep.dropLast() + [2]])
    }
    let error = #expect(throws: StoreError.self) { try add("c", at: .index(1)) }
    #expect(error?.code == .positionTooDeep)
    #expect(try order() == ["a", "b"])
    try store.write { db in
      try Item(id: try id("c"), name: "c", aisle: dairy).insert(db)
      try Item.inAisle.setOrder(db, ["a", "c", "b"].map(id), of: dairy)
    }
    #expect(try order() == ["a", "c", "b"])
    #expect(try ranks().values.allSatisfy { $0.bytes.count == 7 })
  }

  // MARK: SQL

  @Test func functionsMakePositionsInSQL() throws {
    try add("a", "b")
    try store.write { db in
      try db.execute(
        sql: """
          INSERT INTO OCItem(id, name, aisle, rank) VALUES('OCItem|~|z', 'z', ?1, tally_last(?1)),
            ('OCItem|~|y', 'y', ?1, tally_first(?1, 'OCItem.rank'));
          """, arguments: [dairy])
      try db.execute(
        sql: """
          UPDATE OCItem SET rank = tally_between(
            (SELECT rank FROM OCItem WHERE name = 'a'), (SELECT rank FROM OCItem WHERE name = 'b')) WHERE name = 'z'
          """)
    }
    #expect(try order() == ["y", "a", "z", "b"])
    try expectConverged(store)
  }

  @Test(arguments: [
    "tally_between(x'02', x'01')", "tally_between(x'01', x'01')", "tally_between('a', NULL)", "tally_between(7, NULL)",
    "tally_between(zeroblob(513), NULL)", "tally_last('dairy')", "tally_last('OCItem|~|a')",
    "tally_first('OCAisle|~|dairy', 'OCItem.name')", "tally_last(NULL)", "tally_last()",
    "tally_between(NULL)", "tally_between(NULL, NULL, NULL, NULL)",
  ])
  func aFunctionThatIsGivenSomethingElseFailsItsStatement(_ call: String) throws {
    #expect(throws: DatabaseError.self) { try store.read { db in _ = try Row.fetchOne(db, sql: "SELECT \(call)") } }
  }

  @Test func functionsFollowASchemaThatHasGrown() throws {
    let old = Schema([EntitySchema("OCAisle", .text("name"))])
    let file = try scratch.store("grown.tally", schema: old)
    try file.write { db in try Aisle(id: dairy).insert(db) }
    #expect(throws: DatabaseError.self) {
      try file.read { db in _ = try Row.fetchOne(db, sql: "SELECT tally_last(?)", arguments: [dairy]) }
    }
    let newer = try scratch.store("grown.tally", schema: schema)
    try newer.write { db in try Item(id: try id("a"), aisle: dairy).insert(db) }
    for store in [file, newer] {
      #expect(try store.read { try Data.fetchOne($0, sql: "SELECT tally_last(?)", arguments: [dairy]) }?.count == 7)
    }
  }

  @Test(arguments: ["x''", "zeroblob(513)"])
  func whatIsNoPositionIsRefusedAndNothingChanges(_ value: String) throws {
    try add("a")
    let summary = try store.summary()
    let error = #expect(throws: StoreError.self) {
      try store.write { db in try db.execute(sql: "UPDATE OCItem SET rank = \(value)") }
    }
    #expect(error?.code == .typeMismatch)
    #expect(error?.message == "OCItem|~|a.rank is not a position")
    #expect(try store.summary() == summary)
  }

  // MARK: Several devices

  private func other(_ name: String = "b.tally") throws -> Store { try scratch.store(name, schema: schema) }

  private func sync(_ stores: Store...) throws {
    for _ in 0..<2 {
      for other in stores.dropFirst() { try stores[0].sync(with: other) }
    }
    try expectConverged(stores[0], stores[1])
  }

  @Test func whatTwoDevicesInsertAtOnePlaceStaysTogether() throws {
    let other = try other()
    try add("a", "z")
    try sync(store, other)
    try add("b1", "b2", "b3", at: .after(try id("a")))
    try add("c3", at: .before(try id("z")), to: other)
    try add("c2", at: .before(try id("c3")), to: other)
    try add("c1", at: .before(try id("c2")), to: other)
    try sync(store, other)
    let order = try order()
    #expect(try self.order(other) == order)
    #expect(
      [["a", "b1", "b2", "b3", "c1", "c2", "c3", "z"], ["a", "c1", "c2", "c3", "b1", "b2", "b3", "z"]].contains(order))
  }

  @Test func anElementThatTwoDevicesMoveIsThereOnce() throws {
    let other = try other()
    try add("a", "b", "c", "d")
    try sync(store, other)
    try move("a", .last)
    try move("a", .after(try id("b")), in: other)
    try sync(store, other)
    let order = try order()
    #expect(try self.order(other) == order)
    #expect([["b", "c", "d", "a"], ["b", "a", "c", "d"]].contains(order))
    #expect(try (store.conflicts() + other.conflicts()).contains { $0.field == "rank" })
  }

  @Test func aMoveIsAnEditAndKeepsWhatAnotherDeviceDeletes() throws {
    let other = try other()
    try add("a", "b")
    try sync(store, other)
    try store.write { db in _ = try Item.deleteOne(db, id: try id("a")) }
    try move("a", .last, in: other)
    try sync(store, other)
    #expect(try order() == ["b", "a"])
  }

  /// A copy begins runs of its own: what was remembered of runs is in memory.
  @Test func aCopyMakesNoPositionThatItsOriginalMakes() throws {
    try add("a", "b")
    try store.close()
    try FileManager.default.copyItem(atPath: scratch.path("a.tally"), toPath: scratch.path("copy.tally"))
    let (first, second) = (try self.other("a.tally"), try self.other("copy.tally"))
    try add("c1", "c2", to: first)
    try add("d1", "d2", to: second)
    try sync(first, second)
    let order = try order(first)
    #expect([["a", "b", "c1", "c2", "d1", "d2"], ["a", "b", "d1", "d2", "c1", "c2"]].contains(order))
    #expect(Set(try first.read { try ListPosition.fetchAll($0, sql: "SELECT rank FROM OCItem") }).count == 6)
  }

  // MARK: Declaring

  @Test func aPositionNamesAReferenceOfItsEntityAndHasNoDefault() throws {
    let list = ReferenceSchema("list", to: "A")
    let wrong = [
      EntitySchema(type: "A", fields: [FieldSchema("rank", .position)], references: [list]),
      EntitySchema(type: "A", fields: [FieldSchema("rank", .position, within: "none")], references: [list]),
      EntitySchema(type: "A", fields: [FieldSchema("rank", .position, within: "rank")]),
      EntitySchema(type: "A", fields: [FieldSchema("rank", .blob, within: "list")], references: [list]),
      EntitySchema(
        type: "A", fields: [FieldSchema("rank", .position, default: .blob([1]), within: "list")], references: [list]),
    ]
    for entity in wrong {
      let error = #expect(throws: StoreError.self) { try Schema([entity]).validate() }
      #expect(error?.code == .invalidSchema)
    }
  }

  @Test func aPositionIsInTheSchemaAsJSON() throws {
    let json = String(decoding: try schema.json(), as: UTF8.self)
    #expect(json.contains(#""rank":{"kind":"position","within":"aisle"}"#))
    #expect(
      try Schema(json: Data(json.utf8)).entities
        == schema.entities.map { entity in
          var entity = entity
          entity.fields.sort { $0.name < $1.name }
          return entity
        })
    let file = try Store(existing: scratch.path("a.tally"))
    #expect(try file.schema["OCItem"]?.fields.first { $0.name == "rank" }?.within == "aisle")
  }

  @Test func aRecordWithAPositionIsCodable() throws {
    try add("a")
    let item = try store.read { db in try #require(try Item.fetchOne(db)) }
    let copy = try JSONDecoder().decode(Item.self, from: JSONEncoder().encode(item))
    #expect(copy.rank == item.rank)
    #expect(throws: DecodingError.self) { try JSONDecoder().decode([ListPosition].self, from: Data("[\"\"]".utf8)) }
  }
}
