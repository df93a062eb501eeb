import Testing

/// What the tool says of unique fields.
@Suite struct UniqueCommandTests {
  let bench: Bench

  /// Two stores that have met, with one name for two records.
  init() throws {
    bench = try Bench()
    try bench.write(
      """
      {"entities":[{"type":"Shop","fields":{"name":"text","code":"integer"},
      "unique":[{"fields":["name"],"policy":"rename"},{"fields":["code"]}]}]}
      """, to: "unique.json")
    for store in ["a", "b"] { try bench.done("new", store, "--schema", "unique.json") }
    try bench.done("put", "a", "Shop|~|x", "name=Market", "code=7")
    try bench.done("put", "b", "Shop|~|y", "name=Market", "code=7")
    try bench.done("sync", "a", "b")
  }

  @Test func statusAndWhySayWhoHasTheValue() throws {
    let (status, other) = (try bench.done("status", "a"), try bench.done("status", "b"))
    let lines = status.split(separator: "\n").filter { $0.hasPrefix("contested") }
    try #require(lines.count == 2)
    #expect(lines == other.split(separator: "\n").filter { $0.hasPrefix("contested") })
    #expect(lines[0].contains("code 7, which Shop|~|") && lines[0].hasSuffix("shows nothing"), "\(lines[0])")
    #expect(lines[1].contains("name 'Market', which Shop|~|") && lines[1].contains("shows 'Market ~"), "\(lines[1])")
    #expect(try bench.done("status", "a", "--json").contains("\"wanted\":\"Market\""))
    let loser = lines[1].contains("Shop|~|x has") || lines[1].contains("which Shop|~|x") ? "Shop|~|y" : "Shop|~|x"
    let why = try bench.done("why", "a", loser, "name")
    #expect(why.contains("Market") && why.contains("which is unique"), "\(why)")
    #expect(try bench.done("get", "a", loser).contains("Market ~"))
    #expect(try bench.done("verify", "a").hasPrefix("ok "))
  }

  @Test func aSecondRecordWithAValueThatShowsIsRefused() throws {
    let outcome = try bench.tally("put", "a", "Shop|~|z", "name=Market")
    #expect(outcome.status != 0 && outcome.errors.contains("UNIQUE"), "\(outcome.errors)")
    #expect(try bench.done("list", "a", "Shop") == "Shop|~|x\nShop|~|y\n")
  }

  /// A value of another device's neither commands a terminal nor fills it.
  @Test func whatOthersWroteIsShownShortAndPlain() throws {
    let value = "a\u{1B}[2J\u{9B}31m\u{202E}\nfake: line" + String(repeating: "x", count: 10_000)
    try bench.done("put", "a", "Shop|~|v", "name=\(value)")
    try bench.done("put", "b", "Shop|~|w", "name=\(value)")
    try bench.done("sync", "a", "b")
    for command in [["status", "a"], ["conflicts", "a"], ["why", "a", "Shop|~|v"], ["why", "a", "Shop|~|w"]] {
      let output = try bench.tally(command).output
      let isPlain = output.unicodeScalars.allSatisfy {
        $0 == "\n" || $0.properties.generalCategory != .control && $0 != "\u{202E}"
      }
      #expect(isPlain, "\(command)")
      #expect(!output.contains("\nfake"), "\(command)")
    }
    let lines = try bench.done("status", "a").split(separator: "\n").filter { $0.contains("name 'a?[2J?31m??fake") }
    #expect(lines.count == 1 && lines[0].utf8.count < 400, "\(lines)")
    // For programs it is all there.
    #expect(try bench.done("status", "a", "--json").contains(String(repeating: "x", count: 10_000)))
  }

  /// SQLite refuses the row and names the column alone.
  @Test func whoHasTheValueOfARecordThatIsHiddenIsTold() throws {
    try bench.write(
      """
      {"entities":[{"type":"Seat","fields":{"room":"text","number":"integer","note":"text"},
      "unique":[{"fields":["room","number"],"policy":"hide"}]}]}
      """, to: "hide.json")
    for store in ["c", "d"] { try bench.done("new", store, "--schema", "hide.json") }
    try bench.done("put", "c", "Seat|~|x", "room=Hall", "number=7")
    try bench.done("put", "d", "Seat|~|y", "room=Hall", "number=7", "note=mine")
    #expect(try bench.tally("sync", "c", "d").status == 0)
    let shown = try bench.done("list", "c", "Seat").dropLast()
    let hidden = shown == "Seat|~|x" ? "Seat|~|y" : "Seat|~|x"
    for store in ["c", "d"] {
      let status = try bench.done("status", store)
      #expect(status.contains("set aside    \(hidden) is not shown: UNIQUE"), "\(status)")
      #expect(status.contains("; \(shown) has the value, which is unique\n"), "\(status)")
      #expect(try bench.done("status", store, "--json").contains("\"holder\":\"\(shown)\""))
      let why = try bench.done("why", store, hidden)
      #expect(why.contains("\n  \(shown) has the value, which is unique\n"), "\(why)")
      #expect(try bench.done("why", store, hidden, "--json").contains("\"holder\":\"\(shown)\""))
      // It was never deleted.
      try bench.unchanged(store) { try bench.refused(65, ["restore", store, hidden], saying: "(notDeleted)") }
    }
    // Deleted, it can be restored, also into being set aside again.
    try bench.done("delete", "c", String(shown))
    #expect(try bench.done("list", "c", "Seat") == "\(hidden)\n")
    #expect(try bench.tally("restore", "c", String(shown)).status == 0)
    #expect(try bench.done("verify", "c").hasPrefix("ok "))
  }

  @Test func aRuleWithoutFieldsIsRefusedInPlainWords() throws {
    let schema = #"{"entities":[{"type":"Shop","fields":{"name":"text"},"unique":[{"fields":[]}]}]}"#
    try bench.refused(
      65, ["new", "e", "--schema", "-"], saying: "a unique rule of Shop must have 1 to 16 fields", input: schema)
  }

  @Test func theSchemaComesOutAsItWentIn() throws {
    let schema = try bench.done("schema", "show", "a")
    #expect(schema.contains("\"policy\"") && schema.contains("rename"), "\(schema)")
  }
}
