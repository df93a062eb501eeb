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

  /// Inserts, edits and deletes of plain rows are captured and joined by their stamps, without states, also where
  /// records are owned, own themselves, have relationships, are hidden, purged or waited for. That must leave the file
  /// as whole states do, which is how a store works in which some fault is planted: here one of a rule that nothing
  /// here needs.
  @Suite(.timeLimit(.minutes(30))) struct ShortWayTests {
    private static let schema = Schema([
      EntitySchema("P", .text("name"), .integer("pos")),
      EntitySchema(
        "G", .text("name"), .real("rating", default: 1), .reference("owner", to: "P", onDelete: .cascade),
        .reference("other", to: "P", onDelete: .cascade), .reference("friend", to: "P"), .toMany("players", to: "P")),
      EntitySchema(
        "F", .text("name"), .reference("parent", to: "F", onDelete: .cascade),
        .reference("game", to: "G", onDelete: .cascade)),
    ])

    private static func store(isShort: Bool, _ seed: UInt64) throws -> Store {
      var options = StoreOptions()
      options.now = { Date(timeIntervalSince1970: 1_800_000_000) }
      let id = ReplicaID(high: seed, low: 7)
      options.mintReplica = { id }
      if !isShort { options.planted = .denyNotChecked }
      return try Store(inMemory: schema, options: options)
    }

    /// Everything in a store's tables but the numbers of bodies and rows, which depend on the order of writing, and the
    /// change log, in which rows differ with that order as well: `verify` looks at that.
    private static func image(_ store: Store) throws -> [String] {
      try store.read { db in
        try [
          "SELECT kind, key, body FROM tally_hidden", "SELECT * FROM tally_stub", "SELECT * FROM tally_wait",
          "SELECT * FROM tally_cut", "SELECT fingerprint FROM tally_zone", "SELECT * FROM tally_context",
          "SELECT kind, key, mode FROM tally_aside",
          "SELECT id, name, pos, length(tally_clock) FROM P", "SELECT source, target FROM G_players",
          "SELECT id, name, rating, owner, other, friend FROM G", "SELECT id, name, parent, game FROM F",
          "SELECT name, field, loser_replica, loser_sequence, winner_replica, winner_sequence FROM tally_conflict",
        ].map { sql in "\(sql): \(try Row.fetchAll(db, sql: sql).map(\.description).sorted())" }
      }
    }

    private static func name(_ type: String, _ dice: inout SplitMix64) -> String {
      let number = Int.random(in: 0..<6, using: &dice)
      return number == 5 ? "\(type)|~|by text" : "\(type)|~|386c1919-5f25-4be2-975f-5b34506c511\(number)"
    }

    /// What the app writes in one go. A reference to what is not there fails it as a whole, on both sides alike.
    private static func statements(_ dice: inout SplitMix64) -> [String] {
      let (p, q, g) = (name("P", &dice), name("P", &dice), name("G", &dice))
      let (f, h) = (name("F", &dice), name("F", &dice))
      let value = Int.random(in: 0..<5, using: &dice)
      func quoted(_ name: String, where exists: String) -> String {
        "(SELECT id FROM \(exists) WHERE id = '\(name)')"
      }
      switch Int.random(in: 0..<20, using: &dice) {
      case 0, 1: return ["INSERT OR IGNORE INTO P(id, name, pos) VALUES('\(p)', 'käse', \(value))"]
      case 2...4:
        return [
          """
          INSERT OR IGNORE INTO G(id, name, rating, owner, other, friend) SELECT '\(g)', 'g', \(value % 2),
          \(quoted(p, where: "P")), \(value == 0 ? quoted(q, where: "P") : "NULL"), \(quoted(q, where: "P"))
          """
        ]
      case 5...7:
        return [
          """
          INSERT OR IGNORE INTO F(id, name, parent, game) SELECT '\(f)', 'f', \(quoted(h, where: "F")),
          \(value < 2 ? quoted(g, where: "G") : "NULL")
          """
        ]
      // A record that owns itself, and two that own each other.
      case 8: return ["INSERT OR IGNORE INTO F(id, parent) VALUES('\(f)', '\(f)')"]
      case 9: return ["INSERT OR IGNORE INTO F(id, parent) VALUES('\(f)', '\(h)'), ('\(h)', '\(f)')"]
      case 10: return ["UPDATE P SET pos = \(value) WHERE id = '\(p)'", "UPDATE G SET name = 'x' WHERE owner = '\(p)'"]
      case 11: return ["UPDATE F SET name = 'n\(value)' WHERE id = '\(f)'"]
      case 12: return ["UPDATE F SET parent = \(quoted(h, where: "F")) WHERE id = '\(f)'"]
      case 13:
        let friend = value < 3 ? quoted(p, where: "P") : "NULL"
        return ["UPDATE G SET owner = \(quoted(q, where: "P")), friend = \(friend) WHERE id = '\(g)'"]
      case 14:
        return [
          """
          INSERT OR IGNORE INTO G_players(source, target)
          SELECT G.id, P.id FROM G, P WHERE G.id = '\(g)' AND P.id = '\(p)'
          """
        ]
      case 15: return ["DELETE FROM G_players WHERE source = '\(g)'", "DELETE FROM P WHERE id = '\(p)'"]
      case 16: return ["DELETE FROM F WHERE id = '\(f)'"]
      case 17: return ["DELETE FROM F WHERE parent IS NOT NULL AND id <= '\(f)'"]
      default: return ["DELETE FROM G WHERE id = '\(g)'"]
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

    private static func step(_ dice: inout SplitMix64, _ device: Int, _ sides: [[Store]]) throws {
      let mine = sides.map { $0[device] }
      switch Int.random(in: 0..<12, using: &dice) {
      case 0...7:
        let all = (0..<Int.random(in: 1...3, using: &dice)).flatMap { _ in
          let isRolledBack = Int.random(in: 0..<8, using: &dice) == 0
          return statements(&dice).map { ($0, isRolledBack) }
        }
        // What fails must fail on both sides.
        let ends = mine.map { store in Result { try run(all, store) } }
        #expect(
          ends.map { (try? $0.get()) != nil } == [Bool](repeating: (try? ends[0].get()) != nil, count: ends.count))
      case 8:
        let (type, name) = Bool.random(using: &dice) ? ("P", name("P", &dice)) : ("F", name("F", &dice))
        let sql = "SELECT EXISTS(SELECT 1 FROM \(type) WHERE id = ?)"
        guard try mine[0].read({ try Bool.fetchOne($0, sql: sql, arguments: [name]) }) == false else { return }
        let ends = mine.map { store in Result { try store.restore(AnyRecordName(name)) } }
        #expect(
          ends.map { (try? $0.get()) != nil } == [Bool](repeating: (try? ends[0].get()) != nil, count: ends.count))
      case 9: for store in mine { try store.empty(ripe: nil) }
      default:
        for side in sides { try side[device].apply(try side[1 - device].delta(since: try side[device].vector)) }
      }
    }

    @Test(arguments: Effort.seeds(6)) func histories(_ seed: UInt64) throws {
      var dice = SplitMix64(seed: seed)
      let sides = try [true, false].map { isShort in
        [try Self.store(isShort: isShort, 2 * seed), try Self.store(isShort: isShort, 2 * seed + 1)]
      }
      for _ in 0..<60 {
        let device = Int.random(in: 0...1, using: &dice)
        try Self.step(&dice, device, sides)
        for (mine, due) in zip(try Self.image(sides[0][device]), try Self.image(sides[1][device])) {
          #expect(mine == due)
        }
        #expect(try sides[0][device].summary() == sides[1][device].summary())
        #expect(try sides[0][device].verify().problems == [])
      }
    }
  }
#endif
