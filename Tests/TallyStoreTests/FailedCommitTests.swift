import Foundation
import GRDB
import Synchronization
import Tally
import TallyStore
import Testing

/// A COMMIT can fail after all that comes before it: an observer refuses it, the task is cancelled, the disk is full.
/// Then what the transaction had changed is nowhere, and whoever writes next, perhaps waiting already, starts from what
/// the file says.
@Suite struct FailedCommitTests {
  private static let schema = Schema([EntitySchema("P", .text("name")), EntitySchema("Q", .text("word"))])

  /// Refuses the next COMMIT.
  private final class Veto: TransactionObserver, Sendable {
    let isOn = Mutex(false)
    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidCommit(_ db: Database) {}
    func databaseDidRollback(_ db: Database) {}
    func databaseWillCommit() throws {
      guard
        isOn.withLock({ isOn in
          defer { isOn = false }
          return isOn
        })
      else { return }
      throw CancellationError()
    }
  }

  private let scratch: Scratch
  private let (store, peer): (Store, Store)
  private let veto = Veto()

  init() throws {
    scratch = try Scratch()
    store = try scratch.store("a", schema: Self.schema)
    peer = try scratch.store("b", schema: Self.schema)
    for number in 0..<4 {
      try store.write { try $0.execute(sql: "INSERT INTO P(id, name) VALUES('P|~|\(number)', '')") }
    }
    try peer.apply(try store.delta())
    store.add(transactionObserver: veto)
  }

  private func expectSound() throws {
    #expect(try store.verify().problems == [])
    #expect(try store.doubt() == nil)
    try store.sync(with: peer)
    try expectConverged(store, peer)
  }

  @Test(arguments: 1...10) func aRefusedWriteLeavesNothingToTheNext(_: Int) throws {
    let done = Mutex(0)
    DispatchQueue.concurrentPerform(iterations: 4) { [store, veto] thread in
      for _ in 0..<20 {
        do {
          try store.write { db in
            if thread == 0 {
              // A type that the file does not know yet gets a number with it.
              try db.execute(sql: "INSERT INTO Q(id, word) VALUES('Q|~|refused', 'refused')")
              veto.isOn.withLock { $0 = true }
            } else {
              try db.execute(sql: "UPDATE P SET name = name || 'n' WHERE id = 'P|~|\(thread)'")
            }
          }
          done.withLock { $0 += 1 }
        } catch {
          // The observer's own error, in the write that it refuses and in no other.
          if !(error is CancellationError) || thread > 0 { Issue.record(error) }
        }
      }
    }
    #expect(done.withLock { $0 } == 60)
    #expect(
      try store.read { try String.fetchAll($0, sql: "SELECT length(name) FROM P ORDER BY id") } == [
        "0", "20", "20", "20",
      ])
    #expect(try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM Q") } == 0)
    try expectSound()
  }

  /// Wherever a cancelled write is, it says that it was cancelled, and the next one starts from the file.
  @Test func aCancelledWriteSaysSo() async throws {
    var cancelled = 0
    for round in 0..<100 {
      let write = Task { [store] in
        try await store.write { db in
          for number in 0..<4 {
            try db.execute(sql: "UPDATE P SET name = ? WHERE id = ?", arguments: ["\(round)", "P|~|\(number)"])
          }
        }
      }
      let next = Task { [store] in
        try await store.write { try $0.execute(sql: "INSERT INTO Q(id, word) VALUES('Q|~|\(round)', '')") }
      }
      for _ in 0..<round % 40 { await Task.yield() }
      write.cancel()
      do {
        try await write.value
      } catch {
        #expect(error is CancellationError)
        cancelled += 1
      }
      try await next.value
    }
    #expect(cancelled > 0)
    #expect(try await store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM Q") } == 100)
    try expectSound()
  }

  @Test(arguments: 1...10) func aRefusedMergeIsNotCovered(round: Int) throws {
    try peer.write { try $0.execute(sql: "INSERT INTO Q(id, word) VALUES('Q|~|\(round)', 'news')") }
    let news = try peer.delta(since: try store.vector)
    DispatchQueue.concurrentPerform(iterations: 3) { [store, veto] thread in
      for _ in 0..<10 {
        do {
          if thread == 0 {
            veto.isOn.withLock { $0 = true }
            try store.apply(news)
          } else {
            try store.write { try $0.execute(sql: "UPDATE P SET name = name || 'n' WHERE id = 'P|~|\(thread)'") }
          }
        } catch {
          if !(error is CancellationError) { Issue.record(error) }
        }
      }
    }
    veto.isOn.withLock { $0 = false }
    let hasNews = try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM Q") } == 1
    let theirs = try #require(try peer.summary().replica)
    #expect(try hasNews == (store.vector[theirs] == peer.vector[theirs]))
    try expectSound()
    #expect(try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM Q") } == 1)
  }

  /// Between the store's transactions the hook captures nothing of what is written on its connection, so that is
  /// refused. Triggers note it.
  @Test(
    arguments: CapturePath.allCases,
    ["INSERT INTO P(id) VALUES('P|~|after')", "UPDATE P SET name = 'after'", "DELETE FROM P"])
  func whatIsWrittenAfterATransactionIsNotLost(_ path: CapturePath, sql: String) throws {
    let store = try scratch.store("c", schema: Self.schema, options: Lab.options(path))
    try store.write { try $0.execute(sql: "INSERT INTO P(id, name) VALUES('P|~|1', ''), ('P|~|2', '')") }
    try store.sync(with: peer)
    let before = try store.read { try Row.fetchAll($0, sql: "SELECT * FROM Q") }
    let outcome = Mutex<(any Error)?>(nil)
    try store.write { db in
      db.afterNextTransaction { db in
        do { try db.execute(sql: sql) } catch { outcome.withLock { $0 = error } }
      }
    }
    let error = outcome.withLock { $0 }
    #expect(path == .hook ? (error as? StoreError)?.code == .transactionEnded : error == nil)
    let names = try store.read { try String?.fetchAll($0, sql: "SELECT name FROM P ORDER BY id") }
    #expect(path == .triggers || names == ["", "", "", ""])
    #expect(try store.read { try Row.fetchAll($0, sql: "SELECT * FROM Q") } == before)
    // The app's own tables are nobody else's business.
    try store.write { db in
      try db.execute(sql: "CREATE TABLE own(x)")
      db.afterNextTransaction { db in
        do { try db.execute(sql: "INSERT INTO own VALUES(1)") } catch { Issue.record(error) }
      }
    }
    #expect(try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM own") } == 1)
    try store.sync(with: peer)
    try expectConverged(store, peer)
    #expect(try store.verify().problems == [])
    #expect(try peer.read { try String?.fetchAll($0, sql: "SELECT name FROM P ORDER BY id") } == names)
  }
}
