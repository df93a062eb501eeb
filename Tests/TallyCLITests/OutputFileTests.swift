import Foundation
import GRDB
import Tally
import Testing

/// Whatever makes a file keeps away from stores, from what it reads, and from what others use.
@Suite struct OutputFileTests {
  private func bench() throws -> Bench {
    let bench = try Bench("a", "b")
    try bench.done("put", "a", "SBPerson|~|ann", "name=Ann")
    try bench.done("put", "b", "SBPerson|~|bob", "name=Bob")
    return bench
  }

  @Test func aDeltaIsNotWrittenOverTheStoreThatItIsReadFrom() throws {
    let bench = try bench()
    try bench.unchanged("a") {
      for output in ["a", "./a", "../folder/a"] {
        try bench.refused(73, ["delta", "a", "-o", output], saying: "it is what is read")
      }
      try FileManager.default.createSymbolicLink(atPath: bench.path("soft"), withDestinationPath: "a")
      try FileManager.default.linkItem(atPath: bench.path("a"), toPath: bench.path("hard"))
      for output in ["soft", "hard"] {
        try bench.refused(73, ["delta", "a", "-o", output], saying: "it is what is read")
      }
      try bench.refused(73, ["delta", "a", "-o", "a", "--replace", "a"], saying: "it is what is read")
    }
  }

  @Test func aStoreGivesWayOnlyToWhoeverNamesIt() throws {
    let bench = try bench()
    try bench.unchanged("b") {
      try bench.refused(73, ["delta", "a", "-o", "b"], saying: "--replace")
      try bench.refused(73, ["delta", "a", "-o", "b", "--replace", "a"], saying: "--replace")
      try bench.refused(73, ["delta", "a", "--since", "b", "-o", "b", "--replace", "b"], saying: "it is what is read")
    }
    try bench.done("delta", "a", "-o", "b", "--replace", "b")
    try bench.refused(65, ["list", "b", "SBPerson"])
  }

  @Test func whatBelongsToAStoreStays() throws {
    let bench = try bench()
    for output in ["b-incarnation", "b-wal", "b-shm", "b-journal"] {
      try bench.refused(73, ["delta", "a", "-o", output], saying: "it belongs to the store")
      try bench.refused(73, ["new", output + "x/../" + output, "--schema", "schema.json"])
    }
    #expect(try bench.done("get", "b", "SBPerson|~|bob").contains("Bob"))
  }

  @Test func aDatabaseThatIsNoStoreStaysToo() throws {
    let bench = try bench()
    try DatabaseQueue(path: bench.path("other")).write { try $0.execute(sql: "CREATE TABLE t(x)") }
    let before = try bench.bytes("other")
    try bench.refused(73, ["delta", "a", "-o", "other"], saying: "--replace")
    #expect(try bench.bytes("other") == before)
  }

  /// The names of a store's own files follow from its name; a database may be there already.
  @Test(arguments: ["-incarnation", "-wal", "-journal", "-shm"])
  func openingAStoreWritesOverNoDatabaseBesideIt(_ suffix: String) throws {
    let bench = try bench()
    // The shell's rename, not the tool's: a person may call a store anything.
    let other = "c" + suffix
    try FileManager.default.moveItem(atPath: bench.path("b"), toPath: bench.path(other))
    try FileManager.default.removeItem(atPath: bench.path("b-incarnation"))
    let before = try bench.bytes(other)
    try bench.refused(73, ["new", "c", "--schema", "schema.json"])
    try FileManager.default.moveItem(atPath: bench.path("a"), toPath: bench.path("c"))
    try bench.refused(73, ["put", "c", "SBPerson|~|ann", "name=Anna"], saying: "is a database of its own")
    #expect(try bench.bytes(other) == before)
  }

  @Test func standardOutputMayNotLeadIntoTheStore() throws {
    let bench = try bench()
    try bench.unchanged("a") {
      for command in ["dump a", "delta a -o -", "list a SBPerson", "put a 'SBPerson|~|x' name=X"] {
        let outcome = try bench.shell("$0 \(command) >> a")
        #expect(outcome.status == 73 && outcome.errors.contains("the output leads into a itself"), "\(command)")
      }
    }
  }

  @Test func aFileThatAnotherProgramHasLockedStays() throws {
    let bench = try bench()
    try bench.write("precious", to: "locked")
    let script = """
      import fcntl, os, subprocess, sys
      file = open("locked", "r+")
      fcntl.lockf(file, fcntl.LOCK_EX)
      sys.exit(subprocess.run([sys.argv[1], "delta", "a", "-o", "locked"]).returncode)
      """
    let outcome = try bench.run(["/usr/bin/env", "python3", "-c", script, Bench.tool])
    #expect(outcome.status == 73 && outcome.errors.contains("another program uses it"), "\(outcome.errors)")
    #expect(try bench.bytes("locked") == Array("precious".utf8))
    try bench.done("delta", "a", "-o", "locked")
  }

  /// A copy that a shell makes of a store appears whole or not at all, and over nothing.
  @Test func aShellCopiesOverNothing() throws {
    let bench = try bench()
    let outcome = try bench.tally(
      "shell", "--schema", "schema.json", input: "open x a\ncopy x y b\nnew z b-wal\ncopy x w b-wal\ncopy x v c\n")
    #expect(outcome.lines.filter { $0.contains("\"status\":73") }.count == 3, "\(outcome.output)")
    #expect(try bench.done("get", "c", "SBPerson|~|ann").contains("Ann"))
    #expect(try bench.done("get", "b", "SBPerson|~|bob").contains("Bob"))
    #expect(try bench.contents().allSatisfy { !$0.contains(".tmp") })
  }

  @Test func standardOutputByItsNameIsWrittenAndNotReplaced() throws {
    let bench = try bench()
    let outcome = try bench.shell(
      "{ echo 1; \"$0\" delta a -o /dev/stdout; echo 3; } > all; head -c 2 all; tail -c 2 all")
    #expect(outcome.status == 0 && outcome.output == "1\n3\n", "\(outcome)")
  }
}
