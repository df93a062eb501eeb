import Foundation
import GRDB
import Tally
import Testing

/// Other connections and processes write to the file as well: a widget, a shell, a second copy of the app.
@Suite struct OutsideWriteTests {
  let scratch: Scratch
  let store: Store
  let ann = Person(name: "Ann")
  let chess = Game(name: "Chess")

  init() throws {
    scratch = try Scratch()
    store = try scratch.store()
    let (ann, chess) = (ann, chess)
    try store.write { db in
      try ann.insert(db)
      try chess.insert(db)
      try Match(id: RecordName(key: "m"), place: "Home", game: chess.id).insert(db)
      try Game.players.insert(db, ann.id, to: chess.id)
    }
  }

  /// A connection that knows nothing of Tally and does not enforce foreign keys, like the `sqlite3` shell.
  private func shell(_ sql: String...) throws {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    let queue = try DatabaseQueue(path: scratch.path("a.tally"), configuration: configuration)
    for statement in sql { try queue.write { try $0.execute(sql: statement) } }
    try queue.close()
  }

  @Test func writesOfAPlainConnectionAreCapturedOnce() throws {
    let before = try #require(try store.vector.entries.first?.sequence)
    try shell(
      "UPDATE SBGame SET name = 'Go'", "UPDATE SBGame SET rating = 2",
      "INSERT INTO SBPerson(id, name) VALUES('SBPerson|~|bob', 'Bob')",
      "INSERT OR REPLACE INTO SBPerson(id, name) VALUES('SBPerson|~|bob', 'Bobby')",
      "INSERT INTO SBGame_players SELECT id, 'SBPerson|~|bob', zeroblob(15) FROM SBGame")
    #expect(try store.vector.entries.first?.sequence == before + 1)
    #expect(try store.vector.entries.first?.sequence == before + 1)
    let other = try scratch.store("other")
    try store.sync(with: other)
    let bob = try RecordName<Person>(key: "bob")
    #expect(try other.read { try Person.find($0, key: bob).name } == "Bobby")
    #expect(try other.read { try Game.players.members($0, of: chess.id) } == [ann.id, bob])
    #expect(try other.read { try Game.fetchOne($0)?.rating } == 2)
    try expectConverged(store, other)
  }

  @Test func aDeleteWithoutForeignKeysHidesWhatItOwned() throws {
    try shell("DELETE FROM SBGame")
    _ = try store.summary()
    #expect(try store.read { try Match.fetchCount($0) } == 0)
    #expect(try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM SBGame_players") } == 0)
    try expectConverged(store)
    try store.restore(chess.id)
    #expect(try store.read { try Match.fetchCount($0) } == 1)
    #expect(try store.read { try Game.players.members($0, of: chess.id) } == [ann.id])
    try expectConverged(store)
  }

  @Test func aReferenceToNothingReadsAsNullAndIsKept() throws {
    try shell("UPDATE SBGame SET author = 'SBPerson|~|later'")
    _ = try store.summary()
    #expect(try store.read { try Game.fetchOne($0)?.author } == nil)
    let later = try RecordName<Person>(key: "later")
    try store.write { try Person(id: later, name: "Late").insert($0) }
    #expect(try store.read { try Game.fetchOne($0)?.author } == later)
    try expectConverged(store)
  }

  @Test func aRowThatCannotReplicateIsReportedAndKeptUntilItIsPutRight() throws {
    try shell(
      "INSERT INTO SBGame(id, isTeam) VALUES('SBGame|~|odd', 7)", "UPDATE SBGame SET name = 'Go' WHERE isTeam = 0")
    #expect(try store.status().rejectedWrites == 1)
    #expect(try store.read { try String.fetchAll($0, sql: "SELECT name FROM SBGame WHERE name = 'Go'") } == ["Go"])
    try store.write { try Person(name: "Bob").insert($0) }
    #expect(try store.status().rejectedWrites == 1)
    #expect(try !store.verify().isSound)
    try store.write { try $0.execute(sql: "UPDATE SBGame SET isTeam = 1 WHERE isTeam = 7") }
    #expect(try store.status().rejectedWrites == 0)
    let other = try scratch.store("other")
    try store.sync(with: other)
    #expect(try other.read { try Game.fetchCount($0) } == 2)
    try expectConverged(store, other)
  }

