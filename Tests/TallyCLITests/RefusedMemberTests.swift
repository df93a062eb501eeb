import GRDB
import Testing

/// A member that a constraint of the app's refuses is refused aloud, by each command that adds members.
@Suite struct RefusedMemberTests {
  private let bench: Bench

  init() throws {
    bench = try Bench("a", "b")
    try bench.done("put", "a", "-", input: "SBPerson|~|ann\nSBGame|~|go\nSBGame|~|chess\n")
    try bench.done("link", "a", "SBGame|~|go", "players", "SBPerson|~|ann")
    try DatabaseQueue(path: bench.path("a")).write {
      try $0.execute(sql: "CREATE UNIQUE INDEX one ON SBGame_players(target)")
    }
  }

  private func expectNothingWritten(_ vector: String) throws {
    #expect(try bench.done("vector", "a") == vector)
    #expect(try bench.done("verify", "a") == "ok 4 checked\n")
    try bench.done("sync", "a", "b")
    for store in ["a", "b"] {
      #expect(try bench.done("get", store, "SBGame|~|go").contains("players -> SBPerson|~|ann"))
      #expect(try !bench.done("get", store, "SBGame|~|chess").contains("players"))
    }
  }

  @Test func linkGivesTheReason() throws {
    let vector = try bench.done("vector", "a")
    try bench.refused(
      65, ["link", "a", "SBGame|~|chess", "players", "SBPerson|~|ann"],
      saying: "UNIQUE constraint failed: SBGame_players.target")
    try expectNothingWritten(vector)
  }

  @Test func anImportedLineGivesTheReasonAndItsNumber() throws {
    let vector = try bench.done("vector", "a")
    let input = """
      {"name":"SBGame|~|go","links":{"players":["SBPerson|~|ann"]}}
      {"name":"SBGame|~|chess","links":{"players":["SBPerson|~|ann"]}}
      """
    try bench.refused(
      65, ["import", "a", "-"], saying: "UNIQUE constraint failed: SBGame_players.target", input: input)
    try expectNothingWritten(vector)
  }

  @Test func anImportOfAnotherDatabaseGivesTheReasonAndCountsNothing() throws {
    try DatabaseQueue(path: bench.path("old.sqlite")).write {
      try $0.execute(
        sql: """
          CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT);
          CREATE TABLE game (id INTEGER PRIMARY KEY, name TEXT);
          CREATE TABLE game_players (game INTEGER REFERENCES game(id), person INTEGER REFERENCES person(id));
          INSERT INTO person VALUES (1, 'Bob'); INSERT INTO game VALUES (1, 'Dice'), (2, 'Darts');
          INSERT INTO game_players VALUES (1, 1), (2, 1);
          """)
    }
    let draft = try bench.tally("import", "a", "--from", "old.sqlite", "--draft")
    try bench.write(draft.output, to: "map.json")
    try bench.refused(
      65, ["import", "a", "--from", "old.sqlite", "--map", "map.json"],
      saying: "UNIQUE constraint failed: SBGame_players.target")
    // Once the app takes it, the same import goes on to its end.
    try DatabaseQueue(path: bench.path("a")).write { try $0.execute(sql: "DROP INDEX one") }
    let said = try bench.done("import", "a", "--from", "old.sqlite", "--map", "map.json")
    #expect(said.contains("2 links"))
    let games = try bench.done("list", "a", "SBGame").split(separator: "\n").map(String.init)
    let members = try games.map { try bench.done("get", "a", $0) }.filter { $0.contains("players -> ") }
    #expect(members.count == 3)
  }
}
