import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyStore
import Testing

/// What a schema may say of fields that take the place of others.
@Suite struct LensSchemaTests {
  private func code(_ properties: EntitySchema.Property..., unique: [UniqueRule] = []) -> StoreError.Code? {
    var entity = EntitySchema("Item", unique: unique)
    for property in properties {
      switch property {
      case .field(let field): entity.fields.append(field)
      case .reference(let reference): entity.references.append(reference)
      case .relationship(let relationship): entity.relationships.append(relationship)
      }
    }
    do {
      _ = try Store(inMemory: Schema([entity]))
      return nil
    } catch { return (error as? StoreError)?.code }
  }

  @Test func lensesThatDoNotFitAreRefused() {
    #expect(code(.integer("b", from: .lens("a", .real, .scale(100)))) == nil)
    for factor in [0, -1, .infinity, .nan] {
      #expect(code(.integer("b", from: .lens("a", .real, .scale(factor)))) == .invalidSchema)
    }
    #expect(code(.text("b", from: .lens("a", .real, .scale(2)))) == .invalidSchema)
    #expect(code(.text("b", from: .lens("a", .text, .digits))) == .invalidSchema)
    #expect(code(.text("b", from: .lens("a", .bool, .map([:])))) == .invalidSchema)
    #expect(code(.text("b", from: .lens("a", .bool, .map([true: 1])))) == .invalidSchema)
    #expect(code(.text("b", from: .lens("a", .bool, .map([true: "x", 7: "y"])))) == .invalidSchema)
    #expect(code(.text("b", from: .lens("a", .date, .map(["2026-01-01": "x"])))) == .invalidSchema)
    #expect(code(.integer("b", keep: .greatest, from: .lens("a", .real, .scale(100)))) == .invalidSchema)
    #expect(code(.real("a", keep: .least), .integer("b", from: .lens("a", .real, .scale(9)))) == .invalidSchema)
    #expect(code(.text("a"), .integer("b", from: .lens("a", .real, .scale(9)))) == .invalidSchema)
    #expect(code(.integer("b", from: .lens("b", .integer, .scale(9)))) == .invalidSchema)
  }

  @Test func circlesForksReferencesAndUniqueFieldsAreRefused() {
    #expect(
      code(
        .integer("a", from: .lens("b", .integer, .scale(2))), .integer("b", from: .lens("a", .integer, .scale(2))))
        == .invalidSchema)
    #expect(
      code(
        .integer("b", from: .lens("a", .integer, .scale(2))), .integer("c", from: .lens("a", .integer, .scale(3))))
        == .invalidSchema)
    #expect(code(.reference("a", to: "Item"), .integer("b", from: .lens("a", .text, .digits))) == .invalidSchema)
    #expect(code(.integer("b", from: .lens("a", .text, .digits)), unique: [.on("b")]) == .invalidSchema)
    #expect(code(.text("a"), .integer("b", from: .lens("a", .text, .digits)), unique: [.on("a")]) == .invalidSchema)
  }

  @Test func defaultsAreEachOthersCounterparts() {
    #expect(code(.integer("b", default: 500, from: .lens("a", .real, default: 5, .scale(100)))) == nil)
    #expect(code(.integer("b", default: 1, from: .lens("a", .real, default: 5, .scale(100)))) == .invalidSchema)
    #expect(code(.integer("b", default: 0, from: .lens("a", .real, .scale(100)))) == .invalidSchema)
    #expect(code(.integer("b", from: .lens("a", .real, default: 0, .scale(100)))) == .invalidSchema)
    #expect(
      code(.text("b", default: "no", from: .lens("a", .bool, default: true, .map([false: "no", true: "no"]))))
        == .invalidSchema)
  }

  @Test func aRenamedFieldIsNamedWithItsFirstName() throws {
    let scratch = try Scratch()
    try scratch.store("a", schema: Schema([EntitySchema("Item", .real("price"))])).close()
    try scratch.store("a", schema: Schema([EntitySchema("Item", .real("cost", renamedFrom: "price"))])).close()
    do {
      _ = try scratch.store(
        "a", schema: Schema([EntitySchema("Item", .integer("cents", from: .lens("cost", .real, .scale(100))))]))
      Issue.record("a second column was made")
    } catch let error as StoreError {
      #expect("\(error)".contains("first declared as 'price'"))
    }
  }

  @Test func whatAFieldComesFromIsDecidedOnce() throws {
    let scratch = try Scratch()
    func open(_ properties: EntitySchema.Property) throws {
      try scratch.store("a", schema: Schema([EntitySchema("Item", properties)])).close()
    }
    try open(.integer("plain"))
    #expect(throws: StoreError.self) { try open(.integer("plain", from: .lens("a", .real, .scale(100)))) }
    try open(.integer("b", from: .lens("a", .real, .scale(100))))
    for other in [FieldSource.lens("a", .real, .scale(10)), .lens("a", .real, .scale(100), keepsOldApps: false)] {
      #expect(throws: StoreError.self) { try open(.integer("b", from: other)) }
    }
    try open(.integer("b"))
    try open(.integer("b", from: .lens("a", .real, .scale(100))))
  }

  @Test func theSchemaFileSaysItAll() throws {
    let schema = Schema([
      EntitySchema(
        "Item", .integer("cents", from: .lens("price", .real, .scale(100))),
        .integer("number", from: .lens("shelf", .text, .digits, keepsOldApps: false)),
        .real(
          "weight", default: 0.5,
          from: .lens("size", .text, default: "small", .map(["small": 0.5, "large": 2, "huge": 2]))))
    ])
    let json = try schema.json()
    let read = try Schema(json: json)
    #expect(try read.json() == json)
    #expect(Set(read["Item"]?.fields ?? []) == Set(schema["Item"]?.fields ?? []))
    for wrong in [
      #"{"field":"a","kind":"real","lens":"letters"}"#, #"{"field":"a","kind":"real","lens":{}}"#,
      #"{"field":"a","kind":"real","lens":{"scale":2,"map":[]}}"#, #"{"field":"a","kind":"real","lens":{"map":[[1]]}}"#,
      #"{"field":"a","kind":"number","lens":{"scale":2}}"#, #"{"kind":"real","lens":{"scale":2}}"#,
    ] {
      let text = #"{"entities":[{"type":"Item","fields":{"b":{"kind":"integer","from":\#(wrong)}}}]}"#
      #expect(throws: StoreError.self) { try Schema(json: Data(text.utf8)) }
    }
  }

  @Test func numbersAreExactWhereTheyCanBe() throws {
    let store = try Store(
      inMemory: Schema([
        EntitySchema(
          "Item", .integer("cents", from: .lens("euros", .integer, .scale(100))),
          .integer("thirds", from: .lens("whole", .real, .scale(3))))
      ]))
    try store.write { try $0.execute(sql: "INSERT INTO Item(id, euros) VALUES('Item|~|a', 92233720368547758)") }
    #expect(try store.read { try Int64.fetchOne($0, sql: "SELECT cents FROM Item") } == 9_223_372_036_854_775_800)
    // More than 64 bits can hold has no counterpart.
    try store.write { try $0.execute(sql: "UPDATE Item SET euros = 92233720368547759") }
    #expect(try store.read { try Int64.fetchOne($0, sql: "SELECT cents FROM Item") } == nil)
    try store.write { try $0.execute(sql: "UPDATE Item SET cents = 150, thirds = 1") }
    let row = try store.read { try Row.fetchOne($0, sql: "SELECT euros, whole FROM Item") }
    #expect(row == ["euros": 2, "whole": 1.0 / 3])
    try expectConverged(store)
  }
}
