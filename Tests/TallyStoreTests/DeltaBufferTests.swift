import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyTesting
import TestEffort
import Testing

@testable import TallyStore

/// The delta of a store's last transaction comes from memory as long as nobody else has committed to the file. It is
/// the delta that the file would give, byte by byte, and never an earlier one.
///
/// In builds for tests a store compares the two itself, whenever it does so, and ends the process if they differ.
@Suite struct DeltaBufferTests {
  let scratch: Scratch
  let store: Store
  let peer: Store
  /// The same file through a store that only reads, and so knows nothing that the file does not say.
  let witness: Store

  init() throws {
    scratch = try Scratch()
    store = try scratch.store("a")
    peer = try scratch.store("b")
    try store.write { db in
      for number in 1...4 {
        try db.execute(sql: "INSERT INTO SBPerson(id, name) VALUES('SBPerson|~|\(number)', 'Ann')")
        try Game(id: RecordName(key: Self.game(number)), name: "Chess", rating: 1).insert(db)
      }
      try db.execute(sql: "INSERT INTO SBMatch(id, game) SELECT 'SBMatch|~|m', id FROM SBGame LIMIT 1")
    }
    try peer.apply(try store.delta())
    var options = StoreOptions()
    options.isReadOnly = true
    witness = try Store(existing: store.path, options: options)
    // A store that has never been read has no connection that could tell where the file is.
    _ = try store.vector
  }

  private static func game(_ number: Int) -> String { "00000000-0000-4000-8000-00000000000\(number)" }

  /// All that can be asked of the store, against what the file says.
  private func expectAsInFile(_ bases: [StateVector], sourceLocation: SourceLocation = #_sourceLocation) throws {
    #expect(try store.summary() == witness.summary(), sourceLocation: sourceLocation)
    for base in bases {
      #expect(try store.delta(since: base) == witness.delta(since: base), sourceLocation: sourceLocation)
      let (kept, stored) = (try store.blocks(since: base), try witness.blocks(since: base))
      #expect(kept.0 == stored.0 && kept.1 == stored.1, sourceLocation: sourceLocation)
    }
  }

  private func change(_ sql: String...) throws {
    try store.write { db in for statement in sql { try db.execute(sql: statement) } }
  }

  // MARK: What is kept

  @Test func whatIsWrittenEveryDayIsKept() throws {
    let edits = [
      "UPDATE SBGame SET rating = 2", "UPDATE SBGame SET name = 'Go', icon = x'00', isTeam = 1",
      "UPDATE SBPerson SET born = '2001-02-03' WHERE id = 'SBPerson|~|1'",
      "UPDATE SBGame SET author = 'SBPerson|~|2' WHERE rating = 2", "UPDATE SBGame SET author = NULL",
      "INSERT INTO SBGame_players(source, target) SELECT id, 'SBPerson|~|3' FROM SBGame",
      "DELETE FROM SBGame_players WHERE rowid % 2 = 0", "UPDATE SBGame SET rating = -0.0, name = NULL",
      "INSERT INTO SBGame(id, name, rating) VALUES('SBGame|~|new', 'Go', -0.0)",
      "INSERT INTO SBPerson(id) VALUES('SBPerson|~|\(UUID().uuidString.lowercased())')",
      "INSERT INTO SBScore(id, points) VALUES('SBScore|~|1', 7)", "UPDATE SBScore SET points = 8",
    ]
    for edit in edits {
      let before = try store.vector
      try change(edit)
      #expect(store.buffered(since: before) != nil, "\(edit)")
      try expectAsInFile([before, StateVector(), store.vector])
      try peer.apply(try store.delta(since: before))
      #expect(try peer.summary().fingerprint == store.summary().fingerprint)
    }
  }

  /// Deletes that nothing else depends on.
  @Test func plainDeletesAreKept() throws {
    let notes = try scratch.store("notes", schema: Schema([EntitySchema("Note", .text("text"))]))
    try notes.write { try $0.execute(sql: "INSERT INTO Note(id, text) VALUES('Note|~|1', 'a'), ('Note|~|2', 'b')") }
    var base = try notes.vector
    for number in 1...2 {
      try notes.write { try $0.execute(sql: "DELETE FROM Note WHERE id = 'Note|~|\(number)'") }
      #expect(notes.buffered(since: base) != nil)
      base = try notes.vector
    }
  }

  /// The changes that a peer has sent are kept as well, for other peers.
  @Test func whatAPeerHasSentIsKept() throws {
    let before = try store.vector
    try peer.write { try $0.execute(sql: "UPDATE SBGame SET rating = 7, name = 'Go' WHERE rowid < 3") }
    try store.apply(try peer.delta(since: before))
    #expect(store.buffered(since: before) != nil)
    try expectAsInFile([before, StateVector()])
  }

