import Foundation
import Testing

@testable import TallyCLI

/// How far a command is: one line on a terminal, as wide as that is, and nothing elsewhere unless it is asked for.
@Suite(.timeLimit(.minutes(30))) struct ProgressTests {
  private static let clear = "\r\u{1B}[K"
  private let bench: Bench

  init() throws {
    bench = try Bench("a", "b")
    let lines = (0..<1500).map { "{\"name\":\"SBPerson|~|p\($0)\",\"fields\":{\"name\":\"number \($0)\"}}\n" }
    try bench.write(lines.joined(), to: "lines.jsonl")
  }

  /// What a terminal of so many columns is sent by a command whose standard output goes elsewhere.
  private func shown(_ columns: Int, _ arguments: String) throws -> [String] {
    let text = try bench.terminal("stty cols \(columns); exec '\(Bench.tool)' \(arguments) >result")
    // What script itself notes stands in a first line of its own, and behind the last bar.
    let parts = text.replacingOccurrences(of: "\r\n", with: "\n").components(separatedBy: Self.clear).dropLast()
    return parts.flatMap { $0.components(separatedBy: "\n") }
      .filter { !$0.isEmpty && !$0.hasPrefix("Script started") }
  }

  @Test(.enabled(if: Bench.hasTerminals)) func eachLongCommandShowsHowFarItIsInTheWidthOfTheTerminal() throws {
    try bench.done("import", "b", "lines.jsonl")
    try bench.done("delta", "b", "-o", "delta")
    for store in ["c", "d"] { try bench.done("new", store, "--schema", "schema.json") }
    try FileManager.default.createDirectory(atPath: bench.path("shared"), withIntermediateDirectories: false)
    let commands = [
      ("importing", "import a lines.jsonl"), ("verifying", "verify a"), ("applying", "apply c delta"),
      ("dumping", "dump a"), ("dumping", "dump a --view"), ("exporting", "export a --as json -o a.jsonl"),
      ("exporting", "export a --as csv --type SBPerson -o a.csv"), ("exporting", "export a --as sqlite -o a.sqlite"),
      ("writing the delta", "delta a -o a.delta"), ("recovering", "recover a -o rescued"),
      ("syncing", "sync a b"), ("syncing", "sync c --via \"'\(Bench.tool)' serve a --stdio\""),
      ("syncing", "sync a --via folder:shared"), ("syncing", "sync d --via folder:shared"),
    ]
    for (label, command) in commands {
      let lines = try shown(60, command)
      #expect(lines.contains { $0.hasPrefix(label) }, "\(command): \(lines)")
      // A warning is a line of its own, and may be longer.
      for line in lines where !line.hasPrefix("tally: warning: ") { #expect(line.count < 60, "\(command): \(line)") }
    }
    let lines = try shown(60, "verify a")
    #expect(lines.contains { $0.contains("[") && $0.contains("%, ") }, "\(lines)")
  }

  @Test(.enabled(if: Bench.hasTerminals)) func whatAPeerSaysHasLinesOfItsOwn() throws {
    let peer = "echo first words >&2; printf 'a question ' >&2; '\(Bench.tool)' serve b --stdio"
    try bench.done("import", "b", "lines.jsonl")
    let lines = try shown(72, "sync a --via \"\(peer)\"")
    #expect(lines.contains("first words"), "\(lines)")
    // What stood without the end of its line for a while may be a line of its own.
    let rest = "b took 0 changes, 0 conflicts"
    #expect(lines.contains("a question " + rest) || lines.contains("a question ") && lines.contains(rest), "\(lines)")
    #expect(lines.contains { $0.hasPrefix("syncing") })
  }

  /// Whatever takes long moves every second: where nothing can be counted, the seconds are.
  @Test func whatStandsStillSaysForHowLong() throws {
    let outcome = try bench.tally(
      "sync", "a", "--via", "sleep 2.5; '\(Bench.tool)' serve b --stdio", "--progress")
    #expect(outcome.status == 0)
    #expect(outcome.errors.contains(", for 1 s\n") && outcome.errors.contains(", for 2 s\n"), "\(outcome.errors)")
  }

  @Test func elsewhereNothingIsShownUnlessItIsAskedFor() throws {
    #expect(try bench.tally("import", "a", "lines.jsonl").errors.isEmpty)
    #expect(try bench.tally("verify", "a").errors.isEmpty)
    let outcome = try bench.tally("verify", "a", "--progress")
    #expect(outcome.status == 0 && outcome.output == "ok 1500 checked\n")
    #expect(outcome.errors.hasPrefix("verifying [..............................] 0%, SQLite's own checks\n"))
    let imported = try bench.tally("import", "b", "lines.jsonl", "--progress")
    #expect(imported.errors.hasPrefix("importing [") && imported.errors.contains("1000 lines, "))
    #expect(imported.errors.contains(" a second\n"))
  }
}

/// One line on a terminal.
@Suite struct ProgressLineTests {
  @Test(arguments: 0...100) func aLineIsNeverWiderThanTheTerminal(width: Int) {
    for (what, details) in [("verifying", "120000 checked"), ("live, up to date", "12 MB sent, 3 kB received")] {
      for fraction in [nil, 0, 0.5, 1, 2] as [Double?] {
        let line = Progress.line(what, fraction, details, width: width)
        #expect(line.count <= max(width - 1, 0))
        #expect(width < 80 || fraction == nil || line.contains("[") && line.hasSuffix(details))
      }
    }
  }
}
