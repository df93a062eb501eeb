#if Macros && PlantedFaults
  import Testing

  /// What cannot be an entity does not compile, and the compiler says how it could be one.
  @Suite struct DiagnosticTests {
    // MARK: - The declaration

    @Test(arguments: [("class", ""), ("final class", ""), ("public final class", "public "), ("actor", "")])
    func aReferenceTypeIsRefused(_ kind: String, _ left: String) throws {
      let column = 9 + kind.count - (kind.split(separator: " ").last?.count ?? 0)
      try expectRefused(
        "@Entity \(kind) Game {\n  var id = RecordName<Game>()\n}", at: 1, column,
        "'@Entity' can only be applied to a struct: a record is a value", fix: "Make 'Game' a struct",
        "@Entity \(left)struct Game {\n  var id = RecordName<Game>()\n}")
    }

    @Test func anEnumIsRefused() throws {
      try expectRefused(
        "@Entity\nenum Level {\n  case low\n}", at: 2, 1,
        "'@Entity' can only be applied to a struct: a record is a value", fix: "Remove '@Entity'",
        "enum Level {\n  case low\n}")
    }

    @Test func aGenericStructIsRefused() throws {
      try expectRefused(
        "@Entity struct Box<Content> where Content: Codable {\n  var id = RecordName<Box>()\n}", at: 1, 19,
        "'@Entity' cannot be applied to a generic struct: a table has one set of columns",
        fix: "Remove the generic parameters", "@Entity struct Box {\n  var id = RecordName<Box>()\n}")
    }

    @Test func aStructInAFunctionIsRefused() throws {
      try expectRefused(
        "func test() {\n  @Entity struct Game {\n    var id = RecordName<Game>()\n  }\n}", at: 2, 11,
        "'@Entity' cannot be applied to a struct inside of a function", fix: "Remove '@Entity'",
        "func test() {\n  struct Game {\n    var id = RecordName<Game>()\n  }\n}")
    }

    @Test func aStructThatIsPrivateInAnotherIsRefused() throws {
      try expectRefused(
        "enum Suite {\n  @Entity private struct Game {\n    var id = RecordName<Game>()\n  }\n}", at: 2, 11,
        "'Game' is private to what it stands in, and its conformances are declared outside of that",
        fix: "Make it 'fileprivate'",
        "enum Suite {\n  @Entity fileprivate struct Game {\n    var id = RecordName<Game>()\n  }\n}")
    }

    @Test func aTypeThatIsNoIdentifierIsRefused() throws {
      try expectRefused(
        "@Entity(\"Board game\") struct Game {\n  var id = RecordName<Game>()\n}", at: 1, 9,
        "\"Board game\" cannot be a type of records: it must be a letter, then letters, digits and underscores, in ASCII, "
          + "at most 64 in all", fix: "Use \"Game\"",
        "@Entity(\"Game\") struct Game {\n  var id = RecordName<Game>()\n}")
    }

    @Test func aTypeThatIsNoLiteralIsRefused() throws {
      try expectRefused(
        "@Entity(prefix + \"Game\", deleteWins: true) struct Game {\n  var id = RecordName<Game>()\n}", at: 1, 9,
        "the type of the records must be a literal: it never changes", fix: "Use \"Game\"",
        "@Entity(\"Game\", deleteWins: true) struct Game {\n  var id = RecordName<Game>()\n}")
    }

    // MARK: - id

    @Test func anEntityWithoutIDIsRefused() throws {
      try expectRefused(
        "@Entity public struct Game {\n  // What it is called.\n  public var title = \"\"\n}", at: 1, 23,
        "'Game' has no 'id': a record has a name, the same on every device",
        fix: "Add 'public var id = RecordName<Game>()'",
        "@Entity public struct Game {\n  public var id = RecordName<Game>()\n  // What it is called.\n  public var title = \"\"\n}"
      )
    }

    @Test(arguments: [
      "var id = UUID()", "let id: UUID", "var id: RecordName<Person>", "var id: RecordName<Game>?", "var id = 0",
    ])
    func anIDOfAnotherTypeIsRefused(_ declaration: String) throws {
      let types = [
        "var id = UUID()": "UUID", "let id: UUID": "UUID", "var id: RecordName<Person>": "RecordName<Person>",
        "var id: RecordName<Game>?": "RecordName<Game>?",
      ]
      let other = types[declaration].map { ", not \($0)" } ?? ""
      try expectRefused(
        "@Entity struct Game {\n  \(declaration)\n}", at: 2, 7,
        "'id' must be a RecordName<Game>\(other): the name is the same on every device",
        fix: "Make it 'var id = RecordName<Game>()'", "@Entity struct Game {\n  var id = RecordName<Game>()\n}")
    }

    @Test func anIDWithAConstantValueIsRefused() throws {
      try expectRefused(
        "@Entity struct Game {\n  let id = RecordName<Game>()\n}", at: 2, 3,
        "'id' has its value here, so it cannot have one from the database: it must be 'var', or 'static'",
        fix: "Make it 'var'", "@Entity struct Game {\n  var id = RecordName<Game>()\n}")
    }

    @Test func aFieldAttributeOnIDIsRefused() throws {
      try expectRefused(
        "@Entity struct Game {\n  @Field(renamedFrom: \"name\") var id = RecordName<Game>()\n}", at: 2, 3,
        "'id' is no field: it never changes", fix: "Remove '@Field'",
        "@Entity struct Game {\n  var id = RecordName<Game>()\n}")
    }

    // MARK: - Properties

    /// An entity with these lines after its id, which is line 2.
    private func game(_ lines: String) -> String {
      "@Entity struct Game {\n  var id = RecordName<Game>()\n  \(lines)\n}"
    }

    @Test(arguments: [
      ("String", "\"\""), ("Int", "0"), ("Double", "0"), ("Bool", "false"), ("Date", "Date()"), ("[String]", "[]"),
      ("[String: Int]", "[:]"), ("Level", "<#default#>"),
    ])
    func aRequiredPropertyWithoutDefaultIsRefused(_ type: String, _ value: String) throws {
      for specifier in ["var", "let"] {
        try expectRefused(
          game("\(specifier) title: \(type)"), at: 3, 7,
          "'title' needs a default: another device may not know the field, or may never have written it",
          fix: "Add the default '\(value)'", game("var title: \(type) = \(value)"), others: ["Make it '\(type)?'"])
      }
    }

    @Test func theOtherFixOfARequiredPropertyMakesItOptional() throws {
      let source = game("var title: String")
      try expectRefused(
        source, at: 3, 7,
        "'title' needs a default: another device may not know the field, or may never have written it",
        fix: "Add the default '\"\"'", game("var title: String = \"\""), others: ["Make it 'String?'"])
    }

    @Test func aConstantIsRefused() throws {
      try expectRefused(
        game("let title = \"Chess\""), at: 3, 3,
        "'title' has its value here, so it cannot have one from the database: it must be 'var', or 'static'",
        fix: "Make it 'var'", game("var title = \"Chess\""))
    }

    @Test func aLazyPropertyIsRefused() throws {
      try expectRefused(
        game("lazy var title = \"Chess\""), at: 3, 3, "'title' is lazy, and a column always has a value",
        fix: "Remove 'lazy'", game("var title = \"Chess\""))
    }

    @Test(arguments: [
      ("Level.easy", "Level"), ("Level.of(3)", "Level"), ("makeLevel()", "<#Type#>"), ("[1]", "<#Type#>"),
    ])
    func aPropertyWhoseTypeIsInferredIsRefused(_ value: String, _ type: String) throws {
      try expectRefused(
        game("var level = \(value)"), at: 3, 7,
        "'level' needs a type annotation: a macro does not see inferred types", fix: "Add ': \(type)'",
        game("var level: \(type) = \(value)"))
    }

    @Test func anImplicitlyUnwrappedPropertyIsRefused() throws {
      try expectRefused(
        game("var title: String!"), at: 3, 14, "'title' is unwrapped implicitly, and other devices may set it to null",
        fix: "Make it 'String?'", game("var title: String?"))
    }

    @Test func severalPropertiesInATupleAreRefused() throws {
      try expectRefused(
        game("var (width, height) = (1, 2)"), at: 3, 7, "each column is a property of its own",
        fix: "Declare each by itself", game("var width = 1, height = 2"))
    }

    @Test func aTupleThatACallMakesIsRefused() throws {
      try expectRefused(
        game("var (width, height) = size()"), at: 3, 7, "each column is a property of its own",
        fix: "Declare each by itself",
        game("var width: <#Type#> = <#default#>, height: <#Type#> = <#default#>"))
    }

    @Test func severalConditionalPropertiesAreRefused() throws {
      try expectRefused(
        game("#if os(iOS)\n  var title = \"\"\n  var size = 1\n  #else\n  var other = 1\n  #endif\n  var last = 2"),
        at: 3, 3, "a column cannot depend on '#if': every build of the app must have it", fix: "Remove the condition",
        game("var title = \"\"\n  var size = 1\n  var last = 2"))
    }

    @Test func whatIsNoColumnMayBeConditional() throws {
      let source = game("#if os(iOS)\n  var title: String { \"\" }\n  static var size = 1\n  #endif")
      #expect(try Refusals.expand(source).diagnostics.isEmpty)
    }

    @Test func aConditionalPropertyIsRefused() throws {
      try expectRefused(
        game("#if os(iOS)\n  var title = \"\"\n  #endif"), at: 3, 3,
        "a column cannot depend on '#if': every build of the app must have it", fix: "Remove the condition",
        game("var title = \"\""))
    }

    @Test(arguments: ["grösse", "_size", "tally_size", "rowid", "unreadValues"])
    func aNameThatNoColumnCanHaveIsRefused(_ name: String) throws {
      let reasons = [
        "tally_size": "names that begin with tally_ or sqlite_ are taken",
        "rowid": "it is SQLite's name of a row's number",
        "unreadValues": "'@Entity' makes a property of that name",
      ]
      let reason =
        reasons[name] ?? "it must be a letter, then letters, digits and underscores, in ASCII, at most 64 in all"
      try expectRefused(
        game("var \(name) = 0"), at: 3, 7, "'\(name)' cannot be a column: \(reason)", fix: "Rename '\(name)'",
        game("var <#name#> = 0"))
    }

    @Test func twoPropertiesThatDifferInCaseOnlyAreRefused() throws {
      try expectRefused(
        game("var title = \"\"\n  var Title = \"\""), at: 4, 7,
        "'Title' and 'title' are one column: case does not count in SQL", fix: "Rename 'Title'",
        game("var title = \"\"\n  var <#Title2#> = \"\""))
    }

    @Test func twoFieldsOfOneWireNameAreRefused() throws {
      try expectRefused(
        game("var title = \"\"\n  @Field(renamedFrom: \"title\") var name = \"\""), at: 4, 36,
        "'name' and 'title' are both 'title' for other devices, and would overwrite each other",
        fix: "Remove 'renamedFrom'", game("var title = \"\"\n  var name = \"\""))
      try expectRefused(
        game("@Field(renamedFrom: \"name\") var title = \"\"\n  var name = \"\""), at: 4, 7,
        "'name' and 'title' are both 'name' for other devices, and would overwrite each other",
        fix: "Rename 'name'", game("@Field(renamedFrom: \"name\") var title = \"\"\n  var <#name2#> = \"\""))
    }

    // MARK: - References

    @Test func aReferenceThatIsNotOptionalIsRefused() throws {
      try expectRefused(
        game("var owner: RecordName<Person>"), at: 3, 14,
        "'owner' must be optional: the record that it refers to may be deleted, or not have arrived yet",
        fix: "Make it 'RecordName<Person>?'", game("var owner: RecordName<Person>?"))
    }

    @Test(arguments: ["[RecordName<Person>] = []", "Set<RecordName<Person>> = []", "Set<RecordName<Person>>?"])
    func aCollectionOfReferencesIsRefused(_ type: String) throws {
      try expectRefused(
        game("var players: \(type)"), at: 3, 7,
        "'players' refers to many records, and would merge as one value: make it a relationship",
        fix: "Make it '@Members static var players: Relationship<Game, Person>'",
        game("@Members static var players: Relationship<Game, Person>"))
    }

    @Test(arguments: ["onDelete: .cascade", "isIndexed: false"])
    func whatOnlyAReferenceHasIsRefusedElsewhere(_ argument: String) throws {
      let label = argument.prefix { $0 != ":" }
      try expectRefused(
        game("@Field(\(argument)) var title = \"\""), at: 3, 10,
        "'title' is no reference, and only a reference has '\(label)'", fix: "Remove '\(label)'",
        game("var title = \"\""))
      try expectRefused(
        game("@Field(renamedFrom: \"name\", \(argument)) var title = \"\""), at: 3, 31,
        "'title' is no reference, and only a reference has '\(label)'", fix: "Remove '\(label)'",
        game("@Field(renamedFrom: \"name\") var title = \"\""))
    }

    @Test func aCaseForOthersIsRefusedForAPlainType() throws {
      try expectRefused(
        game("@Field(unknown: \"other\") var title = \"\""), at: 3, 10,
        "'title' is no enum, and only an enum has 'unknown'", fix: "Remove 'unknown'", game("var title = \"\""))
    }

    @Test func aReferenceThatIsRenamedIsRefused() throws {
      try expectRefused(
        game("@Field(renamedFrom: \"person\", onDelete: .deny) var owner: RecordName<Person>?"), at: 3, 10,
        "'owner' is a reference, and a reference cannot be renamed", fix: "Remove 'renamedFrom'",
        game("@Field(onDelete: .deny) var owner: RecordName<Person>?"))
    }

    @Test(arguments: [
      ("old", "the former name must be a literal: it never changes"),
      (
        "\"old name\"",
        "\"old name\" cannot have been its name: it must be a letter, then letters, digits and underscores, in ASCII, at "
          + "most 64 in all"
      ),
    ])
    func aFormerNameThatCannotBeOneIsRefused(_ name: String, _ message: String) throws {
      try expectRefused(
        game("@Field(renamedFrom: \(name)) var title = \"\""), at: 3, 10, message, fix: "Remove 'renamedFrom'",
        game("var title = \"\""))
    }

    @Test(arguments: [
      ("var score = \"\"", "a counter is an integer, such as Int, and always has a number"),
      ("var score: Double = 0", "a counter is an integer, such as Int, and always has a number"),
      ("var score: Int?", "a counter is an integer, such as Int, and always has a number"),
      ("var score: Int = next()", "the number that it begins with must be a literal, the same for all records"),
    ])
    func aCounterOfWhatDevicesCannotAddToIsRefused(_ declaration: String, _ reason: String) throws {
      try expectRefused(
        game("@Field(.counter) \(declaration)"), at: 3, 3, "'score' cannot be a counter: \(reason)",
        fix: "Remove '@Field'", game(declaration))
    }

    @Test(arguments: [
      ("var best = \"\"", "that is for an integer or a Double"),
      ("var best: Int = next()", "what it begins with must be a literal, the same for all records"),
    ])
    func whatKeepsNoGreatestIsRefused(_ declaration: String, _ reason: String) throws {
      try expectRefused(
        game("@Field(.greatest) \(declaration)"), at: 3, 3, "'best' keeps no greatest or least: \(reason)",
        fix: "Remove '@Field'", game(declaration))
    }

    @Test(arguments: [
      ("", "var owner: RecordName<Person>?", "a reference"), ("", "var place: ListPosition?", "a position"),
      ("", "var photo: AssetName?", "an asset"), ("", "var token: UUID?", "kept as bytes"),
      (".greatest", "var best = 0", "a number that keeps the greatest or the least"),
    ])
    func whatCannotTakeThePlaceOfAnotherFieldIsRefused(_ merge: String, _ declaration: String, _ kind: String) throws {
      let name = declaration.dropFirst(4).prefix { $0.isLetter }
      let (first, rest) = merge.isEmpty ? ("", "") : ("\(merge), ", "@Field(\(merge)) ")
      try expectRefused(
        game("@Field(\(first)from: .lens(\"old\", .text, .digits)) \(declaration)"), at: 3, 10 + first.count,
        "'\(name)' is \(kind), and only a plain text, number or Bool takes the place of another field",
        fix: "Remove 'from'", game("\(rest)\(declaration)"))
    }

    @Test func aCounterThatTakesThePlaceOfAnotherFieldIsRefused() throws {
      try expectRefused(
        game("@Field(.counter, from: .lens(\"points\", .integer, .scale(1))) var score = 0"), at: 3, 20,
        "'score' is a counter, which takes the place of no field: declare it beside the other, and show the sum",
        fix: "Remove 'from'", game("@Field(.counter) var score = 0"))
    }

    @Test(arguments: ["static var title = \"\"", "var title: String { \"\" }"])
    func aFieldAttributeOnWhatIsNoColumnIsRefused(_ declaration: String) throws {
      try expectRefused(
        game("@Field(renamedFrom: \"name\") \(declaration)"), at: 3, 3,
        "'@Field' belongs to a stored property of a struct with '@Entity'", fix: "Remove '@Field'", game(declaration))
    }

    // MARK: - Relationships

    @Test(arguments: [
      ("var players: Set<RecordName<Person>>", "static var"), ("static var players: Set<RecordName<Person>>", "type"),
      ("static let players = Relationship<Game, Person>(\"players\")", "static var"),
      ("static var players: Relationship<Person, Person>", "declared"),
    ])
    func aRelationshipOfAnotherFormIsRefused(_ declaration: String, _ problem: String) throws {
      let messages = [
        "static var": "'players' must be a 'static var' without a value: a relationship is no part of a row",
        "type": "'players' needs the type 'Relationship<Game, Target>'",
        "declared": "'players' is declared in Game, so it is a relationship of Game",
      ]
      let right = "@Members static var players: Relationship<Game, Person>"
      try expectRefused(
        game("@Members \(declaration)"), at: 3, 3, messages[problem] ?? "", fix: "Make it '\(right)'", game(right))
    }

    @Test func aRelationshipOutsideOfAnEntityIsRefused() throws {
      try expectRefused(
        "struct Game {\n  @Members static var players: Relationship<Game, Person>\n}", at: 2, 3,
        "'@Members' belongs into a struct with '@Entity', whose schema it is part of", fix: "Remove '@Members'",
        "struct Game {\n  static var players: Relationship<Game, Person>\n}")
    }

    @Test func allErrorsOfADeclarationAreToldAtOnce() throws {
      let diagnostics = try Refusals.expand("@Entity struct Game {\n  var a: Int\n  let b = 1\n}").diagnostics
      #expect(
        diagnostics.map { String($0.message.prefix(20)) } == [
          "'a' needs a default:", "'b' has its value he", "'Game' has no 'id': ",
        ])
    }

    /// Elsewhere the app uses the entity, and none of that is wrong.
    @Test func anErrorLeavesAnEntityThatDoesNothing() throws {
      let text = try Refusals.expand(
        "@Entity struct Game {\n  var id = RecordName<Game>()\n  var title = \"\"\n  var minutes: Int\n}"
      ).text
      #expect(text.contains("static let title = GRDB.Column(\"title\")"))
      #expect(text.contains("extension Game: TableRecord, Identifiable, Entity, FetchableRecord, PersistableRecord"))
      #expect(text.components(separatedBy: "fatalError(").count == 4 && !text.contains("EntityColumns"), "\(text)")
    }
  }
#endif
