import Foundation
import Tally
import TallyTesting
import TestEffort
import Testing

/// `kill -9` at any moment, over and over, on one store.
@Suite struct KillTests {
  /// Puts without end and kills it. Whatever was acknowledged is there afterwards, with transactions that no two puts
  /// share.
  @Test func whatWasAcknowledgedSurvivesEveryKill() throws {
    let workshop = try Workshop()
    for store in ["a", "peer"] { try workshop.done("new", store, "--schema", "schema.json") }
    var generator = SplitMix64(seed: Effort.seeds(1)[0])
    var acknowledged: [String: String] = [:]
    var dots = Set<String>()
    let kills = 25 * Effort.factor
    for round in 1...kills {
      for (name, dot) in try killedPut(workshop, round, &generator) {
        acknowledged[name] = dot
        #expect(dots.insert(dot).inserted, "round \(round): \(dot) was given out twice")
      }
      if generator.below(4) == 0 { try killedSync(workshop, &generator) }
      let store = try workshop.open("a")
      let present = try store.read { try Set(String.fetchAll($0, sql: "SELECT id FROM SBPerson")) }
      let missing = acknowledged.keys.filter { !present.contains($0) }
      #expect(missing == [], "round \(round)")
      if round % 10 == 0 || round == kills { #expect(try store.verify().problems == [], "round \(round)") }
      #expect(try store.lastRenewal()?.reason.contains("older copy") != true, "round \(round)")
      try store.close()
    }
    #expect(acknowledged.count > 5 * kills)
    try workshop.done("sync", "a", "peer")
    let theirs = try workshop.done("list", "peer", "SBPerson").output.split(separator: "\n").map(String.init)
    #expect(Set(theirs).isSuperset(of: acknowledged.keys))
    #expect(try workshop.soundView("a", "at the end") == workshop.soundView("peer", "at the end"))
    if Effort.factor > 1 { print("\(kills) kills, \(acknowledged.count) acknowledged puts, none lost") }
  }

  /// Starts a put of many lines, and kills it after some acknowledgements and some microseconds.
  private func killedPut(
    _ workshop: Workshop, _ round: Int, _ generator: inout SplitMix64
  ) throws -> [(name: String, dot: String)] {
    let (input, output) = (try Pipe(), try Pipe())
    let errors = open("/dev/null", O_WRONLY | O_CLOEXEC)
    let command = [Workshop.tool, "put", "a", "-"] + (generator.below(2) == 0 ? ["--relaxed"] : [])
    let child = try Child(command, in: workshop.folder, streams: [input.reading, output.writing, errors])
    for end in [input.reading, output.writing, errors] { close(end) }
    // All lines and all acknowledgements fit into their pipes, so neither side waits for the other.
    let lines = (1...300).map { "SBPerson|~|r\(round)-\($0) name=\($0)\n" }.joined()
    #expect(write(input.writing, lines, lines.utf8.count) == lines.utf8.count)
    var bytes: [UInt8] = []
    let wanted = generator.below(40)
    while bytes.count(where: { $0 == 0x0A }) < wanted, let more = Pipe.next(of: output.reading) { bytes += more }
    usleep(UInt32(generator.below(wanted == 0 ? 60_000 : 2_000)))
    child.kill()
    bytes += Pipe.rest(of: output.reading)
    let status = child.wait()
    #expect(status == -SIGKILL || status == 0)
    for end in [input.writing, output.reading] { close(end) }
    return Outcome.acknowledgements(String(decoding: bytes, as: UTF8.self))
  }

  /// Gives pages back and kills it. The store is sound and shows the same, and the next one finishes the work.
  @Test func aFileThatGetsSmallerSurvivesEveryKill() throws {
    let original = try Workshop()
    try original.done("new", "a", "--schema", "schema.json")
    try original.done("put", "a", "SBPerson|~|ann", "name=Ann")
    let icon = String(repeating: "ab", count: 20_000)
    let games = (1...200).map { "SBGame|~|\($0) owner=SBPerson|~|ann icon=\(icon)\n" }.joined()
    try original.done("put", "a", "-", "--relaxed", input: games)
    try original.done("put", "a", "SBPerson|~|bob", "name=Bob")
    let others = (1...100).map { "SBGame|~|b\($0) owner=SBPerson|~|bob icon=\(icon)\n" }.joined()
    try original.done("put", "a", "-", "--relaxed", input: others)
    try original.done("delete", "a", "SBPerson|~|ann")
    try original.done("purge", "a", "SBPerson|~|ann")
    let view = try original.soundView("a", "before")
    var generator = SplitMix64(seed: Effort.seeds(1)[0])
    for round in 1...4 * Effort.factor {
      let workshop = try Workshop(copyOf: original)
      let silent = open("/dev/null", O_RDWR | O_CLOEXEC)
      defer { close(silent) }
      let child = try Child(
        [Workshop.tool, "compact", "a", "--vacuum"], in: workshop.folder, streams: [silent, silent, silent])
      usleep(UInt32(10_000 + generator.below(120_000)))
      child.kill()
      child.wait()
      #expect(try workshop.soundView("a", "round \(round)") == view)
      try workshop.done("compact", "a", "--vacuum")
      #expect(try workshop.soundView("a", "round \(round), again") == view)
      #expect(try workshop.bytes("a").count < original.bytes("a").count * 2 / 3)
    }
  }

  private func killedSync(_ workshop: Workshop, _ generator: inout SplitMix64) throws {
    let silent = open("/dev/null", O_RDWR | O_CLOEXEC)
    defer { close(silent) }
    let child = try Child(
      [Workshop.tool, "sync", "a", "peer"], in: workshop.folder, streams: [silent, silent, silent])
    usleep(UInt32(20_000 + generator.below(60_000)))
    child.kill()
    child.wait()
  }
}