  /// Whoever lacks more than the last transaction gets more.
  @Test func whoeverLacksMoreGetsMore() throws {
    let before = try store.vector
    try change("UPDATE SBGame SET rating = 2")
    let between = try store.vector
    try change("UPDATE SBGame SET name = 'Go' WHERE rowid = 1")
    #expect(store.buffered(since: before) == nil && store.buffered(since: between) != nil)
    try expectAsInFile([before, between, StateVector()])
    try peer.apply(try store.delta(since: before))
    #expect(try peer.read { try Game.filter(Column("rating") == 2).fetchCount($0) } == 4)
  }

  /// Much, or much at once, is read back.
  @Test func muchIsNotKept() throws {
    let (before, long) = (try store.vector, String(repeating: "x", count: 20_000))
    for edit in [
      "UPDATE SBGame SET name = '\(long)' WHERE rowid = 1",
      "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20) "
        + "INSERT INTO SBPerson(id) SELECT 'SBPerson|~|new ' || i FROM n",
    ] {
      try change(edit)
      #expect(store.unchanged != nil && store.unchanged?.buffer == nil)
      try expectAsInFile([before])
    }
  }

  // MARK: What others do

  @Test func aCommitOfAnothersIsSeen() throws {
    let other = try scratch.store("a")
    let plain = try DatabaseQueue(path: store.path)
    let vectors = [try store.vector]
    let foreign: [() throws -> Void] = [
      { try other.write { try $0.execute(sql: "UPDATE SBGame SET rating = rating + 1") } },
      { try plain.write { try $0.execute(sql: "UPDATE SBGame SET name = name || '!'") } },
      { try plain.write { try $0.execute(sql: "DELETE FROM SBMatch") } },
      { try store.writeWithoutTransaction { try $0.execute(sql: "UPDATE SBPerson SET name = 'Bea'") } },
      { try other.apply(try peer.delta()) },
    ]
    for (number, write) in foreign.enumerated() {
      let before = try store.vector
      try change("UPDATE SBGame SET name = 'Go \(number)'")
      #expect(store.unchanged != nil)
      try write()
      #expect(try number == 4 || !before.covers(store.vector))
      try expectAsInFile(vectors + [before])
      #expect(try store.read { try Game.fetchAll($0) } == other.read { try Game.fetchAll($0) })
    }
  }

  /// Somebody commits right after this store has, before it has seen where the file is.
  @Test func aCommitRightAfterwardsIsSeen() throws {
    final class Neighbour: TransactionObserver {
      let plain: DatabaseQueue
      init(_ path: String) throws { plain = try DatabaseQueue(path: path) }
      func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
      func databaseDidChange(with event: DatabaseEvent) {}
      func databaseDidRollback(_ db: Database) {}
      func databaseDidCommit(_ db: Database) {
        do {
          try plain.write { try $0.execute(sql: "UPDATE SBGame SET rating = rating + 1") }
        } catch {
          Issue.record(error)
        }
      }
    }
    let neighbour = try Neighbour(store.path)
    let before = try store.vector
    store.add(transactionObserver: neighbour)
    try change("UPDATE SBGame SET name = 'Go'")
    store.remove(transactionObserver: neighbour)
    #expect(store.unchanged == nil)
    try expectAsInFile([before])
    try peer.apply(try store.delta(since: before))
    #expect(try peer.read { try Game.fetchAll($0) } == store.read { try Game.fetchAll($0) })
  }

  /// A checkpoint by this connection or another resets the log.
  @Test(arguments: [Database.CheckpointMode.passive, .full, .restart, .truncate])
  func theLogIsWrittenBack(mode: Database.CheckpointMode) throws {
    let plain = try DatabaseQueue(path: store.path)
    for number in 0..<4 {
      let before = try store.vector
      try change("UPDATE SBGame SET name = 'Go \(number)'")
      if number % 2 == 0 { try store.checkpoint(mode) } else { try plain.inDatabase { _ = try $0.checkpoint(mode) } }
      try expectAsInFile([before])
      try change("UPDATE SBGame SET rating = \(number)")
      try expectAsInFile([before])
    }
  }

  /// A store can be closed, and another opened: what was in memory is gone with it.
  @Test func aClosedStoreSaysThatItIs() throws {
    let before = try store.vector
    try change("UPDATE SBGame SET name = 'Go'")
    #expect(store.unchanged != nil)
    try witness.close()
    try store.close()
    #expect(throws: StoreError.self) { try store.vector }
    #expect(throws: StoreError.self) { try store.delta(since: before) }
    let again = try scratch.store("a")
    #expect(again.unchanged == nil)
    #expect(try again.vector != before)
  }

