import Foundation
import GRDB
import TestEffort
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
  @Test(arguments: Effort.sample([("INT", 1), ("TERM", 60), ("KILL", 1), ("INT", 60), ("TERM", 1), ("KILL", 60)], 2))
  func anEndedCloneIsGoneOnWith(_ signal: String, _ pieces: Int) throws {
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

  // MARK: What is not all there

  /// A clone that has broken off, of a peer that gives all from now on.
  private func broken(_ bench: Bench) throws -> [String] {
    try fill("a", bench)
    try Data().write(to: bench.url.appendingPathComponent("slow"))
    let arguments = ["clone", peer(60), "b", "--schema", "schema.json"]
    #expect(try bench.tally(arguments).status == 69)
    try FileManager.default.removeItem(at: bench.url.appendingPathComponent("slow"))
    return arguments
  }

  /// Another program's connection, in the midst of a transaction.
  private func connection(_ path: String, _ begin: String) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    try queue.inDatabase { try $0.execute(sql: "\(begin); SELECT count(*) FROM sqlite_master") }
    return queue
  }

  /// Somebody reads the store that is being filled, as a backup does: the end of it is in the log, and stays there.
  @Test func aCloneThatIsReadWaits() throws {
    let bench = try Bench("a")
    let arguments = try broken(bench)
    let reader = try connection(bench.path("b.part/store"), "BEGIN")
    let outcome = try bench.tally(arguments)
    #expect(outcome.status == 75 && outcome.errors.contains("the same command goes on"), "\(outcome.errors)")
    #expect(!exists("b", in: bench) && exists("b.part/store", in: bench))
    try reader.inDatabase { try $0.execute(sql: "ROLLBACK") }
    try reader.close()
    let again = try bench.tally(arguments)
    #expect(again.status == 0, "\(again.errors)")
    #expect(try content("b", bench) == content("a", bench))
    #expect(!exists("b.part", in: bench))
  }

  /// Somebody writes it: nothing of it is removed for that.
  @Test func aCloneThatIsLockedIsKept() throws {
    let bench = try Bench("a")
    let arguments = try broken(bench)
    let before = try FileManager.default.attributesOfItem(atPath: bench.path("b.part/store"))[.systemFileNumber] as? Int
    let writer = try connection(bench.path("b.part/store"), "BEGIN IMMEDIATE")
    let outcome = try bench.tally(arguments)
    #expect(outcome.status == 75, "\(outcome.errors)")
    let now = try FileManager.default.attributesOfItem(atPath: bench.path("b.part/store"))[.systemFileNumber] as? Int
    #expect(before != nil && before == now)
    try writer.inDatabase { try $0.execute(sql: "ROLLBACK") }
    try writer.close()
    #expect(try bench.tally(arguments).status == 0)
    #expect(try content("b", bench) == content("a", bench))
  }

  /// A folder with what was there at first, and what came later; the path of the second.
  private func folder(_ bench: Bench) throws -> String {
    let shared = bench.path("shared")
    try FileManager.default.createDirectory(atPath: shared, withIntermediateDirectories: false)
    try bench.done("put", "a", "-", input: Self.people)
    try bench.done("sync", "a", "--via", "folder:" + shared)
    try bench.done("put", "a", "SBPerson|~|late", "name=Late")
    try bench.done("sync", "a", "--via", "folder:" + shared)
    let later = try FileManager.default.contentsOfDirectory(atPath: shared).filter { $0.hasSuffix(".delta") }
    #expect(later.count == 1)
    return shared + "/" + (later.first ?? "")
  }

  /// A file of the folder is only half there: the store appears with the other half.
  @Test func aCloneWaitsForAllFiles() throws {
    let bench = try Bench("a")
    let later = URL(fileURLWithPath: try folder(bench))
    let whole = try Data(contentsOf: later)
    try whole.prefix(whole.count / 2).write(to: later)
    let arguments = ["clone", "folder:" + bench.path("shared"), "b", "--schema", "schema.json"]
    for _ in 0..<2 {
      let outcome = try bench.tally(arguments)
      #expect(outcome.status == 75 && outcome.errors.contains("1 file has not arrived"), "\(outcome.errors)")
      #expect(outcome.errors.contains("the same command goes on"), "\(outcome.errors)")
      #expect(!exists("b", in: bench) && exists("b.part", in: bench))
    }
    try whole.write(to: later)
    #expect(try bench.tally(arguments).status == 0)
    #expect(try content("b", bench) == content("a", bench))
    #expect(!exists("b.part", in: bench))
  }

  /// A file of the folder can never be taken in: the tool says so, and the store has all else.
  @Test func aCloneDoesNotWaitForWhatIsRefused() throws {
    let bench = try Bench("a")
    let later = try folder(bench)
    try FileManager.default.moveItem(atPath: later, toPath: bench.path("elsewhere"))
    try FileManager.default.createSymbolicLink(atPath: later, withDestinationPath: bench.path("elsewhere"))
    let outcome = try bench.tally("clone", "folder:" + bench.path("shared"), "b", "--schema", "schema.json")
    #expect(outcome.status == 65 && outcome.errors.contains("cannot be taken in"), "\(outcome.errors)")
    #expect(exists("b", in: bench) && !exists("b.part", in: bench))
    #expect(try bench.done("list", "b", "SBPerson").contains("SBPerson|~|39"))
  }

  // MARK: What is in the way

  /// A folder of that name that somebody else has made, or a link to one, is left as it is.
  @Test(arguments: [false, true]) func aFolderOfAnotherIsInTheWay(_ isLink: Bool) throws {
    let bench = try Bench("a")
    try bench.done("put", "a", "-", input: Self.people)
    let folder = bench.path(isLink ? "documents" : "b.part")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    if isLink {
      try FileManager.default.createSymbolicLink(atPath: bench.path("b.part"), withDestinationPath: folder)
    } else {
      try Data("precious".utf8).write(to: URL(fileURLWithPath: folder + "/precious"))
    }
    let before = try FileManager.default.contentsOfDirectory(atPath: folder)
    let outcome = try bench.tally("clone", "a", "b")
    #expect(outcome.status == 73 && outcome.errors.contains("is in the way"), "\(outcome.errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == before)
    #expect(!exists("b", in: bench))
  }

  /// The tool was ended between giving the store its name and removing the folder, and the store has another name now.
  @Test func aStoreThatHasItsNameIsNotFilledAgain() throws {
    let bench = try Bench("a")
    let arguments = try broken(bench)
    #expect(link(bench.path("b.part/store"), bench.path("work")) == 0)
    let before = try content("work", bench)
    #expect(try bench.tally(arguments).status == 0)
    let numbers = try ["b", "work"].map {
      try FileManager.default.attributesOfItem(atPath: bench.path($0))[.systemFileNumber] as? Int
    }
    #expect(numbers[0] != nil && numbers[0] != numbers[1])
    #expect(try content("work", bench) == before)
    #expect(try content("b", bench) == content("a", bench))
  }
}
