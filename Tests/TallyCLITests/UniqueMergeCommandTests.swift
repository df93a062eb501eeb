import Testing

/// Records with one unique value become one through the tool.
@Suite struct UniqueMergeCommandTests {
  private static let schema = """
    {"entities":[{"type":"Label","fields":{"name":"text"},"unique":[{"fields":["name"],"policy":"merge"}]},
    {"type":"Shop","references":{"label":{"to":"Label"}}}]}
    """

  @Test func twoLabelsOfOneNameBecomeOne() throws {
    let bench = try Bench()
    try bench.write(Self.schema, to: "schema.json")
    for store in ["mac", "phone"] { try bench.done("new", store, "--schema", "schema.json") }
    try bench.unchanged("mac") {
      let nothing = try bench.done("merge", "mac")
      #expect(nothing == "nothing to merge\n")
    }
    try bench.done("put", "mac", "Label|~|a", "name=Work")
    try bench.done("put", "phone", "Label|~|b", "name=Work")
    try bench.done("put", "phone", "Shop|~|s", "label=Label|~|b")
    try bench.done("sync", "mac", "phone")
    #expect(try bench.done("list", "mac", "Label") == "Label|~|a\nLabel|~|b\n")
    #expect(try bench.done("merge", "mac") == "merged Label|~|b into Label|~|a\n")
    #expect(try bench.done("merge", "mac", "--json") == "{\"members\":0,\"merged\":[],\"restored\":[]}\n")
    #expect(try bench.done("why", "mac", "Label|~|b").contains("gave way to Label|~|a"))
    // The other device knows nothing of it, and deletes what is left here.
    try bench.done("delete", "phone", "Label|~|a")
    try bench.done("sync", "mac", "phone")
    #expect(try bench.done("merge", "phone") == "restored Label|~|b\n")
    #expect(try bench.done("get", "phone", "Shop|~|s").contains("Label|~|b"))
  }
}