  /// A transaction of the app's that fails leaves nothing behind.
  @Test func whatFailedIsNotHandedOut() throws {
    let before = try store.vector
    try change("UPDATE SBGame SET name = 'Go'")
    let after = try store.vector
    #expect(throws: DatabaseError.self) { try change("UPDATE SBGame SET name = 'Lost'", "not SQL") }
    #expect(throws: StoreError.self) { try change("UPDATE SBGame SET author = 'SBPerson|~|none'") }
    #expect(try store.vector == after)
    try expectAsInFile([before, after])
  }

  /// A store that takes itself for damaged gives nothing away, also what it has in memory.
  @Test func aDamagedStoreGivesNothingAway() throws {
    let before = try store.vector
    try change("UPDATE SBGame SET name = 'Go'")
    store.noteDamage("the test says so")
    #expect(throws: StoreError.self) { try store.delta(since: before) }
    try change("UPDATE SBGame SET name = 'Chess'")
    #expect(store.buffered(since: before) == nil)
    #expect(throws: StoreError.self) { try store.delta(since: before) }
  }

  /// Without a write-ahead log there is no index of it, and nobody makes one.
  @Test func aFileWithoutALog() throws {
    let queue = try DatabaseQueue(path: scratch.path("plain"))
    func position() throws -> LogPosition? { try queue.inDatabase { try Connection($0).logPosition() } }
    try queue.write { try $0.execute(sql: "CREATE TABLE t(x)") }
    #expect(try position() == nil)
    #expect(!FileManager.default.fileExists(atPath: queue.path + "-shm"))
    try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL; INSERT INTO t VALUES(1)") }
    let before = try #require(try position())
    #expect(try position() == before)
    try queue.write { try $0.execute(sql: "INSERT INTO t VALUES(2)") }
    let after = try #require(try position())
    #expect(after != before && after.isNext(after: before))
  }

  // MARK: Histories

  /// Random transactions of this store, of others and of plain SQL; after each the store says what the file says.
  @Test(arguments: Effort.seeds(3))
  func inAnyHistory(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let other = try scratch.store("a")
    var (vectors, hits) = ([try store.vector], 0)
    func statement() -> String {
      let game = "'SBGame|~|\(Self.game(Int.random(in: 1...6, using: &random)))'"
      let person = "'SBPerson|~|\(Int.random(in: 1...6, using: &random))'"
      return switch Int.random(in: 0..<12, using: &random) {
      case 0: "INSERT OR IGNORE INTO SBGame(id, name) VALUES(\(game), 'new')"
      case 1: "INSERT OR IGNORE INTO SBPerson(id, name) VALUES(\(person), 'new')"
      case 2: "DELETE FROM SBGame WHERE id = \(game)"
      case 3: "REPLACE INTO SBPerson(id, name) VALUES(\(person), 'replaced')"
      case 4: "INSERT OR IGNORE INTO SBGame_players(source, target) SELECT g.id, p.id FROM SBGame g, SBPerson p"
      case 5: "DELETE FROM SBGame_players WHERE target = \(person)"
      case 6: "UPDATE SBGame SET author = (SELECT id FROM SBPerson WHERE id = \(person)) WHERE id = \(game)"
      case 7: "UPDATE SBPerson SET name = '\(Int.random(in: 0...9, using: &random))' WHERE id = \(person)"
      case 8: "UPDATE SBMatch SET place = place || 'x', game = \(game) WHERE \(game) IN (SELECT id FROM SBGame)"
      default: "UPDATE SBGame SET rating = coalesce(rating, 0) + 1, icon = randomblob(3) WHERE id = \(game)"
      }
    }
    for _ in 0..<30 {
      let count = Int.random(in: 1...3, using: &random)
      let statements = (0..<count).map { _ in statement() }
      func run(_ db: Database) throws { for sql in statements { try db.execute(sql: sql) } }
      switch Int.random(in: 0..<10, using: &random) {
      case 0: try other.write(run)
      case 1:
        // Each statement is a transaction, which a reference that is left open ends.
        store.writeWithoutTransaction { db in for sql in statements { _ = try? db.execute(sql: sql) } }
      case 2:
        try peer.write(run)
        try store.sync(with: peer)
      case 3: try store.apply(try peer.delta(), isRepair: true)
      case 4:
        try store.write { db in
          try run(db)
          try store.dismiss(db, store.conflicts(db))
          try run(db)
        }
      default: try store.write(run)
      }
      let base = vectors.randomElement(using: &random) ?? StateVector()
      let last = vectors[vectors.count - 1]
      if store.buffered(since: last) != nil { hits += 1 }
      try expectAsInFile([last, base, base.merging(last), StateVector()])
      vectors.append(try store.vector)
    }
    #expect(hits > 0)
    try store.sync(with: peer)
    try expectConverged(store, peer)
  }
}
