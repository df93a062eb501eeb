import Foundation
import GRDB
import Tally
import Testing

/// A file that was copied, or restored from a backup, is a replica twice: no write of either copy may be lost, also
/// where no token beside the file tells the copy at opening (`IdentityTests` has those).
@Suite struct OldCopyTests {
  let scratch: Scratch
  let there: Store
  let original: Store
  let restored: Store

  /// `original` went on after `restored` was copied from it.
  init() throws {
    scratch = try Scratch()
    var options = StoreOptions()
    options.detectsCopies = false
    there = try scratch.store("there")
    let here = try scratch.store("here", options: options)
    try here.write { db in
      for number in 1...4 { try Game(id: RecordName(key: "\(number)"), name: "Game \(number)", rating: 1).insert(db) }
      try Person(id: RecordName(key: "ann"), name: "Ann").insert(db)
    }
    try here.sync(with: there)
    try here.close()
    try FileManager.default.copyItem(atPath: scratch.path("here"), toPath: scratch.path("backup"))
    original = try scratch.store("here", options: options)
    restored = try scratch.store("backup", options: options)
    #expect(try original.summary() == restored.summary())
  }

  private func set(_ store: Store, _ column: String, _ value: String, _ key: String) throws {
    try store.write {
      try $0.execute(sql: "UPDATE SBGame SET \(column) = ? WHERE id = 'SBGame|~|\(key)'", arguments: [value])
    }
  }

  private func name(_ store: Store, _ key: String) throws -> String? {
    try store.read {
      try String.fetchOne($0, sql: "SELECT name FROM SBGame WHERE id = ?", arguments: ["SBGame|~|\(key)"])
    }
  }

  private func ratings(_ store: Store) throws -> [Double] {
    try store.read { try Double.fetchAll($0, sql: "SELECT rating FROM SBGame ORDER BY id") }
  }

  /// What `there` and both copies come to, whatever came first: each with a replica id of its own.
  private func expectApart() throws {
    for _ in 0..<2 {
      for store in [original, restored] { #expect(try store.sync(with: there).isConverged) }
    }
    #expect(try original.sync(with: restored).isConverged)
    try set(original, "rules", "[\"o\"]", "3")
    try set(restored, "rules", "[\"r\"]", "4")
    #expect(try original.summary().replica != restored.summary().replica)
    for store in [original, restored] {
      let report = try store.sync(with: there)
      #expect(report.isConverged && !report.repaired)
    }
    try original.sync(with: there)
    try expectConverged(original, restored, there)
  }

  @Test func anOldCopyTakesANewReplicaId() throws {
    try set(original, "rating", "5", "1")
    try original.sync(with: there)
    let old = try restored.summary().replica
    try restored.sync(with: there)
    try set(restored, "rating", "6", "2")
    #expect(try restored.summary().replica != old)
    #expect(try original.summary().replica == old)
    #expect(try !restored.sync(with: there).repaired)
    try original.sync(with: there)
    #expect(try ratings(there) == [5, 6, 1, 1])
    try expectConverged(original, restored, there)
  }

  @Test func anOldCopyThatWritesBeforeItSyncsIsFoundByTheFingerprint() throws {
    try set(original, "rating", "5", "1")
    try original.sync(with: there)
    try set(restored, "rating", "6", "2")
    let report = try restored.sync(with: there)
    #expect(report.repaired && report.isConverged)
    #expect(try ratings(there) == [5, 6, 1, 1])
    #expect(try original.sync(with: there).repaired)
    #expect(try ratings(original) == [5, 6, 1, 1])
    try expectApart()
  }

  @Test(arguments: [(2, 1), (1, 2), (3, 3)])
  func copiesThatBothWentOnConvergeInOneSync(mine: Int, theirs: Int) throws {
    for number in 1...mine { try set(original, "rating", "\(10 + number)", "\(number)") }
    for number in 1...theirs { try set(restored, "name", "restored \(number)", "\(number)") }
    try original.sync(with: there)
    let report = try restored.sync(with: there)
    #expect(report.repaired && report.isConverged)
    #expect(try ratings(there).filter { $0 > 10 }.count == mine)
    #expect(
      try there.read { try Game.filter(Column("name").like("restored%")).fetchCount($0) } == theirs)
    try expectApart()
  }

