import Foundation
import GRDB
import Tally
import Testing

@testable import TallyStore

/// A write that had begun to wait before the store was closed, and comes to its turn while it is being closed.
@Suite(.timeLimit(.minutes(30))) struct ClosingRaceTests {
  @Test func aWriteThatClosingHasOvertakenIsToldSo() async throws {
    let scratch = try Scratch()
    let store = try scratch.store("store")
    try await store.write { try Game(name: "Chess").insert($0) }
    // The connections of the pool are closed once no one reads: until then the closing stands where the session has
    // gone.
    let (reading, isReading) = AsyncStream.makeStream(of: Void.self)
    let mayEnd = DispatchSemaphore(value: 0)
    let reader = Thread {
      try? store.read { _ in
        isReading.yield()
        mayEnd.wait()
      }
    }
    reader.start()
    for await _ in reading { break }
    let (closing, hasClosed) = AsyncStream.makeStream(of: (any Error)?.self)
    let closer = Thread {
      var failure: (any Error)?
      do { try store.close() } catch { failure = error }
      hasClosed.yield(failure)
      hasClosed.finish()
    }
    closer.start()
    while store.writer.unsafeReentrantWrite({ _ in store.box.session != nil }) { await Task.yield() }
    let refusal = await #expect(throws: StoreError.self) {
      try await store.writer.writeWithoutTransaction { db in
        try store.inTransaction(db) { _ = try store.transact(db) { try Game(name: "Go").insert($0) } }
      }
    }
    #expect(refusal?.code == .closed)
    mayEnd.signal()
    for await failure in closing { #expect(failure == nil) }
  }

  /// The ways to write that end their transactions themselves, so that nothing of the store's stands before them.
  static let ways: [@Sendable (Store) throws -> Void] = [
    { try $0.writeWithoutTransaction { try Game(name: "Go").insert($0) } },
    { try $0.writeWithoutTransaction { try $0.execute(sql: "INSERT INTO SBGame(id) VALUES('SBGame|~|go')") } },
    { try $0.unsafeReentrantWrite { try Game(name: "Go").insert($0) } },
    { try $0.barrierWriteWithoutTransaction { try Game(name: "Go").insert($0) } },
    { try insert(into: $0) },
  ]

  private static func insert(into writer: some DatabaseWriter) throws {
    try writer.write { try Game(name: "Go").insert($0) }
  }

  /// A write that waits for the body of a closing is told that the store is closed, and is not in the file: it may have
  /// been put aside by then.
  @Test(arguments: ways.indices) func nothingIsWrittenBehindAClosing(_ way: Int) async throws {
    let scratch = try Scratch()
    let store = try scratch.store("store")
    try await store.write { try Game(name: "Chess").insert($0) }
    let (outcome, hasEnded) = AsyncStream.makeStream(of: (any Error)?.self)
    try store.close(after: {
      Thread {
        var failure: (any Error)?
        do { try Self.ways[way](store) } catch { failure = error }
        hasEnded.yield(failure)
        hasEnded.finish()
      }.start()
      // Until it waits for its turn.
      Thread.sleep(forTimeInterval: 0.3)
    })
    for await failure in outcome {
      #expect((failure as? StoreError)?.code == .closed, "\(String(describing: failure))")
    }
    #expect(try await scratch.store("store").read { try Game.fetchCount($0) } == 1)
  }
}
