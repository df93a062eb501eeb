import Testing

/// A UUID has many forms and a record one name: the tool takes what other programs print for what apps write.
@Suite struct CapitalNameTests {
  let bench: Bench

  init() throws { bench = try Bench("a") }

  private static let small = "SBPerson|~|6f9619ff-8b86-d011-b42d-00c04fc964ff"
  private static let capital = "SBPerson|~|6F9619FF-8B86-D011-B42D-00C04FC964FF"

  @Test func aUUIDInCapitalsIsTheRecordThatAppsMean() throws {
    #expect(try bench.done("put", "a", Self.capital, "name=Ann").hasPrefix("ACK \(Self.small) "))
    #expect(try bench.done("put", "a", Self.small, "name=Ann") == "ACK \(Self.small) -\n")
    #expect(try bench.done("put", "a", "-", input: "{\"name\":\"\(Self.capital)\"}\n") == "ACK \(Self.small) -\n")
    #expect(try bench.done("list", "a", "SBPerson") == "\(Self.small)\n")
    #expect(try bench.done("get", "a", Self.capital).hasPrefix(Self.small))
    #expect(try bench.done("why", "a", Self.capital).contains(Self.small))
    // References and members too.
    try bench.done("put", "a", "SBGame|~|go", "owner=\(Self.capital)")
    try bench.done("link", "a", "SBGame|~|go", "players", Self.capital)
    let game = try bench.done("get", "a", "SBGame|~|go")
    #expect(game.contains("owner=\(Self.small)\n") && game.contains("players -> \(Self.small)\n"))
    try bench.done("unlink", "a", "SBGame|~|go", "players", Self.capital)
    try bench.done("delete", "a", Self.capital)
    #expect(try bench.done("restore", "a", Self.capital).hasPrefix("ACK \(Self.small) "))
    try bench.done("delete", "a", Self.capital)
    try bench.done("purge", "a", Self.capital)
    try bench.refused(65, ["restore", "a", Self.small], saying: "purged")
  }

  /// A record that bears the name stays within reach; an import keeps names as they stand, since a dump has them so.
  @Test func aRecordThatIsNamedInCapitalsStaysItself() throws {
    let line = "{\"name\":\"\(Self.capital)\"}\n"
    let outcome = try bench.tally("import", "a", "-", input: line)
    #expect(outcome.status == 0 && outcome.output == "imported 1 line\n")
    #expect(
      outcome.errors
        == "tally: 1 line with a UUID in capital letters in the name, which was kept: apps write it in small letters, "
        + "and that is another record\n")
    #expect(try bench.done("put", "a", Self.capital, "name=Ann").hasPrefix("ACK \(Self.capital) "))
    #expect(try bench.done("put", "a", Self.small, "name=Bob").hasPrefix("ACK \(Self.small) "))
    #expect(try bench.done("get", "a", Self.capital).contains("name=Ann"))
    let view = try bench.done("dump", "a", "--view")
    try bench.done("new", "b", "--schema", "schema.json")
    _ = try bench.tally("import", "b", "-", input: view)
    #expect(try bench.done("dump", "b", "--view") == view)
  }

  /// What only looks like a UUID is a key like any other.
  @Test func otherKeysKeepTheirLetters() throws {
    for key in ["ABC", "6F9619FF8B86D011B42D00C04FC964FF", "6F9619FF-8B86-D011-B42D-00C04FC964FX"] {
      #expect(try bench.done("put", "a", "SBPerson|~|\(key)").hasPrefix("ACK SBPerson|~|\(key) "))
    }
  }
}
