import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyStore
import TestEffort
import Testing

/// Restoring and deciding conflicts as part of a write of the app's, and without blocking a task.
@Suite(.timeLimit(.minutes(30))) struct SharedWriteTests {
  let scratch: Scratch
  let (store, other): (Store, Store)

  init() throws {
    scratch = try Scratch()
    store = try scratch.store("store")
    other = try scratch.store("other")
  }

  private func deleted() throws -> (game: Game, match: Match) {
    let game = Game(name: "Chess")
    let match = Match(place: "Home", game: game.id)
    try store.write { db in
      try game.insert(db)
      try match.insert(db)
    }
    try store.write { _ = try game.delete($0) }
    return (game, match)
  }

  /// A conflict about the game's name that this store has won or lost.
  private func conflicted() throws -> (Game, Conflict) {
    let game = Game(name: "Chess")
    try store.write { try game.insert($0) }
    try store.sync(with: other)
    try store.write { try $0.execute(sql: "UPDATE SBGame SET name = 'Go'") }
    try other.write { try $0.execute(sql: "UPDATE SBGame SET name = 'Poker'") }
    try store.sync(with: other)
    return (game, try #require(try store.conflicts().first))
  }

  private func code(_ body: () throws -> Void) -> StoreError.Code? {
    do { try body() } catch { return (error as? StoreError)?.code }
    return nil
  }

  /// A savepoint that is rolled back takes along the writes of a restore within it, and nobody tells the store.
  @Test func aRestoreInASavepointThatIsRolledBackEndsTheWrite() throws {
    let (game, _) = try deleted()
    let before = try store.summary()
    for isCaught in [false, true] {
      let found = code {
        try store.write { db in
          try db.execute(sql: "INSERT INTO SBPerson(id, name) VALUES('SBPerson|~|ann', 'Ann')")
          try db.inSavepoint {
            try store.restore(db, game.id)
            return .rollback
          }
          guard isCaught else { return }
          try? store.restore(db, game.id)
        }
      }
      #expect(found == .transactionEnded)
      #expect(try store.summary() == before)
      #expect(try store.verify().problems == [])
    }
    // One that is not around it may be.
    try store.write { db in
      try store.restore(db, game.id)
      try db.inSavepoint {
        try db.execute(sql: "INSERT INTO SBPerson(id, name) VALUES('SBPerson|~|ann', 'Ann')")
        return .rollback
      }
    }
    #expect(try store.verify().problems == [])
    try store.sync(with: other)
    #expect(try store.summary().fingerprint == other.summary().fingerprint)
  }

  @Test func aRestoreAndAnEditAreOneTransaction() throws {
    let (game, match) = try deleted()
    try store.sync(with: other)
    let before = try store.summary().vector
    let commit = try store.commit { db in
      try Person(name: "Ann").insert(db)
      try store.restore(db, game.id)
      #expect(try Game.find(db, key: game.id).name == "Chess")
      #expect(try Match.find(db, key: match.id).place == "Home")
      try db.execute(sql: "UPDATE SBGame SET name = 'Chess again'")
    }
    #expect(
      try commit.dot == store.summary().replica.map { Dot(replica: $0, sequence: try store.summary().vector[$0]) })
    #expect(try store.summary().vector != before)
    try store.sync(with: other)
    for replica in [store, other] {
      #expect(try replica.read { try Game.fetchAll($0).map(\.name) } == ["Chess again"])
      #expect(try replica.read { try Match.fetchCount($0) + Person.fetchCount($0) } == 2)
    }
    try expectConverged(store, other)
  }

  @Test func aRestoreAloneHasADot() throws {
    let (game, _) = try deleted()
    let commit = try store.commit { try store.restore($0, game.id) }
    #expect(commit.dot != nil)
  }

  @Test func aWriteThatFailsRestoresNothing() throws {
    struct Refused: Error {}
    let (game, _) = try deleted()
    let before = try store.summary()
    #expect(throws: Refused.self) {
      try store.write { db in
        try store.restore(db, game.id)
        throw Refused()
      }
    }
    #expect(try store.summary() == before)
    #expect(try store.read { try Game.fetchCount($0) } == 0)
    try expectConverged(store)
  }

  @Test func anErrorThatTheAppCatchesStillEndsTheWrite() throws {
    let (game, _) = try deleted()
    let before = try store.summary()
    let nobody = RecordName<Game>()
    let found = code {
      try store.write { db in
        try Person(name: "Ann").insert(db)
        try store.restore(db, game.id)
        #expect(code { try store.restore(db, nobody) } == .noSuchRecord)
      }
    }
    #expect(found == .noSuchRecord)
    #expect(try store.summary() == before)
    #expect(try store.read { try Person.fetchCount($0) } == 0)
    try store.write { try store.restore($0, game.id) }
    try store.sync(with: other)
    try expectConverged(store, other)
  }

  @Test func onlyAWriteOfTheSameStoreWillDo() throws {
    let (game, _) = try deleted()
    #expect(code { try store.read { try store.restore($0, game.id) } } == .notInWrite)
    #expect(code { try store.writeWithoutTransaction { try store.restore($0, game.id) } } == .notInWrite)
    #expect(code { try other.write { try store.restore($0, game.id) } } == .notInWrite)
    #expect(try store.read { try Game.fetchCount($0) } == 0)
  }

  @Test func conflictsAreDecidedTogetherWithOtherWrites() throws {
    let (_, conflict) = try conflicted()
    #expect(try store.read { try store.conflicts($0) } == [conflict])
    try store.write { db in
      try store.resolve(db, conflict, with: .text("Bridge"))
      #expect(try store.conflicts(db) == [])
      try Person(name: "Ann").insert(db)
    }
    try store.sync(with: other)
    #expect(try other.read { try Game.fetchAll($0).map(\.name) } == ["Bridge"])
    try expectConverged(store, other)
  }

  @Test func dismissingInAWriteThatFailsDismissesNothing() throws {
    struct Refused: Error {}
    let (_, conflict) = try conflicted()
    #expect(throws: Refused.self) {
      try store.write { db in
        try store.dismiss(db, conflict)
        throw Refused()
      }
    }
    #expect(try store.conflicts() == [conflict])
    try store.write { try store.dismiss($0, conflict) }
    #expect(try store.conflicts() == [])
  }

  @Test func aDeleteThatWonIsTakenBackInTheSameWrite() throws {
    let schema = Schema([EntitySchema(type: "Note", fields: [.init("text", .text)], deleteWins: true)])
    let (here, there) = (try Store(inMemory: schema), try Store(inMemory: schema))
    let name = try AnyRecordName(type: "Note", key: "a")
    try here.write { try schema.put($0, name, ["text": .text("first")]) }
    try here.sync(with: there)
    try here.write { try schema.put($0, name, ["text": .text("second")]) }
    try there.write { try schema.delete($0, name) }
    try here.sync(with: there)
    let conflict = try #require(try here.conflicts().first { $0.kind == .deleted })
    try here.write { try here.restore($0, conflict) }
    try here.sync(with: there)
    #expect(try there.read { try schema.record($0, name)?.fields["text"] } == .text("second"))
    try expectConverged(here, there)
  }

  /// More of them at once than tasks have threads: none of those would be left if they blocked.
  @MainActor @Test func tasksAreNotBlocked() async throws {
    let (game, _) = try deleted()
    let (store, other) = (store, other)
    let (holds, continuation) = AsyncStream.makeStream(of: Void.self)
    let gate = DispatchSemaphore(value: 0)
    let writer = Thread {
      do {
        try store.write { _ in
          continuation.yield()
          gate.wait()
        }
      } catch {
        Issue.record(error)
      }
    }
    writer.start()
    for await _ in holds { break }
    // The store's one writer waits for the gate; so do these, and this task goes on and opens it.
    async let dot = store.restore(game.id)
    let count = Effort.isLong ? 32 : ProcessInfo.processInfo.activeProcessorCount + 1
    let seeds = (0..<count).map { _ in Task { try await store.seed(SeedSet("none", version: 1, records: [])) } }
    let (status, conflicts) = (try await store.status(), try await store.conflicts())
    #expect(status.conflicts == conflicts.count)
    gate.signal()
    #expect(try await dot != nil)
    for seed in seeds { _ = try await seed.value }
    let report = try await store.sync(with: other)
    #expect(report.isConverged)
    #expect(try await other.history(of: game.id.name)?.isVisible == true)
    #expect(try await other.verify().isSound)
  }

  @Test func workThatIsCancelledBeforeItBeganChangesNothing() async throws {
    let (game, _) = try deleted()
    let before = try store.summary()
    let store = store
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await store.restore(game.id)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try store.summary() == before)
  }
}
