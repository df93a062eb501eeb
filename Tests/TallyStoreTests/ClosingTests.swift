import Foundation
import GRDB
import Tally
import Testing

private func refusal(_ body: () throws -> Void) -> (any Error)? {
  do { try body() } catch { return error }
  return nil
}

/// A store that is closed, that others close meanwhile, and one that only reads.
@Suite(.timeLimit(.minutes(30))) struct ClosingTests {
  let scratch: Scratch
  let store: Store

  init() throws {
    scratch = try Scratch()
    store = try scratch.store("store")
  }

  private func asyncRefusal(_ body: () async throws -> Void) async -> (any Error)? {
    do { try await body() } catch { return error }
    return nil
  }

  private func code(_ error: (any Error)?) -> StoreError.Code? { (error as? StoreError)?.code }

  private func count(_ store: Store) throws -> Int { try store.read { try Game.fetchCount($0) } }

  @Test func aStoreThatIsClosedSaysSo() async throws {
    try await store.write { try Game(name: "Chess").insert($0) }
    try (store as any DatabaseWriter).close()
    #expect(code(refusal { try store.barrierWriteWithoutTransaction { _ in } }) == .closed)
    #expect(code(refusal { try store.writeWithoutTransaction { try $0.execute(sql: "ANALYZE") } }) == .closed)
    #expect(code(await asyncRefusal { _ = try await store.unsafeRead { try Game.fetchCount($0) } }) == .closed)
    #expect(
      code(await asyncRefusal { try await store.writeWithoutTransaction { try $0.execute(sql: "ANALYZE") } }) == .closed
    )
  }

  /// SQLite keeps an interruption pending until the next statement begins, and a checkpoint is not a statement.
  @Test func anInterruptionOfNothingDoesNotKeepAStoreFromClosing() throws {
    try store.write { try Game(name: "Chess").insert($0) }
    store.interrupt()
    try store.close()
    #expect(code(refusal { _ = try store.vector }) == .closed)
  }

  /// GRDB closes the one connection in memory and uses it all the same.
  @Test func aStoreInMemoryThatIsClosedSaysSo() async throws {
    let store = try Store(inMemory: scorebook)
    try await store.write { try Game(name: "Chess").insert($0) }
    try store.close()
    #expect(code(refusal { _ = try store.read { try Game.fetchCount($0) } }) == .closed)
    #expect(code(refusal { try store.write { try Game(name: "Go").insert($0) } }) == .closed)
    #expect(code(refusal { _ = try store.delta() }) == .closed)
    #expect(code(refusal { _ = try store.vector }) == .closed)
    #expect(code(refusal { try store.unsafeReentrantRead { _ in } }) == .closed)
    #expect(code(refusal { try store.barrierWriteWithoutTransaction { _ in } }) == .closed)
    #expect(code(await asyncRefusal { _ = try await store.read { try Game.fetchCount($0) } }) == .closed)
    #expect(code(await asyncRefusal { try await store.write { try Game(name: "Go").insert($0) } }) == .closed)
    #expect(code(await asyncRefusal { try await store.writeWithoutTransaction { _ in } }) == .closed)
  }

  /// A view that is made after signing out, and clean-up that runs twice, end in no crash and wait for nothing.
  /// The limit of time ends a test that hangs. It is long, since other tests may hold all threads for minutes.
  @Test(.timeLimit(.minutes(30)), arguments: [false, true]) func aClosedStoreIsClosedAndObservedAgain(inMemory: Bool)
    async throws
  {
    let store = try inMemory ? Store(inMemory: scorebook) : self.store
    try await store.write { try Game(name: "Chess").insert($0) }
    await withThrowingTaskGroup(of: Void.self) { group in for _ in 0..<4 { group.addTask { try store.close() } } }
    try store.close()
    #expect(
      code(await asyncRefusal { for try await _ in store.values({ try Game.fetchCount($0) }) {} }) == .closed)
    #expect(code(await asyncRefusal { for try await _ in store.values({ try Game.fetchAll($0) }) {} }) == .closed)
    let observation = ValueObservation.tracking { try Game.fetchCount($0) }
    await #expect(throws: DatabaseError.self) { for try await _ in observation.values(in: store) {} }
    for await _ in store.events() { Issue.record("a closed store has events") }
  }

  /// Closing ends a loop over values that would otherwise wait for ever.
  @Test(arguments: [false, true]) func valuesEndWhenTheStoreIsClosed(inMemory: Bool) async throws {
    let store = try inMemory ? Store(inMemory: scorebook) : self.store
    let (counts, feed) = AsyncStream.makeStream(of: Int.self)
    let following = Task {
      for try await count in store.values({ try Game.fetchCount($0) }) { feed.yield(count) }
    }
    let others = Task { for try await _ in store.values({ try Game.fetchAll($0) }) {} }
    for await count in counts where count == 0 { break }
    try await store.write { try Game(name: "Chess").insert($0) }
    for await count in counts where count == 1 { break }
    try store.close()
    #expect(code(await asyncRefusal { try await following.value }) == .closed)
    #expect(code(await asyncRefusal { try await others.value }) == .closed)
  }

  @Test func aLoopOverValuesEndsWithItsTask() async throws {
    let (counts, feed) = AsyncStream.makeStream(of: Int.self)
    let following = Task { [store] in
      for try await count in store.values({ try Game.fetchCount($0) }) { feed.yield(count) }
    }
    for await count in counts where count == 0 { break }
    following.cancel()
    #expect(await asyncRefusal { try await following.value } == nil)
    try store.close()
  }

  /// What is under way comes to its end, and what comes later is told that the store is closed: by no other error.
  @Test(arguments: [false, true]) func writesBesideAClosingAreDoneOrToldSo(inMemory: Bool) async throws {
    for round in 0..<5 {
      let store = try inMemory ? Store(inMemory: scorebook) : scratch.store("round \(round)")
      let (began, feed) = AsyncStream.makeStream(of: Void.self)
      let writers = (0..<4).map { writer in
        Task { () -> [(any Error)?] in
          for number in 0..<1000 {
            do {
              if writer % 2 == 0 {
                try await store.write { try Game(name: "\(number)").insert($0) }
              } else {
                _ = try await store.read { try Game.fetchCount($0) }
              }
            } catch { return [error] }
            feed.yield()
          }
          return []
        }
      }
      for await _ in began { break }
      try store.close()
      for writer in writers {
        for error in await writer.value { #expect(code(error) == .closed, "\(String(describing: error))") }
      }
    }
  }

  /// Several processes of an app begin and end at the same time, and whoever closes a file last has it alone for a
  /// moment. Opening waits for that, from its first look at the file on.
  @Test func openingWaitsForOneWhoHasTheFileAlone() throws {
    try store.write { try Game(name: "Chess").insert($0) }
    try store.close()
    let path = scratch.path("store")
    let alone = try DatabaseQueue(path: path)
    try alone.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE setting (key TEXT)")
    }
    var options = StoreOptions()
    options.busyTimeout = 0.3
    for isReadOnly in [false, true] {
      options.isReadOnly = isReadOnly
      let start = ContinuousClock.now
      let error = refusal { _ = try Store(path: path, schema: scorebook, options: options) }
      #expect((error as? DatabaseError)?.resultCode == .SQLITE_BUSY, "\(String(describing: error))")
      #expect(ContinuousClock.now - start > .seconds(0.29))
    }
    try alone.close()
    #expect(try count(Store(path: path, schema: scorebook)) == 1)
  }

  // MARK: Only reading

  private var readOnly: StoreOptions {
    var options = StoreOptions()
    options.isReadOnly = true
    return options
  }

  @Test func aStoreThatOnlyReadsWritesNothing() async throws {
    let reading = try Store(existing: scratch.path("store"), options: readOnly)
    #expect(code(refusal { try reading.writeWithoutTransaction { try Game(name: "Chess").insert($0) } }) == .readOnly)
    #expect(code(refusal { try reading.write { try Game(name: "Chess").insert($0) } }) == .readOnly)
    #expect(code(await asyncRefusal { try await reading.write { try Game(name: "Go").insert($0) } }) == .readOnly)
    #expect(code(refusal { _ = try reading.sync(with: scratch.store("other")) }) == nil, "there is nothing to write")
    #expect(try count(reading) == 0)
    // It shows what others write, each time it reads.
    try await store.write { try Game(name: "Chess").insert($0) }
    #expect(try count(reading) == 1)
    #expect(code(refusal { _ = try reading.delta() }) == nil)
  }

  @Test func whereThereIsNoStoreNoneIsRead() throws {
    for path in ["nothing", "folder/nothing"].map(scratch.path) {
      #expect(code(refusal { _ = try Store(path: path, schema: scorebook, options: readOnly) }) == .noSuchStore)
      #expect(code(refusal { _ = try Store(existing: path, options: readOnly) }) == .noSuchStore)
      #expect(!FileManager.default.fileExists(atPath: path))
    }
  }
}
