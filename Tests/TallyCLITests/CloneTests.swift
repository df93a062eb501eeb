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

  /// Fills a store with a mebibyte and a half that does not compress.
  private func fill(_ store: String, _ bench: Bench) throws {
    let random = try #require(FileHandle(forReadingAtPath: "/dev/urandom"))
    let icons = try (0..<8).map { _ in try #require(try random.read(upToCount: 200_000)).base64EncodedString() }
    let lines = icons.enumerated().map { "SBGame|~|\($0.offset) icon=base64:\($0.element)\n" }.joined()
    try bench.done("put", store, "-", input: lines)
  }

  /// A peer that breaks off after so many pieces of what it sends, as long as there is a file `slow`. A clone of it is
  /// then ended by `command`, or by the end of all.
  private func peer(_ pieces: Int, _ command: String = "kill -9 $$") -> String {
    let whole = "\(Bench.tool) serve a --stdio 2>/dev/null"
    return "if [ -e slow ]; then \(whole) | { dd bs=16384 count=\(pieces) 2>/dev/null; \(command); }; else \(whole); fi"
  }

  /// A connection that breaks in the middle: there is no store, and the same command goes on with what had come.
  @Test func aBrokenConnectionIsGoneOnWith() throws {
    let bench = try Bench("a")
    try fill("a", bench)
    try Data().write(to: bench.url.appendingPathComponent("slow"))
    let arguments = ["clone", peer(60), "b", "--schema", "schema.json"]
    let outcome = try bench.tally(arguments)
    #expect(outcome.status == 69 && outcome.errors.contains("the same command goes on"), "\(outcome.errors)")
    #expect(!exists("b", in: bench) && exists("b.part", in: bench))
    try FileManager.default.removeItem(at: bench.url.appendingPathComponent("slow"))
    let again = try bench.tally(arguments)
    #expect(again.status == 0, "\(again.errors)")
    #expect(try content("b", bench) == content("a", bench))
    #expect(!exists("b.part", in: bench))
    // What had come, of 1.6 MB, does not come again.
    let received = try #require(again.output.firstMatch(of: /([0-9]+) received/).flatMap { Int($0.1) })
    #expect(received < 1_500_000, "\(again.output)")
  }

  /// The tool is ended, in order or not, while it takes in: no store is in the way, and the same command does it.
  @Test(arguments: ["INT", "TERM", "KILL"], [1, 60]) func anEndedCloneIsGoneOnWith(_ signal: String, _ pieces: Int)
    throws
  {
    let bench = try Bench("a")
    try fill("a", bench)
    try Data().write(to: bench.url.appendingPathComponent("slow"))
    // The shell's parent is the tool.
    let peer = peer(pieces, "kill -\(signal) $PPID; sleep 2")
    let arguments = ["clone", peer, "b", "--schema", "schema.json"]
    #expect(try bench.tally(arguments).status != 0)
    #expect(!exists("b", in: bench))
    try FileManager.default.removeItem(at: bench.url.appendingPathComponent("slow"))
    let again = try bench.tally(arguments)
    #expect(again.status == 0, "\(again.errors)")
    #expect(try content("b", bench) == content("a", bench))
    #expect(try bench.done("verify", "b").hasPrefix("ok"))
    #expect(!exists("b.part", in: bench))
  }

  /// What came from one place is in no clone of another.
  @Test func aCloneOfAnotherPlaceBeginsAgain() throws {
    let bench = try Bench("a", "c")
    try fill("a", bench)
    try bench.done("put", "c", "-", input: Self.people)
    try Data().write(to: bench.url.appendingPathComponent("slow"))
    #expect(try bench.tally("clone", peer(60), "b", "--schema", "schema.json").status == 69)
    try bench.done("clone", "c", "b")
    #expect(try content("b", bench) == content("c", bench))
    #expect(!exists("b.part", in: bench))
  }

  /// Two at once, of which one holds the lock.
  @Test func onlyOneMakesAStore() throws {
    let bench = try Bench("a")
    try fill("a", bench)
    try FileManager.default.createDirectory(atPath: bench.path("b.part"), withIntermediateDirectories: false)
    let lock = open(bench.path("b.part/lock"), O_RDWR | O_CREAT, 0o600)
    defer { close(lock) }
    #expect(flock(lock, LOCK_EX | LOCK_NB) == 0)
    let outcome = try bench.tally("clone", "a", "b")
    #expect(outcome.status == 75 && outcome.errors.contains("another tally clone"), "\(outcome.errors)")
    #expect(flock(lock, LOCK_UN) == 0)
    try bench.done("clone", "a", "b")
    #expect(try content("b", bench) == content("a", bench))
  }
}
