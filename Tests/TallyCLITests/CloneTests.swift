import Foundation
import Testing

/// `tally clone`: a second device from another store, a folder or a peer; and what is left when that fails.
@Suite struct CloneTests {
  private static let people = (0..<40).map { "SBPerson|~|\($0) name=Person\($0)\n" }.joined()

  private func exists(_ name: String, in bench: Bench) -> Bool {
    FileManager.default.fileExists(atPath: bench.path(name))
  }

  private func content(_ store: String, _ bench: Bench) throws -> String {
    try bench.done("list", store, "SBPerson", "--json") + bench.done("list", store, "SBGame", "--json")
  }

  @Test func aStoreIsClonedWithItsSchema() throws {
    let bench = try Bench("a")
    try bench.done("put", "a", "-", input: Self.people)
    #expect(try bench.done("clone", "a", "b").contains("b took 40 changes"))
    #expect(try content("b", bench) == content("a", bench))
    #expect(try bench.done("schema", "b") == bench.done("schema", "a"))
    // It is a replica of its own, and what it writes comes back.
    try bench.done("put", "b", "SBPerson|~|new", "name=New")
    try bench.done("put", "a", "SBPerson|~|old", "name=Old")
    try bench.done("sync", "a", "b")
    #expect(try bench.done("list", "a", "SBPerson").contains("SBPerson|~|new"))
    #expect(try bench.done("list", "b", "SBPerson").contains("SBPerson|~|old"))
  }

  @Test func aFolderIsClonedWithASchema() throws {
    let bench = try Bench("a")
    let folder = "folder:" + bench.path("shared")
    try FileManager.default.createDirectory(atPath: bench.path("shared"), withIntermediateDirectories: false)
    try bench.done("put", "a", "-", input: Self.people)
    try bench.done("sync", "a", "--via", folder)
    let without = try bench.tally("clone", folder, "b")
    #expect(without.status == 64 && without.errors.contains("--schema") && !exists("b", in: bench))
    try bench.done("clone", folder, "b", "--schema", "schema.json")
    #expect(try content("b", bench) == content("a", bench))
  }

  @Test func aPeerIsCloned() throws {
    let bench = try Bench("a")
    try bench.done("put", "a", "-", input: Self.people)
    try bench.done("clone", "\(Bench.tool) serve a --stdio 2>/dev/null", "b", "--schema", "schema.json")
    #expect(try content("b", bench) == content("a", bench))
  }

  /// A place that is none leaves no store behind, and no file of one.
  @Test(arguments: [
    (["none", "b"], 66), (["folder:none", "b", "--schema", "schema.json"], 66),
    (["exit 3", "b", "--schema", "schema.json"], 69), (["a", "b", "--schema", "none"], 66), (["a", "a"], 73),
    (["schema.json", "b"], 65), (["a", "b", "--token-file", "schema.json"], 64),
  ]) func whatFailsLeavesNothing(_ arguments: [String], _ status: Int) throws {
    let bench = try Bench("a")
    let before = try FileManager.default.contentsOfDirectory(atPath: bench.url.path).sorted()
    let outcome = try bench.tally(["clone"] + arguments)
    #expect(Int(outcome.status) == status, "\(outcome.errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: bench.url.path).sorted() == before)
  }

  /// A connection that breaks in the middle leaves a store with what had come, and sync goes on there.
  @Test func aPartThatHasArrivedStays() throws {
    let bench = try Bench("a")
    // Bytes that do not compress.
    let random = try #require(FileHandle(forReadingAtPath: "/dev/urandom"))
    let icons = try (0..<8).map { _ in try #require(try random.read(upToCount: 200_000)).base64EncodedString() }
    let lines = icons.enumerated().map { "SBGame|~|\($0.offset) icon=base64:\($0.element)\n" }.joined()
    try bench.done("put", "a", "-", input: lines)
    let peer = "\(Bench.tool) serve a --stdio 2>/dev/null"
    // What comes through, a piece as it is read, and then the end of all.
    let cut = "\(peer) | { dd bs=16384 count=60 2>/dev/null; kill -9 $$; }"
    let outcome = try bench.tally("clone", cut, "b", "--schema", "schema.json")
    #expect(outcome.status == 69 && outcome.errors.contains("tally sync goes on"), "\(outcome.errors)")
    try bench.done("sync", "b", "--via", peer)
    #expect(try content("b", bench) == content("a", bench))
  }
}
