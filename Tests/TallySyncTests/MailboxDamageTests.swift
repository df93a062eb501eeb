import Foundation
import GRDB
import Tally
import TallyRecovery
import Testing

/// A store that the disk has damaged, and that meets the others only through a folder.
@Suite(.timeLimit(.minutes(5))) struct MailboxDamageTests {
  private let files: SharedFolder

  init() throws { files = try SharedFolder() }

  /// Two stores that hold the same. The folder has a snapshot with one note, and a delta with another.
  private func pair() throws -> (a: Store, b: Store) {
    let (a, b) = (try files.store("a"), try files.store("b"))
    for text in ["first", "second"] {
      try World.insert(1, text, a)
      for store in [a, b] { try store.sync(through: files.mailbox) }
    }
    #expect(try files.names.count == 2)
    return (a, b)
  }

  /// What came with the delta is not in the snapshot, and is no more the damaged store's own than that.
  @Test(arguments: ["first 0", "second 0"]) func aDamagedStoreHealsFromAllThatIsInTheFolder(_ text: String) throws {
    let (a, before) = try pair()
    let b = try files.tamper("b", before, "UPDATE Note SET text = 'damage' WHERE text = '\(text)'")
    #expect(throws: StoreError.self) { try b.delta() }
    let report = try b.sync(through: files.mailbox)
    #expect(report.isHealed && report.inDoubt == [] && report.written == [] && !report.repaired)
    #expect(try b.doubt() == nil)
    try MailboxWorld.settle([a, b], files.mailbox)
    try MailboxWorld.expectEqual([a, b])
  }

  /// It says that it has seen everything, so it would never read what it has lost.
  @Test func aRecoveredStoreAsksTheFolderForWhatItHasLost() throws {
    let (a, before) = try pair()
    try before.close()
    let queue = try DatabaseQueue(path: files.root.appendingPathComponent("b").path)
    try queue.writeWithoutTransaction { try $0.execute(sql: "DROP TABLE Note") }
    try queue.close()
    let path = files.root.appendingPathComponent("recovered").path
    let report = try Store.recover(files.root.appendingPathComponent("b").path, to: path, schema: Schema(Note.self))
    #expect(report.lossCount > 0)
    let b = try files.store("recovered")
    #expect(try b.sync(through: files.mailbox).isHealed)
    #expect(try b.doubt() == nil)
    try MailboxWorld.settle([a, b], files.mailbox)
    try MailboxWorld.expectEqual([a, b])
  }

  /// A store without its change log puts a delta in which its last write is missing. All see that the sum does not come
  /// out and say what they have, and each of those repairs counts for everybody.
  @Test func ofTwoRepairsThatSayDifferentThingsAllTakeBoth() throws {
    let (a, before) = try pair()
    try before.write { try $0.execute(sql: "DELETE FROM Note WHERE text = 'first 0'") }
    let b = try files.tamper("b", before, "DELETE FROM tally_log")
    try b.sync(through: files.mailbox)
    for _ in 0..<4 { for store in [a, b] { try store.sync(through: files.mailbox) } }
    #expect(try World.dump(a) == World.dump(b))
    #expect(try World.count(a) == 1)
  }

  /// The log only says where to look: whoever cannot read it looks everywhere.
  @Test func whatADamagedChangeLogListsLeavesAllTheSame() throws {
    let (a, before) = try pair()
    try World.insert(1, "alone", before)
    let b = try files.tamper("b", before, "UPDATE tally_log SET items = x'FF'")
    let problems = try b.verify().problems
    #expect(problems.contains { $0.hasPrefix("the change log: ") })
    try MailboxWorld.settle([a, b], files.mailbox)
    #expect(try World.count(a) == 3 && World.dump(a) == World.dump(b))
    // Pruning goes on as well, and leaves alone what it cannot read.
    for number in 0..<100 { try World.insert(1, "more \(number)", b) }
    #expect(try b.doubt() == nil)
    #expect(try b.rebuild().losses == [])
    try MailboxWorld.settle([a, b], files.mailbox)
    try MailboxWorld.expectEqual([a, b])
  }

  /// Nobody would take its word, and putting it again with each pass helps nobody.
  @Test func aStoreInDoubtPutsNoRepairs() throws {
    let (a, before) = try pair()
    try World.insert(1, "alone", before)
    let b = try files.tamper("b", before, "UPDATE Note SET text = 'damage' WHERE text = 'alone 0'")
    _ = try b.rebuild()
    #expect(try b.doubt()?.level == .unvouched)
    var written: [String] = []
    for _ in 0..<4 { for store in [b, a] { written += try store.sync(through: files.mailbox).written } }
    #expect(written.filter { $0.hasSuffix(".repair") } == [] && written.count == 1)
    #expect(try World.dump(a) == World.dump(b))
  }

  /// A newcomer takes what somebody vouches for, whatever else is there and leads further.
  @Test func whatSomebodyVouchesForComesFirst() throws {
    let (_, before) = try pair()
    let b = try files.tamper("b", before, "UPDATE Note SET text = 'damage' WHERE text = 'second 0'")
    _ = try b.rebuild()
    try World.insert(1, "later", b)
    // As an older version put it: everything, and nobody's word for it.
    let bytes = try b.delta()
    let check = bytes.suffix(8).map { String(format: "%02x", $0) }.joined()
    try files.place(bytes, as: "tally1-default-00000000000000000000000000000000-000000000000-\(check).snapshot")
    let c = try files.store("c")
    try c.sync(through: files.mailbox)
    let texts = try c.read { try String.fetchAll($0, sql: "SELECT text FROM Note ORDER BY text") }
    #expect(texts == ["first 0", "later 0", "second 0"])
  }

  /// What the store itself holds is at fault, and not the file that it was to be joined with.
  @Test func aStateThatCannotBeReadIsNotTheFaultOfAFile() throws {
    let (a, before) = try pair()
    try Self.star(2, "first 0", a)
    for store in [a, before] { try store.sync(through: files.mailbox) }
    let b = try files.tamper("b", before, "UPDATE tally_extra SET body = x'0101FFFFFFFFFFFF7F0102'")
    try Self.star(3, "first 0", a)
    try a.sync(through: files.mailbox)
    let report = try b.sync(through: files.mailbox)
    #expect(report.isHealed && report.refused.isEmpty && report.pending.isEmpty)
    #expect(try b.doubt() == nil)
    try MailboxWorld.settle([a, b], files.mailbox)
    try MailboxWorld.expectEqual([a, b])
  }

  /// A store that counted on from such a number could not read what it wrote with the next ones.
  @Test(arguments: [("tally_vector", "replica"), ("tally_replica", "n")])
  func aNumberThatTheDiskHasMadeHugeIsNotCountedOnFrom(_ table: String, _ column: String) throws {
    let (a, before) = try pair()
    let b = try files.tamper("b", before, "UPDATE \(table) SET \(column) = \(column) + (1 << 37)")
    try b.sync(through: files.mailbox)
    #expect(try b.doubt() == nil)
    let c = try files.store("c")
    try World.insert(1, "third", c)
    for stars in 2...4 {
      for store in [c, a] { try store.sync(through: files.mailbox) }
      try Self.star(stars, "third 0", a)
      try a.sync(through: files.mailbox)
      let report = try b.sync(through: files.mailbox)
      #expect(report.refused.isEmpty && report.pending.isEmpty)
    }
    try MailboxWorld.settle([a, b, c], files.mailbox)
    try MailboxWorld.expectEqual([a, b, c])
  }

  private static func star(_ stars: Int, _ text: String, _ store: Store) throws {
    try store.write { try $0.execute(sql: "UPDATE Note SET stars = ? WHERE text = ?", arguments: [stars, text]) }
  }
}
