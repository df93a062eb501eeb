import Foundation
import GRDB
import Testing

/// What the tool says where something is misspelt, missing or in the way: words that lead on.
@Suite(.timeLimit(.minutes(30))) struct WordsTests {
  /// The help of a command and of all below it.
  private func helps(_ bench: Bench, _ words: [String] = []) throws -> [(command: String, text: String)] {
    let text = try bench.tally(["help"] + words)
    #expect(text.status == 0, "\(words)")
    let below = text.output.components(separatedBy: "SUBCOMMANDS:\n").dropFirst().first ?? ""
    let names = below.split(separator: "\n").compactMap { line in
      line.hasPrefix("  ") && line.dropFirst(2).first?.isLetter == true && !line.hasPrefix("  See ")
        ? line.split(separator: " ").first.map(String.init) : nil
    }
    return [(words.joined(separator: " "), text.output)] + (try names.flatMap { try helps(bench, words + [$0]) })
  }

  @Test func noHelpIsWiderThanATerminal() throws {
    let all = try helps(try Bench())
    #expect(all.count > 35 && all.contains { $0.command == "relay token" })
    for (command, text) in all {
      let wide = text.split(separator: "\n").filter { $0.count > 80 }
      #expect(wide.isEmpty, "\(command): \(wide)")
    }
    // The synopsis is all there.
    let sync = try #require(all.first { $0.command == "sync" }?.text)
    let synopsis = try #require(sync.components(separatedBy: "USAGE: ").last?.components(separatedBy: "\n\n").first)
    let words = synopsis.split { $0.isWhitespace }.joined(separator: " ")
    #expect(words.hasPrefix("tally sync <first> [<second>] [--via <PEER>]") && words.hasSuffix(" [--progress]"))
  }

  @Test(arguments: [
    (["snyc"], "'snyc'; did you mean 'sync'?"), (["help", "snyc"], "'snyc'; did you mean 'sync'?"),
    (["snyc", "--help"], "'snyc'; did you mean 'sync'?"), (["hepl"], "'hepl'; did you mean 'help'?"),
    (["relay", "tokn"], "'tokn'; did you mean 'token'?"), (["help", "relay", "tokn"], "did you mean 'token'?"),
    (["relay", "lst", "--help"], "did you mean 'list'?"),
    (["schema", "upgrde", "a", "b"], "did you mean 'upgrade'?"),
    (["help", "nothing"], "there is no command 'nothing'"),
  ]) func aCommandThatThereIsNotIsAMistake(_ words: [String], _ hint: String) throws {
    try Bench().refused(64, words, saying: hint)
  }

  /// The name of a command that may be left out gives way to a file of nearly that name.
  @Test func aStoreMayBeCalledNearlyAsACommand() throws {
    let bench = try Bench("shows")
    #expect(try bench.done("schema", "shows").contains("SBPerson"))
    try bench.refused(66, ["schema", "elsewhere"], saying: "there is no store at elsewhere")
  }

  @Test func aNameThatIsNearlyRightIsSuggested() throws {
    let bench = try Bench("people.tally")
    try bench.done("put", "people.tally", "SBPerson|~|ann", "name=Ann")
    try bench.write("x", to: "notes.txt")
    let cases: [(Int32, [String], String)] = [
      (65, ["get", "people.tally", "SBPersn|~|ann"], "did you mean 'SBPerson'?"),
      (65, ["list", "people.tally", "sbperson"], "did you mean 'SBPerson'?"),
      (65, ["deleted", "people.tally", "--type", "SBPersom"], "did you mean 'SBPerson'?"),
      (65, ["why", "people.tally", "SBPersn|~|ann"], "did you mean 'SBPerson'?"),
      (65, ["put", "people.tally", "SBPerson|~|ann", "nmae=Ann"], "did you mean 'name'?"),
      (65, ["put", "people.tally", "SBGame|~|go", "ownr=SBPerson|~|ann"], "did you mean 'owner'?"),
      (65, ["link", "people.tally", "SBGame|~|go", "player", "SBPerson|~|ann"], "did you mean 'players'?"),
      (66, ["status", "poeple.tally"], "did you mean 'people.tally'?"),
      (66, ["sync", "people.taly", "people.tally"], "did you mean 'people.tally'?"),
      (66, ["import", "people.tally", "note.txt"], "did you mean 'notes.txt'?"),
      (66, ["new", "b", "--schema", "shcema.json"], "did you mean 'schema.json'?"),
      (66, ["status", bench.path("people.tall")], "did you mean '\(bench.path("people.tally"))'?"),
    ]
    for (status, words, hint) in cases { try bench.refused(status, words, saying: hint) }
    for line in [
      #"{"name":"SBPersom|~|a","fields":{}}"#, #"{"name":"SBPerson|~|a","fields":{"nam":"x"}}"#,
      #"{"name":"SBGame|~|a","fields":{},"links":{"palyers":[]}}"#,
    ] {
      try bench.refused(65, ["import", "people.tally", "-"], saying: "did you mean '", input: line)
    }
    let sets = [
      #"{"name":"s","version":1,"records":[{"key":"k","type":"SBGam","fields":{}}]}"#,
      #"{"name":"s","version":1,"records":[],"adoptions":[{"type":"SBGam","matching":["name"]}]}"#,
    ]
    for set in sets {
      try bench.refused(65, ["seed", "people.tally", "--set", "-"], saying: "did you mean 'SBGame'?", input: set)
    }
    let schema = #"{"entities":[{"type":"Tree","fields":{},"references":{"up":{"to":"Tre"}}}]}"#
    try bench.refused(65, ["new", "b", "--schema", "-"], saying: "did you mean 'Tree'?", input: schema)
    // What is like nothing is no misspelling.
    for words in [["get", "people.tally", "Zebra|~|z"], ["status", "elsewhere"], ["get", "people.tally", "S|~|z"]] {
      let outcome = try bench.tally(words)
      #expect([65, 66].contains(outcome.status) && !outcome.errors.contains("did you mean"), "\(words)")
    }
    // Nothing was made under a name that was none.
    #expect(try bench.contents().filter { !$0.hasPrefix("people.tally") } == ["notes.txt", "schema.json"])
  }

  @Test(arguments: ["ALTER TABLE SBGame RENAME TO Games", "DROP TABLE SBGame"])
  func aTableThatIsGoneIsNamedByEachReader(_ sql: String) throws {
    let bench = try Bench("a", "b")
    try bench.done("put", "a", "SBPerson|~|ann", "name=Ann")
    try bench.done("put", "a", "SBGame|~|go", "name=Go")
    let queue = try DatabaseQueue(path: bench.path("a"))
    try queue.write { try $0.execute(sql: sql) }
    try queue.close()
    for words in [
      ["status", "a"], ["verify", "a"], ["list", "a", "SBGame"], ["get", "a", "SBGame|~|go"], ["dump", "a"],
      ["dump", "a", "--view"], ["why", "a", "SBGame|~|go"], ["report", "a"], ["timeline", "a"], ["diff", "a", "b"],
      ["diff", "b", "a"],
    ] {
      let outcome = try bench.tally(words)
      #expect(outcome.status == 65, "\(words): \(outcome.output)")
      #expect(
        outcome.errors.hasPrefix("tally: a: the table SBGame is not there: another program has dropped or renamed it"),
        "\(words): \(outcome.errors)")
    }
    // Looking has changed nothing: named back, it is as it was.
    guard sql.contains("RENAME") else { return }
    let back = try DatabaseQueue(path: bench.path("a"))
    try back.write { try $0.execute(sql: "ALTER TABLE Games RENAME TO SBGame") }
    try back.close()
    #expect(try bench.tally("get", "a", "SBGame|~|go").output.contains("Go"))
    #expect(try bench.tally("sync", "a", "b").status == 0)
    #expect(try bench.done("dump", "a", "--view") == bench.done("dump", "b", "--view"))
    #expect(try bench.done("verify", "a").hasPrefix("ok "))
  }

  @Test func aColumnThatIsGoneIsNamedByEachReader() throws {
    let bench = try Bench("a")
    try bench.done("put", "a", "SBPerson|~|ann", "name=Ann")
    let queue = try DatabaseQueue(path: bench.path("a"))
    try queue.write { try $0.execute(sql: "ALTER TABLE SBPerson RENAME COLUMN name TO called") }
    try queue.close()
    for words in [["verify", "a"], ["get", "a", "SBPerson|~|ann"], ["dump", "a"]] {
      try bench.refusedAfterOutput(65, words, saying: "the table SBPerson was rebuilt in a way that no store can use")
    }
  }

  /// `.dump` keeps no application_id.
  @Test func aDumpThatWasMadeIntoAFileIsReadByRecover() throws {
    let bench = try Bench("a")
    try bench.done("put", "a", "SBPerson|~|ann", "name=Ann")
    let (store, made) = (try DatabaseQueue(path: bench.path("a")), try DatabaseQueue(path: bench.path("made")))
    let tables = try store.read { db in
      try Row.fetchAll(
        db, sql: "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
      ).map { (name: $0["name"] as String, sql: $0["sql"] as String) }
    }
    for table in tables {
      let rows = try store.read { db in
        try Row.fetchAll(db, sql: "SELECT * FROM \"\(table.name)\"").map { Array($0.databaseValues) }
      }
      try made.writeWithoutTransaction { db in
        try db.execute(sql: "PRAGMA foreign_keys = OFF; \(table.sql)")
        for row in rows {
          let places = row.map { _ in "?" }.joined(separator: ",")
          try db.execute(sql: "INSERT INTO \"\(table.name)\" VALUES(\(places))", arguments: StatementArguments(row))
        }
      }
    }
    try store.close()
    try made.close()
    for words in [["status", "made"], ["sync", "made", "a"], ["put", "made", "SBPerson|~|bob", "name=Bob"]] {
      try bench.refused(65, words, saying: "recover makes a store of it (tally recover")
    }
    #expect(try bench.tally("recover", "made", "-o", "again").output.hasSuffix("recovered 1 records and links\n"))
    #expect(try bench.done("dump", "again", "--view") == bench.done("dump", "a", "--view"))
    // Another program's database is none.
    let other = try DatabaseQueue(path: bench.path("other"))
    try other.write { try $0.execute(sql: "CREATE TABLE tally_meta(x)") }
    try other.close()
    try bench.refused(65, ["status", "other"], saying: "is an SQLite database, but not a store")
  }

  /// A key that is checked at COMMIT alone lets a row go each time that it is tried again.
  @Test func aRowThatADeferredKeyHoldsIsWarnedOfOnce() throws {
    let bench = try Bench("a", "b")
    try bench.done("put", "b", "SBPerson|~|ann", "name=Ann")
    try bench.done("sync", "a", "b")
    let queue = try DatabaseQueue(path: bench.path("a"))
    try queue.write {
      try $0.execute(
        sql: """
          CREATE TABLE fav(person TEXT REFERENCES SBPerson(id) DEFERRABLE INITIALLY DEFERRED);
          INSERT INTO fav VALUES('SBPerson|~|ann')
          """)
    }
    try queue.close()
    try bench.done("delete", "b", "SBPerson|~|ann")
    let first = try bench.tally("sync", "a", "b")
    #expect(first.status == 0)
    #expect(first.errors.components(separatedBy: "a row is set aside").count == 2, "\(first.errors)")
    #expect(first.errors.contains("fav refers to it"))
    try bench.done("sync", "a", "b")
    try bench.done("put", "a", "SBPerson|~|bob", "name=Bob")
    #expect(try bench.done("status", "a").contains("set aside    SBPerson|~|ann stays: fav refers to it"))
    // Once it has gone and is held again, that is news.
    let free = try DatabaseQueue(path: bench.path("a"))
    try free.write { try $0.execute(sql: "DELETE FROM fav") }
    try free.close()
    try bench.done("put", "a", "SBPerson|~|carl", "name=Carl")
    #expect(try !bench.done("status", "a").contains("set aside"))
  }

  @Test func theShellTellsItsCommands() throws {
    let bench = try Bench()
    let outcome = try bench.tally(
      "shell", "--schema", "schema.json", input: "help\nhelp put\nhelp ptu\nsnyc a b\nnonsense\nhelp put get\n")
    #expect(outcome.status == 0)
    let lines = outcome.lines
    #expect(lines.count == 6)
    #expect(lines[0].hasPrefix(#"{"ok":[{"answer":"the forms"#))
    #expect(lines[0].contains(#""form":"sync STORE STORE""#) && lines[0].contains(#""form":"help [COMMAND]""#))
    #expect(lines[1].components(separatedBy: #""form":"put STORE"#).count == 3 && !lines[1].contains("delete"))
    #expect(lines[2].contains("there is no command 'ptu'; did you mean 'put'?"))
    #expect(lines[2].hasSuffix(#""status":64}}"#))
    #expect(lines[3].contains("there is no command 'snyc'; did you mean 'sync'?"))
    #expect(lines[4].contains("there is no command 'nonsense'; help lists them"))
    #expect(lines[5].contains("'help' takes no 'get' there"))
  }
}