  @Test func twoCopiesThatMeetEachOtherFirstConverge() throws {
    try set(original, "rating", "5", "1")
    try set(restored, "rating", "6", "2")
    #expect(try original.sync(with: restored).isConverged)
    #expect(try ratings(original) == [5, 6, 1, 1])
    try expectApart()
  }

  @Test func ofTwoWritesToOneFieldTheLoserIsInTheJournal() throws {
    try set(original, "rating", "5", "1")
    try original.sync(with: there)
    try set(restored, "rating", "6", "1")
    #expect(try restored.sync(with: there).isConverged)
    #expect(try ratings(there)[0] == 6)
    #expect(try restored.conflicts().map(\.loserValue) == [.real(5)])
    #expect(try there.conflicts().map(\.loserValue) == [.real(5)])
    try expectApart()
  }

  @Test func deletesAndMembersOfBothCopiesStay() throws {
    let ann = try RecordName<Person>(key: "ann")
    try there.write { try $0.execute(sql: "UPDATE SBGame SET code = x'00112233445566778899AABBCCDDEEFF'") }
    // So that the two deletes, which have one number, have not seen the same.
    try original.sync(with: there)
    try original.write { db in
      try db.execute(sql: "DELETE FROM SBGame WHERE id = 'SBGame|~|1'")
      try Game.players.insert(db, ann, to: RecordName(key: "3"))
    }
    try original.sync(with: there)
    try set(there, "name", "edited", "2")
    try restored.write { db in
      try db.execute(sql: "DELETE FROM SBGame WHERE id = 'SBGame|~|2'")
      try Game.players.insert(db, ann, to: RecordName(key: "4"))
    }
    #expect(try restored.sync(with: there).isConverged)
    // The first delete had seen the code, the second had not.
    #expect(try there.read { try Game.fetchAll($0).map(\.id.name.key).sorted() } == ["2", "3", "4"])
    #expect(try there.read { try Game.players.sources($0, of: ann) }.map(\.name.key).sorted() == ["3", "4"])
    try expectApart()
  }

  /// One copy edits, the other deletes under the same number, and somebody else's edit brings the record back.
  @Test func anEditIsNotMissedWhereOnlyTheOtherCopysDeleteCame() throws {
    try set(original, "name", "edited", "1")
    try restored.write { try $0.execute(sql: "DELETE FROM SBGame WHERE id = 'SBGame|~|1'") }
    try set(there, "rating", "9", "1")
    #expect(try restored.sync(with: there).isConverged)
    #expect(try original.sync(with: there).repaired)
    #expect(try restored.sync(with: there).repaired)
    for store in [original, restored, there] {
      #expect(try store.read { try Game.fetchOne($0, key: RecordName<Game>(key: "1"))?.name } == "edited")
    }
    try expectApart()
  }

  /// Not even the time tells the two deletes apart, and they have not seen the same.
  @Test func deletesOfOneNumberAndTimeKeepWhatEachHadSeen() throws {
    try there.write { try $0.execute(sql: "UPDATE SBGame SET code = x'00112233445566778899AABBCCDDEEFF'") }
    try original.sync(with: there)
    var options = StoreOptions()
    options.detectsCopies = false
    options.now = { Date(timeIntervalSince1970: 1_700_000_000) }
    try original.close()
    try restored.close()
    let first = try scratch.store("here", options: options)
    let second = try scratch.store("backup", options: options)
    try first.write { try $0.execute(sql: "DELETE FROM SBGame WHERE id = 'SBGame|~|1'") }
    try second.write { try $0.execute(sql: "DELETE FROM SBGame WHERE id = 'SBGame|~|2'") }
    for _ in 0..<2 {
      #expect(try first.sync(with: there).isConverged)
      #expect(try second.sync(with: there).isConverged)
    }
    #expect(try first.sync(with: there).isConverged)
    try expectConverged(first, second, there)
    #expect(try there.read { try Game.fetchAll($0).map(\.id.name.key).sorted() } == ["2", "3", "4"])
  }

