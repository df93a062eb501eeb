import Foundation
import Testing

/// Peers that are none, or not what they seem, and one that knows only the documents.
@Suite(.timeLimit(.minutes(30))) struct StrangerTests {
  private static let client = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Stranger/peer.py").path

  /// `Tests/Stranger/peer.py` is written from `Docs/SyncProtocol.md` and `Docs/WireFormat.md` alone.
  @Test func aStrangerThatKnowsTheDocumentsSyncs() throws {
    let bench = try Bench("a", "b", "c")
    try bench.done("put", "a", "SBPerson|~|ann", "name=Ann")
    try bench.done("put", "b", "SBPerson|~|bob", "name=Bob")
    func meet(_ store: String) throws {
      let outcome = try bench.run(
        ["/usr/bin/env", "python3", "-B", Self.client, "relay.json", Bench.tool, "serve", store, "--stdio"])
      #expect(outcome.status == 0, "\(outcome.errors)")
    }
    for store in ["a", "b", "a", "c"] { try meet(store) }
    let dump = try bench.done("dump", "a")
    #expect(dump.contains("ann") && dump.contains("bob"))
    for store in ["b", "c"] { #expect(try bench.done("dump", store) == dump) }
    // More than a window of it, each way at once.
    let lines = (0..<6000).map { number in
      "{\"name\":\"SBPerson|~|\(number)\",\"fields\":{\"name\":\"\(UUID().uuidString)\(UUID().uuidString)\"}}"
    }
    try bench.write(lines.joined(separator: "\n"), to: "many.jsonl")
    try bench.done("import", "a", "many.jsonl")
    try meet("a")
    try bench.done("put", "c", "SBPerson|~|cid", "name=Cid")
    for store in ["c", "a", "b"] { try meet(store) }
    let all = try bench.done("dump", "a")
    for store in ["b", "c"] {
      #expect(try bench.done("dump", store) == all)
      #expect(try bench.done("verify", store).hasPrefix("ok "))
    }
  }

  @Test func anEchoIsNoPeer() throws {
    let bench = try Bench("a")
    try bench.done("put", "a", "SBPerson|~|ann", "name=Ann")
    let status = try bench.done("status", "a", "--json")
    try bench.refused(65, ["sync", "a", "--via", "cat"], saying: "an echo")
    try bench.refused(65, ["verify", "a", "--against", "cat"], saying: "an echo")
    #expect(try bench.done("status", "a", "--json") == status)
    let empty = try Bench("a")
    try empty.refused(65, ["sync", "a", "--via", "cat"], saying: "an echo")
  }

  @Test func aStoreIsNoPeerOfItself() throws {
    let bench = try Bench("a")
    try bench.done("put", "a", "SBPerson|~|ann", "name=Ann")
    let status = try bench.done("status", "a", "--json")
    let outcome = try bench.tally("sync", "a", "--via", "\(Bench.tool) serve a --stdio 2>/dev/null")
    #expect(outcome.status == 65 && outcome.errors.contains("this store itself"), "\(outcome.errors)")
    #expect(try bench.done("status", "a", "--json") == status)
  }

  @Test func twoNamesOfOneStoreAreNotSynced() throws {
    let bench = try Bench("a")
    try bench.done("put", "a", "SBPerson|~|ann", "name=Ann")
    try FileManager.default.createSymbolicLink(atPath: bench.path("soft"), withDestinationPath: "a")
    let status = try bench.done("status", "a", "--json")
    for other in ["a", "./a", "soft"] { try bench.refused(65, ["sync", "a", other], saying: "one store") }
    #expect(try bench.done("status", "a", "--json") == status)
  }

  @Test func aStoreUnderTwoNamesKeepsItsID() throws {
    let bench = try Bench("a")
    try bench.done("put", "a", "SBPerson|~|ann", "name=Ann")
    try FileManager.default.linkItem(atPath: bench.path("a"), toPath: bench.path("hard"))
    try FileManager.default.createSymbolicLink(atPath: bench.path("soft"), withDestinationPath: "hard")
    let names = ["a", "hard", "soft", "hard", "a"]
    for (number, name) in names.enumerated() { try bench.done("put", name, "SBPerson|~|\(number)", "name=N") }
    #expect(try bench.done("vector", "a").split(separator: ",").count == 1)
    #expect(try bench.done("list", "soft", "SBPerson").split(separator: "\n").count == 1 + names.count)
    #expect(try bench.done("verify", "hard").hasPrefix("ok "))
    #expect(try bench.contents().filter { $0.hasSuffix("-wal") }.count <= 1)
  }

  /// Ends with the signal's code within a second, and leaves nothing behind: no child, no half-written file.
  @Test(arguments: [("TERM", Int32(143)), ("INT", Int32(130))]) func aSignalEndsWhateverWaits(
    _ signal: String, _ code: Int32
  ) throws {
    let bench = try Bench("a")
    let mark = "300.\(UInt32.random(in: 1...999_999))"
    for command in ["verify a --against 'sleep \(mark)'", "sync a --via 'sleep \(mark)'"] {
      // The signal comes when the child is there. Whoever is started in the background by a shell ignores SIGINT.
      let outcome = try bench.run([
        "/usr/bin/env", "python3", "-c",
        """
        import shlex, signal, subprocess, sys, time
        def children():
            return subprocess.run(["pgrep", "-f", "^sleep \(mark)"], capture_output=True).stdout.split()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        tool = subprocess.Popen([sys.argv[1]] + shlex.split(sys.argv[2]), stderr=subprocess.DEVNULL)
        while not children():
            pass
        start = time.monotonic()
        tool.send_signal(signal.SIG\(signal))
        code = tool.wait()
        print(code, int(1000 * (time.monotonic() - start)), len(children()))
        """, Bench.tool, command,
      ])
      let words = outcome.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
      #expect(words.count == 3 && words[0] == Int(code), "\(command): \(outcome.output) \(outcome.errors)")
      #expect(words.count == 3 && words[1] < 2000 && words[2] == 0, "\(command) took \(outcome.output)")
    }
    #expect(try bench.contents().allSatisfy { !$0.hasSuffix(".tmp") })
  }

  @Test(arguments: ["recover a -o new", "export a --as sqlite -o new", "new new --schema schema.json"])
  func aSignalLeavesNoFileOfANewStore(_ command: String) throws {
    let bench = try Bench("a")
    let lines = (0..<20_000).map { "{\"name\":\"SBPerson|~|\($0)\",\"fields\":{\"name\":\"number \($0)\"}}\n" }
    try bench.done("import", "a", "-", input: lines.joined())
    let outcome = try bench.run([
      "/usr/bin/env", "python3", "-c",
      """
      import os, shlex, subprocess, sys
      def files():
          return [name for name in os.listdir(".") if name.startswith(".new.")]
      tool = subprocess.Popen([sys.argv[1]] + shlex.split(sys.argv[2]), stderr=subprocess.DEVNULL)
      while tool.poll() is None and not files():
          pass
      tool.terminate()
      print(tool.wait(), len(files()))
      """, Bench.tool, command,
    ])
    // The one that is quick may have been done.
    #expect(["143 0\n", "0 0\n"].contains(outcome.output), "\(outcome.output) \(outcome.errors)")
  }
}
