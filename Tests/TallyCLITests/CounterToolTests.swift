import Testing

/// What the tool adds to counters, and sets; and what keeps the greatest.
@Suite struct CounterToolTests {
  private static let score = "SBScore|~|first"
  let bench: Bench

  init() throws {
    bench = try Bench()
    let best = #""best":{"kind":"integer","keep":"greatest"}"#
    let schema = #"{"entities":[{"type":"SBScore","fields":{"points":"counter","round":"integer",\#(best)}}]}"#
    try bench.write(schema, to: "counting.json")
    for store in ["a", "b"] { try bench.done("new", store, "--schema", "counting.json") }
    try bench.done("put", "a", Self.score, "points=3")
    try bench.done("sync", "a", "b")
  }

  private func expectPoints(_ number: Int, in store: String) throws {
    #expect(try bench.done("get", store, Self.score).contains("  points=\(number)\n"), "\(store)")
  }

  @Test func whatTwoDevicesAddCounts() throws {
    try bench.done("put", "a", Self.score, "--add", "points=2")
    try bench.done("put", "b", Self.score, "--add", "points=-1")
    try bench.done("put", "b", Self.score, "points=10")
    try bench.done("sync", "a", "b")
    for store in ["a", "b"] { try expectPoints(12, in: store) }
    // It sets first, wherever it stands.
    try bench.done("put", "a", Self.score, "--add", "points=4", "--set", "points=0")
    try expectPoints(4, in: "a")
    let why = try bench.done("why", "a", Self.score)
    #expect(why.contains("  points=-9\n") && why.contains("  added to points=7\n"), "\(why)")
  }

  @Test func theGreatestStaysUntilItIsSet() throws {
    try bench.done("put", "a", Self.score, "best=30")
    try bench.done("put", "b", Self.score, "best=20")
    try bench.done("sync", "a", "b")
    for store in ["a", "b"] {
      #expect(try bench.done("get", store, Self.score).contains("  best=30\n"), "\(store)")
    }
    #expect(try bench.done("put", "b", Self.score, "best=10").hasSuffix(" -\n"))
    let why = try bench.done("why", "b", Self.score, "best")
    #expect(why.contains("  best=30\n    written by "), "\(why)")
    try bench.done("put", "b", Self.score, "--set", "best=5", "--add", "points=1")
    try bench.done("sync", "a", "b")
    #expect(try bench.done("get", "a", Self.score).contains("  best=5\n"))
    try bench.done("put", "a", Self.score, "--set", "best=")
    #expect(try !bench.done("get", "a", Self.score).contains("  best=5"))
  }

  /// Not the number that was set, nor what one device has added.
  @Test func aDifferenceIsOneOfWhatIsShown() throws {
    try bench.done("put", "a", Self.score, "--add", "points=10")
    let added = try bench.tally("diff", "a", "b")
    #expect(added.status == 65 && added.output.contains("points: a 13, b 3"), "\(added.output)")
    try bench.done("put", "a", Self.score, "--set", "points=1")
    let set = try bench.tally("diff", "a", "b")
    #expect(set.status == 65 && set.output.contains("points: a 1, b 3"), "\(set.output)")
  }

  /// What each device has added has a line of its own, and the set that lost is none of theirs.
  @Test func aLostSetIsToldOnce() throws {
    try bench.done("put", "a", Self.score, "--set", "points=100")
    try bench.done("put", "b", Self.score, "--set", "points=200")
    try bench.done("sync", "a", "b")
    for store in ["a", "b"] {
      try bench.done("put", store, Self.score, "--add", "points=1")
      try bench.done("sync", "a", "b")
    }
    for words in [["why", "a", Self.score], ["why", "b", Self.score, "points"]] {
      let why = try bench.tally(words).output
      #expect(why.components(separatedBy: "  added to points=").count == 3, "\(why)")
      #expect(why.components(separatedBy: "    lost: points=").count == 2, "\(why)")
    }
  }

  @Test func aSeedWithABadNumberIsRefused() throws {
    let set = #"{"name":"s","version":1,"records":[{"key":"k","type":"SBScore","fields":{"points":"x"}}]}"#
    try bench.unchanged("a") {
      try bench.refused(65, ["seed", "a", "--set", "-"], saying: "points is not an integer", input: set)
    }
  }

  @Test func whatCannotBeAddedIsRefused() throws {
    try bench.unchanged("a") {
      for number in ["points", "points=", "points=x", "points=1.5", "points=9223372036854775807", "round=1", "none=1"] {
        try bench.refused(65, ["put", "a", Self.score, "--add", number])
      }
      for number in ["round=1", "best", "best=x", "best=1.5"] {
        try bench.refused(65, ["put", "a", Self.score, "--set", number])
      }
      for (option, word, reason) in [
        ("--add", "points=9223372036854775808", "points: '9223372036854775808' is not an integer; write a whole"),
        ("--add", "points=1.5", "points: '1.5' is not an integer; write a whole number from -9223372036854775808"),
        ("--set", "points=x", "first.points: 'x' is not an integer"),
        ("--set", "points=", "first.points: a counter takes a number, not null"),
        ("--add", "round=1", "SBScore.round is no counter; write field=value"),
        ("--add", "best=1", "SBScore.best is no counter; write field=value"),
        ("--set", "round=1", "round is no counter and does not keep the greatest or the least; write field=value"),
      ] {
        try bench.refused(65, ["put", "a", Self.score, option, word], saying: reason)
        try bench.refused(65, ["put", "a", Self.score, option, word], saying: "(typeMismatch)")
      }
      try bench.refused(66, ["put", "a", "SBScore|~|none", "--add", "points=1"])
      try bench.refused(64, ["put", "a", "-", "--add", "points=1"])
    }
  }
}
