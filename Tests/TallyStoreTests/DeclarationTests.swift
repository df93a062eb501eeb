import Foundation
import GRDB
import Tally
import Testing

/// What a record type declares in Swift, beside its schema.
@Suite struct DeclarationTests {
  /// Writes its identifier as a blob.
  struct Closed: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema("Closed", .text("name"))
    var id = RecordName<Closed>()
    var name: String?

    func encode(to container: inout PersistenceContainer) {
      container["id"] = id.uuid
      container["name"] = name
    }
  }

  struct Wider: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema("Wider", .text("name"))
    var id = RecordName<Wider>()
    var name = ""
    var stars = 0
  }

  struct Mistyped: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema("Mistyped", .integer("stars"))
    var id = RecordName<Mistyped>()
    var stars = "none"
  }

  struct Referring: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema("Referring", .reference("friend", to: "Referring"))
    var id = RecordName<Referring>()
    var friend: UUID
  }

  enum Level: String, Codable, CaseIterable { case low, high }

  enum Mood: String, Codable { case good, bad }

  struct Address: Codable { var street: String, numbers: [Int] }

  struct Rich: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema(
      "Rich", .text("level"), .json("address"), .date("since"), .uuid("token"), .real("weight"), .bool("done"),
      .blob("icon"), .integer("count"), .text("more"), .reference("friend", to: "Rich"))
    var id = RecordName<Rich>()
    var level = Level.low
    var address: Address
    var since: Date
    var token: UUID
    var weight: Double
    var done: Bool
    var icon: Data
    var count: Int
    var friend: RecordName<Rich>
  }

  /// Keeps its identifier as a UUID, and writes it as a text itself.
  struct Own: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema("Own", .text("name"))
    var uuid: UUID
    var name = ""
    var id: RecordName<Own> { RecordName(uuid: uuid) }

    func encode(to container: inout PersistenceContainer) {
      container["id"] = id
      container["name"] = name
    }
  }

  /// Cannot be made up from nothing.
  struct Unclear: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema("Unclear", .text("mood"))
    var id = RecordName<Unclear>()
    var mood: Mood
  }

  private func expectRefused(_ type: any Entity.Type, saying part: String) {
    let error = #expect(throws: StoreError.self) { try Schema(type).checkDeclarations() }
    #expect(error?.code == .invalidSchema && error?.message.contains(part) == true, "\(String(describing: error))")
  }

  @Test func whatFitsNoColumnIsNamed() {
    expectRefused(
      Closed.self, saying: "Closed.id is written as BLOB, and the column is TEXT; declare it as a RecordName")
    expectRefused(
      Wider.self,
      saying: "Wider.stars is no column: the schema of Wider has no such field or reference; declare it there")
    expectRefused(
      Mistyped.self, saying: "Mistyped.stars is written as TEXT, and the column is INTEGER; change the property's type")
    expectRefused(Referring.self, saying: "Referring.friend is written as BLOB")
  }

  /// SQL has no literal for some values, so no column can have them for a default.
  @Test(arguments: [
    EntitySchema("X", .real("a", default: -.infinity)), EntitySchema("X", .text("a", default: "a\0b")),
  ]) func aDefaultWithoutALiteralIsRefused(_ entity: EntitySchema) {
    let error = #expect(throws: StoreError.self) { try Store(inMemory: Schema([entity])) }
    #expect(error?.code == .invalidSchema && error?.message.contains("X.a has no literal in SQL") == true)
  }

  /// SQLite reads some names as the number of a row, where no column hides it.
  @Test(arguments: ["oid", "RowID"]) func aColumnThatWouldHideANumberIsRefusedWithTheReason(_ name: String) {
    for entity in [EntitySchema("X", .text(name)), EntitySchema("X", .reference(name, to: "X"))] {
      let error = #expect(throws: StoreError.self) { try Schema([entity]).validate() }
      #expect(
        error?.message == "X cannot have a column '\(name)', which is SQLite's name of a row's number; "
          + "give the field another name")
    }
  }

  @Test func whatFitsIsTaken() throws { try Schema(Rich.self, Own.self).checkDeclarations() }

  @Test func whatCannotBeMadeUpIsNotCompared() throws { try Schema(Unclear.self).checkDeclarations() }

  @Test func aStoreLooksWhenItOpens() throws {
    #if DEBUG
      #expect(throws: StoreError.self) { try Store(inMemory: Schema(Wider.self)) }
    #endif
    // What the schema is made of is no part of it.
    #expect(Schema(Wider.self) == Schema([Wider.schema]))
    #expect(try Schema(json: Schema(Wider.self).json()) == Schema(Wider.self))
    _ = try Store(inMemory: Schema([Wider.schema]))
  }
}
