import Testing

/// One record at a time: what goes in comes out.
@Suite struct RecordTests {
  let bench: Bench

  init() throws {
    bench = try Bench("a")
    try bench.done("put", "a", "-", input: "'SBPerson|~|ann' name=Ann\n'SBPerson|~|bob' name=Bob\n")
  }

  @Test func everyKindOfFieldReadsBackAsItWasWritten() throws {
    let assignments = [
      "code=6ba7b810-9dad-11d1-80b4-00c04fd430c8", "icon=00ff", "isTeam=true", "name=Go \"19x19\" ✓",
      "owner=SBPerson|~|ann", "plays=-9223372036854775808", "rating=4.5", "rules={\"b\":[1,null],\"a\":\"x\"}",
      "since=2026-02-28T09:30:00.000Z",
    ]
    _ = try bench.tally(["put", "a", "SBGame|~|go"] + assignments)
    let lines = try bench.done("get", "a", "SBGame|~|go").split(separator: "\n").map(String.init)
    #expect(lines.first == "SBGame|~|go")
    #expect(lines.filter { !$0.hasSuffix(":=null") }.dropFirst() == assignments.map { "  " + $0 }[...])
    #expect(lines.filter { $0.hasSuffix(":=null") } == ["  author:=null", "  judge:=null"])
    // What is printed can be put again, and then nothing changes.
    #expect(try bench.tally(["put", "a", "SBGame|~|go"] + assignments).output == "ACK SBGame|~|go -\n")
  }

  @Test func jsonOfARecordCanBeImported() throws {
    try bench.done("put", "a", "SBGame|~|go", "name=Go", "rating=1e300", "rules=\"text\"", "icon=base64:AP8=")
    try bench.done("link", "a", "SBGame|~|go", "players", "SBPerson|~|bob")
    let json = try bench.done("get", "a", "SBGame|~|go", "--json")
    #expect(json.contains("\"players\":[\"SBPerson|~|bob\"]"))
    try bench.done("new", "b", "--schema", "schema.json")
    try bench.done("put", "b", "-", input: "'SBPerson|~|bob'\n")
    #expect(try bench.done("import", "b", "-", input: json) == "imported 1 line\n")
    #expect(try bench.done("get", "b", "SBGame|~|go", "--json") == json)
  }

  @Test func putChangesOnlyTheGivenFields() throws {
    try bench.done("put", "a", "SBGame|~|go", "name=Go", "rating=4")
    try bench.done("put", "a", "SBGame|~|go", "rating:=null", "plays=3")
    let record = try bench.done("get", "a", "SBGame|~|go")
    #expect(record.contains("  name=Go\n") && record.contains("  rating:=null\n") && record.contains("  plays=3\n"))
  }

  @Test func listIsSortedAndOfOneType() throws {
    for name in ["b", "a", "c"] { try bench.done("put", "a", "SBGame|~|\(name)", "name=\(name)") }
    #expect(try bench.done("list", "a", "SBGame") == "SBGame|~|a\nSBGame|~|b\nSBGame|~|c\n")
    let json = try bench.done("list", "a", "SBPerson", "--json")
    #expect(json.split(separator: "\n").count == 2)
    #expect(json.hasPrefix("{\"fields\":{\"born\":null,\"name\":\"Ann\"},\"links\":{},\"name\":\"SBPerson|~|ann\"}\n"))
  }

  @Test func linksAreASet() throws {
    try bench.done("put", "a", "SBGame|~|go")
    let link = ["a", "SBGame|~|go", "players", "SBPerson|~|bob"]
    #expect(try bench.tally(["link"] + link).output.hasSuffix(":4\n"))
    #expect(try bench.tally(["link"] + link).output == "ACK SBGame|~|go -\n")
    #expect(try bench.done("get", "a", "SBGame|~|go").hasSuffix("  players -> SBPerson|~|bob\n"))
    #expect(try bench.tally(["unlink"] + link).output.hasSuffix(":5\n"))
    #expect(try bench.tally(["unlink"] + link).output == "ACK SBGame|~|go -\n")
    #expect(try bench.done("get", "a", "SBGame|~|go").contains("->") == false)
  }

  @Test func aDeleteTakesWhatIsOwnedAndARestoreBringsItBack() throws {
    try bench.done("put", "a", "SBGame|~|go", "name=Go", "owner=SBPerson|~|ann", "author=SBPerson|~|bob")
    let before = try bench.done("dump", "a", "--view")
    #expect(try bench.done("delete", "a", "SBPerson|~|ann").hasPrefix("ACK SBPerson|~|ann "))
    try bench.refused(66, ["get", "a", "SBGame|~|go"], saying: "no record named SBGame|~|go")
    #expect(try bench.done("why", "a", "SBGame|~|go").contains("hidden: what owns it is deleted"))
    #expect(try bench.done("restore", "a", "SBPerson|~|ann").hasPrefix("ACK SBPerson|~|ann "))
    #expect(try bench.done("dump", "a", "--view") == before)
    try bench.done("delete", "a", "SBPerson|~|bob")
    #expect(try bench.done("get", "a", "SBGame|~|go").contains("author:=null"))
    #expect(try bench.done("verify", "a").hasPrefix("ok "))
  }

  @Test func aDeniedDeleteChangesNothing() throws {
    try bench.done("put", "a", "SBGame|~|go", "judge=SBPerson|~|ann")
    try bench.unchanged("a") {
      try bench.refused(65, ["delete", "a", "SBPerson|~|ann"], saying: "SBGame|~|go.judge refers to it")
    }
  }

  @Test func whatIsNotThereIsSaid() throws {
    try bench.unchanged("a") {
      for command in ["get", "delete", "restore", "why"] {
        try bench.refused(66, [command, "a", "SBGame|~|none"], saying: "SBGame|~|none")
      }
      try bench.refused(65, ["restore", "a", "SBPerson|~|ann"], saying: "notDeleted")
    }
  }

  @Test func newDoesNotReplaceAnything() throws {
    let before = try bench.bytes("a")
    try bench.refused(73, ["new", "a", "--schema", "schema.json"], saying: "File exists")
    #expect(try bench.bytes("a") == before)
    try bench.refused(73, ["new", "none/b", "--schema", "schema.json"])
    try bench.refused(66, ["new", "b", "--schema", "none.json"])
    #expect(try bench.contents().contains("b") == false)
  }

  @Test func theSchemaReadsBack() throws {
    try bench.write(try bench.done("schema", "a"), to: "again.json")
    try bench.done("new", "b", "--schema", "again.json")
    #expect(try bench.done("schema", "b") == bench.done("schema", "a"))
  }

  @Test func statusCountsWhatIsThere() throws {
    let status = try bench.done("status", "a", "--json")
    #expect(status.contains("\"counts\":[{\"hidden\":0,\"isKnown\":true,\"type\":\"SBGame\",\"visible\":0},"))
    #expect(status.contains("{\"hidden\":0,\"isKnown\":true,\"type\":\"SBPerson\",\"visible\":2}]"))
    #expect(status.contains("\"conflicts\":0") && status.contains("\"rejectedWrites\":0"))
    #expect(try bench.done("status", "a").contains("SBPerson: 2\n"))
  }
}
