import Foundation
import GRDB
import TestEffort
import Testing

/// A disk that is busy, full, read-only or somebody else's.
@Suite struct DiskTests {
  let bench: Bench

  init() throws {
    bench = try Bench("a")
    try bench.done("put", "a", "SBPerson|~|ann", "name=Ann")
  }

  // MARK: Busy

  @Test func whileSomebodyWritesWritersGet75AndReadersRead() throws {
    try bench.done("new", "b", "--schema", "schema.json")
    try bench.done("delta", "a", "-o", "delta")
    let before = try bench.done("dump", "a")
    let other = try DatabaseQueue(path: bench.path("a"))
    try other.writeWithoutTransaction { db in
      try db.execute(sql: "BEGIN IMMEDIATE")
      let wait = ["--timeout", "0.01"]
      let line = "{\"name\":\"SBPerson|~|bob\"}\n"
      for arguments in [
        ["put", "a", "SBPerson|~|bob"], ["put", "a", "-"], ["delete", "a", "SBPerson|~|ann"], ["import", "a", "-"],
        ["apply", "a", "delta"], ["sync", "b", "a"], ["sync", "a", "b"],
      ] { try bench.refused(75, arguments + wait, input: line) }
      #expect(try bench.done("get", "a", "SBPerson|~|ann").contains("name=Ann"))
      #expect(try bench.done("dump", "a") == before)
      try db.execute(sql: "ROLLBACK")
    }
    try other.close()
    #expect(try bench.done("dump", "a") == before)
    #expect(try bench.done("dump", "b").split(separator: "\n").count == 1)
    try bench.done("put", "a", "SBPerson|~|bob")
  }

  // MARK: Full

  /// The peer's disk fills up while it applies what came; a larger delta does not even fit beside the store. A third
  /// peer is served as ever.
  @Test(.enabled(if: SmallDisk.isPossible, "needs root and tmpfs"), arguments: Effort.isLong ? [1, 6] : [1])
  func aDiskThatFillsUpDuringASyncHarmsNeitherSide(mebibytes: Int) throws {
    let disk = try SmallDisk(at: bench.path("disk"), kibibytes: 1200)
    try bench.done("new", "disk/s", "--schema", "schema.json")
    try bench.done("put", "disk/s", "SBPerson|~|carl", "name=Carl")
    let lines = (1...256 * mebibytes).map { number in
      "SBPerson|~|p\(number) name=" + (0..<110).map { _ in UUID().uuidString }.joined() + "\n"
    }
    try bench.done("put", "a", "-", "--relaxed", input: lines.joined())
    let (mine, theirs) = (try bench.done("dump", "a"), try bench.done("dump", "disk/s"))
    let sync = ["sync", "a", "--via", "'\(Bench.tool)' serve disk/s --stdio 2>/dev/null"]
    try bench.refused(76, sync, saying: "the peer says")
    #expect(try bench.done("dump", "disk/s") == theirs)
    #expect(try bench.done("verify", "disk/s").hasPrefix("ok "))
    // What the peer had to give may have come.
    #expect(try bench.done("dump", "a").utf8.count >= mine.utf8.count)
    try bench.done("new", "c", "--schema", "schema.json")
    try bench.done("sync", "a", "c")
    try disk.grow(toKibibytes: 64 << 10)
    #expect(try bench.tally(sync).status == 0)
    #expect(try bench.done("dump", "disk/s") == bench.done("dump", "a"))
  }

