import GRDB
import TallyStore
import Testing

/// A store that contradicts itself is reported, not believed.
@Suite struct VerifyTests {
  let bench: Bench

  init() throws {
    bench = try Bench("a")
    try bench.done("put", "a", "-", input: "SBPerson|~|ann name=Ann\nSBGame|~|go name=Go owner=SBPerson|~|ann\n")
    try bench.done("link", "a", "SBGame|~|go", "players", "SBPerson|~|ann")
  }

  private func tamper(_ statements: String) throws {
    let store = try Store(existing: bench.path("a"))
    try store.flushTail()
    try store.close()
    let queue = try DatabaseQueue(path: bench.path("a"))
    try queue.writeWithoutTransaction { try $0.execute(sql: statements) }
    try queue.close()
  }

  private func expectProblem(_ part: String, at location: SourceLocation = #_sourceLocation) throws {
    let outcome = try bench.tally("verify", "a")
    #expect(outcome.status == 65, sourceLocation: location)
    #expect(outcome.output.contains(part), "\(outcome.output)", sourceLocation: location)
    #expect(outcome.errors.hasPrefix("tally: ") && outcome.errors.contains("found in"), sourceLocation: location)
  }

  @Test func aSoundStoreIsOk() throws { #expect(try bench.done("verify", "a") == "ok 3 checked\n") }

  @Test func aLostFingerprintIsReported() throws {
    try tamper("UPDATE tally_zone SET fingerprint = zeroblob(16)")
    try expectProblem("the fingerprint does not match the content")
  }

  @Test func aLostLogIsReported() throws {
    try tamper("DELETE FROM tally_log")
    try expectProblem("which the log does not list")
  }

  @Test func aLoweredVectorIsReported() throws {
    try tamper("UPDATE tally_vector SET sequence = 1")
    try expectProblem("which the vector does not cover")
  }

  @Test func whatOtherProgramsWriteIsCapturedFirst() throws {
    try tamper("UPDATE SBPerson SET name = 'Anne'; INSERT INTO SBPerson(id, name) VALUES('SBPerson|~|bob', 'Bob')")
    #expect(try bench.done("verify", "a") == "ok 4 checked\n")
    #expect(try bench.done("why", "a", "SBPerson|~|bob", "name").contains("  name=Bob\n"))
    #expect(try bench.done("verify", "a") == "ok 4 checked\n")
  }

  /// Damage that SQLite cannot notice: the content of a page.
  @Test func damagedPagesAreBadDataAndNeverACrash() throws {
    try tamper("PRAGMA wal_checkpoint(TRUNCATE)")
    let whole = try bench.bytes("a")
    let commands = [["verify"], ["dump"], ["get", "SBGame|~|go"], ["put", "SBGame|~|go", "name=Chess"]]
    for (index, offset) in stride(from: 4096, to: whole.count, by: 4096 * 5).enumerated() {
      var bytes = whole
      bytes.replaceSubrange(offset..<offset + 4096, with: repeatElement(UInt8(index % 2) * 0xFF, count: 4096))
      for name in ["b", "b-wal", "b-shm"] where try bench.contents().contains(name) { try bench.remove(name) }
      try bench.write(bytes, to: "b")
      for command in commands {
        let outcome = try bench.tally([command[0], "b"] + command.dropFirst())
        #expect([0, 65, 66].contains(outcome.status), "page \(offset / 4096): \(command[0]) \(outcome.errors)")
      }
    }
  }
}
