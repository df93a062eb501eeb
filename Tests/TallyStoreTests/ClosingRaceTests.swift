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
}
