import Foundation
import GRDB
import Tally
import TallyTesting
import TestEffort
import Testing

/// The tool on a real file system whose power goes.
@Suite(.enabled(if: BlockDisk.isPossible, "needs root, loop devices and ext4")) struct PowerCutTests {
  /// Puts, publishes to a peer on another disk, puts more without waiting for the disk, and cuts the power anywhere.
  /// What was acknowledged as being on the disk is there, what the peer has seen comes to be there, and both end equal,
  /// with what each wrote.
  @Test func whatWasAcknowledgedOrPublishedSurvivesPowerCuts() throws {
    let cuts = 5 * Effort.factor
    var lost = 0
    var renewals = Set<Date>()
    let workshop = try Workshop()
    try workshop.done("new", "peer", "--schema", "schema.json")
    let disk = try BlockDisk()
    let store = disk.path + "/a"
    try workshop.done("new", store, "--schema", "schema.json")
    var generator = SplitMix64(seed: Effort.seeds(1)[0])
    var promised = Set<String>()
    for round in 1...cuts {
      let place = "round \(round)"
      try workshop.done("put", "peer", "SBPerson|~|peer\(round)")
      var unsynced = Set<String>()
      if generator.below(3) > 0 {
        let puts = try workshop.done(
          "put", store, "-", "--relaxed", input: lines("early\(round)", 1 + generator.below(9)))
        try workshop.done("sync", store, "peer")
        promised.formUnion(puts.acknowledgements.map(\.name))
      }
      let isRelaxed = generator.below(2) == 0
      let names = try putUntilPowerIsCut(workshop, disk, store, round, isRelaxed, &generator)
      unsynced.formUnion(names.after)
      if isRelaxed { unsynced.formUnion(names.before) } else { promised.formUnion(names.before) }
      try disk.restart()

      let reopened = try Store(existing: store, options: .quiet)
      #expect(try reopened.verify().problems == [], "\(place)")
      let present = try reopened.read { try Set(String.fetchAll($0, sql: "SELECT id FROM SBPerson")) }
      #expect(promised.subtracting(present) == [], "\(place)")
      lost += unsynced.subtracting(present).count
      if let renewal = try reopened.lastRenewal() { renewals.insert(renewal.date) }
      try reopened.close()

      try workshop.done("put", store, "SBPerson|~|after\(round)")
      promised.insert("SBPerson|~|after\(round)")
      let sync = try workshop.done("sync", store, "peer")
      #expect(sync.output.contains("converged"), "\(place): \(sync.output)")
      let view = try workshop.soundView("peer", place)
      #expect(try workshop.soundView(store, place) == view, "\(place)")
      for name in promised.union(["SBPerson|~|peer\(round)"]) where !view.contains("\"\(name)\"") {
        Issue.record("\(place): the peer does not have \(name)")
      }
    }
    if Effort.factor > 1 {
      print("\(cuts) power cuts, \(promised.count) writes acknowledged or published, none lost")
      print("\(lost) relaxed ones lost, \(renewals.count) new replica ids")
    }
  }

  private func lines(_ prefix: String, _ count: Int) -> String {
    (1...count).map { "SBPerson|~|\(prefix)-\($0) name=\($0)\n" }.joined()
  }

  /// Cuts the power under a put of many lines, which must end with a complaint about the disk.
  /// - Returns: the names that it acknowledged before the cut, and those whose acknowledgement came while it happened.
  ///   The latter prove nothing: ext4 lets an fdatasync that is under way at its shutdown succeed without writing, for
  ///   any program.
  private func putUntilPowerIsCut(
    _ workshop: Workshop, _ disk: BlockDisk, _ store: String, _ round: Int, _ isRelaxed: Bool,
    _ generator: inout SplitMix64
  ) throws -> (before: [String], after: [String]) {
    let (input, output, errors) = (try Pipe(), try Pipe(), try Pipe())
    let child = try Child(
      [Workshop.tool, "put", store, "-"] + (isRelaxed ? ["--relaxed"] : []), in: workshop.folder,
      streams: [input.reading, output.writing, errors.writing])
    for end in [input.reading, output.writing, errors.writing] { close(end) }
    let text = lines("r\(round)", 300)
    #expect(write(input.writing, text, text.utf8.count) == text.utf8.count)
    var bytes: [UInt8] = []
    let wanted = generator.below(40)
    while bytes.count(where: { $0 == 0x0A }) < wanted, let more = Pipe.next(of: output.reading) { bytes += more }
    usleep(UInt32(generator.below(wanted == 0 ? 60_000 : 2_000)))
    bytes += Pipe.available(of: output.reading)
    let before = Outcome.acknowledgements(String(decoding: bytes, as: UTF8.self)).map(\.name)
    try disk.cutPower()
    close(input.writing)
    bytes += Pipe.rest(of: output.reading)
    let complaint = String(decoding: Pipe.rest(of: errors.reading), as: UTF8.self)
    let status = child.wait()
    for end in [output.reading, errors.reading] { close(end) }
    // A program that goes on may read zeros where the file system has dropped what it could not write, and calls that
    // damage.
    #expect([0, 65, 74].contains(status), "round \(round): \(status) \(complaint)")
    // A warning that the store is in doubt may come before the error.
    let complaints = complaint.split(separator: "\n")
    #expect(complaints.isEmpty == (status == 0) && complaints.count <= 2, "round \(round): \(status) \(complaint)")
    #expect(complaints.allSatisfy { $0.hasPrefix("tally: ") }, "round \(round): \(complaint)")
    let all = Outcome.acknowledgements(String(decoding: bytes, as: UTF8.self)).map(\.name)
    return (before, Array(all.dropFirst(before.count)))
  }
}
