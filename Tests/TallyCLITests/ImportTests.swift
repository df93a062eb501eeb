import Foundation
import GRDB
import Testing

/// Many records at once.
@Suite struct ImportTests {
  let bench: Bench

  init() throws { bench = try Bench("a") }

  private static let ownersLast = """
    {"name":"SBGame|~|go","fields":{"name":"Go","owner":"SBPerson|~|ann"},"links":{"players":["SBPerson|~|ann","SBPerson|~|bob"]}}
    {"name":"SBGame|~|chess","fields":{"name":"Chess"}}

    {"name":"SBPerson|~|bob"}
    {"name":"SBPerson|~|ann","fields":{"name":"Ann"}}
    """

  @Test(arguments: ["1", "2", "1000"]) func theOrderOfLinesDoesNotMatter(batch: String) throws {
    #expect(try bench.done("import", "a", "-", "--batch", batch, input: Self.ownersLast) == "imported 4 lines\n")
    let game = try bench.done("get", "a", "SBGame|~|go")
    #expect(game.contains("  owner=SBPerson|~|ann\n"))
    #expect(game.hasSuffix("  players -> SBPerson|~|ann\n  players -> SBPerson|~|bob\n"))
    #expect(try bench.done("verify", "a") == "ok 6 checked\n")
  }

  @Test func aSecondImportChangesNothing() throws {
    try bench.write(Self.ownersLast, to: "lines.jsonl")
    try bench.done("import", "a", "lines.jsonl")
    let before = try bench.done("dump", "a")
    try bench.done("import", "a", "lines.jsonl")
    #expect(try bench.done("dump", "a") == before)
  }

  /// In processor time, which others on the machine hardly change; measured in a release build it is 1.25 times.
  @Test func importingCostsAtMostThreeTimesWhatApplyingDoes() throws {
    let lines = (0..<8000).map { "{\"name\":\"SBPerson|~|\($0)\",\"fields\":{\"name\":\"number \($0)\"}}\n" }
    try bench.write(lines.joined(), to: "lines.jsonl")
    try bench.done("new", "b", "--schema", "schema.json")
    let start = try bench.tally("vector", "b").time
    let importing = try bench.tally("import", "a", "lines.jsonl")
    try bench.done("delta", "a", "-o", "delta")
    let applying = try bench.tally("apply", "b", "delta")
    #expect(importing.status == 0 && applying.status == 0)
    #expect(importing.time - start < 3 * (applying.time - start), "\(importing.time) and \(applying.time) s")
  }

  @Test func theViewOfOneStoreImportsIntoAnother() throws {
    try bench.done("import", "a", "-", input: Self.ownersLast)
    let odd = ["name=a\u{7F}b", "rating=-0.0", "since=0001-01-01", "rules=null", "icon=", "isTeam=0"]
    _ = try bench.tally(["put", "a", "SBGame|~|odd"] + odd)
    try bench.done("new", "b", "--schema", "schema.json")
    let view = try bench.done("dump", "a", "--view")
    try bench.done("import", "b", "-", input: view)
    #expect(try bench.done("dump", "b", "--view") == view)
    #expect(try bench.done("list", "b", "SBGame", "--json") == bench.done("list", "a", "SBGame", "--json"))
  }

  @Test func anImportStopsAtABadLineAndSaysWhatIsCommitted() throws {
    let input = """
      {"name":"SBPerson|~|ann"}
      {"name":"SBPerson|~|bob"}
      {"name":"SBPerson|~|carl"}
      {"name":"SBPerson|~|dora","fields":{"born":"yesterday"}}
      {"name":"SBPerson|~|eve"}
      """
    try bench.refused(65, ["import", "a", "-", "--batch", "2"], saying: "line 4: SBPerson|~|dora.born", input: input)
    #expect(try bench.done("list", "a", "SBPerson") == "SBPerson|~|ann\nSBPerson|~|bob\n")
    try bench.refused(65, ["import", "a", "-"], saying: "0 lines committed", input: input)
  }

  @Test func aReferenceThatNoLineFillsIsNamed() throws {
    let line = "{\"name\":\"SBGame|~|go\",\"fields\":{\"owner\":\"SBPerson|~|nobody\"}}"
    try bench.refused(65, ["import", "a", "-"], saying: "line 1: SBGame|~|go refers to SBPerson|~|nobody", input: line)
    #expect(try bench.done("get", "a", "SBGame|~|go").contains("  owner:=null\n"))
    #expect(try bench.done("verify", "a") == "ok 1 checked\n")
  }

