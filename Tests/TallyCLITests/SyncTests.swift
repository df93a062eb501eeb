import Testing

/// Stores that exchanged what they have are equal, byte by byte, whichever way it went.
@Suite struct SyncTests {
  let bench: Bench

  /// Two stores that share a person and a game, and then both changed them.
  init() throws {
    bench = try Bench("a", "b")
    try bench.done(
      "put", "a", "-", input: "SBPerson|~|ann name=Ann\nSBGame|~|go name=Go rating=1 owner=SBPerson|~|ann\n")
    try bench.done("sync", "a", "b")
    try bench.done("put", "a", "-", input: "SBGame|~|go rating=2\nSBPerson|~|bob name=Bob\n")
    try bench.done("put", "b", "-", input: "SBGame|~|go rating=3 plays=1\nSBPerson|~|carl name=Carl\n")
    try bench.done("link", "b", "SBGame|~|go", "players", "SBPerson|~|carl")
    try bench.done("delete", "a", "SBPerson|~|ann")
  }

  private func expectEqual(_ first: String, _ second: String, at location: SourceLocation = #_sourceLocation) throws {
    for form in ["--canonical", "--view"] {
      let (one, other) = (try bench.tally("dump", first, form), try bench.tally("dump", second, form))
      #expect(one.status == 0 && !one.bytes.isEmpty, sourceLocation: location)
      #expect(one.bytes == other.bytes, sourceLocation: location)
    }
    #expect(try bench.done("vector", first) == bench.done("vector", second), sourceLocation: location)
    for store in [first, second] {
      #expect(try bench.done("verify", store).hasPrefix("ok "), sourceLocation: location)
    }
  }

  @Test func aSyncMakesTwoStoresEqual() throws {
    let report = try bench.done("sync", "a", "b").split(separator: "\n")
    #expect(report.count == 3 && report[0].hasPrefix("a took ") && report[1].hasPrefix("b took "))
    #expect(report[2].hasPrefix("converged, "))
    try expectEqual("a", "b")
    // The concurrent edit of the owned game keeps its owner.
    #expect(try bench.done("list", "a", "SBPerson") == "SBPerson|~|ann\nSBPerson|~|bob\nSBPerson|~|carl\n")
    #expect(try bench.done("get", "a", "SBGame|~|go").contains("  rating=3.0\n"))
    let idle = "a took 0 changes, 0 conflicts\nb took 0 changes, 0 conflicts\nconverged, 0 bytes exchanged\n"
    #expect(try bench.done("sync", "a", "b") == idle)
  }

  @Test func theDirectionOfASyncDoesNotMatter() throws {
    try bench.done("new", "c", "--schema", "schema.json")
    for pair in [["b", "a"], ["c", "b"], ["a", "c"]] { _ = try bench.tally(["sync"] + pair) }
    try expectEqual("a", "b")
    try expectEqual("a", "c")
  }

  @Test func deltasByFileDoWhatASyncDoes() throws {
    try bench.done("delta", "a", "--since", "b", "-o", "to-b")
    try bench.done("delta", "b", "--since", "a", "-o", "to-a")
    try bench.done("apply", "a", "to-a")
    try bench.done("apply", "b", "to-b")
    try expectEqual("a", "b")
    // Late, twice, out of order: nothing changes any more.
    #expect(try bench.done("apply", "a", "to-a") == "applied 0 changes, 0 conflicts\n")
    #expect(try bench.done("apply", "a", "to-b") == "applied 0 changes, 0 conflicts\n")
    try expectEqual("a", "b")
  }

  @Test func aDeltaTravelsThroughAPipe() throws {
    let outcome = try bench.shell("\"$0\" delta a -o - | \"$0\" apply b - && \"$0\" delta b -o - | \"$0\" apply a -")
    #expect(outcome.status == 0 && outcome.errors.isEmpty)
    try expectEqual("a", "b")
  }

