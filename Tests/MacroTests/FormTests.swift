#if Macros
  import Foundation
  import Tally
  import TallyStore
  import TallyMacros
  import Testing

  /// Seen in this file only.
  @Entity private struct Hidden {
    var id = RecordName<Hidden>()
    var word = "secret"
  }

  /// Forms of declarations that the macro takes.
  @Suite struct FormTests {
    enum Level: String { case easy, hard }

    /// Its type stands beside it: code outside of the suite would not see it.
    @Entity struct Nested {
      var id = RecordName<Nested>()
      var level: Level = .easy
      var parent: RecordName<Self>?
      var name: String = Self.usual
      static let usual = "Usual"
    }

    /// Seen by the whole package, with constants, several properties in a line, observers, backticks and other people's
    /// attributes.
    @Entity("Every") package struct Every: Hashable, Codable {
      package let id: RecordName<Every>
      package let note: String?
      package var width = 1, height = 2
      package var `default` = "d", `class`: String?
      var left, right: Double?
      var watched = 0 {
        didSet { watches += 1 }
      }
      private var watches = 0
      @Field(onDelete: .deny) package var of: Every.ID?
      @available(*, deprecated) var area: Int { width * height }
    }

    /// An initializer of its own, which is then the only one.
    @Entity struct Own {
      var id = RecordName<Own>()
      var name = ""
      init(shouting name: String) { self.name = name.uppercased() }
    }

    /// A type of the app's own with a column of its own.
    struct Colour: FieldValue, Equatable {
      static var fieldKind: FieldKind { .integer }
      var rgb: Int
      var databaseValue: DatabaseValue { rgb.databaseValue }
      static func fromDatabaseValue(_ value: DatabaseValue) -> Colour? { Int.fromDatabaseValue(value).map(Colour.init) }
    }

    /// Flags with a raw value; an optional by another name; a default that is computed.
    struct Flags: OptionSet {
      static let a = Flags(rawValue: 1)
      static let b = Flags(rawValue: 2)
      var rawValue: Int
    }
    typealias Perhaps = Int?

    @Entity struct Painted {
      var id = RecordName<Painted>()
      var colour: Colour = Colour(rgb: 1)
      var other: Colour?
      var flags: Flags = [.a, .b]
      var perhaps: Perhaps = 3
      var number: Int? = 7
      var code: String = UUID().uuidString
      var ratio: Float = 0.5
      var small: UInt8 = 255
    }

    /// Names that the macro's own code uses too.
    @Entity struct Named: Equatable {
      var id = RecordName<Named>()
      var row = 1, container = 2, unread = 3, column = 4, property = 5, schema = 6, db = 7
    }

    @Test func aNestedEntity() throws {
      #expect(
        Nested.schema
          == EntitySchema(
            "Nested", .text("level", default: "easy"), .text("name", default: "Usual"),
            .reference("parent", to: "Nested")))
      #expect(Nested(level: .hard).name == "Usual")
    }

    @Test func everyFormOfAProperty() throws {
      #expect(
        Every.schema.fields.map(\.name) == [
          "note", "width", "height", "default", "class", "left", "right", "watched", "watches",
        ])
      #expect(Every.schema.references == [ReferenceSchema("of", to: "Every", onDelete: .deny)])
      let every = Every(id: RecordName(), note: "n", class: "c", left: 0.5)
      #expect(every.width == 1 && every.default == "d")
      let store = try Store(inMemory: Schema(Every.self))
      try store.write { try every.insert($0) }
      #expect(try store.read { try Every.find($0, id: every.id) } == every)
      #expect(try store.read { try Every.filter(Every.Columns.default == "d").fetchCount($0) } == 1)
    }

    @Test func aRecordThatIsCodableTooHasNoKeyForWhatItCouldNotRead() throws {
      let every = Every(id: try RecordName(key: "1"), left: 0.5)
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      let json = try encoder.encode(every)
      #expect(
        String(decoding: json, as: UTF8.self)
          == #"{"default":"d","height":2,"id":"Every|~|1","left":0.5,"watched":0,"watches":0,"width":1}"#)
      #expect(try JSONDecoder().decode(Every.self, from: json) == every)
    }

    @Test func aStructWithAnInitializerHasNoOther() throws {
      #expect(Own(shouting: "ann").name == "ANN")
      #expect(try Own(row: Row(["id": "Own|~|1", "name": "Ann"])).name == "Ann")
    }

    @Test func typesOfTheAppsOwn() throws {
      #expect(
        Painted.schema
          == EntitySchema(
            "Painted", .integer("colour"), .integer("other"), .integer("flags", default: 3), .integer("perhaps"),
            .integer("number"), .text("code"), .real("ratio", default: 0.5), .integer("small", default: 255)))
      let painted = Painted(other: Colour(rgb: 7))
      #expect(painted.number == 7 && painted.perhaps == 3)
      let store = try Store(inMemory: Schema(Painted.self))
      try store.write { try painted.insert($0) }
      let read = try #require(try store.read { try Painted.fetchOne($0) })
      #expect(read.colour == Colour(rgb: 1) && read.other == Colour(rgb: 7) && read.flags == [.a, .b])
      #expect(read.number == 7 && read.perhaps == 3 && read.code == painted.code)
    }

    @Test func namesThatTheMacroUsesToo() throws {
      let named = Named(row: 10, container: 20, unread: 30, column: 40, property: 50, schema: 60, db: 70)
      #expect(try Named(row: Row(try named.databaseDictionary)) == named)
    }

    @Test func anEntityOfOneFile() throws {
      #expect(try Hidden(row: Row(try Hidden(word: "open").databaseDictionary)).word == "open")
    }

    @Test func anEntityIsIdentifiableByItsName() {
      func name<E: Entity>(of entity: E) -> RecordName<E> { entity.id }
      let person = Person(name: "Ann")
      #expect(name(of: person) == person.id)
    }
  }
#endif