  @Test func twoStoresOnOneFileAreOneReplica() throws {
    let twin = try scratch.store()
    for number in 1...10 {
      try store.write { try Game(name: "a\(number)").insert($0) }
      try twin.write { try Game(name: "b\(number)").insert($0) }
    }
    #expect(try store.vector.count == 1)
    #expect(try store.vector.entries.first?.sequence == 21)
    #expect(try store.summary() == twin.summary())
    try expectConverged(store, twin)
  }

  @Test func aTwinSeesWhatTheOtherAppliedBeforeItWrites() throws {
    let twin = try scratch.store()
    let other = try scratch.store("other")
    try other.write { try Game(name: "Far").insert($0) }
    _ = try twin.summary()
    try store.sync(with: other)
    try twin.write { try $0.execute(sql: "UPDATE SBGame SET rating = 9") }
    try twin.sync(with: other)
    #expect(try other.read { try Game.filter(Column("rating") == 9).fetchCount($0) } == 2)
    try expectConverged(store, twin, other)
  }

  @Test func whileAValueIsRefusedPeersGetTheOneBefore() throws {
    let other = try scratch.store("other")
    try store.sync(with: other)
    try shell("UPDATE SBGame SET name = 'Go', isTeam = 7")
    let late = try scratch.store("late")
    for peer in [other, late] { #expect(try store.sync(with: peer).isConverged) }
    for peer in [other, late] {
      #expect(try peer.read { try Game.fetchOne($0) } == Game(id: chess.id, name: "Go", isTeam: false))
    }
    #expect(try store.read { try Int.fetchOne($0, sql: "SELECT isTeam FROM SBGame") } == 7)
    #expect(try store.history(of: chess.id.name)?.fields.contains { $0.field == "isTeam" } == false)
    #expect(try store.status().rejectedWrites == 1)
    try expectConverged(other, late)

    try store.write { try $0.execute(sql: "UPDATE SBGame SET rating = 2") }
    #expect(try store.status().rejectedWrites == 1)
    try store.write { try $0.execute(sql: "UPDATE SBGame SET isTeam = 1") }
    #expect(try store.status().rejectedWrites == 0)
    for peer in [other, late] { #expect(try store.sync(with: peer).isConverged) }
    #expect(try other.read { try Game.fetchOne($0) } == Game(id: chess.id, name: "Go", rating: 2, isTeam: true))
    try expectConverged(store, other, late)
  }

  @Test func aRefusedValueThatIsPutBackWritesNothing() throws {
    let before = try store.vector
    try shell("UPDATE SBGame SET code = x'00'", "UPDATE SBGame SET name = CAST(x'FF' AS TEXT)")
    #expect(try store.vector == before)
    #expect(try store.status().rejectedWrites == 1)
    try shell("UPDATE SBGame SET code = NULL", "UPDATE SBGame SET name = 'Chess'")
    #expect(try store.vector == before)
    #expect(try store.status().rejectedWrites == 0)
    try expectConverged(store)
  }

  @Test func aPeersWritePutsARefusedValueRight() throws {
    let other = try scratch.store("other")
    try store.sync(with: other)
    try shell("UPDATE SBGame SET isTeam = 7, name = 'Go'")
    try other.write { try $0.execute(sql: "UPDATE SBGame SET rating = 3") }
    #expect(try store.sync(with: other).isConverged)
    #expect(try store.read { try Int.fetchOne($0, sql: "SELECT isTeam FROM SBGame") } == 7)
    try other.write { try $0.execute(sql: "UPDATE SBGame SET isTeam = 1") }
    #expect(try store.sync(with: other).isConverged)
    #expect(try store.status().rejectedWrites == 0)
    let expected = Game(id: chess.id, name: "Go", rating: 3, isTeam: true)
    for replica in [store, other] { #expect(try replica.read { try Game.fetchOne($0) } == expected) }
    try expectConverged(store, other)
  }

  @Test func aRefusedRowCanBeDeletedAndComesBackAsItWasCaptured() throws {
    let other = try scratch.store("other")
    try store.sync(with: other)
    try shell("UPDATE SBGame SET isTeam = 7")
    try store.write { _ = try $0.execute(sql: "DELETE FROM SBGame") }
    #expect(try store.status().rejectedWrites == 0)
    #expect(try store.sync(with: other).isConverged)
    try other.restore(chess.id)
    #expect(try store.sync(with: other).isConverged)
    for replica in [store, other] { #expect(try replica.read { try Game.fetchOne($0) } == chess) }
    try expectConverged(store, other)
  }

  @Test func rowsUnderNamesThatAreNoneStayHere() throws {
    try shell(
      "INSERT INTO SBGame(id) VALUES('SBGame|~|a|~|b')",
      "INSERT INTO SBGame(id) VALUES('SBGame|~|' || CAST(x'FF' AS TEXT))",
      "INSERT INTO SBGame_players(source, target) VALUES('x' || char(10) || 'y', 'z')",
      "INSERT INTO SBGame_players(source, target) SELECT id, id FROM SBGame WHERE name = 'Chess'")
    #expect(try store.status().rejectedWrites == 4)
    let other = try scratch.store("other")
    #expect(try store.sync(with: other).isConverged)
    #expect(try other.read { try Game.fetchAll($0) } == [chess])
    try store.write { try $0.execute(sql: "UPDATE SBGame SET rating = 5 WHERE name = 'Chess'") }
    try shell("DELETE FROM SBGame WHERE name IS NULL", "DELETE FROM SBGame_players WHERE target NOT LIKE 'SBPerson%'")
    #expect(try store.sync(with: other).isConverged)
    #expect(try store.status().rejectedWrites == 0)
    try expectConverged(store, other)
  }

  @Test func aDeleteThatTheAppWouldDenyHasHappened() throws {
    try store.write { try Score(id: RecordName(key: "s"), points: 1, person: ann.id).insert($0) }
    let other = try scratch.store("other")
    try store.sync(with: other)
    try shell("DELETE FROM SBPerson")
    let late = try scratch.store("late")
    for peer in [other, late] {
      #expect(try store.sync(with: peer).isConverged)
      #expect(try peer.read { try Person.fetchCount($0) } == 0)
      #expect(try peer.read { try Score.fetchOne($0)?.person } == nil)
    }
    #expect(try store.status().rejectedWrites == 0)
    try other.restore(ann.id)
    #expect(try store.sync(with: other).isConverged)
    #expect(try store.read { try Score.fetchOne($0)?.person } == ann.id)
    try expectConverged(store, other)
  }

  @Test func whatAnotherConnectionReplacesThroughAnIndexOfTheAppsIsDeleted() throws {
    let other = try scratch.store("other")
    try store.write { try $0.execute(sql: "CREATE UNIQUE INDEX names ON SBGame(name COLLATE NOCASE, rating)") }
    try store.write { try $0.execute(sql: "UPDATE SBGame SET rating = 1") }
    try store.sync(with: other)
    try shell("INSERT OR REPLACE INTO SBGame(id, name, rating) VALUES('SBGame|~|new', 'CHESS', 1)")
    #expect(try store.sync(with: other).isConverged)
    #expect(try other.read { try Game.fetchAll($0).map(\.id.name.key) } == ["new"])
    #expect(try store.history(of: chess.id.name)?.deletes.count == 1)
    try expectConverged(store, other)
  }

  @Test func aRowThatGrewTooLargeKeepsItsSmallerValues() throws {
    let schema = Schema([EntitySchema("Large", .blob("a"), .blob("b"), .blob("c"), .blob("d"), .text("e"))])
    let vault = try scratch.store("vault", schema: schema)
    try vault.write { try $0.execute(sql: "INSERT INTO Large(id, e) VALUES('Large|~|a', 'old')") }
    let queue = try DatabaseQueue(path: scratch.path("vault"))
    try queue.write {
      let blob = "zeroblob(16777217)"
      try $0.execute(sql: "UPDATE Large SET a = \(blob), b = \(blob), c = \(blob), d = x'01', e = 'new'")
    }
    try queue.close()
    let other = try scratch.store("other vault", schema: schema)
    #expect(try vault.sync(with: other).isConverged)
    #expect(try other.read { try String.fetchOne($0, sql: "SELECT e || hex(d) FROM Large WHERE a IS NULL") } == "new01")
    #expect(try vault.status().rejectedWrites == 1)
    try vault.write { try $0.execute(sql: "UPDATE Large SET a = x'02', b = NULL, c = NULL") }
    #expect(try vault.sync(with: other).isConverged)
    #expect(try other.read { try String.fetchOne($0, sql: "SELECT hex(a) FROM Large") } == "02")
    try expectConverged(vault, other)
  }

  /// Writes once more right after a commit, until it has done so often enough.
  private final class Meddler: TransactionObserver {
    private var left: Int
    private let write: () throws -> Void
    init(times: Int, _ write: @escaping () throws -> Void) {
      left = times
      self.write = write
    }
    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidRollback(_ db: Database) {}
    func databaseDidCommit(_ db: Database) {
      guard left > 0 else { return }
      left -= 1
      do { try write() } catch { Issue.record(error) }
    }
  }

  @Test func aWriteBetweenCaptureAndSnapshotIsCapturedFirst() throws {
    let other = try scratch.store("other")
    try store.sync(with: other)
    let meddler = Meddler(times: 3) { try shell("UPDATE SBGame SET rating = coalesce(rating, 0) + 1") }
    try shell("UPDATE SBGame SET rating = 1")
    store.add(transactionObserver: meddler)
    let delta = try store.delta(since: try other.vector)
    store.remove(transactionObserver: meddler)
    try other.apply(delta)
    #expect(try other.read { try Game.fetchOne($0)?.rating } == 4)
    try expectConverged(store, other)
  }

  @Test func aStoreThatOnlyReadsGivesOutNothingUncaptured() throws {
    try store.close()
    try shell("UPDATE SBGame SET rating = 1")
    var options = StoreOptions()
    options.isReadOnly = true
    let reading = try Store(existing: scratch.path("a.tally"), options: options)
    let error = #expect(throws: StoreError.self) { try reading.delta() }
    #expect(error?.code == .notCaptured)
    #expect(try reading.read { try Game.fetchOne($0)?.rating } == 1)
    try scratch.store().write { _ in }
    #expect(try !reading.delta().isEmpty)
  }

  /// SQLite attaches files between transactions only: in what GRDB runs after one, for instance.
  @Test(arguments: [false, true]) func anotherStoreThatIsAttachedAfterATransactionCapturesWhatIsWritten(isIdle: Bool)
    throws
  {
    let other = try scratch.store("other")
    try other.write { try Person(id: RecordName(key: "bob"), name: "Bob").insert($0) }
    try store.write { [path = scratch.path("other"), chess] db in
      db.afterNextTransaction { db in
        do { try db.execute(sql: "ATTACH ? AS other", arguments: [path]) } catch { Issue.record(error) }
      }
      if !isIdle { try db.execute(sql: "UPDATE SBGame SET name = 'Go' WHERE id = ?", arguments: [chess.id.name.text]) }
    }
    try store.write { db in
      try db.execute(sql: "UPDATE other.SBPerson SET name = 'Bobby'")
      try db.execute(sql: "INSERT INTO other.SBPerson(id, name) VALUES('SBPerson|~|eve', 'Eve')")
    }
    #expect(try other.verify().problems == [])
    let third = try scratch.store("third")
    try other.sync(with: third)
    #expect(
      try third.read { try String.fetchAll($0, sql: "SELECT name FROM SBPerson ORDER BY name") } == ["Bobby", "Eve"])
    try expectConverged(other, third)
  }
}
