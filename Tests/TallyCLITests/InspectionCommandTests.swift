import Foundation
import GRDB
import Testing

/// `tally diff`, `timeline`, `report` and `inspect`: what the inspector's pages say, in a shell.
@Suite struct InspectionCommandTests {
  let bench: Bench

  init() throws {
    bench = try Bench("phone", "tablet")
    try bench.done("put", "phone", "SBPerson|~|ann", "name=Ann")
    try bench.done("put", "phone", "SBGame|~|go", "name=Go", "rating=4.5", "owner=SBPerson|~|ann")
    try bench.done("sync", "phone", "tablet")
  }

  @Test func equalStoresHaveNoDifference() throws {
    #expect(try bench.done("diff", "phone", "tablet") == "Both have seen the same and hold the same.\n")
  }

  @Test func aDifferenceNamesTransactionsRecordsAndReasons() throws {
    try bench.done("put", "phone", "SBPerson|~|bob", "name=Bob")
    try bench.done("put", "tablet", "SBGame|~|go", "rating=5")
    let outcome = try bench.tally("diff", "phone", "tablet")
    #expect(outcome.status == 65 && outcome.errors == "tally: the stores differ\n")
    #expect(outcome.lines.first == "phone lacks tablet #1. tablet lacks phone #3.")
    #expect(
      outcome.output.contains(
        "SBPerson|~|bob\n  phone shows it, tablet does not. It has not arrived here: phone has it"))
    #expect(outcome.output.contains("  rating: phone 4.5, tablet 5.0\n"))
    let json = try bench.tally("diff", "phone", "tablet", "--json")
    #expect(json.status == 65 && json.lines.count == 3 && json.lines.allSatisfy { $0.hasPrefix("{") })
    #expect(try bench.tally("diff", "phone", "tablet", "--limit", "1").output.hasSuffix("…\n"))
    try bench.refused(66, ["diff", "phone", "nobody"])
    try bench.refused(64, ["diff", "phone"])
  }

  @Test func aTimelineTellsWhatWasChanged() throws {
    let all = try bench.done("timeline", "phone")
    #expect(all.contains("Z  this store #2\n  SBGame|~|go: inserted, name, rating, owner\n"))
    #expect(try bench.done("timeline", "phone", "--limit", "1").contains("SBPerson") == false)
    #expect(try bench.done("timeline", "phone", "--json").contains("\"name\":\"SBPerson|~|ann\""))
    #expect(try bench.done("timeline", "phone", "--replica", String(repeating: "0", count: 32)).isEmpty)
    try bench.refused(64, ["timeline", "phone", "--replica", "x"])
  }

  @Test func aReportHasNoValuesUnlessAsked() throws {
    let plain = try bench.done("report", "phone")
    #expect(!plain.contains("Ann") && !plain.contains("|~|") && plain.contains("\"fingerprint\""))
    #expect(try bench.done("report", "phone", "--values").contains("SBPerson|~|ann"))
    try bench.write(plain, to: "phone.json")
    try bench.done("put", "tablet", "SBPerson|~|bob", "name=Bob")
    let parted = try bench.done("report", "tablet", "--against", "phone.json")
    #expect(parted.hasPrefix("vector: The second store lacks #1 of the replica"))
    try bench.write("{}", to: "none.json")
    try bench.refused(65, ["report", "phone", "--against", "none.json"], saying: "none.json is no report")
    try bench.refused(66, ["report", "phone", "--against", "nothing.json"], saying: "there is no file nothing.json")
    try bench.refused(
      65, ["report", "phone", "--against", "/dev/null"], saying: "/dev/null cannot be read as a report")
    try bench.refused(65, ["report", "phone", "--against", "."], saying: ". cannot be read as a report")
  }

  /// Neither a report nor a store that comes from somebody else writes to the terminal.
  @Test func whatOthersWroteCommandsNoTerminal() throws {
    let report = try bench.done("report", "phone", "--values")
    let marks = "\\u001b[2J\\u0007\\nfake: line\\u009b31m\\u202e"
    try bench.write(report.replacing("\"vector\"", with: "\"doubt\":\"\(marks)\",\"vector\""), to: "evil.json")
    func isPlain(_ text: String) -> Bool {
      text.unicodeScalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control && $0 != "\u{202E}" }
    }
    let parted = try bench.done("report", "tablet", "--against", "evil.json")
    #expect(isPlain(parted) && !parted.contains("\nfake"))
    let value = "a\u{9B}31mb\u{202E}c"
    try bench.done("put", "phone", "SBGame|~|go", "name=\(value)")
    let escaped = "name:=\"a\\u009b31mb\\u202ec\""
    for command in [["get", "phone", "SBGame|~|go"], ["why", "phone", "SBGame|~|go"]] {
      let output = try bench.tally(command).output
      #expect(isPlain(output) && output.contains(escaped), "\(output)")
    }
    let difference = try bench.tally("diff", "phone", "tablet").output
    #expect(isPlain(difference) && difference.contains("name: phone 'a?31mb?c', tablet 'Go'"), "\(difference)")
    #expect(isPlain(try bench.done("timeline", "phone")))
    // What is shown in another form is read back as what it was.
    try bench.done("put", "tablet", "SBGame|~|go", escaped)
    #expect(try bench.done("get", "tablet", "SBGame|~|go", "--json").contains(value))
  }

  /// Another program may write a row under an invalid name.
  @Test func aRowUnderNoNameCommandsNoTerminal() throws {
    let queue = try DatabaseQueue(path: bench.path("phone"))
    let name = "SBPerson|~|x\u{1B}[2J\nfake\u{202E}" + String(repeating: "y", count: 200)
    try queue.write { try $0.execute(sql: "INSERT INTO SBPerson(id, name) VALUES(?, 'X')", arguments: [name]) }
    try queue.close()
    let lines = try bench.tally("list", "phone", "SBPerson").lines
    #expect(lines.count == 2 && lines.last?.hasPrefix("SBPerson|~|x?[2J?fake?yyy") == true, "\(lines)")
    #expect(lines.allSatisfy { $0.utf8.count < 1100 })
  }

  /// Values that look alike are told apart, and JSON has them as they are.
  @Test func valuesThatLookAlikeAreSpelledOut() throws {
    try bench.done("put", "phone", "SBGame|~|go", "name=pay\u{200E}100")
    try bench.done("put", "tablet", "SBGame|~|go", "name=pay\u{202E}100")
    let text = try bench.tally("diff", "phone", "tablet").output
    #expect(text.contains("phone 'pay\\u{200e}100', tablet 'pay\\u{202e}100'"), "\(text)")
    let json = try bench.tally("diff", "phone", "tablet", "--json").output
    #expect(json.contains("pay\u{200E}100") && json.contains("pay\u{202E}100"), "\(json)")
  }

  /// What a value begins with may combine with the sign before it.
  @Test(arguments: ["\u{301}x", "\u{200D}x", "\u{FE0F}", "\u{1F3FD}x", "=\u{301}"])
  func whatGetPrintsPutTakes(value: String) throws {
    try bench.done("put", "phone", "SBGame|~|go", "name=\(value)")
    // As bytes: characters combine with whatever stands before them.
    let lines = try bench.done("get", "phone", "SBGame|~|go").utf8.split(separator: 0x0A)
    let line = try #require(lines.lazy.map { $0.drop { $0 == 0x20 } }.first { $0.starts(with: "name".utf8) })
    try bench.done("put", "tablet", "SBGame|~|go", String(decoding: line, as: UTF8.self))
    for name in ["phone", "tablet"] {
      let json = try bench.done("get", name, "SBGame|~|go", "--json")
      #expect(Array(json.utf8).firstRange(of: Array("\"name\":\"\(value)\"".utf8)) != nil, "\(json)")
    }
  }

  /// Who removed the content of a record, and when.
  @Test func whyOfAPurgedRecordSaysWho() throws {
    try bench.done("delete", "phone", "SBGame|~|go")
    try bench.done("purge", "phone", "SBGame|~|go")
    let why = try bench.done("why", "phone", "SBGame|~|go")
    let line = why.split(separator: "\n").first { $0.hasPrefix("  content removed for good ") }
    #expect(line?.contains(" by ") == true && line?.contains("(this store)") == true, "\(why)")
  }

  @Test func whyBeginsWithTheReason() throws {
    try bench.done("delete", "tablet", "SBPerson|~|ann")
    let why = try bench.done("why", "tablet", "SBGame|~|go")
    #expect(why.contains("It is not deleted, but SBPerson|~|ann, which owns it, was deleted by this store #1"))
    let json = try bench.done("why", "tablet", "SBGame|~|go", "--json")
    #expect(json.contains("\"presence\":{\"code\":\"hiddenByOwner\",\"owners\":[\"SBPerson|~|ann\"]"))
    #expect(try bench.done("why", "phone", "SBGame|~|go", "--json").contains("\"code\":\"visible\""))
    // What has not arrived has a reason as well, for whoever reads JSON.
    for (name, code) in [("SBGame|~|none", "notReceived"), ("SBGaem|~|go", "unknownType")] {
      let outcome = try bench.tally("why", "phone", name, "--json")
      #expect(outcome.status == (try bench.tally("why", "phone", name).status) && outcome.status != 0)
      #expect(outcome.lines.count == 1 && outcome.output.contains("\"code\":\"\(code)\""), "\(outcome.output)")
    }
  }

  /// A tool without the trait says how to get it; one with it serves until it is asked to end.
  @Test func inspectServesOrSaysWhatIsMissing() throws {
    try bench.refused(64, ["inspect"])
    try bench.refused(64, ["inspect", "phone", "--port", "70000"])
    #if Inspector
      try bench.refused(66, ["inspect", "nobody"])
      let files = Spawn.Files(output: bench.path("address"), errors: bench.path("complaints"))
      // One that is damaged or missing is shown as that, if there is another.
      try bench.write("no store, but a text of some length", to: "bad")
      try bench.refused(65, ["inspect", "bad"])
      let command = [Bench.tool, "inspect", "nobody", "phone", "bad", "tablet"]
      let inspector = try Spawn.start(command, in: bench.url.path, files: files)
      for _ in 0..<60_000 where try bench.bytes("address").last != 0x0A { usleep(1000) }
      kill(inspector, SIGTERM)
      #expect(Spawn.wait(for: inspector) == 143)
      #expect(try bench.bytes("complaints").isEmpty)
      let address = String(decoding: try bench.bytes("address"), as: UTF8.self)
      #expect(address.hasPrefix("http://127.0.0.1:") && address.contains("/?token="))
    #else
      try bench.refused(64, ["inspect", "phone"], saying: "swift build --traits Inspector")
    #endif
  }
}
