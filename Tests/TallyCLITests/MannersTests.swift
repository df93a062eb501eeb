import Foundation
import GRDB
import TestEffort
import Testing

/// Values that survive every way in and out, and words where there were none.
@Suite(.timeLimit(.minutes(30))) struct MannersTests {
  @Test func aNULInATextIsTheSameEverywhere() throws {
    let bench = try Bench("a", "b", "c")
    let queue = try DatabaseQueue(path: bench.path("a"))
    try queue.write {
      try $0.execute(
        sql: "INSERT INTO SBPerson(id, name) VALUES('SBPerson|~|nul', CAST(x'61006208' AS TEXT))")
    }
    try queue.close()
    #expect(try bench.done("get", "a", "SBPerson|~|nul").contains(#"name:="a\u0000b\u0008""#))
    #expect(try bench.done("get", "a", "SBPerson|~|nul", "--json").contains(#""name":"a\u0000b\u0008""#))
    try bench.done("sync", "a", "b")
    #expect(try bench.done("dump", "a") == bench.done("dump", "b"))
    let view = try bench.done("dump", "a", "--view")
    try bench.done("import", "c", "-", input: view)
    #expect(try bench.done("dump", "c", "--view") == view)
    #expect(try bench.done("import", "a", "-", input: view) == "imported 1 line\n")
    #expect(try bench.done("vector", "a") == bench.done("vector", "b"))
  }

  @Test func aJSONFieldKeepsItsTextByteForByte() throws {
    let bench = try Bench("a", "b")
    let texts = [#"{"b":1, "a": [1,2]}"#, #"{"a":1.0e2}"#, "[1,\n 2]", #""text""#, "null", "[1,2]"]
    for text in Effort.sample(texts, 3) {
      try bench.done("put", "a", "SBGame|~|go", "rules=\(text)")
      let vector = try bench.done("vector", "a")
      for form in [["get", "a", "SBGame|~|go", "--json"], ["dump", "a", "--view"]] {
        let lines = try bench.tally(form).output
        #expect(try bench.done("import", "a", "-", input: lines) == "imported 1 line\n")
        #expect(try bench.done("vector", "a") == vector, "\(text) by \(form[0])")
        try bench.done("import", "b", "-", input: lines)
        #expect(try bench.done("dump", "b", "--view") == bench.done("dump", "a", "--view"), "\(text)")
      }
    }
  }

  @Test func aRecordThatOwnsItselfIsRefused() throws {
    let bench = try Bench()
    try bench.write(
      #"{"entities":[{"type":"F","fields":{"name":"text"},"references":{"parent":{"to":"F","onDelete":"cascade"}}}]}"#,
      to: "tree.json")
    try bench.done("new", "t", "--schema", "tree.json")
    try bench.unchanged("t") {
      try bench.refused(65, ["put", "t", "F|~|a", "parent=F|~|a"], saying: "cannot own itself")
    }
  }

  @Test func aMisspeltCommandIsSuggested() throws {
    let bench = try Bench("a")
    try bench.refused(64, ["snyc", "a"], saying: "did you mean 'sync'?")
    try bench.refused(64, ["verfy", "a"], saying: "did you mean 'verify'?")
    #expect(try !bench.tally("zzzzzzzz").errors.contains("did you mean"))
  }

  @Test func statusSaysWhyAnIDWasRenewedAndWhoseClockIsAhead() throws {
    let bench = try Bench("a")
    try bench.done("put", "a", "SBPerson|~|ann", "name=Ann")
    try FileManager.default.copyItem(atPath: bench.path("a"), toPath: bench.path("copy"))
    #expect(try bench.tally("put", "copy", "SBPerson|~|bob", "name=Bob").status == 0)
    #expect(try bench.done("status", "copy").contains("renewed "))
    let outcome = try bench.tally(
      "shell", "--schema", "schema.json",
      input: "new x x\nclock x 4000000000000\nput x 'SBPerson|~|far' name=Far\nopen a a\nsync x a\n")
    #expect(outcome.status == 0)
    #expect(try bench.done("status", "a").contains("ahead of this device's clock"))
  }

  /// The command would not learn of it.
  @Test func aSecretForACommandIsRefused() throws {
    let bench = try Bench("a")
    try bench.write("0123456789abcdef", to: "secret")
    try bench.refused(
      64, ["sync", "a", "--via", "ssh nobody", "--secret-file", "secret"],
      saying: "a secret or certificates go with tcp://")
  }

  @Test func warningsOfTheLibraryHaveTheToolsPrefix() throws {
    let bench = try Bench("a")
    try bench.done("put", "a", "SBPerson|~|ann", "name=Ann")
    try FileManager.default.copyItem(atPath: bench.path("a"), toPath: bench.path("copy"))
    let outcome = try bench.tally("put", "copy", "SBPerson|~|bob", "name=Bob")
    #expect(outcome.status == 0)
    #expect(outcome.errors.hasPrefix("tally: warning: ") && outcome.errors.utf8.count { $0 == 0x0A } == 1)
  }

  /// Of two stores it says which.
  @Test func anErrorOfSQLiteNamesTheFile() throws {
    let bench = try Bench("a", "b")
    let queue = try DatabaseQueue(path: bench.path("b"))
    try bench.done("put", "a", "SBPerson|~|ann", "name=Ann")
    try queue.inDatabase { db in
      try db.execute(sql: "BEGIN IMMEDIATE")
      let brief = ["--timeout", "0.1"]
      try bench.refused(75, ["sync", "a", "b"] + brief, saying: "tally: b: SQLite: database is locked")
      try bench.refused(75, ["put", "b", "SBPerson|~|bob"] + brief, saying: "tally: b: SQLite: database is locked")
      try bench.refused(
        75, ["put", "b", "-"] + brief, saying: "tally: b: SQLite: database is locked",
        input: "SBPerson|~|bob name=Bob\n")
      try db.execute(sql: "ROLLBACK")
    }
    try queue.close()
  }

  @Test func aSchemaIsUpgraded() throws {
    let bench = try Bench("a")
    try bench.done("put", "a", "SBPerson|~|ann", "name=Ann")
    try bench.write(
      Bench.schema.replacingOccurrences(of: #""born":"date""#, with: #""born":"date","mail":"text""#), to: "newer.json")
    #expect(try bench.done("schema", "upgrade", "a", "newer.json") == "upgraded a\n")
    try bench.done("put", "a", "SBPerson|~|ann", "mail=ann@example.org")
    #expect(try bench.done("schema", "upgrade", "a", "newer.json") == "nothing had to change\n")
    #expect(try bench.done("schema", "a").contains("mail"))
    try bench.refused(66, ["schema", "upgrade", "b", "newer.json"])
  }

  @Test func whatIsNotOursIsLeftAlone() throws {
    let bench = try Bench("a")
    func stamp(_ name: String, _ sql: String) throws {
      let queue = try DatabaseQueue(path: bench.path(name))
      try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
      try queue.close()
    }
    try stamp("a", "PRAGMA user_version = 99")
    try stamp("marked", "PRAGMA application_id = 1413565529; PRAGMA user_version = 2; CREATE TABLE mine(x)")
    let (before, marked) = (try bench.contents(), try bench.bytes("marked"))
    try bench.refused(78, ["get", "a", "SBPerson|~|ann"])
    try bench.refused(78, ["put", "a", "SBPerson|~|ann", "name=Ann"])
    try bench.refused(65, ["put", "marked", "SBPerson|~|ann", "name=Ann"])
    #expect(try bench.contents().filter { !$0.hasPrefix("marked-") } == before)
    #expect(try bench.bytes("marked") == marked)
  }

  @Test func anExportReadsBack() throws {
    let bench = try Bench("a", "b")
    try bench.done("put", "a", "SBPerson|~|ann", "name=Ann, \"the first\"")
    try bench.done("put", "a", "SBGame|~|go", "name=Go", "rating=4.5", "owner=SBPerson|~|ann", "icon=00ff")
    try bench.done("link", "a", "SBGame|~|go", "players", "SBPerson|~|ann")
    try bench.done("export", "a", "--as", "json", "-o", "a.jsonl")
    try bench.done("import", "b", "a.jsonl")
    #expect(try bench.done("dump", "b", "--view") == bench.done("dump", "a", "--view"))
    let csv = try bench.done("export", "a", "--as", "csv", "--type", "SBPerson", "-o", "-")
    #expect(csv == "id,born,name\r\nSBPerson|~|ann,,\"Ann, \"\"the first\"\"\"\r\n")
    try bench.done("export", "a", "--as", "sqlite", "-o", "plain.sqlite")
    let plain = try DatabaseQueue(path: bench.path("plain.sqlite"))
    let ours = try plain.read {
      try Int.fetchOne($0, sql: "SELECT count(*) FROM sqlite_master WHERE name LIKE 'tally%'")
    }
    #expect(ours == 0)
    let rating = try plain.read { try Double.fetchOne($0, sql: "SELECT rating FROM SBGame WHERE icon = x'00ff'") }
    #expect(rating == 4.5)
    let member = try plain.read { try String.fetchOne($0, sql: "SELECT target FROM SBGame_players") }
    #expect(member == "SBPerson|~|ann")
    try bench.unchanged("b") {
      try bench.refused(73, ["export", "a", "--as", "json", "-o", "b"], saying: "a store or database is there\n")
      try bench.refused(73, ["export", "a", "--as", "sqlite", "-o", "b"])
    }
  }
}
