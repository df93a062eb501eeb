import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyStore
import Testing

/// The events with which a store reports its commits.
@Suite(.timeLimit(.minutes(30))) struct EventTests {
  let scratch: Scratch
  let (store, other): (Store, Store)

  init() throws {
    scratch = try Scratch()
    store = try scratch.store("store")
    other = try scratch.store("other")
  }

  /// The events until the store is closed, or reports that a record of this name was written.
  private func told(_ events: StoreEvents, until last: AnyRecordName) async -> [StoreEvent] {
    var told: [StoreEvent] = []
    for await event in events {
      if case .these([last]) = event.records { break }
      told.append(event)
    }
    return told
  }

  /// Writes a record whose event ends `told`.
  private func end(_ store: Store) throws -> AnyRecordName {
    let person = Person(name: "the end")
    try store.write { try person.insert($0) }
    return person.id.name
  }

  @Test func eachOriginIsTold() async throws {
    let (game, theirs, match) = (Game(name: "Chess"), Game(name: "Go"), Match(place: "Home"))
    try await other.write { try theirs.insert($0) }
    let events = store.events()
    try await store.write { try game.insert($0) }
    try await store.sync(with: other)
    let shell = try DatabaseQueue(path: store.path)
    try await shell.write { try $0.execute(sql: "INSERT INTO SBMatch(id) VALUES(?)", arguments: [match.id]) }
    try store.captureChanges()
    try await store.write { try $0.execute(sql: "UPDATE SBGame SET name = 'Poker' WHERE name = 'Chess'") }
    let found = await told(events, until: try end(store))
    #expect(found.map(\.origins) == [[.app], [.peer], [.outside], [.app]])
    #expect(found.map(\.tables) == [["SBGame"], ["SBGame"], ["SBMatch"], ["SBGame"]])
    #expect(
      found.map(\.records) == [
        .these([game.id.name]), .these([theirs.id.name]), .these([match.id.name]), .these([game.id.name]),
      ])
    #expect(found[0].mayConcern(game.id) && !found[0].mayConcern(theirs.id))
  }

  @Test func whatFollowsFromAChangeIsTold() async throws {
    let (game, ann) = (Game(name: "Chess"), Person(name: "Ann"))
    let match = Match(place: "Home", game: game.id)
    try await other.write { db in
      try game.insert(db)
      try ann.insert(db)
      try match.insert(db)
    }
    try await store.sync(with: other)
    let events = store.events()
    try await other.write { try Game.players.insert($0, ann.id, to: game.id) }
    try await store.sync(with: other)
    try await other.write { _ = try game.delete($0) }
    try await store.sync(with: other)
    let found = await told(events, until: try end(store))
    #expect(found.count == 2)
    #expect(found[0].records == .these([game.id.name, ann.id.name]) && found[0].tables.count == 1)
    // The match goes with its game, the link with both.
    #expect(found[1].mayConcern(match.id) && found[1].mayConcern(game.id))
    #expect(found[1].tables.isSuperset(of: ["SBGame", "SBMatch"]))
  }

  @Test func whatFailsOrChangesNothingIsNotTold() async throws {
    struct Refused: Error {}
    let events = store.events()
    #expect(throws: Refused.self) { try failing() }
    try await store.write { try $0.execute(sql: "CREATE TABLE mine(x)") }
    try await store.write { try $0.execute(sql: "INSERT INTO mine VALUES(1)") }
    #expect(await told(events, until: try end(store)) == [])
    func failing() throws {
      try store.write { db in
        try Game(name: "Chess").insert(db)
        throw Refused()
      }
    }
  }

  @Test func aHugeTransactionSaysMany() async throws {
    let events = store.events()
    try await store.write { db in for number in 0...1000 { try Game(name: "\(number)").insert(db) } }
    let found = await told(events, until: try end(store))
    #expect(found.map(\.records) == [.many] && found[0].tables == ["SBGame"] && found[0].transactionCount == 1)
    #expect(found[0].mayConcern(RecordName<Game>()) && !found[0].mayConcern(RecordName<Match>()))
  }

  /// Nobody reads while more transactions are committed than wait one by one.
  @Test func aSlowReaderGetsSeveralAsOne() async throws {
    let games = (0..<100).map { Game(name: "\($0)") }
    let events = store.events()
    for game in games { try await store.write { try game.insert($0) } }
    try store.close()
    var (count, names, transactions) = (0, Set<AnyRecordName>(), 0)
    for await event in events {
      (count, transactions) = (count + 1, transactions + event.transactionCount)
      if case .these(let more) = event.records { names.formUnion(more) }
    }
    #expect(count == 64 && transactions == 100 && names == Set(games.map(\.id.name)))
  }

  @Test func whatAStoreOfAnotherProcessCapturesIsToldAsMany() async throws {
    // As another process would: the same file, opened once more.
    let second = try scratch.store("store")
    let events = store.events()
    try await second.write { try Game(name: "Chess").insert($0) }
    try await store.write { try Game(name: "Go").insert($0) }
    try await store.write { try Game(name: "Poker").insert($0) }
    let found = await told(events, until: try end(store))
    #expect(found.map(\.origins) == [[.outside], [.app], [.app]])
    #expect(found[0].records == .many && found[0].tables.isSuperset(of: ["SBGame", "SBMatch"]))
  }

  /// The commit of a store of another process reaches everybody who follows this one, and is reported once.
  @Test func whatAStoreOfAnotherProcessCommitsIsHeard() async throws {
    let second = try scratch.store("store")
    let changes = store.changes()
    let events = store.events()
    var counts = store.values { try Game.fetchCount($0) }.makeAsyncIterator()
    #expect(try await counts.next() == 0)
    try await second.write { try Game(name: "Chess").insert($0) }
    try store.captureChanges()
    #expect(try await counts.next() == 1)
    for await _ in changes { break }
    #expect(try store.vector == second.vector)
    // Nothing is new: neither of these tells anything.
    try store.captureChanges()
    try store.captureChanges()
    let found = await told(events, until: try end(store))
    #expect(found.map(\.origins) == [[.outside]] && found[0].records == .many)
  }

  /// A write that fails is the first to see what another process has committed, and takes the news with it.
  @Test func aFailedWriteDoesNotHideWhatOthersCommitted() async throws {
    struct Refused: Error {}
    let second = try scratch.store("store")
    let changes = store.changes()
    let events = store.events()
    var counts = store.values { try Game.fetchCount($0) }.makeAsyncIterator()
    #expect(try await counts.next() == 0)
    try await second.write { try Game(name: "Chess").insert($0) }
    await #expect(throws: Refused.self) { try await store.write { _ in throw Refused() } }
    try store.captureChanges()
    let found = await told(events, until: try end(store))
    #expect(found.map(\.origins) == [[.outside]])
    #expect(try await counts.next() == 1)
    for await _ in changes { break }
  }

  @Test func aWriteOfGRDBsWriterIsToldAsOutside() async throws {
    let (game, next) = (Game(name: "Chess"), Game(name: "Go"))
    let events = store.events()
    try await store.writeWithoutTransaction { try game.insert($0) }
    try await store.write { try next.insert($0) }
    let found = await told(events, until: try end(store))
    #expect(found.map(\.origins) == [[.outside], [.app]])
    #expect(found.map(\.records) == [.these([game.id.name]), .these([next.id.name])])
  }

  @Test func itEndsWithItsTaskAndWithTheStore() async throws {
    let events = store.events()
    let task = Task { () -> Int in
      var count = 0
      for await _ in events { count += 1 }
      return count
    }
    task.cancel()
    _ = await task.value
    let rest = store.events()
    try await store.write { try Game(name: "Chess").insert($0) }
    try store.close()
    var count = 0
    for await _ in rest { count += 1 }
    #expect(count == 1)
  }
}
