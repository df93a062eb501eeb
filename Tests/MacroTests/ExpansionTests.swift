#if Macros && PlantedFaults
  import Testing

  /// What the macros write.
  @Suite struct ExpansionTests {
    @Test func aSmallEntity() throws {
      let expanded = try Refusals.expand(
        """
        @Entity("BoardGame", deleteWins: true) public struct Game {
          public var id = RecordName<Game>()
          public var title = ""
          @Field(renamedFrom: "length") public var minutes: Int?
          @Field(onDelete: .cascade) public var owner: RecordName<Person>?
          @Members public static var players: Relationship<Game, Person>
        }
        """)
      #expect(expanded.diagnostics.isEmpty)
      #expect(expanded.text == Self.smallEntity)
    }

    @Test func anEntityOfNothingButAName() throws {
      let expanded = try Refusals.expand("@Entity struct Tag {\n  let id: RecordName<Tag>\n}")
      #expect(expanded.diagnostics.isEmpty)
      #expect(expanded.text == Self.onlyAName)
    }

    @Test func anInitializerOfItsOwnIsEnough() throws {
      let text = try Refusals.expand(
        "@Entity struct Tag {\n  var id = RecordName<Tag>()\n  var name = \"\"\n  init(_ name: String) { self.name = name }\n}"
      ).text
      #expect(text.components(separatedBy: "init(").count == 3, "its own, and the one from a row: \(text)")
    }

    @Test func whatAFieldTakesThePlaceOfIsPassedOn() throws {
      let text = try Refusals.expand(
        """
        @Entity struct Item {
          var id = RecordName<Item>()
          @Field(renamedFrom: "pence", from: .lens("price", .real, .scale(100))) var cents: Int?
          @Field(from: .lens("done", .bool, default: false, .map([false: "open", true: "done"]))) var state = "open"
        }
        """
      ).text
      let column = "column(\"cents\", wireName: \"pence\", from: .lens(\"price\", .real, .scale(100)))"
      #expect(text.contains("EntityColumn<Item, Int?>.\(column)"), "\(text)")
      let source = ".lens(\"done\", .bool, default: false, .map([false: \"open\", true: \"done\"]))"
      #expect(text.contains("column(\"state\", default: \"open\", isConstant: true, from: \(source))"), "\(text)")
    }

    @Test func theCaseForOthersIsPassedOn() throws {
      let text = try Refusals.expand(
        """
        @Entity struct Parcel {
          var id = RecordName<Parcel>()
          @Field(unknown: Route.other, renamedFrom: "way") var route: Route = .post
          @Field(unknown: Route.other, from: .lens("old", .bool, .map([true: "post"]))) var back: Route?
        }
        """
      ).text
      let column = "column(\"route\", default: .post, isConstant: true, wireName: \"way\", unknown: Route.other)"
      #expect(text.contains("EntityColumn<Parcel, Route>.\(column)"), "\(text)")
      let source = ".lens(\"old\", .bool, .map([true: \"post\"]))"
      #expect(text.contains("column(\"back\", from: \(source), unknown: Route.other)"), "\(text)")
    }

    @Test func selfMeansTheStructAlsoWhereTheCodeIsNested() throws {
      let text = try Refusals.expand(
        """
        @Entity struct Folder {
          static let usual = "New"
          var id = RecordName<Self>()
          var name: String = Self.usual
          var parent: RecordName<Self>?
        }
        """
      ).text
      #expect(text.contains("EntityColumn<Folder, String>.column(\"name\", default: Folder.usual, isConstant: true)"))
      #expect(text.contains("EntityColumn<Folder, RecordName<Folder>?>.column(\"parent\")"))
    }

    @Test(arguments: [
      ("String = \"a\"", true), ("String = \"a\\(1)\"", false), ("Int = -1", true), ("Int = 1 + 1", false),
      ("Int = .max", true), ("Int = Int.max", true), ("Level = Level.Kind.easy", true), ("Level = .init(3)", false),
      ("String = UUID().uuidString", false), ("String = Locale.current.identifier", false), ("Bool = true", true),
      ("Flags = [.a, .b]", true), ("String = ProcessInfo.processInfo.hostName", false), ("Int = seconds(3)", false),
    ])
    func aDefaultIsTheColumnsIfItIsTheSameForEveryRecord(_ declaration: String, _ isConstant: Bool) throws {
      let text = try Refusals.expand("@Entity struct A {\n  var id = RecordName<A>()\n  var b: \(declaration)\n}").text
      #expect(text.contains("isConstant: \(isConstant))"), "\(text)")
    }

    private static let smallEntity =
      """
      public struct Game {
        public var id = RecordName<Game>()
        public var title = ""
        public var minutes: Int?
        public var owner: RecordName<Person>?
        public static var players: Relationship<Game, Person> {
          get {
            Relationship<Game, Person>("players")
          }
        }

        public nonisolated static let schema = TallySchema.EntitySchema(
          "BoardGame",
          deleteWins: true,
          EntityColumns.title.property,
          EntityColumns.minutes.property,
          EntityColumns.owner.property,
          .toMany("players", to: Person.databaseTableName))

        public nonisolated static var databaseTableName: String {
          "BoardGame"
        }

        public nonisolated enum Columns {
          public static let id = GRDB.Column("id")
          public static let title = GRDB.Column("title")
          public static let minutes = GRDB.Column("minutes")
          public static let owner = GRDB.Column("owner")
        }

        private nonisolated enum EntityColumns {
          static let title = TallyMacros.EntityColumn<Game, String>.column("title", default: "", isConstant: true)
          static let minutes = TallyMacros.EntityColumn<Game, Int?>.column("minutes", wireName: "length")
          static let owner = TallyMacros.EntityColumn<Game, RecordName<Person>?>.column("owner", onDelete: .cascade)
        }

        private nonisolated var unreadValues = TallyMacros.UnreadValues()

        public nonisolated init(
          id: RecordName<Game> = RecordName<Game>(),
          title: String = "",
          minutes: Int? = nil,
          owner: RecordName<Person>? = nil
        ) {
          self.id = id
          self.title = title
          self.minutes = minutes
          self.owner = owner
        }

        public nonisolated init(row: GRDB.Row) throws {
          var unread = TallyMacros.UnreadValues()
          self.id = try TallyMacros.EntityColumn<Game, RecordName<Game>>.id(row)
          self.title = try EntityColumns.title.read(row, &unread)
          self.minutes = try EntityColumns.minutes.read(row, &unread)
          self.owner = try EntityColumns.owner.read(row, &unread)
          self.unreadValues = unread
        }

        public nonisolated func encode(to container: inout GRDB.PersistenceContainer) throws {
          container["id"] = self.id
          try EntityColumns.title.write(self.title, self.unreadValues, to: &container)
          try EntityColumns.minutes.write(self.minutes, self.unreadValues, to: &container)
          try EntityColumns.owner.write(self.owner, self.unreadValues, to: &container)
        }
      }

      nonisolated extension Game: TableRecord, Identifiable, Entity, FetchableRecord, PersistableRecord {
      }
      """

    private static let onlyAName =
      """
      struct Tag {
        let id: RecordName<Tag>

        nonisolated static let schema = TallySchema.EntitySchema(
          "Tag")

        nonisolated static var databaseTableName: String {
          "Tag"
        }

        nonisolated enum Columns {
          static let id = GRDB.Column("id")
        }

        nonisolated init(
          id: RecordName<Tag>
        ) {
          self.id = id
        }

        nonisolated init(row: GRDB.Row) throws {
          self.id = try TallyMacros.EntityColumn<Tag, RecordName<Tag>>.id(row)
        }

        nonisolated func encode(to container: inout GRDB.PersistenceContainer) throws {
          container["id"] = self.id
        }
      }

      nonisolated extension Tag: TableRecord, Identifiable, Entity, FetchableRecord, PersistableRecord {
      }
      """
  }
#endif
