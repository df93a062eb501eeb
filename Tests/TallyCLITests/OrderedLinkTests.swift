import Foundation
import GRDB
import Testing

/// Members in an order, and positions, with the tool.
@Suite struct OrderedLinkTests {
  private let bench: Bench

  init() throws {
    bench = try Bench()
    let schema = """
      {"entities":[{"type":"Song","fields":{"title":"text"}},
        {"type":"List","fields":{"title":"text"},"relationships":{"songs":{"to":"Song","ordered":true}}},
        {"type":"Track","fields":{"rank":{"kind":"position","within":"list"}},"references":{"list":{"to":"List"}}}]}
      """
    try bench.write(schema, to: "ordered.json")
    try bench.done("new", "a", "--schema", "ordered.json")
    try bench.done("put", "a", "-", input: "'List|~|l'\n'Song|~|a'\n'Song|~|b'\n'Song|~|c'\n'Song|~|d'\n")
  }

  private func link(_ song: String, _ place: String? = nil) throws {
    let at = place.map { ["--at", $0] } ?? []
    let outcome = try bench.tally(["link", "a", "List|~|l", "songs", "Song|~|\(song)"] + at)
    try #require(outcome.status == 0, "\(outcome.errors)")
  }

  private func songs(_ store: String = "a") throws -> String {
    let line = try bench.done("get", store, "List|~|l", "--json")
    let json = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    let links = try #require(json["links"] as? [String: [String]])
    return (links["songs"] ?? []).map { String($0.suffix(1)) }.joined()
  }

  @Test func linkPutsAMemberAtAPlaceAndMovesIt() throws {
    for song in ["c", "a"] { try link(song) }
    try link("b", "first")
    try link("d", "after:Song|~|c")
    #expect(try songs() == "bcda")
    try link("a", "before:Song|~|c")
    try link("b", "last")
    try link("d", "0")
    #expect(try songs() == "dacb")
    #expect(
      try bench.done("get", "a", "List|~|l").hasSuffix(
        "  songs -> Song|~|d\n  songs -> Song|~|a\n  songs -> Song|~|c\n  songs -> Song|~|b\n"))
    #expect(try bench.done("verify", "a").contains("ok"))
  }

  @Test func aPlaceThatIsNoneIsRefused() throws {
    try link("a")
    for place in ["middle", "-1", "before:", "after:Song"] {
      #expect(try bench.tally(["link", "a", "List|~|l", "songs", "Song|~|b", "--at", place]).status != 0)
    }
    #expect(try bench.tally(["link", "a", "List|~|l", "songs", "Song|~|b", "--at", "after:Song|~|d"]).status == 66)
    for place in ["before:Song|~|a", "after:Song|~|a"] {
      try bench.refused(
        65, ["link", "a", "List|~|l", "songs", "Song|~|a", "--at", place],
        saying: "Song|~|a cannot stand before or after itself")
    }
    #expect(try songs() == "a")
  }

  /// There is nothing between a blob and the same blob followed by a zero.
  @Test func withoutRoomTheWayOutIsTheTools() throws {
    for song in ["a", "b"] { try link(song) }
    let queue = try DatabaseQueue(path: bench.path("a"))
    try queue.write { db in
      try db.execute(sql: "UPDATE List_songs SET position = x'40' WHERE target = 'Song|~|a'")
      try db.execute(sql: "UPDATE List_songs SET position = x'4000' WHERE target = 'Song|~|b'")
    }
    try queue.close()
    try bench.refused(
      65, ["link", "a", "List|~|l", "songs", "Song|~|c", "--at", "after:Song|~|a"],
      saying: "link its members again in their order, each with --at last (positionTooDeep)")
    for song in ["a", "b"] { try link(song, "last") }
    try link("c", "after:Song|~|a")
    #expect(try songs() == "acb")
  }

  @Test func theOrderGoesThroughImportAndSync() throws {
    for song in ["c", "a", "b"] { try link(song) }
    try bench.done("new", "b", "--schema", "ordered.json")
    let lines = try bench.done("list", "a", "Song", "--json") + bench.done("list", "a", "List", "--json")
    try bench.done("import", "b", "-", input: lines)
    #expect(try songs("b") == "cab")
    try bench.done("new", "c", "--schema", "ordered.json")
    try bench.done("sync", "a", "c")
    #expect(try songs("c") == "cab")
    #expect(try bench.done("dump", "a") == bench.done("dump", "c"))
  }

  @Test func aPositionIsPutAsHexadecimalDigits() throws {
    try bench.done("put", "a", "Track|~|t", "list=List|~|l", "rank=0102")
    #expect(try bench.done("get", "a", "Track|~|t").contains("  rank=0102\n"))
    let deep = String(repeating: "01", count: 513)
    let reason = "Track|~|t.rank: a position has 1 to 512 bytes, and this one has 513 (typeMismatch)"
    try bench.unchanged("a") {
      try bench.refused(65, ["put", "a", "Track|~|t", "rank=\(deep)"], saying: reason)
      try bench.refused(65, ["put", "a", "Track|~|t", #"rank:={"blob":"\#(deep)"}"#], saying: reason)
    }
  }
}
