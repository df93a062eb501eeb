import Foundation
import GRDB
import Tally
import TallyTesting
import TestEffort
import Testing

/// Files that a disk, a cloud folder or a person has damaged: an error that says so, or the same content; never a
/// crash, never other content that passes for sound.
@Suite struct DamagedFilesTests {
  /// What is damaged.
  enum Part: String, CaseIterable {
    case store = "a"
    case log = "a-wal"
    case token = "a-incarnation"
  }

  @Test(arguments: Part.allCases)
  func damageIsReportedOrDoesNoHarm(_ part: Part) throws {
    let template = try template()
    let whole = try template.bytes(part.rawValue)
    let sound = try states(template)
    var reported = 0
    for seed in Effort.seeds(5) {
      var generator = SplitMix64(seed: seed)
      let place = "\(part.rawValue), TALLY_SEED=\(seed)"
      let workshop = try Workshop(copyOf: template)
      try workshop.write(Self.damaged(whole, &generator), to: part.rawValue)
      var isReported = false
      var dumped: String?
      for command in [
        ["dump", "a", "--view"], ["verify", "a"], ["put", "a", "SBPerson|~|new", "name=New"], ["verify", "a"],
      ] {
        let outcome = try workshop.tally(command)
        #expect(
          [0, 65, 66, 74, 78].contains(outcome.status), "\(place), \(command[0]): \(outcome.status) \(outcome.errors)")
        if outcome.status != 0 { isReported = true }
        if command[0] == "dump", outcome.status == 0 { dumped = outcome.output }
      }
      if isReported { reported += 1 }
      // A log is true up to its damage, as it would be after a power cut.
      if let dumped, !isReported { #expect(sound.contains(dumped), "\(place): other content passes for sound") }
    }
    if part == .store { #expect(reported > 0) }
    if Effort.factor > 1 { print("\(part.rawValue): \(Effort.seeds(5).count) damaged files, \(reported) reported") }
  }

  /// It is the store that is damaged, not the lines: one complaint and no more lines.
  @Test func aDamagedStoreEndsAPutOfManyLines() throws {
    let workshop = try ToolOperation.workshop()
    let page = try DatabaseQueue(path: workshop.url("a").path).read { db in
      try #require(try Int.fetchOne(db, sql: "SELECT rootpage FROM sqlite_master WHERE name = 'SBPerson'"))
    }
    var bytes = try workshop.bytes("a")
    for index in (page - 1) * 4096..<page * 4096 { bytes[index] = 0 }
    try workshop.write(bytes, to: "a")
    let outcome = try workshop.tally(["put", "a", "-"], input: "SBPerson|~|one\nSBPerson|~|two\nSBPerson|~|three\n")
    #expect(outcome.status == 65 && outcome.acknowledgements.isEmpty)
    #expect(outcome.errors.hasPrefix("tally: a: line 1: "), "\(outcome.errors)")
    #expect(outcome.errors.utf8.count { $0 == 0x0A } == 1, "\(outcome.errors)")
  }

  /// Flips, zeroes, cuts or doubles something.
  private static func damaged(_ whole: [UInt8], _ generator: inout SplitMix64) -> [UInt8] {
    var bytes = whole
    let start = generator.below(bytes.count)
    let count = min(bytes.count - start, 1 + generator.below([1, 8, 512, 4096][generator.below(4)]))
    switch generator.below(6) {
    case 0: bytes.removeSubrange(start...)
    case 1: for index in start..<start + count { bytes[index] = 0 }
    case 2: for index in start..<start + count { bytes[index] = UInt8(truncatingIfNeeded: generator.next()) }
    case 3: bytes.insert(contentsOf: bytes[start..<start + count], at: start)
    default:
      for _ in 0..<1 + generator.below(8) { bytes[generator.below(bytes.count)] ^= 1 << UInt8(generator.below(8)) }
    }
    return bytes
  }

  /// A store whose last writes are in its log, as after a kill.
  private func template() throws -> Workshop {
    let workshop = try ToolOperation.workshop()
    let path = workshop.url("a").path
    let store = try Store(existing: path, options: .quiet)
    for number in 1...8 {
      try store.write {
        try $0.execute(sql: "INSERT INTO SBPerson(id, name) VALUES(?, 'late')", arguments: ["SBPerson|~|late\(number)"])
      }
    }
    // Copies are to be the same store's, with the log that it has.
    let other = try DatabaseQueue(path: path)
    try other.write(Workshop.forgetWriting)
    try other.close()
    let image = try ["a", "a-wal"].map { ($0, try workshop.bytes($0)) }
    try store.close()
    for (name, bytes) in image { try workshop.write(bytes, to: name) }
    return workshop
  }

  /// What a person saw after each commit that is in the log, and before it.
  private func states(_ template: Workshop) throws -> Set<String> {
    var states = Set<String>()
    let log = try template.bytes("a-wal")
    let frame = 24 + 4096
    for frames in 0...(log.count - 32) / frame {
      let workshop = try Workshop(copyOf: template)
      try workshop.write(Array(log.prefix(frames == 0 ? 0 : 32 + frames * frame)), to: "a-wal")
      states.insert(try workshop.done("dump", "a", "--view").output)
    }
    return states
  }
}