  @Test func aClosedStoreIsWholeInItsFile() throws {
    _ = try there.read { try Game.fetchAll($0) }
    _ = try there.verify()
    let before = try there.summary()
    try there.close()
    for suffix in ["-wal", "-shm"] {
      #expect(!FileManager.default.fileExists(atPath: scratch.path("there" + suffix)))
    }
    try FileManager.default.copyItem(atPath: scratch.path("there"), toPath: scratch.path("copy"))
    #expect(try scratch.store("copy").summary() == before)
    #expect(throws: (any Error).self) { try there.summary() }
  }

  /// Another program copies the file, and puts its content back into it after `body`, while stores have it open. What
  /// `original` writes next must be new to whoever had the former content.
  private func expectNewNumbers(afterPuttingBack body: () throws -> Void) throws {
    let (file, copy) = (try DatabaseQueue(path: scratch.path("here")), try DatabaseQueue(path: scratch.path("older")))
    try file.backup(to: copy)
    try body()
    let former = try #require(try original.summary().replica)
    try copy.backup(to: file)
    for queue in [file, copy] { try queue.close() }
    try set(original, "name", "Chess", "2")
    #expect(try original.summary().replica != former)
    try there.apply(try original.delta(since: try there.vector))
    #expect(try name(there, "2") == "Chess")
  }

  @Test func olderContentPutBackWhileTheStoreIsOpenTakesNoNumbersTwice() throws {
    try expectNewNumbers {
      try set(original, "name", "Go", "1")
      try original.sync(with: there)
    }
    try original.sync(with: there)
    #expect(try name(original, "1") == "Go")
    try expectConverged(original, there)
  }

  /// A copy of the file has met as many replicas as the file has since, and given them other numbers. Whoever had the
  /// file open reads its content by those of the copy once that is in its place.
  @Test(arguments: [true, false]) func anotherCopyPutInPlaceIsReadByItsOwnNumbers(isPutByGRDB: Bool) throws {
    var options = StoreOptions()
    options.detectsCopies = false
    let base = try original.vector
    func peer(_ name: String, _ game: String) throws -> Store {
      let peer = try scratch.store(name)
      try peer.apply(try original.delta())
      try set(peer, "name", name, game)
      return peer
    }
    let (b, c, d) = (try peer("b", "1"), try peer("c", "2"), try peer("d", "3"))
    for other in [b, d] { try original.apply(try other.delta(since: base)) }
    _ = try original.delta(since: base)
    let both = try scratch.store("both")
    for other in [b, d] { try both.apply(try other.delta()) }
    try restored.apply(try c.delta(since: base))
    try restored.apply(try both.delta(since: base))
    let expected = try restored.summary()
    try restored.close()
    let copy = try DatabaseQueue(path: scratch.path("backup"))
    if isPutByGRDB {
      try copy.backup(to: original)
    } else {
      let file = try DatabaseQueue(path: scratch.path("here"))
      try copy.backup(to: file)
      try file.close()
    }
    #expect(try original.summary().fingerprint == expected.fingerprint)
    let newcomer = try scratch.store("newcomer")
    try newcomer.apply(try original.delta())
    try set(original, "name", "Go", "4")
    #expect(try original.verify().problems == [])
    for other in [b, c, d, newcomer] { try original.sync(with: other) }
    for (name, game) in [("b", "1"), ("c", "2"), ("d", "3"), ("Go", "4")] {
      #expect(try self.name(newcomer, game) == name || self.name(b, game) == name)
    }
    for other in [b, c, d] { try original.sync(with: other) }
    try expectConverged(original, b)
    try expectConverged(original, c)
  }

  /// The newer content may be another store's of the same file, which this one has given away.
  @Test func olderContentThanWhatWasGivenAwayTakesNoNumbersTwice() throws {
    try expectNewNumbers {
      try set(try scratch.store("here"), "name", "Go", "1")
      try there.apply(try original.delta(since: try there.vector))
    }
  }
}
