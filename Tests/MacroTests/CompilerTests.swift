#if Macros && os(Linux)
  import Foundation
  import Testing

  /// What the macro cannot see, the compiler refuses in the macro's code, and says why; all else it takes.
  @Suite struct CompilerTests {
    private static let before = """
      import Foundation
      import Tally
      import TallyMacros

      struct Opaque: Sendable {}
      enum Level: String, CaseIterable { case easy }
      typealias PersonID = RecordName<Person>
      @Entity struct Person {
        var id = RecordName<Person>()
      }
      @Entity struct Author: Codable {
        var id = RecordName<Author>()
      }

      """

    private func errors(_ declaration: String) throws -> [String] {
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-macro-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let source = folder.appendingPathComponent("Game.swift")
      try Data((Self.before + declaration + "\n").utf8).write(to: source)
      return try Compiler().errors(of: source)
    }

    private func errors(inGameWith property: String) throws -> [String] {
      try errors("@Entity struct Game {\n  var id = RecordName<Game>()\n  \(property)\n}")
    }

    @Test(arguments: [
      "var owner: PersonID?", "var level: Level = .easy, other: Level?", "var bytes: [UInt8] = []",
      "@Field(onDelete: .deny, isIndexed: false) var owner: Person.ID?", "var names: [String: PersonID] = [:]",
      "@Field(from: .lens(\"old\", .bool, .map([true: \"easy\"]))) var level: Level?",
      "@Field(unknown: Level.easy) var level: Level = .easy", "@Field(unknown: Level.easy) var level: Level?",
    ])
    func whatFitsCompiles(_ property: String) throws { #expect(try errors(inGameWith: property) == []) }

    @Test(arguments: [
      (
        "var owner: PersonID = PersonID()",
        "'property' is unavailable: A reference must be optional: its record may be deleted, or may not have arrived yet"
      ),
      (
        "@Field(renamedFrom: \"person\") var owner: PersonID?",
        "'property' is unavailable: A reference cannot be renamed: remove 'renamedFrom'"
      ),
      (
        "var players: Set<PersonID> = []",
        "'property' is unavailable: Make it a relationship: @Members static var name: Relationship<Record, Target>"
      ),
      (
        "var players: [PersonID]?",
        "'property' is unavailable: Make it a relationship: @Members static var name: Relationship<Record, Target>"
      ),
      (
        "var owner: Person?",
        "'property' is unavailable: A record refers to another by its name: make it RecordName<Target>?"
      ),
      (
        "@Field(onDelete: .cascade) var owner: Author?",
        "'property' is unavailable: A record refers to another by its name: make it RecordName<Target>?"
      ),
      (
        "@Field(onDelete: .cascade) var level: Level = .easy",
        "'property' is unavailable: Only a reference has 'onDelete' and 'isIndexed': remove them"
      ),
      (
        "@Field(isIndexed: false) var level: Level?",
        "'property' is unavailable: Only a reference has 'onDelete' and 'isIndexed': remove them"
      ),
      (
        "var size: UInt64 = 0",
        "'property' is unavailable: SQLite's integers are signed: use Int64, or Data for more bits"
      ),
      ("var size: UInt?", "'property' is unavailable: SQLite's integers are signed: use Int64, or Data for more bits"),
      (
        "var place: ListPosition?",
        "'property' is unavailable: A position is within the list of a record: name the reference, as in "
          + "@Field(within: \"list\")"
      ),
      (
        "@Field(within: \"owner\") var level: Level?",
        "'property' is unavailable: Only a position is 'within' a list: make it ListPosition?"
      ),
      (
        "@Field(from: .lens(\"old\", .text, .digits)) var owner: PersonID?",
        "'property' is unavailable: Only a plain text, number or Bool takes the place of another field: remove 'from'"
      ),
      (
        "@Field(from: .lens(\"old\", .text, .digits)) var tags: [String] = []",
        "'property' is unavailable: Only a plain text, number or Bool takes the place of another field: remove 'from'"
      ),
      (
        "var opaque: Opaque = Opaque()",
        "'column(_:default:isConstant:wireName:)' is unavailable: No column holds this type: make it Codable to keep it "
          + "as JSON, RawRepresentable, or a FieldValue"
      ),
      (
        "var opaque: Opaque?",
        "'column(_:default:isConstant:wireName:)' is unavailable: No column holds this type: make it Codable to keep it "
          + "as JSON, RawRepresentable, or a FieldValue"
      ),
    ])
    func whatDoesNotFitIsRefused(_ property: String, _ message: String) throws {
      #expect(try errors(inGameWith: property) == [message])
    }

    /// The errors are those of the declaration alone: what uses the entity compiles.
    @Test func anErrorOfADeclarationIsTheOnlyOne() throws {
      let found = try errors(
        """
        @Entity struct Game {
          var id = RecordName<Game>()
          var title = ""
          var minutes: Int
          @Members static var players: Set<RecordName<Person>>
        }
        let schema = Schema(Game.self, Person.self)
        func titles(_ store: Store) throws -> [String] {
          try store.read { try Game.order(Game.Columns.title).fetchAll($0).map(\\.title) }
        }
        """)
      #expect(
        found.sorted() == [
          "'minutes' needs a default: another device may not know the field, or may never have written it",
          "'players' needs the type 'Relationship<Game, Target>'",
        ])
    }

    @Test func anEntityByHandNeedsTheNameOfItsOwnType() throws {
      let found = try errors(
        "struct Tag: Entity {\n  static let schema = EntitySchema(\"Tag\")\n  var id = UUID()\n}")
      #expect(found.contains("'Entity' requires the types 'UUID' and 'RecordName<Tag>' be equivalent"))
    }
  }

  /// The compiler, with the modules and the plugin that the tests were built with.
  private struct Compiler {
    private let built: BuildProducts

    init() throws { built = try BuildProducts() }

    func errors(of source: URL) throws -> [String] {
      let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
      let checkouts = built.folder.deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent(
        "checkouts")
      let maps = [
        checkouts.appendingPathComponent("GRDB.swift/Sources/GRDBSQLite/module.modulemap"),
        repository.appendingPathComponent("Sources/CZstd/module.modulemap"),
        built.folder.appendingPathComponent("CTallySQLite.build/module.modulemap"),
        built.folder.appendingPathComponent("CTallySystem.build/module.modulemap"),
      ]
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments =
        [
          "swiftc", "-typecheck", "-swift-version", "6", "-diagnostic-style", "llvm", "-I",
          built.folder.appendingPathComponent("Modules").path, "-load-plugin-executable",
          "\(built.plugin.path)#TallyMacroPlugin",
        ] + maps.flatMap { ["-Xcc", "-fmodule-map-file=\($0.path)"] } + [source.path]
      let output = Pipe()
      process.standardError = output
      process.standardOutput = FileHandle.nullDevice
      try process.run()
      let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      let errors = text.split(separator: "\n").compactMap { line -> String? in
        line.range(of: " error: ").map { range in
          String(line[range.upperBound...]).replacing(#/ \(from macro '\w+ ?'\)$/#, with: "")
        }
      }
      #expect((process.terminationStatus == 0) == errors.isEmpty, "\(text)")
      return errors
    }
  }
#endif
