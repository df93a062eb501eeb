import Foundation
import GRDB
import Testing

/// What is not a store is refused and not touched.
@Suite struct HostileFileTests {
  let bench: Bench
  private static let person = "SBPerson|~|ann"

  init() throws {
    bench = try Bench("a")
    try bench.done("put", "a", Self.person, "name=Ann")
  }

  /// Commands that read, write and take two stores.
  private func expectRefused(_ status: Int32, _ store: String, at location: SourceLocation = #_sourceLocation) throws {
    for arguments in [
      ["get", store, Self.person], ["put", store, Self.person, "name=x"], ["dump", store], ["verify", store],
      ["sync", "a", store], ["delta", "a", "--since", store, "-o", "delta"],
    ] { try bench.refused(status, arguments, at: location) }
    #expect(try bench.contents().contains("delta") == false, sourceLocation: location)
  }

  @Test func aMissingFileStaysMissing() throws {
    try bench.unchanged("a") { try expectRefused(66, "missing") }
    #expect(try bench.contents().contains("missing") == false)
    try bench.refused(66, ["apply", "a", "missing"])
    try bench.refused(66, ["import", "a", "missing"])
  }

  @Test func textFoldersAndEmptyFilesAreNoStores() throws {
    try bench.write("hello, this is a text and long enough to be a header of one hundred bytes", to: "text")
    try bench.write([UInt8](), to: "empty")
    try FileManager.default.createDirectory(atPath: bench.path("folder"), withIntermediateDirectories: false)
    for name in ["text", "empty", "folder"] { try expectRefused(65, name) }
    #expect(try bench.bytes("empty").isEmpty)
    try bench.refused(65, ["apply", "a", "folder"])
    try bench.refused(65, ["apply", "a", "text"])
    try bench.refused(73, ["delta", "a", "-o", "folder"])
    try bench.refused(73, ["new", "text", "--schema", "schema.json"])
  }

  @Test func aForeignDatabaseIsNotTouched() throws {
    let queue = try DatabaseQueue(path: bench.path("foreign"))
    try queue.write {
      try $0.execute(sql: "CREATE TABLE SBPerson(id, name); INSERT INTO SBPerson VALUES('SBPerson|~|ann', 1)")
    }
    try queue.close()
    let before = try bench.bytes("foreign")
    try expectRefused(65, "foreign")
    #expect(try bench.bytes("foreign") == before)
  }

  @Test func aNewerFormatIs78() throws {
    let queue = try DatabaseQueue(path: bench.path("a"))
    try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = 99") }
    try queue.close()
    let before = try bench.bytes("a")
    for arguments in [
      ["get", "a", Self.person], ["put", "a", Self.person], ["verify", "a"], ["delta", "a", "-o", "x"],
    ] {
      try bench.refused(78, arguments, saying: "newerFormat")
    }
    #expect(try bench.bytes("a") == before)
  }

  /// A trigger or a check in words that this SQLite does not know: the message names it and the remedy.
  @Test(arguments: [
    (
      "later",
      """
      INSERT INTO sqlite_master(type, name, tbl_name, rootpage, sql) VALUES('trigger', 'later', 'SBPerson', 0,
        'CREATE TRIGGER later AFTER UPDATE ON SBPerson BEGIN SELECT 1 WORDS OF TOMORROW; END')
      """
    ),
    (
      "SBPerson",
      """
      UPDATE sqlite_master SET sql = replace(sql, '"name" TEXT', '"name" TEXT CHECK(name WORDS OF TOMORROW)')
        WHERE name = 'SBPerson'
      """
    ),
  ])
  func whatANewerSQLiteMadeIsNamed(_ name: String, _ sql: String) throws {
    var configuration = Configuration()
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA writable_schema = ON") }
    let queue = try DatabaseQueue(path: bench.path("a"), configuration: configuration)
    try queue.write { try $0.execute(sql: sql) }
    try queue.close()
    for arguments in [
      ["get", "a", Self.person], ["put", "a", Self.person, "name=x"], ["verify", "a"], ["status", "a"],
    ] {
      try bench.refused(65, arguments, saying: "(\(name))")
      try bench.refused(65, arguments, saying: "If a newer SQLite made it, drop it there")
    }
    // Recovering reads past it, and names it too.
    let outcome = try bench.tally("recover", "a", "-o", "rescued")
    #expect(outcome.status == 65 && outcome.output.contains("malformed database schema (\(name))"))
    #expect(try bench.tally("dump", "rescued").output.contains(Self.person))
  }

