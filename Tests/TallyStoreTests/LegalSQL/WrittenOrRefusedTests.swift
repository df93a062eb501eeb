import GRDB
import Tally
import TallyCRDT
import TallyStore
import Testing

/// A local write goes through or fails as a whole, whatever constraints and triggers the app has put on its tables:
/// nothing is acknowledged that was not written, and nothing is written that others get and this device does not show.
@Suite struct WrittenOrRefusedTests {
  private static func lab(_ path: CapturePath) throws -> Lab {
    let lab = try Lab(path)
    try lab.a.run(
      "INSERT INTO P(id, name) VALUES('P|~|1', 'one'), ('P|~|2', 'two')", "INSERT INTO G(id) VALUES('G|~|1'), ('G|~|2')"
    )
    try lab.a.write { db in try Lab.schema.link(db, name("G|~|1"), "players", to: name("P|~|1")) }
    return lab
  }

  private static func name(_ text: String) throws -> AnyRecordName { try AnyRecordName(text) }

  /// What makes SQLite refuse a member, or pass over it without a word.
  struct Obstacle: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var sql: String
    var isSilent = false
  }

  static let obstacles = [
    Obstacle(testDescription: "a unique index", sql: "CREATE UNIQUE INDEX one ON G_players(target)"),
    Obstacle(
      testDescription: "a column that must not be null",
      sql: "ALTER TABLE G_players ADD COLUMN since TEXT CHECK(since IS NOT NULL)"),
    Obstacle(
      testDescription: "a trigger that fails",
      sql: "CREATE TRIGGER t BEFORE INSERT ON G_players BEGIN SELECT RAISE(ABORT, 'no'); END"),
    Obstacle(
      testDescription: "a trigger that ignores",
      sql: "CREATE TRIGGER t BEFORE INSERT ON G_players BEGIN SELECT RAISE(IGNORE); END", isSilent: true),
  ]

  @Test(arguments: CapturePath.allCases, obstacles)
  func aMemberThatTheDatabaseRefusesIsNoMember(_ path: CapturePath, _ obstacle: Obstacle) throws {
    let lab = try Self.lab(path)
    if obstacle.testDescription.hasPrefix("a column") { try lab.a.run("DELETE FROM G_players") }
    try lab.a.run(obstacle.sql)
    try expectRefused(by: obstacle, lab) { db in
      try Lab.schema.link(db, Self.name("G|~|2"), "players", to: Self.name("P|~|1"))
    }
    try lab.expectEqual()
  }

  /// Adding a member fails with the reason, and nothing of it is written or synced.
  private func expectRefused(by obstacle: Obstacle, _ lab: Lab, _ add: (Database) throws -> Void) throws {
    let vector = try lab.a.vector
    let error = #expect(throws: (any Error).self) { try lab.a.write(add) }
    if obstacle.isSilent {
      #expect((error as? StoreError)?.code == .writeIgnored)
    } else {
      #expect((error as? DatabaseError)?.resultCode == .SQLITE_CONSTRAINT)
    }
    #expect(try lab.a.vector == vector)
    try lab.sync()
  }

  @Test(arguments: obstacles, [false, true])
  func aTypedMemberThatTheDatabaseRefusesIsNoMember(_ obstacle: Obstacle, isSet: Bool) throws {
    for path in CapturePath.allCases { try refusesTypedMember(path, obstacle, isSet) }
  }

  private func refusesTypedMember(_ path: CapturePath, _ obstacle: Obstacle, _ isSet: Bool) throws {
    let lab = try Lab(path, scorebook)
    let (ann, go, chess) = (Person(), Game(), Game())
    try lab.a.write { db in
      try ann.insert(db)
      for game in [go, chess] { try game.insert(db) }
      if !obstacle.testDescription.hasPrefix("a column") { try Game.players.insert(db, ann.id, to: go.id) }
    }
    try lab.a.run(obstacle.sql.replacing("G_players", with: Game.players.table))
    try expectRefused(by: obstacle, lab) { db in
      if isSet {
        try Game.players.set(db, [ann.id], of: chess.id)
      } else {
        try Game.players.insert(db, ann.id, to: chess.id)
      }
    }
    try lab.expectEqual(["SBPerson", "SBGame", Game.players.table])
  }

  @Test(arguments: CapturePath.allCases) func aMemberThatIsOneMayBeAddedAgain(_ path: CapturePath) throws {
    let lab = try Self.lab(path)
    try lab.a.run("CREATE TRIGGER t BEFORE INSERT ON G_players BEGIN SELECT RAISE(IGNORE); END")
    let vector = try lab.a.vector
    try lab.a.write { db in try Lab.schema.link(db, Self.name("G|~|1"), "players", to: Self.name("P|~|1")) }
    #expect(try lab.a.vector == vector)
  }

  @Test(arguments: CapturePath.allCases) func aRecordThatATriggerIgnoresIsRefused(_ path: CapturePath) throws {
    let lab = try Self.lab(path)
    try lab.a.run(
      "CREATE TRIGGER t BEFORE INSERT ON P WHEN NEW.name = 'no' BEGIN SELECT RAISE(IGNORE); END",
      "CREATE TRIGGER u BEFORE UPDATE ON P WHEN NEW.name = 'no' BEGIN SELECT RAISE(IGNORE); END")
    let vector = try lab.a.vector
    for record in ["P|~|1", "P|~|3"] {
      let error = #expect(throws: StoreError.self) {
        try lab.a.write { db in try Lab.schema.put(db, Self.name(record), ["name": .text("no")]) }
      }
      #expect(error?.code == .writeIgnored)
    }
    #expect(try lab.a.vector == vector)
  }

  @Test(arguments: CapturePath.allCases) func aDeleteThatATriggerIgnoresIsRefused(_ path: CapturePath) throws {
    let lab = try Self.lab(path)
    try lab.a.run(
      "CREATE TRIGGER t BEFORE DELETE ON G BEGIN SELECT RAISE(IGNORE); END",
      "CREATE TRIGGER u BEFORE DELETE ON G_players BEGIN SELECT RAISE(IGNORE); END")
    let vector = try lab.a.vector
    let error = #expect(throws: StoreError.self) {
      try lab.a.write { db in try Lab.schema.delete(db, Self.name("G|~|2")) }
    }
    let other = #expect(throws: StoreError.self) {
      try lab.a.write { db in try Lab.schema.unlink(db, Self.name("G|~|1"), "players", from: Self.name("P|~|1")) }
    }
    #expect(error?.code == .writeIgnored && other?.code == .writeIgnored)
    #expect(try lab.a.vector == vector)
  }

  // MARK: Changes that nobody noted

  /// What an app writes while triggers are missing, and with them again before any store has looked.
  static let unnoted: [([String], name: String?, settings: String?)] = [
    (["UPDATE P SET name = 'E' WHERE id = 'P|~|1'"], "E", "[1]"),
    (["UPDATE P SET settings = '{bad' WHERE id = 'P|~|1'"], "one", "[1]"),
    (["UPDATE P SET name = 'E' WHERE id = 'P|~|1'", "DELETE FROM P WHERE id = 'P|~|1'"], nil, nil),
  ]

  @Test(arguments: CapturePath.allCases, [0, 1, 2])
  func aChangeWithoutTriggersHarmsNobody(_ path: CapturePath, _ number: Int) throws {
    let lab = try Self.lab(path)
    try lab.a.run("UPDATE P SET settings = '[1]'")
    try lab.sync()
    let (statements, name, settings) = Self.unnoted[number]
    try lab.shell("a", "DROP TRIGGER tally_P_update")
    for sql in statements { try lab.shell("a", sql) }
    for _ in 0..<3 { try lab.sync() }
    #expect(try lab.a.doubt() == nil && lab.a.verify().problems.filter { !$0.contains("cannot be replicated") } == [])
    #expect(try Lab.text(lab.b, "SELECT name FROM P WHERE id = 'P|~|1'") == name)
    #expect(try Lab.text(lab.b, "SELECT settings FROM P WHERE id = 'P|~|1'") == settings)
    #expect(try lab.a.summary().fingerprint == lab.b.summary().fingerprint)
  }

  // MARK: Deletes that SQLite does not let happen

  static let holders = [
    "CREATE TABLE fav(p TEXT REFERENCES P(id))",
    "CREATE TABLE fav(p TEXT REFERENCES P(id) DEFERRABLE INITIALLY DEFERRED)",
  ]

  @Test(arguments: CapturePath.allCases, holders)
  func aDeleteOfWhatATableOfTheAppsRefersToIsRefused(_ path: CapturePath, _ table: String) throws {
    let lab = try Self.lab(path)
    try lab.a.run(table, "INSERT INTO fav VALUES('P|~|2')")
    let vector = try lab.a.vector
    #expect(throws: (any Error).self) { try lab.a.write { db in try Lab.schema.delete(db, Self.name("P|~|2")) } }
    #expect(try lab.a.vector == vector)
    #expect(try lab.a.status().setAside.isEmpty)
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT name FROM P WHERE id = 'P|~|2'") == "two")
  }

  /// The owner goes, and what it owns must go with it.
  @Test(arguments: CapturePath.allCases)
  func aDeleteWhoseConsequenceATriggerRefusesIsRefused(_ path: CapturePath) throws {
    let lab = try Self.lab(path)
    try lab.a.run(
      "UPDATE G SET owner = 'P|~|2' WHERE id = 'G|~|2'",
      "CREATE TRIGGER t BEFORE DELETE ON G BEGIN SELECT RAISE(ABORT, 'no'); END")
    let vector = try lab.a.vector
    let error = #expect(throws: StoreError.self) {
      try lab.a.write { db in try Lab.schema.delete(db, Self.name("P|~|2")) }
    }
    #expect(error?.code == .deleteDenied && error?.message.contains("G|~|2") == true)
    #expect(try lab.a.vector == vector)
    #expect(try lab.a.status().setAside.isEmpty)
    // Others are not bound by what this device's tables say.
    try lab.sync()
    try lab.b.write { db in try Lab.schema.delete(db, Self.name("P|~|2")) }
    try lab.sync()
    #expect(try lab.a.status().setAside.count == 2)
    // And the app goes on.
    try lab.a.run("UPDATE P SET name = 'first' WHERE id = 'P|~|1'")
    try lab.sync()
    #expect(try Lab.text(lab.b, "SELECT name FROM P") == "first")
  }

  /// Deleted elsewhere, its row stays here; a restore undoes the delete.
  @Test(arguments: CapturePath.allCases) func whatIsDeletedThoughItsRowStaysCanBeRestored(_ path: CapturePath) throws {
    let lab = try Self.lab(path)
    try lab.sync()
    try lab.a.run(Self.holders[1], "INSERT INTO fav VALUES('P|~|2')")
    try lab.b.write { db in try Lab.schema.delete(db, Self.name("P|~|2")) }
    try lab.sync()
    #expect(try lab.a.status().setAside.count == 1)
    try lab.a.restore(Self.name("P|~|2"))
    try lab.sync()
    #expect(try lab.a.status().setAside.isEmpty)
    #expect(try Lab.text(lab.b, "SELECT name FROM P WHERE id = 'P|~|2'") == "two")
    try lab.expectEqual()
    #expect(throws: StoreError.self) { try lab.a.restore(Self.name("P|~|2")) }
  }

  /// A purge and a compaction reach the values of a row that a table of the app's own refers to; the row itself stays
  /// until it may go, and the status says so.
  @Test(arguments: CapturePath.allCases, 0..<8)
  func whatIsRemovedForGoodIsInNoRowThatStays(_ path: CapturePath, _ number: Int) throws {
    let lab = try Self.lab(path)
    let (way, holder) = (number % 4, number / 4)
    try lab.a.run("UPDATE P SET pos = 7, icon = x'01', settings = '[1]'")
    try lab.sync()
    try lab.a.run(Self.holders[holder], "INSERT INTO fav VALUES('P|~|2')")
    try lab.b.write { db in try Lab.schema.delete(db, Self.name("P|~|2")) }
    try lab.sync()
    #expect(try lab.a.status().setAside.map(\.isEmptied) == [false])
    let store = way % 2 == 0 ? lab.a : lab.b
    if way < 2 {
      #expect(try store.purge(Self.name("P|~|2")).emptied == 1)
    } else {
      #expect(try store.empty(ripe: nil, isDryRun: true).emptied == 1)
      #expect(try Lab.text(lab.a, "SELECT name FROM P WHERE id = 'P|~|2'") == "two")
      #expect(try store.empty(ripe: nil).emptied == 1)
    }
    for _ in 0..<2 {
      try lab.sync()
      let left = try Lab.text(
        lab.a, "SELECT quote(name) || quote(pos) || quote(icon) || quote(settings) FROM P WHERE id = 'P|~|2'")
      #expect(left == "NULLNULLNULLNULL")
      #expect(try lab.a.status().setAside.map(\.isEmptied) == [true])
      #expect(try lab.a.verify().problems == [] && lab.a.doubt() == nil)
      #expect(try lab.a.summary().fingerprint == lab.b.summary().fingerprint)
    }
    #expect(try lab.a.empty(ripe: nil).emptied == 0)
    #expect(throws: StoreError.self) { try lab.a.restore(Self.name("P|~|2")) }
    try lab.a.run("DELETE FROM fav")
    #expect(try Lab.text(lab.a, "SELECT id FROM P WHERE id = 'P|~|2'") == nil)
    #expect(try lab.a.status().setAside.isEmpty)
    try lab.sync()
    try lab.expectEqual()
  }

  /// What an owner's delete has deleted shows with it for as long as the owner's row stays, and goes with its purge.
  @Test(arguments: CapturePath.allCases, [0, 1])
  func aPurgeReachesWhatShowsWithAnOwnerThatIsHeld(_ path: CapturePath, _ holder: Int) throws {
    let lab = try Self.lab(path)
    try lab.a.run("INSERT INTO G(id, name, owner) VALUES('G|~|3', 'three', 'P|~|2')")
    try lab.sync()
    try lab.a.run(Self.holders[holder], "INSERT INTO fav VALUES('P|~|2')")
    try lab.b.write { db in try Lab.schema.delete(db, Self.name("P|~|2")) }
    try lab.sync()
    #expect(try Lab.text(lab.a, "SELECT name FROM G WHERE id = 'G|~|3'") == "three")
    #expect(try lab.a.purge(Self.name("P|~|2")).emptied == 2)
    #expect(try Lab.text(lab.a, "SELECT name FROM G WHERE id = 'G|~|3'") == nil)
    try lab.sync()
    #expect(throws: StoreError.self) { try lab.b.restore(Self.name("P|~|2")) }
    try lab.a.run("DELETE FROM fav")
    try lab.sync()
    #expect(try Lab.text(lab.a, "SELECT group_concat(id) FROM G") == "G|~|1,G|~|2")
    #expect(try lab.a.verify().problems == [] && lab.a.doubt() == nil)
    try lab.expectEqual()
  }

  /// A row that keeps what was removed, since the app refuses defaults in its place, says so, and loses it when it may.
  @Test(arguments: CapturePath.allCases) func aRowThatStillShowsWhatWasRemovedSaysSo(_ path: CapturePath) throws {
    let lab = try Self.lab(path)
    try lab.sync()
    try lab.a.run(Self.holders[0], "INSERT INTO fav VALUES('P|~|2')")
    try lab.b.write { db in try Lab.schema.delete(db, Self.name("P|~|2")) }
    try lab.sync()
    try lab.a.run(
      "CREATE TRIGGER t BEFORE UPDATE OF name ON P WHEN NEW.name IS NULL BEGIN SELECT RAISE(ABORT, 'no'); END")
    try lab.a.purge(Self.name("P|~|2"))
    try lab.sync()
    #expect(try Lab.text(lab.a, "SELECT name FROM P WHERE id = 'P|~|2'") == "two")
    let row = try lab.a.status().setAside.first { $0.row == "P|~|2" }
    #expect(row?.isEmptied == false && row?.showsRemoved == true)
    #expect(try lab.a.verify().problems == [] && lab.a.doubt() == nil)
    #expect(try lab.a.summary().fingerprint == lab.b.summary().fingerprint)
    try lab.a.run("DROP TRIGGER t", "UPDATE P SET pos = 1 WHERE id = 'P|~|1'")
    try lab.sync()
    #expect(try Lab.text(lab.a, "SELECT name FROM P WHERE id = 'P|~|2'") == nil)
    #expect(try lab.a.status().setAside.allSatisfy { !$0.showsRemoved })
  }

  // MARK: What comes back gives way

  private static let tags = Schema([
    EntitySchema("Tag", .text("name"), .reference("group", to: "Group", onDelete: .cascade)),
    EntitySchema("Item", .text("title"), .reference("tag", to: "Tag", onDelete: .cascade)),
    EntitySchema("Group", .text("name")),
  ])

  @Test(arguments: CapturePath.allCases, [false, true])
  func whatIsRestoredTakesNothingFromWhoHasItsValueNow(_ path: CapturePath, isOwned: Bool) throws {
    let lab = try Lab(path, Self.tags)
    for store in [lab.a, lab.b] { try store.run("CREATE UNIQUE INDEX u ON Tag(name)") }
    try lab.a.run("INSERT INTO \"Group\"(id, name) VALUES('Group|~|g', 'all')")
    try lab.a.run("INSERT INTO Tag(id, name, \"group\") VALUES('Tag|~|a', 'Work', 'Group|~|g')")
    let deleted = try AnyRecordName(isOwned ? "Group|~|g" : "Tag|~|a")
    try lab.a.write { db in try Self.tags.delete(db, deleted) }
    try lab.a.run("INSERT INTO Tag(id, name) VALUES('Tag|~|b', 'Work')")
    try lab.a.run("INSERT INTO Item(id, title, tag) VALUES('Item|~|i', 'letter', 'Tag|~|b')")
    try lab.a.restore(deleted)
    try lab.sync()
    for store in [lab.a, lab.b] {
      #expect(try Lab.text(store, "SELECT group_concat(id) FROM Tag") == "Tag|~|b")
      #expect(try Lab.text(store, "SELECT title FROM Item") == "letter")
      #expect(try store.status().setAside.count == 1)
    }
    try lab.expectEqual(["Tag", "Item", "Group"])
    // The value is free again.
    try lab.b.run("UPDATE Tag SET name = 'Home' WHERE id = 'Tag|~|b'")
    try lab.sync()
    for store in [lab.a, lab.b] { #expect(try store.status().setAside.isEmpty) }
    try lab.expectEqual(["Tag", "Item", "Group"])
  }

  // MARK: Who is told

  @Test(arguments: CapturePath.allCases)
  func whoObservesATableIsToldOfWhatAnotherProgramHasWritten(_ path: CapturePath) async throws {
    let lab = try Self.lab(path)
    let names = lab.a.values { db in try String.fetchAll(db, sql: "SELECT name FROM P ORDER BY name") }
    var seen: [[String]] = []
    for try await value in names {
      seen.append(value)
      if seen.count == 1 {
        try lab.shell("a", "INSERT INTO P(id, name) VALUES('P|~|3', 'three')")
        try lab.a.captureChanges()
      } else if value.contains("three") {
        break
      }
    }
    #expect(seen.last == ["one", "three", "two"])
  }

  /// GRDB's own observations as well: what they watch is what was written, and not who wrote it.
  @Test(arguments: CapturePath.allCases, [false, true])
  func anObservationOfGRDBIsToldOfWhatAnotherProgramHasWritten(_ path: CapturePath, isByWrite: Bool) async throws {
    let lab = try Self.lab(path)
    let counts = ValueObservation.tracking { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM P") ?? 0 }
    var seen: [Int] = []
    for try await count in counts.values(in: lab.a) {
      seen.append(count)
      if seen.count == 1 {
        try lab.shell("a", "INSERT INTO P(id, name) VALUES('P|~|3', 'three')")
        // A look takes it in, and so does a write to another table.
        if isByWrite { try lab.a.run("UPDATE G SET name = 'x'") } else { try lab.a.captureChanges() }
      } else if count == 3 {
        break
      }
    }
    #expect(seen.last == 3)
  }

  @Test(arguments: CapturePath.allCases)
  func anObservedRegionIsToldOfWhatAnotherProgramHasWritten(_ path: CapturePath) async throws {
    let lab = try Self.lab(path)
    let (told, feed) = AsyncStream.makeStream(of: Void.self)
    let cancellable = DatabaseRegionObservation(tracking: Table("P")).start(in: lab.a) { error in
      Issue.record(error)
    } onChange: { _ in
      feed.yield()
    }
    try lab.shell("a", "INSERT INTO P(id, name) VALUES('P|~|3', 'three')")
    try lab.a.captureChanges()
    for await _ in told { break }
    cancellable.cancel()
  }

  @Test func aLiveListOfConflictsIsTold() async throws {
    let lab = try Self.lab(.hook)
    try lab.sync()
    let lists = lab.a.values { [store = lab.a] db in try store.conflicts(db) }
    var hasMet = false
    for try await list in lists {
      if hasMet, list.count == 1 { break }
      guard !hasMet else { continue }
      try lab.a.run("UPDATE P SET name = 'a' WHERE id = 'P|~|1'")
      try lab.b.run("UPDATE P SET name = 'b' WHERE id = 'P|~|1'")
      try lab.sync()
      hasMet = true
    }
    #expect(try await lab.a.conflicts().count == 1)
  }
}
