import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyRig
import TallyStore
import Testing

/// Fields that list their values, on devices of two versions of an app, of which the newer one lists more.
@Suite struct ListedValuesTests {
  private enum State: String, Codable { case open, done }
  private enum Level: Int, Codable {
    case low = 1
    case high = 2
  }

  private struct Errand: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema(
      "Errand", .text("title", default: ""), .text("state", default: "open", oneOf: ["open", "done"], unknown: "done"),
      .integer("level", oneOf: [1, 2]))
    var id = RecordName<Errand>()
    var title = ""
    var state = State.open
    var level: Level?
  }

  private static let old = Schema(Errand.self)
  private static let new = Schema([
    EntitySchema(
      "Errand", .text("title", default: ""), .text("state", default: "open", oneOf: ["open", "done", "archived"]),
      .integer("level", oneOf: [1, 2, 3]))
  ])
  private let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func run(_ store: Store, _ sql: String) throws { try store.write { try $0.execute(sql: sql) } }

  private func row(_ store: Store, _ columns: String) throws -> Row? {
    try store.read { try Row.fetchOne($0, sql: "SELECT \(columns) FROM Errand ORDER BY id") }
  }

  private func code(_ body: () throws -> Void) -> StoreError.Code? {
    do {
      try body()
      return nil
    } catch { return (error as? StoreError)?.code }
  }

  /// A store of each version, which have an errand with values that only the newer one lists.
  private func pair() throws -> (older: Store, newer: Store) {
    let (older, newer) = (try scratch.store("older", schema: Self.old), try scratch.store("newer", schema: Self.new))
    try run(newer, "INSERT INTO Errand(id, title, state, level) VALUES('Errand|~|a', 't', 'archived', 3)")
    #expect(try older.sync(with: newer).isConverged)
    return (older, newer)
  }

  // MARK: Values of newer versions

  @Test func theColumnShowsWhatANewerVersionWrites() throws {
    let (older, newer) = try pair()
    #expect(try row(older, "state, level") == ["state": "archived", "level": 3])
    try run(older, "UPDATE Errand SET title = 'u'")
    #expect(try older.sync(with: newer).isConverged)
    #expect(try row(newer, "title, state, level") == ["title": "u", "state": "archived", "level": 3])
    try run(newer, "UPDATE Errand SET state = 'open', level = NULL")
    try run(newer, "UPDATE Errand SET state = 'archived', level = 3")
    #expect(try older.sync(with: newer).isConverged)
    #expect(try row(older, "state, level") == ["state": "archived", "level": 3])
    try expectConverged(older, newer)
  }

  @Test func oneUnknownValueDoesNotMakeAFetchFail() throws {
    let (older, newer) = try pair()
    try older.write { try Errand(id: RecordName(key: "b"), title: "mine", state: .done, level: .low).insert($0) }
    var errands = try older.read { try Errand.order(Column("id")).fetchAll($0) }
    #expect(errands.map(\.title) == ["t", "mine"])
    #expect(errands.map(\.state) == [.done, .done])
    #expect(errands.map(\.level) == [nil, .low])
    // What the app does not change stays as it is.
    try older.write { try errands[0].updateChanges($0) { $0.title = "u" } }
    #expect(try older.sync(with: newer).isConverged)
    #expect(try row(newer, "title, state, level") == ["title": "u", "state": "archived", "level": 3])
    try older.write { try errands[0].updateChanges($0) { $0.state = .open } }
    #expect(try row(older, "state, level") == ["state": "open", "level": 3])
    // A value of another kind is no unknown one, and says why it cannot be read.
    #expect(throws: (any Error).self) { try older.read { try Errand.fetchOne($0, sql: "SELECT 'x' AS id") } }
    try expectConverged(older)
  }

  @Test func whatARecordHasMayBeWrittenAgain() throws {
    let (older, newer) = try pair()
    let statements = [
      "UPDATE Errand SET title = 'v', state = 'archived', level = 3",
      "REPLACE INTO Errand(id, title, state, level) VALUES('Errand|~|a', 'w', 'archived', 3)", "DELETE FROM Errand",
      "INSERT INTO Errand(id, title, state, level) VALUES('Errand|~|a', 'x', 'archived', 3)",
    ]
    for statement in statements { try run(older, statement) }
    #expect(try older.sync(with: newer).isConverged)
    #expect(try row(newer, "title, state, level") == ["title": "x", "state": "archived", "level": 3])
    try expectConverged(older, newer)
  }

  @Test func whatARecordHasMayBePut() throws {
    let (older, newer) = try pair()
    let name = try AnyRecordName("Errand|~|a")
    let fields: [String: Value] = ["title": .text("v"), "state": .text("archived"), "level": .integer(3)]
    try older.write { try Self.old.put($0, name, fields) }
    #expect(try older.sync(with: newer).isConverged)
    #expect(try row(newer, "title, state, level") == ["title": "v", "state": "archived", "level": 3])
  }

  private struct Note: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema(
      "Errand", .text("title", default: "", oneOf: ["", "t"], unknown: "t"),
      .text("state", default: "open", oneOf: ["open", "done"], unknown: "done"))
    var id = RecordName<Note>()
    var title = ""
    var state = State.open
  }

  /// Of several values that a version does not list, a struct shows those that it can.
  @Test func aStringShowsItsValueBesideAnEnumThatCannot() throws {
    let newer = try scratch.store("newer", schema: Self.new)
    let older = try scratch.store("older", schema: Schema(Note.self))
    try run(newer, "INSERT INTO Errand(id, title, state) VALUES('Errand|~|a', 'u', 'archived')")
    #expect(try older.sync(with: newer).isConverged)
    let note = try #require(try older.read { try Note.fetchOne($0) })
    #expect(note.title == "u" && note.state == .done)
  }

  // MARK: Values of this version

  @Test func aWriteOfAnotherValueFails() throws {
    let (older, _) = try pair()
    let before = try older.summary()
    let statements = [
      "INSERT INTO Errand(id, state) VALUES('Errand|~|b', 'archived')",
      "INSERT INTO Errand(id, level) VALUES('Errand|~|b', 1), ('Errand|~|c', 3)", "UPDATE Errand SET state = 'dnoe'",
      "UPDATE Errand SET title = 'u', level = 0", "UPDATE Errand SET id = 'Errand|~|b'",
      "REPLACE INTO Errand(id, state) VALUES('Errand|~|a', 'dnoe')",
    ]
    for statement in statements {
      #expect(code { try run(older, statement) } == .typeMismatch, "\(statement)")
    }
    let name = try AnyRecordName("Errand|~|a")
    #expect(code { try older.write { try Self.old.put($0, name, ["state": .text("dnoe")]) } } == .typeMismatch)
    let seed = SeedSet("s", version: 1, records: [SeedRecord("one", type: "Errand", ["state": "dnoe"])])
    #expect(code { _ = try older.seed(seed) } != nil)
    #expect(try older.summary() == before)
    #expect(try row(older, "title, state, level") == ["title": "t", "state": "archived", "level": 3])
    for statement in ["UPDATE Errand SET state = 'done', level = 2", "UPDATE Errand SET state = 'open', level = NULL"] {
      try run(older, statement)
    }
    try expectConverged(older)
  }

  /// Nobody is there to be told, and the value is one of the field's kind.
  @Test func whatAnotherProgramWritesIsReplicated() throws {
    let (older, newer) = try pair()
    try DatabaseQueue(path: scratch.path("older")).write { try $0.execute(sql: "UPDATE Errand SET state = 'waiting'") }
    #expect(try older.sync(with: newer).isConverged)
    #expect(try row(newer, "state") == ["state": "waiting"])
    #expect(try older.read { try Errand.fetchOne($0)?.state } == .done)
    try expectConverged(older, newer)
  }

  // MARK: The list

  @Test func theListMayChange() throws {
    let store = try scratch.store("a", schema: Self.new)
    try run(store, "INSERT INTO Errand(id, state) VALUES('Errand|~|a', 'archived')")
    let before = try store.summary()
    try store.close()
    for list in [["open", "later"], nil, ["open"]] {
      let schema = Schema([EntitySchema("Errand", .text("state", default: "open", oneOf: list))])
      let store = try scratch.store("a", schema: schema)
      #expect(try store.summary() == before)
      #expect(try store.schema["Errand"]?.fields.first { $0.name == "state" }?.oneOf == list?.map(Value.text))
      #expect(try row(store, "state") == ["state": "archived"])
      try expectConverged(store)
      try store.close()
    }
  }

  @Test func theSchemaFileHasTheList() throws {
    let json = try Self.old.json()
    let read = try Schema(json: json)
    #expect(try read.json() == json)
    #expect(Set(read["Errand"]?.fields ?? []) == Set(Errand.schema.fields))
    let text = String(decoding: json, as: UTF8.self)
    #expect(text.contains(#""state":{"default":"open","kind":"text","oneOf":["open","done"],"unknown":"done"}"#))
  }

  @Test func listsThatDoNotFitAreRefused() {
    func isRefused(_ property: EntitySchema.Property) -> Bool {
      code { _ = try Store(inMemory: Schema([EntitySchema("Item", property)])) } == .invalidSchema
    }
    #expect(!isRefused(.text("a", oneOf: ["x"])))
    #expect(!isRefused(.integer("a", default: 2, oneOf: [1, 2], unknown: 1)))
    #expect(isRefused(.text("a", oneOf: [])))
    #expect(isRefused(.text("a", oneOf: ["x", "x"])))
    #expect(isRefused(.text("a", default: "y", oneOf: ["x"])))
    #expect(isRefused(.text("a", oneOf: ["x"], unknown: "y")))
    #expect(isRefused(.text("a", unknown: "x")))
    #expect(isRefused(.integer("a", oneOf: (0...256).map { $0 })))
    #expect(isRefused(.integer("a", oneOf: [1], keep: .greatest)))
    #expect(isRefused(.field(FieldSchema("a", .text, oneOf: [.integer(1)]))))
    #expect(isRefused(.field(FieldSchema("a", .real, oneOf: [.real(1)]))))
  }

  /// An older value that the list lacks shows as it is.
  @Test func aFieldThatTakesThePlaceOfAnotherMayListItsValues() throws {
    let old = Schema([EntitySchema("Item", .text("code"))])
    let new = Schema([
      EntitySchema("Item", .integer("number", oneOf: [1, 2], from: .lens("code", .text, .digits)))
    ])
    let (older, newer) = (try scratch.store("older", schema: old), try scratch.store("newer", schema: new))
    try run(older, "INSERT INTO Item(id, code) VALUES('Item|~|a', '7')")
    #expect(try older.sync(with: newer).isConverged)
    #expect(try newer.read { try Int.fetchOne($0, sql: "SELECT number FROM Item") } == 7)
    #expect(code { try run(newer, "UPDATE Item SET number = 8") } == .typeMismatch)
    try run(newer, "UPDATE Item SET number = 2")
    #expect(try older.sync(with: newer).isConverged)
    #expect(try older.read { try String.fetchOne($0, sql: "SELECT code FROM Item") } == "2")
    try expectConverged(older, newer)
  }
}