  @Test(.timeLimit(.minutes(30))) func aNamedPipeIsNotWaitedFor() throws {
    #expect(mkfifo(bench.path("pipe"), 0o600) == 0)
    try expectRefused(65, "pipe")
    try bench.refused(73, ["new", "pipe", "--schema", "schema.json"])
  }

  @Test func aDeltaGoesThroughANamedPipe() throws {
    #expect(mkfifo(bench.path("pipe"), 0o600) == 0)
    try bench.done("new", "b", "--schema", "schema.json")
    let outcome = try bench.shell("\"$0\" delta a -o pipe & \"$0\" apply b pipe && wait $!")
    #expect(outcome.status == 0)
    #expect(try bench.done("dump", "b") == bench.done("dump", "a"))
  }

  @Test func aStoreIsFoundThroughASymbolicLink() throws {
    try FileManager.default.createSymbolicLink(atPath: bench.path("link"), withDestinationPath: bench.path("a"))
    #expect(try bench.done("get", "link", Self.person) == bench.done("get", "a", Self.person))
    try FileManager.default.createSymbolicLink(atPath: bench.path("loop"), withDestinationPath: bench.path("loop"))
    try expectRefused(66, "loop")
  }

  @Test func aFailedDeltaLeavesNoFileAndAnOldOneStays() throws {
    try bench.write("old", to: "delta")
    try bench.refused(66, ["delta", "missing", "-o", "delta"])
    try bench.refused(65, ["delta", "a", "--since", "ab:1", "-o", "delta"])
    for command in [["delta", "a"], ["export", "a", "--as", "json"], ["recover", "a"]] {
      try bench.refused(73, command + ["-o", ""], saying: "empty")
    }
    try bench.refused(73, ["delta", "a", "-o", "none/delta"])
    #expect(try bench.bytes("delta") == Array("old".utf8))
    try bench.done("delta", "a", "-o", "delta")
    #expect(try bench.bytes("delta").count > 3)
    #expect(try bench.contents().filter { $0.hasSuffix(".tmp") }.isEmpty)
  }

  @Test func aDatabaseWhereTheLogWouldBeIsNotWrittenOver() throws {
    try bench.done("put", "a", Self.person, "name=Anne")
    try bench.done("dump", "a")
    try bench.write(try bench.bytes("a"), to: "b-wal")
    try bench.refused(73, ["new", "b", "--schema", "schema.json"])
    #expect(try bench.bytes("b-wal") == bench.bytes("a"))
  }

  @Test func aLogLeftBehindByAnotherStoreIsNotReplayed() throws {
    let writer = try DatabaseQueue(path: bench.path("a"))
    try writer.write { try $0.execute(sql: "INSERT INTO SBPerson(id, name) VALUES('SBPerson|~|x', 'X')") }
    // Closing it would remove the log, which a process that is killed leaves behind.
    let log = try bench.bytes("a-wal")
    try #require(!log.isEmpty)
    try bench.write(log, to: "b-wal")
    try writer.close()
    try bench.refused(73, ["new", "b", "--schema", "schema.json"])
    #expect(try bench.bytes("b-wal") == log)
    try bench.remove("b-wal")
    try bench.done("new", "b", "--schema", "schema.json")
    #expect(try bench.done("verify", "b") == "ok 0 checked\n")
  }
}
