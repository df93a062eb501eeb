#if PlantedFaults
  import Foundation
  import GRDB
  import Tally
  import TallyCRDT
  import TallyFaults
  import TallyRig
  import TallyTesting
  import TestEffort
  import Testing

  @testable import TallyStore

  /// A plain delete is captured, and joined, without a state being made. It must leave the file as whole states do,
  /// which is how a store works in which some fault is planted: here one of a rule that nothing here needs.
  @Suite(.timeLimit(.minutes(30))) struct DeleteTests {
    private static let schema = Schema([
      EntitySchema("T", .text("name")),
      EntitySchema(
        "N", .text("text"), .integer("stars", default: 3), .real("price"), .date("day"), .blob("pic"), .json("more"),
        .reference("about", to: "T")),
    ])

    private static func store(isShort: Bool, _ seed: UInt64) throws -> Store {
      var options = StoreOptions()
      options.now = { Date(timeIntervalSince1970: 1_800_000_000) }
      let id = ReplicaID(high: seed, low: 7)
      options.mintReplica = { id }
      if !isShort { options.planted = .denyNotChecked }
      return try Store(inMemory: schema, options: options)
    }

    /// Everything in a store's tables but the numbers of bodies and conflicts, which depend on the order of writing,
    /// and the change log, in which rows differ with the order of writing as well: `verify` looks at that.
    private static func image(_ store: Store) throws -> [String] {
      try store.read { db in
        let tables = try String.fetchAll(
          db,
          sql: """
            SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
            AND name NOT IN ('tally_extra', 'tally_hidden', 'tally_meta', 'tally_log', 'tally_vector', 'tally_zone', 'tally_conflict', 'N',
            'T')
            ORDER BY name
            """)
        let own = [
          "SELECT kind, key, body FROM tally_hidden", "SELECT body FROM tally_extra",
          "SELECT fingerprint FROM tally_zone",
          """
          SELECT name, field, loser_replica, loser_sequence, loser_value, winner_replica, winner_sequence, winner_value,
          winner_deletes FROM tally_conflict
          """,
          "SELECT id, text, stars, price, day, pic, more, about FROM N",
        ]
        return try (own + tables.map { "SELECT * FROM \"\($0)\"" }).map { sql in
          "\(sql): \(try Row.fetchAll(db, sql: sql).map(\.description).sorted())"
        }
      }
    }

    private static func name(_ number: Int) -> String {
      number % 5 == 0 ? "N|~|note \(number)" : "N|~|386c1919-5f25-4be2-975f-5b34506c51\(10 + number)"
    }

    /// A statement of the app's.
    private static func statement(_ dice: inout SplitMix64) -> String {
      let name = name(.random(in: 0..<12, using: &dice))
      let value = Int.random(in: 0..<5, using: &dice)
      switch Int.random(in: 0..<12, using: &dice) {
      case 0...2:
        return """
          INSERT OR IGNORE INTO N(id, text, stars, price, day, about) VALUES('\(name)', 'käse \(value)', \(value), \(value).5,
          '2026-01-02 03:04:05.678', 'T|~|\(value % 2)')
          """
      case 3: return "INSERT OR REPLACE INTO N(id, text, pic, more) VALUES('\(name)', NULL, x'00ff', '[1]')"
      case 4: return "UPDATE N SET stars = \(value) WHERE id = '\(name)'"
      case 5: return "UPDATE N SET text = 'new', price = NULL, about = NULL WHERE id = '\(name)'"
      case 6: return "UPDATE N SET more = '{\"a\": \(value)}', pic = NULL WHERE stars = \(value)"
      case 7: return "DELETE FROM N WHERE stars = \(value)"
      case 8: return "DELETE FROM N WHERE text LIKE 'k%'"
      default: return "DELETE FROM N WHERE id = '\(name)'"
      }
    }

    /// Runs statements in one transaction, some in a savepoint that is rolled back.
    private static func run(_ statements: [(sql: String, isRolledBack: Bool)], _ store: Store) throws {
      try store.write { db in
        for (sql, isRolledBack) in statements {
          guard isRolledBack else {
            try db.execute(sql: sql)
            continue
          }
          try db.inSavepoint {
            try db.execute(sql: sql)
            return .rollback
          }
        }
      }
    }

    /// Two devices, each once with the short way and once without, write at random and sync at times, so that deletes
    /// meet edits that they have seen, and edits that they have not.
    @Test(arguments: Effort.seeds(3)) func histories(_ seed: UInt64) throws {
      var dice = SplitMix64(seed: seed)
      let short = try [Self.store(isShort: true, 2 * seed), Self.store(isShort: true, 2 * seed + 1)]
      let long = try [Self.store(isShort: false, 2 * seed), Self.store(isShort: false, 2 * seed + 1)]
      for store in short + long { try store.run("INSERT INTO T(id, name) VALUES('T|~|0', 'a'), ('T|~|1', 'b')") }
      for _ in 0..<40 {
        let device = Int.random(in: 0...1, using: &dice)
        if Int.random(in: 0..<4, using: &dice) > 0 {
          let statements = (0..<Int.random(in: 1...4, using: &dice)).map { _ in
            (Self.statement(&dice), Int.random(in: 0..<6, using: &dice) == 0)
          }
          for store in [short[device], long[device]] { try Self.run(statements, store) }
        } else {
          for pair in [short, long] {
            try pair[device].apply(try pair[1 - device].delta(since: try pair[device].vector))
          }
        }
        for (mine, due) in zip(try Self.image(short[device]), try Self.image(long[device])) { #expect(mine == due) }
        #expect(try short[device].summary() == long[device].summary())
        #expect(try short[device].verify().problems == [])
      }
    }

    /// Without the look at what a delete has seen, an edit that it has not seen would be lost on one device.
    @Test func aReceivedDeleteGivesWayToWhatItHasNotSeen() throws {
      let (a, b) = (try Self.store(isShort: true, 1), try Self.store(isShort: true, 2))
      try a.run("INSERT INTO N(id, text) VALUES('\(Self.name(1))', 'a')")
      try b.apply(try a.delta())
      try a.run("DELETE FROM N")
      try b.run("UPDATE N SET stars = 5")
      for (one, other) in [(a, b), (b, a)] { try one.apply(try other.delta(since: try one.vector)) }
      for store in [a, b] {
        #expect(try store.read { try Int.fetchAll($0, sql: "SELECT stars FROM N") } == [5])
        #expect(try store.verify().problems == [])
      }
    }

    /// A trigger that moves the row away, or deletes it, before it is deleted fails the merge, and nothing has changed.
    @Test(arguments: [
      "CREATE TRIGGER t BEFORE DELETE ON N BEGIN UPDATE N SET rowid = rowid + 100; END",
      "CREATE TEMP TRIGGER t BEFORE DELETE ON N BEGIN UPDATE N SET rowid = rowid + 100; END",
      "CREATE TRIGGER t BEFORE DELETE ON N BEGIN INSERT OR REPLACE INTO N(id, stars) VALUES(OLD.id, 77); END",
      "CREATE TRIGGER t BEFORE DELETE ON N BEGIN DELETE FROM N WHERE id = OLD.id; END",
      "CREATE TRIGGER t BEFORE DELETE ON N BEGIN UPDATE N SET id = 'N|~|renamed', rowid = 900 WHERE id = OLD.id; END",
    ])
    func aRowThatIsMovedAwayFailsTheMerge(_ trigger: String) throws {
      let (a, b) = (try Self.store(isShort: true, 1), try Self.store(isShort: true, 2))
      try a.run("INSERT INTO N(id, text) VALUES('\(Self.name(1))', 'a'), ('\(Self.name(2))', 'b')")
      try b.apply(try a.delta())
      try b.run(trigger)
      try a.run("DELETE FROM N WHERE text = 'a'")
      let before = try b.summary()
      let error = #expect(throws: StoreError.self) { try b.apply(try a.delta(since: try b.vector)) }
      #expect(error?.code == .rowMovedByTrigger)
      #expect(try b.summary() == before)
      try b.run("DROP TRIGGER t")
      try b.apply(try a.delta(since: try b.vector))
      #expect(try b.read { try String.fetchAll($0, sql: "SELECT text FROM N") } == ["b"])
      #expect(try b.verify().problems == [])
    }

    /// In a table that is made again in the same transaction, rows have other numbers than when they were noted.
    @Test func rowsOfATableThatIsMadeAgainKeepTheirStates() throws {
      let (a, b) = (try Self.store(isShort: true, 1), try Self.store(isShort: true, 2))
      let names = (1...4).map(Self.name)
      try a.run("INSERT INTO N(id, text) VALUES\(names.map { "('\($0)', 'a')" }.joined(separator: ", "))")
      try a.run("UPDATE N SET stars = 1")
      try b.apply(try a.delta())
      let sql = try a.read { try String.fetchOne($0, sql: "SELECT sql FROM sqlite_master WHERE name = 'N'") }
      let made = try #require(sql).replacing("\"N\"", with: "made").replacing("TABLE N", with: "TABLE made")
      try a.run(
        "INSERT INTO N(id, text) VALUES('N|~|new', 'b')", made, "INSERT INTO made SELECT * FROM N WHERE rowid > 1",
        "DROP TABLE N", "ALTER TABLE made RENAME TO N")
      try a.captureChanges()
      #expect(try a.verify().problems == [])
      try b.apply(try a.delta(since: try b.vector))
      for store in [a, b] {
        let left = try store.read { try String.fetchAll($0, sql: "SELECT id || stars FROM N ORDER BY 1") }
        #expect(left == (names.dropFirst().map { $0 + "1" } + ["N|~|new3"]).sorted())
        #expect(try store.verify().problems == [])
      }
    }

    /// The app's own table refuses that the row goes.
    @Test func aRefusedDeleteIsSetAside() throws {
      let (a, b) = (try Self.store(isShort: true, 1), try Self.store(isShort: true, 2))
      try a.run("INSERT INTO N(id, text) VALUES('\(Self.name(1))', 'a')")
      try b.apply(try a.delta())
      try b.run(
        "CREATE TABLE pinned(note TEXT REFERENCES N(id) ON DELETE RESTRICT)",
        "INSERT INTO pinned VALUES('\(Self.name(1))')")
      try a.run("DELETE FROM N")
      try b.apply(try a.delta(since: try b.vector))
      #expect(try b.status().setAside.count == 1)
      #expect(try b.verify().problems == [])
      try b.run("DELETE FROM pinned", "INSERT INTO N(id) VALUES('\(Self.name(2))')")
      #expect(try b.status().setAside.isEmpty)
      #expect(try b.read { try String.fetchAll($0, sql: "SELECT id FROM N") } == [Self.name(2)])
      #expect(try b.verify().problems == [])
    }
  }
#endif