  /// Editors on Windows begin a text with a mark that says that it is UTF-8.
  @Test func aMarkAtTheBeginningOfTheTextIsNoneOfIt() throws {
    let lines = "\u{FEFF}{\"name\":\"SBPerson|~|ann\"}\r\n{\"name\":\"SBPerson|~|bob\"}\r\n"
    #expect(try bench.done("import", "a", "-", input: lines) == "imported 2 lines\n")
    try bench.done("put", "a", "-", input: "\u{FEFF}SBPerson|~|cid name=Cid\n")
    #expect(try bench.done("list", "a", "SBPerson") == "SBPerson|~|ann\nSBPerson|~|bob\nSBPerson|~|cid\n")
    // Anywhere else it is what stands there.
    try bench.refused(
      65, ["import", "a", "-"], saying: "line 2: ", input: "{\"name\":\"SBPerson|~|ann\"}\n\u{FEFF}{}\n")
  }

  private static let malformedLines = [
    "[]", "{}", "null", "{\"name\":7}", "{\"name\":\"SBPerson|~|x\",\"name\":\"SBPerson|~|y\"}",
    "{\"name\":\"SBPerson|~|x\"",
    "{\"name\":\"SBPerson|~|x\",\"feilds\":{}}", "{\"name\":\"SBPerson|~|x\",\"fields\":[]}",
    "{\"name\":\"SBPerson|~|x\",\"fields\":{\"name\":1}}", "{\"name\":\"SBPerson|~|x\",\"fields\":{\"none\":1}}",
    "{\"name\":\"SBPerson|~|x\",\"links\":{\"players\":[]}}",
    "{\"name\":\"SBGame|~|x\",\"links\":{\"players\":\"SBPerson|~|x\"}}",
    "{\"name\":\"SBGame|~|x\",\"links\":{\"players\":[\"SBGame|~|x\"]}}", "{\"name\":\"SBPerson|~|x\\u0000\"}",
    "{\"name\":\"SBPerson|~|x\",\"fields\":{\"name\":\"\\ud800\"}}", "{\"name\":\"SBPerson|~|x\"} 1",
  ]

  @Test func malformedLinesAreRefused() throws {
    try bench.unchanged("a") {
      for line in Self.malformedLines {
        try bench.refused(65, ["import", "a", "-"], saying: "line 1: ", input: line + "\n")
      }
    }
  }

  @Test func progressIsForTerminalsOnly() throws {
    let input = (1...3000).map { "{\"name\":\"SBPerson|~|p\($0)\"}\n" }.joined()
    #expect(try bench.done("import", "a", "-", "--batch", "100", input: input) == "imported 3000 lines\n")
  }

  // MARK: Other databases

  private static let old = """
    CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE game (id INTEGER PRIMARY KEY, name TEXT, owner_id INTEGER REFERENCES person(id));
    CREATE TABLE game_players (game INTEGER REFERENCES game(id), person INTEGER REFERENCES person(id));
    INSERT INTO person VALUES (1, 'Ann'), (2, 'Bob');
    INSERT INTO game VALUES (1, 'Go', 1), (2, 'Chess', 7);
    INSERT INTO game_players VALUES (1, 1), (1, 2);
    """

