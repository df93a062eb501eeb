import Foundation
import GRDB
import Testing

/// Several programs that write the same store.
@Suite(.timeLimit(.minutes(30))) struct BusyWriterTests {
  private let bench: Bench
  /// More lines than anybody gets through.
  private static let lines = (0..<100_000).map { "SBPerson|~|k\($0 % 50) name=\($0)\n" }.joined()

  init() throws {
    bench = try Bench("a", "b")
    try bench.write(Self.lines, to: "lines")
  }

  /// Starts `tally put` with more lines than it gets through; the acknowledgements go into a file.
  private func startWriter(_ number: Int) throws -> pid_t {
    let files = Spawn.Files(
      input: bench.path("lines"), output: bench.path("acks\(number)"), errors: bench.path("errors\(number)"))
    return try Spawn.start([Bench.tool, "put", "a", "-", "--timeout", "60"], in: bench.url.path, files: files)
  }

  private func acknowledged(_ number: Int) throws -> Int { try bench.bytes("acks\(number)").count { $0 == 0x0A } }

  /// Waits until a writer writes.
  private func waitForFirst(_ number: Int, _ writer: pid_t) throws {
    while try acknowledged(number) == 0, kill(writer, 0) == 0 { usleep(1000) }
  }

  private func end(_ writers: [pid_t]) {
    for writer in writers { kill(writer, SIGTERM) }
    for writer in writers { #expect(Spawn.wait(for: writer) == 143) }
  }

  @Test func plainSQLGetsATenthBesideEightWriters() throws {
    let writers = try (0..<8).map(startWriter)
    var areEnded = false
    defer { if !areEnded { end(writers) } }
    for (number, writer) in writers.enumerated() { try waitForFirst(number, writer) }
    var configuration = Configuration()
    configuration.busyMode = .timeout(60)
    let plain = try DatabaseQueue(path: bench.path("a"), configuration: configuration)
    let before = try writers.indices.reduce(0) { try $0 + acknowledged($1) }
    // So many that one moment in which it sleeps while the others write does not decide.
    let mine = 600
    for number in 0..<mine {
      try plain.inTransaction(.immediate) { db in
        try db.execute(
          sql: """
            INSERT INTO SBPerson(id, name) VALUES('SBPerson|~|plain', ?)
            ON CONFLICT(id) DO UPDATE SET name = excluded.name
            """, arguments: ["\(number)"])
        return .commit
      }
    }
    let theirs = try writers.indices.reduce(0) { try $0 + acknowledged($1) } - before
    try plain.close()
    end(writers)
    areEnded = true
    #expect(10 * mine >= mine + theirs, "\(mine) beside \(theirs)")
    // Nobody was kept out, and nothing is lost.
    for number in writers.indices {
      let errors = String(decoding: try bench.bytes("errors\(number)"), as: UTF8.self)
      #expect(errors == "")
    }
    #expect(try bench.done("get", "a", "SBPerson|~|plain").contains("name=\(mine - 1)\n"))
  }

  @Test func aSyncBesideAWriterSucceedsAndSaysThatNewerChangesWait() throws {
    try bench.done("put", "b", "SBPerson|~|other", "name=Other")
    let writer = try startWriter(0)
    defer { end([writer]) }
    try waitForFirst(0, writer)
    let commands = [
      ["sync", "a", "b"], ["sync", "b", "--via", "'\(Bench.tool)' serve a --stdio"],
      ["sync", "a", "--via", "'\(Bench.tool)' serve b --stdio"],
    ]
    var waiting = 0
    for command in commands + commands {
      let outcome = try bench.tally(command)
      #expect(outcome.status == 0, "\(command): \(outcome.errors)")
      let last = outcome.lines.last ?? ""
      #expect(last.hasPrefix("converged, ") || last.contains("newer changes wait: "), "\(command): \(last)")
      if last.contains("newer changes wait: ") { waiting += 1 }
    }
    #expect(waiting > 0)
    #expect(try bench.tally("get", "a", "SBPerson|~|other").status == 0)
    #expect(try bench.tally("get", "b", "SBPerson|~|k0").status == 0)
  }
}
