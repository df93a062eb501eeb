import Foundation
import Tally
import TestEffort
import Testing

/// Several processes write to one store at once.
@Suite struct FourWritersTests {
  @Test func everythingThatFourProcessesAcknowledgedIsThere() throws {
    let workshop = try Workshop()
    for store in ["a", "peer"] { try workshop.done("new", store, "--schema", "schema.json") }
    let each = 60 * Effort.factor
    let writers = try (1...4).map { writer in
      let output = try Pipe()
      let lines = (1...each).map { "SBPerson|~|w\(writer)-\($0) name=\($0)\n" }.joined()
      try workshop.write(Array(lines.utf8), to: "lines\(writer)")
      let input = open(workshop.url("lines\(writer)").path, O_RDONLY | O_CLOEXEC)
      let command = [Workshop.tool, "put", "a", "-", "--timeout", "120"]
      let child = try Child(command, in: workshop.folder, streams: [input, output.writing, STDERR_FILENO])
      for end in [input, output.writing] { close(end) }
      return (child, output.reading)
    }
    // A peer syncs in between, which reads and writes as well.
    for _ in 1...3 {
      let status = try workshop.tally(["sync", "a", "peer", "--timeout", "120"]).status
      #expect(status == 0 || status == 75)
    }
    var acknowledged: [(name: String, dot: String)] = []
    for (child, reading) in writers {
      acknowledged += Outcome.acknowledgements(String(decoding: Pipe.rest(of: reading), as: UTF8.self))
      #expect(child.wait() == 0)
      close(reading)
    }
    #expect(acknowledged.count == 4 * each)
    #expect(Set(acknowledged.map(\.dot)).count == 4 * each)
    try workshop.done("sync", "a", "peer")
    for store in ["a", "peer"] {
      let names = try workshop.done("list", store, "SBPerson").output.split(separator: "\n").map(String.init)
      #expect(Set(names) == Set(acknowledged.map(\.name)))
    }
    #expect(try workshop.soundView("a", "at the end") == workshop.soundView("peer", "at the end"))
  }
}
