import Foundation
import GRDB
import Synchronization
import Tally
import Testing

/// A store where GRDB wants a `DatabaseReader` or `DatabaseWriter`: whichever way a write comes, it is captured or
/// refused.
@Suite(.timeLimit(.minutes(30))) struct WriterTests {
  let scratch: Scratch
  let (store, other): (Store, Store)

  init() throws {
    scratch = try Scratch()
    store = try scratch.store("store")
    other = try scratch.store("other")
  }

  /// The names of the games that a peer has after a sync.
  private func synced() throws -> [String?] {
    try store.sync(with: other)
    try expectConverged(store, other)
    return try names(other)
  }

  private func names(_ reader: any DatabaseReader) throws -> [String?] {
    try reader.read { try Game.order(Column("name")).fetchAll($0).map(\.name) }
  }

  // MARK: Captured

  /// Every way into the writing connection that GRDB's protocol has, to one that has no idea of stores.
  @Test func eachWayOfWritingIsCaptured() async throws {
    let writer: any DatabaseWriter = store
    let insert: @Sendable (Database, String) throws -> Void = { try Game(name: $1).insert($0) }
    try write(writer) { try insert($0, "a") }
    try await writer.write { try insert($0, "b") }
    try writeWithoutTransaction(writer) { try insert($0, "c") }
    try await writer.writeWithoutTransaction { try insert($0, "d") }
    try barrier(writer) { try insert($0, "e") }
    try await writer.barrierWriteWithoutTransaction { try insert($0, "f") }
    try writer.unsafeReentrantWrite { try insert($0, "g") }
    try await withCheckedThrowingContinuation { continuation in
      writer.asyncWriteWithoutTransaction { db in continuation.resume(with: Result { try insert(db, "h") }) }
    }
    try await withCheckedThrowingContinuation { continuation in
      writer.asyncBarrierWriteWithoutTransaction { result in
        continuation.resume(with: result.flatMap { db in Result { try insert(db, "i") } })
      }
    }
    try await withCheckedThrowingContinuation { continuation in
      writer.asyncWrite({ try insert($0, "j") }) { continuation.resume(with: $1) }
    }
    try await withCheckedThrowingContinuation { continuation in
      store.asyncWrite({ try insert($0, "k") }) { continuation.resume(with: $1) }
    }
    #expect(try synced() == ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"])
    #expect(try await store.status().rejectedWrites == 0)
  }

  // Calls from asynchronous functions would take the asynchronous versions.
  private func write(_ writer: any DatabaseWriter, _ body: (Database) throws -> Void) throws { try writer.write(body) }

  private func writeWithoutTransaction(_ writer: any DatabaseWriter, _ body: (Database) throws -> Void) throws {
    try writer.writeWithoutTransaction(body)
  }

  private func barrier(_ writer: any DatabaseWriter, _ body: (Database) throws -> Void) throws {
    try writer.barrierWriteWithoutTransaction(body)
  }

  @Test func severalTransactionsOfOneAccessAreCapturedAndThoseRolledBackAreNot() throws {
    let game = Game(name: "Chess")
    try store.writeWithoutTransaction { db in
      try game.insert(db)
      try db.inTransaction {
        try Game(name: "Go").insert(db)
        return .commit
      }
      try db.inTransaction {
        try db.execute(sql: "DELETE FROM SBGame")
        return .rollback
      }
      try db.inTransaction {
        try db.execute(sql: "UPDATE SBGame SET rating = 3 WHERE id = ?", arguments: [game.id])
        return .commit
      }
    }
    #expect(try synced() == ["Chess", "Go"])
    #expect(try other.read { try Game.find($0, key: game.id).rating } == 3)
  }

  @Test func whatWasCommittedBeforeAnErrorIsCaptured() throws {
    struct Refused: Error {}
    #expect(throws: Refused.self) {
      try store.writeWithoutTransaction { db in
        try Game(name: "Chess").insert(db)
        throw Refused()
      }
    }
    #expect(try synced() == ["Chess"])
  }

  @Test func aReentrantWriteInsideAWriteIsPartOfIt() throws {
    struct Refused: Error {}
    #expect(throws: Refused.self) {
      try store.write { db in
        try Game(name: "Chess").insert(db)
        try store.unsafeReentrantWrite { try Game(name: "Go").insert($0) }
        throw Refused()
      }
    }
    #expect(try names(store) == [])
    try store.writeWithoutTransaction { db in
      try Game(name: "Chess").insert(db)
      try store.unsafeReentrantWrite { try Game(name: "Go").insert($0) }
    }
    #expect(try synced() == ["Chess", "Go"])
  }

  @Test func triggersOfTheAppFireAndWhatTheyWriteIsCaptured() throws {
    try store.write { db in
      try db.execute(
        sql: """
          CREATE TRIGGER place AFTER INSERT ON SBGame WHEN NOT tally_applying() BEGIN
            INSERT INTO SBMatch(id, place, game) VALUES('SBMatch|~|' || substr(NEW.id, 10), 'Home', NEW.id);
          END
          """)
    }
    let game = Game(name: "Chess")
    try store.writeWithoutTransaction { try game.insert($0) }
    #expect(try synced() == ["Chess"])
    #expect(try other.read { try Match.fetchAll($0).map(\.game) } == [game.id])
  }

  @Test func whatCannotBeReplicatedStaysHereAndIsReported() throws {
    let game = Game(name: "Chess")
    try store.write { try game.insert($0) }
    try store.writeWithoutTransaction { try $0.execute(sql: "UPDATE SBGame SET isTeam = 7, name = 'Go'") }
    #expect(try store.status().rejectedWrites == 1)
    try store.writeWithoutTransaction { try $0.execute(sql: "UPDATE SBGame SET isTeam = 1") }
    #expect(try store.status().rejectedWrites == 0)
    #expect(try synced() == ["Go"])
  }

  /// What the app commits is noted in the same transaction, so that it is captured whatever happens before the access
  /// ends: here a reader on another connection finds the note.
  @Test func aWriteIsNotedInItsOwnTransaction() throws {
    let outside = try DatabaseQueue(path: store.path)
    try store.writeWithoutTransaction { db in
      try Game(name: "Chess").insert(db)
      #expect(try outside.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM tally_pending") } == 1)
    }
    #expect(try outside.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM tally_pending") } == 0)
    #expect(try synced() == ["Chess"])
  }

  @Test func foreignKeysAreCheckedAgainAfterAnAccessThatSwitchedThemOff() throws {
    let match = Match(place: "Home", game: RecordName<Game>())
    try store.writeWithoutTransaction { try $0.execute(sql: "PRAGMA foreign_keys = OFF") }
    #expect(throws: StoreError.self) { try store.write { try match.insert($0) } }
    #expect(try synced() == [])
  }

  // MARK: GRDB's own tools

  @Test func aMigratorRunsOnAStore() throws {
    let game = Game(name: "chess")
    try store.write { try game.insert($0) }
    var migrator = DatabaseMigrator()
    migrator.registerMigration("settings") { db in
      try db.create(table: "setting") { $0.primaryKey("key", .text) }
      try db.execute(sql: "INSERT INTO setting VALUES('theme')")
    }
    migrator.registerMigration("capitals") { try $0.execute(sql: "UPDATE SBGame SET name = 'Chess'") }
    migrator.registerMigration("fails") { db in
      try db.execute(sql: "UPDATE SBGame SET name = 'Go'")
      try db.execute(sql: "INSERT INTO nothing VALUES(1)")
    }
    #expect(throws: DatabaseError.self) { try migrator.migrate(store) }
    #expect(try store.read { try migrator.appliedIdentifiers($0) } == ["settings", "capitals"])
    #expect(try synced() == ["Chess"])
    #expect(try !other.read { try $0.tableExists("setting") })
    // Once, also after the store is opened again.
    try store.close()
    let again = try scratch.store("store")
    try migrator.migrate(again, upTo: "capitals")
    #expect(try again.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM setting") } == 1)
    try expectConverged(again, other)
  }

  @Test func observationsTakeAStore() async throws {
    var counts = ValueObservation.tracking { try Game.fetchCount($0) }.removeDuplicates()
      .values(in: store).makeAsyncIterator()
    #expect(try await counts.next() == 0)
    let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
    let cancellable = DatabaseRegionObservation(tracking: Game.all())
      .start(in: store, onError: { Issue.record($0) }, onChange: { _ in continuation.yield() })
    try await other.write { try Game(name: "Chess").insert($0) }
    try await store.sync(with: other)
    #expect(try await counts.next() == 1)
    var iterator = changes.makeAsyncIterator()
    #expect(await iterator.next() != nil)
    cancellable.cancel()
  }

  @Test func aTransactionObserverSeesEachCommit() throws {
    final class Counter: TransactionObserver {
      var count = 0
      func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { eventKind.tableName == "SBGame" }
      func databaseDidChange(with event: DatabaseEvent) {}
      func databaseDidCommit(_ db: Database) { count += 1 }
      func databaseDidRollback(_ db: Database) {}
    }
    let counter = Counter()
    store.add(transactionObserver: counter)
    try store.write { try Game(name: "Chess").insert($0) }
    #expect(counter.count == 1)
    store.remove(transactionObserver: counter)
    try store.write { try Game(name: "Go").insert($0) }
    #expect(counter.count == 1)
  }

  @Test func aConcurrentReadSeesWhatTheAccessHasCommittedSoFar() async throws {
    let count = try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Int, any Error>) in
      store.asyncWriteWithoutTransaction { [store] db in
        do {
          try Game(name: "Chess").insert(db)
          store.spawnConcurrentRead {
            continuation.resume(with: $0.flatMap { db in Result { try Game.fetchCount(db) } })
          }
          try Game(name: "Go").insert(db)
        } catch {
          Issue.record(error)
        }
      }
    }
    #expect(count == 1)
    #expect(try synced() == ["Chess", "Go"])
  }

  @Test func aSnapshotStaysAsItIs() throws {
    try store.write { try Game(name: "Chess").insert($0) }
    let snapshot = try store.makeSnapshot()
    try store.write { try Game(name: "Go").insert($0) }
    #expect(try names(snapshot) == ["Chess"])
    #expect(try names(store) == ["Chess", "Go"])
    #expect(throws: StoreError.self) { try Store(inMemory: scorebook).makeSnapshot() }
  }

  @Test func vacuumChangesNothingThatReplicates() async throws {
    try await store.write { db in for number in 1...50 { try Game(name: "\(number)").insert(db) } }
    try await store.write { try $0.execute(sql: "DELETE FROM SBGame WHERE name < '3'") }
    let before = try store.summary()
    try vacuum(store)
    try await store.vacuum()
    #expect(try store.summary() == before)
    try await store.write { try $0.execute(sql: "UPDATE SBGame SET name = 'Chess' WHERE name = '4'") }
    #expect(try synced().contains("Chess"))
    // A copy that SQLite makes is a copy as any other: it takes an id of its own.
    try await store.vacuum(into: scratch.path("copy"))
    let copy = try scratch.store("copy")
    try await copy.write { try Game(name: "Go").insert($0) }
    try await store.write { try Game(name: "Poker").insert($0) }
    try await copy.sync(with: store)
    try expectConverged(copy, store)
    #expect(try copy.summary().replica != store.summary().replica)
  }

  private func vacuum(_ writer: any DatabaseWriter) throws { try writer.vacuum() }

  @Test func aCheckpointBringsTheLogIntoTheFile() throws {
    try store.write { try Game(name: "Chess").insert($0) }
    let frames = try store.checkpoint(.full)
    #expect(frames.walFrameCount > 0 && frames.checkpointedFrameCount == frames.walFrameCount)
  }

  @Test func aBackupOfAStoreIsACopyOfIt() throws {
    try store.write { try Game(name: "Chess").insert($0) }
    let queue = try DatabaseQueue(path: scratch.path("backup"))
    try store.backup(to: queue)
    try queue.close()
    let copy = try scratch.store("backup")
    #expect(try names(copy) == ["Chess"])
    try copy.write { try Game(name: "Go").insert($0) }
    try store.write { try Game(name: "Poker").insert($0) }
    try copy.sync(with: store)
    try expectConverged(copy, store)
  }

  // MARK: Identity

  /// Two processes begin to write to a new file: whichever is first draws the id of both.
  @Test func anIDThatAnotherConnectionDrawsMeanwhileIsTheStores() throws {
    let (one, two) = (try scratch.store("shared"), try scratch.store("shared"))
    try one.writeWithoutTransaction { db in
      try two.write { try Person(name: "two").insert($0) }
      try Person(name: "one").insert(db)
    }
    #expect(try one.summary().replica == two.summary().replica)
    #expect(try one.summary().vector.entries.count == 1)
    #expect(try two.read { try Person.fetchCount($0) } == 2)
  }

  /// A store without a token beside it, or in it, has one as much as any.
  @Test(arguments: ["token", "none", "memory"]) func anotherStoresContentInItsPlaceGetsAnIDOfItsOwn(
    _ origin: String
  ) throws {
    var options = StoreOptions()
    options.detectsCopies = origin == "token"
    let one = try scratch.store("one")
    let other =
      try origin == "memory" ? Store(inMemory: one.schema) : scratch.store("other", options: options)
    try other.write { try Person(name: "other").insert($0) }
    try other.backup(to: one)
    try one.write { try Person(name: "one").insert($0) }
    let id = try one.summary().replica
    #expect(try id != other.summary().replica)
    try one.sync(with: other)
    try expectConverged(one, other)
    #expect(try other.read { try Person.fetchCount($0) } == 2)
    // Once.
    try one.close()
    let again = try scratch.store("one")
    try again.write { try Person(name: "again").insert($0) }
    #expect(try again.summary().replica == id)
  }

  // MARK: Refused

  private func refusal(_ body: () throws -> Void) -> (any Error)? {
    do { try body() } catch { return error }
    return nil
  }

  private func asyncRefusal(_ body: () async throws -> Void) async -> (any Error)? {
    do { try await body() } catch { return error }
    return nil
  }

  private func code(_ error: (any Error)?) -> StoreError.Code? { (error as? StoreError)?.code }

  @Test func erasingIsRefusedAndNothingIsLost() async throws {
    try await store.write { try Game(name: "Chess").insert($0) }
    let before = try store.summary()
    #expect(code(await asyncRefusal { try await store.erase() }) == .wouldReplaceStore)
    #expect(code(refusal { try store.erase() }) == .wouldReplaceStore)
    let writer: any DatabaseWriter = store
    #expect(code(await asyncRefusal { try await writer.erase() }) == .wouldReplaceStore)
    #expect(code(refusal { try writer.erase() }) == .wouldReplaceStore)
    #expect(try store.summary() == before)
    try await store.write { try Game(name: "Go").insert($0) }
    #expect(try synced() == ["Chess", "Go"])
  }

  @Test func aBackupIntoAStoreIsUndone() throws {
    try store.write { try Game(name: "Chess").insert($0) }
    let before = try store.summary()
    let queue = try DatabaseQueue()
    try queue.write { try $0.execute(sql: "CREATE TABLE other(x)") }
    // GRDB's access cannot throw what is not its own: the log says it.
    try queue.backup(to: store)
    #expect(try store.summary() == before)
    #expect(try !store.read { try $0.tableExists("other") })
    // An older copy of the store itself would issue its numbers again.
    let older = try DatabaseQueue()
    try store.backup(to: older)
    try store.write { try Game(name: "Go").insert($0) }
    try older.backup(to: store)
    #expect(try synced() == ["Chess", "Go"])
  }

  @Test func theContentOfAPeerInAStoresPlaceTakesAnIdOfItsOwn() throws {
    try other.write { try Game(name: "Chess").insert($0) }
    try store.write { try Game(name: "Go").insert($0) }
    try store.sync(with: other)
    let peer = try #require(try other.summary().replica)
    try other.backup(to: store)
    #expect(try store.summary().replica != peer)
    try store.write { try Game(name: "Poker").insert($0) }
    try other.write { try Game(name: "Bridge").insert($0) }
    #expect(try synced() == ["Bridge", "Chess", "Go", "Poker"])
  }

  @Test func whatCannotBePutBackSaysSo() throws {
    let memory: any DatabaseWriter = try Store(inMemory: scorebook)
    #expect(code(refusal { try memory.erase() }) == .wouldReplaceStore)
  }

  @Test(arguments: [true, false]) func noReadCanWrite(isInMemory: Bool) async throws {
    let store = isInMemory ? try Store(inMemory: scorebook) : store
    let insert: @Sendable (Database) throws -> Void = { try Game(name: "Chess").insert($0) }
    func isReadOnly(_ error: (any Error)?) -> Bool { (error as? DatabaseError)?.resultCode == .SQLITE_READONLY }
    #expect(isReadOnly(refusal { try store.unsafeRead(insert) }))
    #expect(isReadOnly(await asyncRefusal { try await store.unsafeRead(insert) }))
    #expect(isReadOnly(refusal { try store.unsafeReentrantRead(insert) }))
    let unsafe = await asyncRefusal {
      try await withCheckedThrowingContinuation { continuation in
        store.asyncUnsafeRead { continuation.resume(with: $0.flatMap { db in Result { try insert(db) } }) }
      }
    }
    #expect(isReadOnly(unsafe))
    let isolated = await asyncRefusal {
      try await withCheckedThrowingContinuation { continuation in
        store.asyncRead { continuation.resume(with: $0.flatMap { db in Result { try insert(db) } }) }
      }
    }
    #expect(isReadOnly(isolated))
    var observation = ValueObservation.tracking(insert)
    observation.requiresWriteAccess = true
    let observed = observation
    #expect(isReadOnly(await asyncRefusal { for try await _ in observed.values(in: store) { break } }))
    #expect(try names(store) == [])
    // And a write can, afterwards.
    try await store.write(insert)
    #expect(try names(store) == ["Chess"])
  }

  @Test func anInterruptedWriteLeavesNothing() throws {
    #expect(throws: DatabaseError.self) {
      try store.write { db in
        try Game(name: "Chess").insert(db)
        db.add(
          function: DatabaseFunction("stop", argumentCount: 0) { [store] _ in
            store.interrupt()
            return nil
          })
        _ = try Int.fetchOne(
          db,
          sql:
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1e6) SELECT count(stop()) FROM n")
      }
    }
    #expect(try names(store) == [])
    try store.write { try Game(name: "Go").insert($0) }
    #expect(try synced() == ["Go"])
  }
}
