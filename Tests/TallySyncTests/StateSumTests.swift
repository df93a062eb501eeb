import GRDB
import Tally
import TallyCRDT
import TallyStore
import Testing

/// Each state has a checksum of its own, so that damage is noticed before a cell goes out to a device that lacks it.
@Suite(.timeLimit(.minutes(5))) struct StateSumTests {
  private let files: SharedFolder

  init() throws { files = try SharedFolder() }

  /// Three stores. b holds all that a has; c lacks a's last notes and edits, and has one note that nobody else has.
  private func trio() throws -> (a: Store, b: Store, c: Store) {
    let (a, b, c) = (try files.store("a"), try files.store("b"), try files.store("c"))
    try World.insert(3, "old", a)
    for store in [b, c] { try store.sync(with: a) }
    try World.insert(3, "late", a)
    try a.write { db in
      try db.execute(sql: "UPDATE Note SET stars = 7 WHERE text = 'late 1'")
      try db.execute(sql: "DELETE FROM Note WHERE text = 'late 2'")
    }
    try b.sync(with: a)
    try World.insert(1, "own", c)
    return (a, b, c)
  }

  private static let damages = [
    // Values: under a clock, under a body, in a body of what is deleted.
    "UPDATE Note SET text = 'made up' WHERE text = 'late 0'", "UPDATE Note SET stars = 8 WHERE text = 'late 1'",
    """
    UPDATE tally_hidden SET body = CAST(substr(body, 1, instr(body, CAST('late 2' AS BLOB)) - 1) || \
    CAST('made' AS BLOB) || substr(body, instr(body, CAST('late 2' AS BLOB)) + 4) AS BLOB)
    """,
    // The last byte of the time of a stamp; a stamp in a body.
    """
    UPDATE Note SET tally_clock = CAST(substr(tally_clock, 1, 11) || x'01' || substr(tally_clock, 13) AS BLOB) \
    WHERE text = 'late 0'
    """,
    "UPDATE tally_extra SET body = CAST(substr(body, 1, 6) || x'2A' || substr(body, 8) AS BLOB)",
    // A name.
    "UPDATE Note SET id = 'Note|~|made-up' WHERE text = 'late 0'",
    // What a delete had seen.
    "UPDATE tally_context SET vector = x'00'",
  ]

  /// c takes nothing of what the disk has made, although it has something to give itself, and all end equal.
  @Test(arguments: damages) func aDamagedStateIsNotGivenAway(_ sql: String) throws {
    let (a, before, c) = try trio()
    let b = try files.tamper("b", before, sql)
    _ = try? c.sync(with: b)
    let probe = try Store(inMemoryCopyOf: c)
    try probe.sync(with: a)
    #expect(try Self.texts(probe) == ["late 0 1", "late 1 7", "old 0 1", "old 1 1", "old 2 1", "own 0 1"])
    for _ in 0..<2 { for (one, other) in [(b, a), (c, a), (c, b)] { try one.sync(with: other) } }
    try World.expectEqual(a, b, c)
    #expect(try Self.texts(a) == ["late 0 1", "late 1 7", "old 0 1", "old 1 1", "old 2 1", "own 0 1"])
  }

  /// What goes because another device wrote it is reported, and its values are there for a person to see.
  @Test func whatDoesNotMatchIsReportedAndInTheJournal() throws {
    let (a, before, c) = try trio()
    let b = try files.tamper("b", before, "UPDATE Note SET text = 'made up' WHERE text = 'late 0'")
    #expect(throws: StoreError.self) { try b.delta(since: c.vector) }
    let result = try b.apply(try c.delta())
    #expect(result.isHealed && result.inDoubt.count == 1)
    #expect(result.inDoubt.first?.contains("did not match its checksum") == true, "\(result.inDoubt)")
    let lost = try b.conflicts().filter { $0.kind == .deleted }
    #expect(Set(lost.map(\.loserValue)) == [.text("made up"), .integer(1)])
    #expect(try Self.texts(b) == ["late 1 7", "old 0 1", "old 1 1", "old 2 1", "own 0 1"])
    try b.sync(with: a)
    #expect(try Self.texts(b).contains("late 0 1"))
  }

  /// A delta that would have to take up a damaged state says which, and the store knows from then on.
  @Test func theErrorNamesTheRecord() throws {
    let (_, before, c) = try trio()
    let b = try files.tamper("b", before, "UPDATE Note SET text = 'made up', id = 'Note|~|x' WHERE text = 'late 0'")
    try b.write { try $0.execute(sql: "UPDATE Note SET stars = 2 WHERE id = 'Note|~|x'") }
    let vector = try c.vector
    let error = #expect(throws: StoreError.self) { try b.delta(since: vector) }
    #expect(error?.code == .damaged && error?.message.contains("'Note|~|x': what is stored") == true, "\(String(describing: error))")
    #expect(try b.doubt()?.level == .damaged)
  }

  private static let sums = [
    "UPDATE Note SET tally_clock = CAST(substr(tally_clock, 1, 12) || x'010203' AS BLOB) WHERE text = 'late 0'",
    "UPDATE tally_extra SET body = CAST(substr(body, 1, 1) || x'010203' || substr(body, 5) AS BLOB)",
    "UPDATE tally_hidden SET body = CAST(substr(body, 1, 1) || x'010203' || substr(body, 5) AS BLOB)",
  ]

  /// Where the content is what it was, a checksum is all that was damaged: no peer is needed, and nothing is in doubt.
  @Test(arguments: sums) func aDamagedChecksumIsPutRight(_ sql: String) throws {
    let (_, before, c) = try trio()
    let b = try files.tamper("b", before, sql)
    #expect(try b.verify().problems.contains { $0.contains("does not match its checksum") })
    #expect(try b.doubt()?.level == .damaged)
    try c.sync(with: b)
    #expect(try b.doubt() == nil && b.verify().problems == [])
    try World.expectEqual(b, c)
  }

  /// A repair by hand takes the content as it is, and its checksum.
  @Test(arguments: damages.prefix(2) + sums) func rebuildingSetsTheChecksum(_ sql: String) throws {
    let (_, before, _) = try trio()
    let b = try files.tamper("b", before, sql)
    #expect(try !b.verify().isSound)
    _ = try b.rebuild()
    #expect(try b.verify().problems == [])
    _ = try b.delta(since: StateVector())
  }

  private static func texts(_ store: Store) throws -> [String] {
    try store.read { try String.fetchAll($0, sql: "SELECT text || ' ' || stars FROM Note ORDER BY text") }
  }
}
