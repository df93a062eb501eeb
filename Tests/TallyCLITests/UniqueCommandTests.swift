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
    #expect(lines[1].contains("name Market, which Shop|~|") && lines[1].contains("shows Market ~"), "\(lines[1])")
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

  @Test func theSchemaComesOutAsItWentIn() throws {
    let schema = try bench.done("schema", "show", "a")
    #expect(schema.contains("\"policy\"") && schema.contains("rename"), "\(schema)")
  }
}