  /// From a file to a store by a draft, a stop, a mended map, and a second call that has nothing to do.
  @Test func anotherDatabaseComesInByAMap() throws {
    try DatabaseQueue(path: bench.path("old.sqlite"), configuration: Self.withoutForeignKeys)
      .write { try $0.execute(sql: Self.old) }
    let draft = try bench.tally("import", "a", "--from", "old.sqlite", "--draft")
    #expect(draft.status == 0)
    #expect(draft.errors.contains("tally: nothing found for SBGame.rating\n"))
    #expect(draft.output.contains("\"owner\" : \"owner_id\""))
    try bench.write(draft.output, to: "map.json")
    let stopped = try bench.tally("import", "a", "--from", "old.sqlite", "--map", "map.json", "--batch", "1")
    #expect(stopped.status == 65)
    #expect(
      stopped.errors
        == "tally: game, row '2', SBGame.owner: refers to '7', which is not imported; \"skipsMissing\" makes such "
        + "references null (rowNotMapped)\n")
    let mended = draft.output.replacing(
      "\"owner_id\"", with: "{\"column\": \"owner_id\", \"skipsMissing\": true}")
    try bench.write(mended, to: "map.json")
    #expect(
      try bench.done("import", "a", "--from", "old.sqlite", "--map", "map.json")
        == "SBGame: 1\nimported 1 record, 2 links\n1 reference without a target left out\n")
    #expect(
      try bench.done("import", "a", "--from", "old.sqlite", "--map", "map.json")
        == "nothing to do: this import was done before\n")
    #expect(try bench.done("list", "a", "SBPerson").split(separator: "\n").count == 2)
    #expect(try bench.done("verify", "a").hasPrefix("ok "))
  }

  /// What nothing in the map takes is no success, however often it is said, until the map says so too.
  @Test func whatAnImportLeavesBehindIsNoSuccess() throws {
    try DatabaseQueue(path: bench.path("old.sqlite")).write {
      try $0.execute(
        sql: """
          CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, shoes INTEGER); INSERT INTO person VALUES (1, 'Ann', 39);
          CREATE TABLE log (line TEXT); INSERT INTO log VALUES ('a'), ('b');
          """)
    }
    let draft = try bench.tally("import", "a", "--from", "old.sqlite", "--draft")
    #expect(draft.errors.contains("tally: no field takes person.shoes\n"))
    #expect(draft.errors.contains("tally: nothing in the map takes 2 rows of log\n"))
    try bench.write(draft.output, to: "map.json")
    for answer in ["SBPerson: 1\nimported 1 record, 0 links\n", "nothing to do: this import was done before\n"] {
      let outcome = try bench.tally("import", "a", "--from", "old.sqlite", "--map", "map.json")
      #expect(outcome.status == 65 && outcome.output == answer)
      #expect(
        outcome.errors
          == "tally: nothing in the map takes 2 rows of log; map them, or name in \"leavesOut\" what is to stay behind\n"
      )
    }
    try bench.write(draft.output.replacing("\"tables\"", with: "\"leavesOut\": [\"log\"], \"tables\""), to: "map.json")
    try bench.done("import", "a", "--from", "old.sqlite", "--map", "map.json")
  }

  /// Pictures that another database names, or has in its rows, are beside the store afterwards.
  @Test func picturesComeAlong() throws {
    try bench.write(
      #"{"entities":[{"type":"Person","fields":{"name":"text","photo":"asset","scan":"asset"}}]}"#, to: "pictures.json")
    try bench.done("new", "p", "--schema", "pictures.json")
    try FileManager.default.createDirectory(atPath: bench.path("Pictures"), withIntermediateDirectories: false)
    try bench.write("a picture", to: "Pictures/ann.jpg")
    try DatabaseQueue(path: bench.path("old.sqlite")).write {
      try $0.execute(
        sql: """
          CREATE TABLE person (id TEXT PRIMARY KEY, name TEXT, photo TEXT, scan BLOB);
          INSERT INTO person VALUES ('ann', 'Ann', 'ann.jpg', CAST('%PDF-1' AS BLOB)), ('bob', 'Bob', NULL, NULL);
          """)
    }
    let draft = try bench.tally("import", "p", "--from", "old.sqlite", "--draft")
    #expect(draft.status == 0)
    #expect(draft.errors.hasPrefix("tally: the values for Person.photo look like paths of files; "))
    try bench.write(draft.output, to: "map.json")
    try bench.refused(
      65, ["import", "p", "--from", "old.sqlite", "--map", "map.json"],
      saying: "Person.photo has paths of files, and the map does not name their \"folder\"")
    try bench.write(draft.output.replacing("\"tables\"", with: "\"folder\": \"Pictures\", \"tables\""), to: "map.json")
    #expect(
      try bench.done("import", "p", "--from", "old.sqlite", "--map", "map.json")
        == "Person: 2\nimported 2 records, 0 links\n")
    try bench.done("assets", "get", "p", "Person|~|ann", "photo", "-o", "copy.jpg")
    #expect(try bench.bytes("copy.jpg") == Array("a picture".utf8))
    try bench.done("assets", "get", "p", "Person|~|ann", "scan", "-o", "copy.pdf")
    #expect(try bench.done("get", "p", "Person|~|ann").contains(".6.pdf\n"))
    try bench.write(draft.output.replacing("\"tables\"", with: "\"folder\": \"none\", \"tables\""), to: "map.json")
    #expect(
      try bench.done("import", "p", "--from", "old.sqlite", "--map", "map.json")
        == "nothing to do: this import was done before\n")
  }

  @Test func whatCannotBeADatabaseIsRefused() throws {
    try bench.write("{\"tables\":[]}", to: "map.json")
    try bench.write("hello", to: "text")
    for (file, status, message) in [
      ("none", 66, "cannot read none: No such file or directory"), ("text", 65, "text is no SQLite database"),
      ("a", 65, "a is already a store; sync with it instead"),
    ] as [(String, Int32, String)] {
      let answer = try bench.tally("import", "a", "--from", file, "--map", "map.json")
      #expect(answer.status == status && answer.errors.contains(message), "\(answer.errors)")
    }
    #expect(try bench.tally("import", "a", "--from", "text").status == 64)
    #expect(try bench.tally("import", "a", "text", "--from", "text", "--draft").status == 64)
    #expect(try bench.tally("import", "a", "text", "--map", "map.json").status == 64)
    #expect(try bench.tally("import", "a").status == 64)
  }

  private static var withoutForeignKeys: Configuration {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    return configuration
  }
}