  @Test(.enabled(if: SmallDisk.isPossible, "needs root and tmpfs"))
  func onAFullDiskTheStoreStaysSoundAndGoesOnLater() throws {
    let disk = try SmallDisk(at: bench.path("disk"), kibibytes: 1600)
    // Making the log part of the file takes as much again as the log has.
    try bench.write([UInt8](repeating: 0, count: 800 << 10), to: "disk/reserve")
    try bench.done("new", "disk/s", "--schema", "schema.json")
    let text = String(repeating: "x", count: 3000)
    let lines = (1...400).map { "SBPerson|~|p\($0) name=\(text)\n" }.joined()
    let outcome = try bench.tally("put", "disk/s", "-", "--relaxed", input: lines)
    #expect(outcome.status == 74 && outcome.errors.contains("full"))
    let names = outcome.lines.map { String($0.split(separator: " ")[1]) }
    #expect(!names.isEmpty && names.count < 400)
    #expect(try bench.done("list", "disk/s", "SBPerson").split(separator: "\n").map(String.init) == names.sorted())

    try bench.write([UInt8](repeating: 0, count: 4 << 20), full: "disk/filler")
    try bench.unchanged("disk/s") {
      try bench.refused(74, ["put", "disk/s", "SBPerson|~|big", "name=\(text)"])
      try bench.refused(74, ["delete", "disk/s", "SBPerson|~|p1"])
      try bench.refused(74, ["delta", "disk/s", "-o", "disk/delta"])
      try bench.refused(74, ["new", "disk/t", "--schema", "schema.json"])
    }
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: disk.path).filter { !$0.hasPrefix("s") }.sorted() == [
        "filler", "reserve",
      ])
    for name in ["disk/filler", "disk/reserve"] { try bench.remove(name) }
    try bench.done("delete", "disk/s", "SBPerson|~|p1")
    #expect(try bench.done("verify", "disk/s").hasPrefix("ok "))
  }

  /// What is made on a disk that fills up is named, and leaves nothing there.
  @Test(.enabled(if: SmallDisk.isPossible, "needs root and tmpfs"), arguments: Effort.sample([200, 1600], 1))
  func whatHasNoRoomIsNamed(kibibytes: Int) throws {
    let disk = try SmallDisk(at: bench.path("disk"), kibibytes: kibibytes)
    let text = String(repeating: "x", count: 3000)
    try bench.done("put", "a", "-", "--relaxed", input: (1...600).map { "SBPerson|~|p\($0) name=\(text)\n" }.joined())
    try bench.unchanged("a") {
      for command in [["recover", "a"], ["export", "a", "--as", "sqlite"], ["export", "a", "--as", "json"]] {
        try bench.refused(74, command + ["-o", "disk/new"], saying: "disk/new")
        #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == [])
      }
    }
    let outcome = try bench.tally("recover", "a", "-o", "disk/new")
    #expect(outcome.errors.contains("full"), "\(outcome.errors)")
  }

  @Test(.enabled(if: SmallDisk.isPossible, "needs root and tmpfs"))
  func aReadOnlyDiskCanBeReadAndNotWritten() throws {
    let disk = try SmallDisk(at: bench.path("disk"), kibibytes: 2000)
    try bench.done("new", "disk/s", "--schema", "schema.json")
    try bench.done("put", "disk/s", "SBPerson|~|ann", "name=Ann")
    try disk.makeReadOnly()
    try bench.unchanged("disk/s") {
      #expect(try bench.done("get", "disk/s", "SBPerson|~|ann").contains("name=Ann"))
      try bench.refused(74, ["put", "disk/s", "SBPerson|~|ann", "name=Anne"])
      try bench.refused(74, ["sync", "a", "disk/s"])
      try bench.refused(73, ["new", "disk/t", "--schema", "schema.json"])
      try bench.refused(73, ["delta", "a", "-o", "disk/delta"])
    }
    try bench.done("delta", "disk/s", "-o", "delta")
    try bench.done("apply", "a", "delta")
  }

  /// A backup has a log and no index of it. On a read-only disk SQLite cannot make one, nor on a full one.
  @Test(.enabled(if: SmallDisk.isPossible, "needs root and tmpfs"), arguments: [false, true])
  func aStoreWithALogCanBeReadWhereNothingCanBeWritten(isFull: Bool) throws {
    let other = try DatabaseQueue(path: bench.path("a"))
    let disk = try SmallDisk(at: bench.path("disk"), kibibytes: 8000)
    try other.writeWithoutTransaction { db in
      // As long as somebody reads, the log stays.
      try db.execute(sql: "BEGIN")
      _ = try Row.fetchAll(db, sql: "SELECT * FROM tally_meta")
      try bench.done("put", "a", "SBPerson|~|bob", "name=Bob")
      for end in ["", "-wal"] { try bench.write(bench.bytes("a" + end), to: "disk/s" + end) }
      try db.execute(sql: "ROLLBACK")
    }
    try other.close()
    #expect(try !bench.bytes("disk/s-wal").isEmpty)
    if isFull {
      try bench.write([UInt8](repeating: 0, count: 4 << 20), full: "disk/filler")
    } else {
      try disk.makeReadOnly()
    }
    try bench.unchanged("disk/s") {
      for person in ["ann", "bob"] { try bench.done("get", "disk/s", "SBPerson|~|\(person)") }
      #expect(try bench.done("verify", "disk/s").hasPrefix("ok "))
      try bench.refused(74, ["put", "disk/s", "SBPerson|~|ann", "name=Anne"])
    }
    try bench.done("delta", "disk/s", "-o", "delta")
  }

  /// Reading where nothing can be written takes a copy, which must not outlast the tool.
  @Test(.enabled(if: SmallDisk.isPossible, "needs root and tmpfs"), arguments: ["TERM", "INT"])
  func aSignalLeavesNoCopyOfAStore(_ signal: String) throws {
    let disk = try SmallDisk(at: bench.path("disk"), kibibytes: 8000)
    try bench.done("new", "disk/s", "--schema", "schema.json")
    let lines = (0..<5000).map { "{\"name\":\"SBPerson|~|p\($0)\",\"fields\":{\"name\":\"number \($0)\"}}\n" }
    try bench.done("import", "disk/s", "-", input: lines.joined())
    try disk.makeReadOnly()
    mkdir(bench.path("temporary"), 0o700)
    // Its output is a pipe that nobody reads, so it waits with the copy in use.
    let outcome = try bench.run([
      "/usr/bin/env", "python3", "-c",
      """
      import os, signal, subprocess, sys
      signal.signal(signal.SIGINT, signal.SIG_DFL)
      tool = subprocess.Popen([sys.argv[1], "dump", "disk/s"], stdout=subprocess.PIPE,
                              env=dict(os.environ, TMPDIR=os.path.abspath("temporary")))
      tool.stdout.read(1)
      print(len(os.listdir("temporary")))
      tool.send_signal(signal.SIG\(signal))
      print(tool.wait(), len(os.listdir("temporary")))
      """, Bench.tool,
    ])
    #expect(outcome.output == "1\n\(signal == "TERM" ? 143 : 130) 0\n", "\(outcome.output) \(outcome.errors)")
  }

  // MARK: Permission

  @Test(.enabled(if: Stranger.isPossible, "needs root and setpriv")) func withoutPermissionTheCodeIs77() throws {
    func expect(_ status: Int32, _ arguments: String..., at location: SourceLocation = #_sourceLocation) throws {
      let outcome = try bench.run(Stranger.command + [Bench.tool] + arguments)
      #expect(outcome.status == status, "\(outcome.errors)", sourceLocation: location)
    }
    try bench.unchanged("a") {
      // The folder and the file are ours: reading is allowed, writing is not.
      chmod(bench.path("a"), 0o644)
      try expect(0, "get", "a", "SBPerson|~|ann")
      try expect(77, "put", "a", "SBPerson|~|bob")
      chmod(bench.path("a"), 0o600)
      try expect(77, "get", "a", "SBPerson|~|ann")
      try expect(77, "put", "a", "SBPerson|~|bob")
      try expect(77, "apply", "a", "schema.json")
      try expect(73, "new", "b", "--schema", "schema.json")
      chmod(bench.url.path, 0o700)
      try expect(77, "get", bench.path("a"), "SBPerson|~|ann")
    }
  }
}

extension Bench {
  /// Writes until the disk is full.
  fileprivate func write(_ bytes: [UInt8], full name: String) throws {
    let descriptor = open(path(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(descriptor) }
    for size in [4096, 1] { while Foundation.write(descriptor, bytes, size) > 0 {} }
  }
}