  @Test func sinceAVectorIsSinceThatMoment() throws {
    let vector = try bench.done("vector", "a").dropLast()
    try bench.done("put", "a", "SBPerson|~|dora", "name=Dora")
    try bench.done("sync", "a", "b")
    try bench.done("put", "a", "SBPerson|~|eve", "name=Eve")
    try bench.done("delta", "a", "--since", String(vector), "-o", "late")
    try bench.done("delta", "a", "--since", "a", "-o", "nothing")
    try bench.done("delta", "a", "-o", "all")
    #expect(try bench.bytes("nothing").count < bench.bytes("late").count)
    #expect(try bench.bytes("late").count < bench.bytes("all").count)
    #expect(try bench.done("apply", "b", "late") == "applied 1 change, 0 conflicts\n")
    #expect(try bench.done("apply", "b", "nothing") == "applied 0 changes, 0 conflicts\n")
    try expectEqual("a", "b")
  }

  @Test func aDeltaThatStartsTooLateIsRefusedWithTheVectorToAskFor() throws {
    try bench.done("new", "c", "--schema", "schema.json")
    try bench.done("delta", "a", "--since", "b", "-o", "news")
    try bench.unchanged("c") {
      try bench.refused(65, ["apply", "c", "news"], saying: "make one with --since ''")
    }
    try bench.done("delta", "a", "--since", "", "-o", "news")
    try bench.done("apply", "c", "news")
    try expectEqual("a", "c")
  }

  @Test func theSameContentDumpsTheSameBytes() throws {
    #expect(try bench.done("dump", "a") == bench.done("dump", "a"))
    try bench.done("delta", "a", "-o", "one")
    try bench.done("delta", "a", "-o", "two")
    #expect(try bench.bytes("one") == bench.bytes("two"))
    #expect(try bench.done("dump", "a") != bench.done("dump", "b"))
  }

  @Test func whyTellsWhatWonAndWhatLost() throws {
    try bench.done("sync", "a", "b")
    let why = try bench.done("why", "a", "SBGame|~|go", "rating")
    #expect(why.hasPrefix("SBGame|~|go  visible\n"))
    #expect(why.contains("  rating=3.0\n") && why.contains("    lost: rating=2.0\n") && why.contains("(this store)"))
    #expect(try bench.done("why", "a", "SBGame|~|go", "--json").contains("\"conflicts\":[{"))
    #expect(try bench.done("why", "a", "SBGame|~|go", "author").contains("never written"))
    try bench.refused(65, ["why", "a", "SBGame|~|go", "nothing"], saying: "unknownField")
    for store in ["a", "b"] {
      let conflicts = try bench.done("conflicts", store).split(separator: "\n")
      // The delete of Ann, which the edit of her game has undone, and the rating that lost.
      #expect(conflicts.count == 10 && conflicts[0] == "SBPerson|~|ann" && conflicts[1] == "  lost: a delete")
      #expect(conflicts[5] == "SBGame|~|go rating")
    }
    #expect(try bench.done("conflicts", "a", "--limit", "0").isEmpty)
  }

  /// A store made by an older app keeps and passes on what it does not know.
  @Test func aStoreOfAnOlderSchemaKeepsWhatItDoesNotKnow() throws {
    try bench.write("{\"entities\":[{\"type\":\"SBPerson\",\"fields\":{\"name\":\"text\"}}]}", to: "old.json")
    for store in ["old", "c"] {
      try bench.done("new", store, "--schema", store == "old" ? "old.json" : "schema.json")
    }
    for pair in [["a", "b"], ["b", "old"], ["old", "c"]] { _ = try bench.tally(["sync"] + pair) }
    try expectEqual("a", "c")
    #expect(try bench.done("dump", "old") == bench.done("dump", "a"))
    #expect(try bench.done("verify", "old").hasPrefix("ok "))
    #expect(try bench.done("status", "old", "--json").contains("\"isKnown\":false,\"type\":\"SBGame\""))
  }
}
