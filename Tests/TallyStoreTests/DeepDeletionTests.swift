import GRDB
import Synchronization
import Tally
import TallyCRDT
import TestEffort
import Testing

@testable import TallyStore

/// Emptying what stands in long chains of owners: depth is data, and must not cost what grows with its square.
@Suite struct DeepDeletionTests {
  private static let schema = Schema([
    EntitySchema("Folder", .text("name"), .reference("parent", to: "Folder", onDelete: .cascade))
  ])

  /// A chain in which each folder is deleted before the one that it stands in.
  private func deletedChain(_ count: Int) throws -> Store {
    let store = try Store(inMemory: Self.schema)
    try store.write { db in
      for number in 0..<count {
        try db.execute(
          sql: "INSERT INTO Folder(id, name, parent) VALUES(?, 'a folder', ?)",
          arguments: ["Folder|~|\(number)", number == 0 ? nil : "Folder|~|\(number - 1)"])
      }
    }
    try store.write { db in
      for number in (0..<count).reversed() {
        try db.execute(sql: "DELETE FROM Folder WHERE id = ?", arguments: ["Folder|~|\(number)"])
      }
    }
    return store
  }

  /// A result, and the number of statements that SQLite runs for it.
  private func counted<T>(_ store: Store, _ body: () throws -> T) rethrows -> (T, Int) {
    let count = Mutex(0)
    store.writeWithoutTransaction { db in db.trace { _ in count.withLock { $0 += 1 } } }
    let result = try body()
    store.writeWithoutTransaction { $0.trace(options: .statement, nil) }
    return (result, count.withLock { $0 })
  }

  /// Four times as many records cost about four times as much.
  @Test(arguments: [true, false]) func aLongChainOfDeletedOwnersIsEmptied(hasWindow: Bool) throws {
    var costs: [Int] = []
    for count in Effort.isLong ? [500, 2_000] : [100, 400] {
      let store = try deletedChain(count)
      let vector = try store.vector
      if hasWindow {
        let waiting = try store.empty(ripe: (StateVector(), StateVector()))
        #expect(waiting.emptied == 0 && waiting.waiting == count)
      }
      let (report, cost) = try counted(store) { try store.empty(ripe: hasWindow ? (vector, vector) : nil) }
      #expect(report.emptied == count)
      costs.append(cost)
      #expect(try store.empty(ripe: nil).emptied == 0)
      #expect(try store.verify().isSound)
    }
    #expect(costs[1] < 6 * costs[0], "\(costs)")
  }

  /// So it does for whoever takes it in.
  @Test func aLongChainThatIsEmptiedIsTakenIn() throws {
    var costs: [Int] = []
    for count in Effort.isLong ? [500, 2_000] : [100, 400] {
      let (store, other) = (try deletedChain(count), try Store(inMemory: Self.schema))
      try other.apply(store.delta(since: other.vector))
      #expect(try store.empty(ripe: nil).emptied == count)
      let delta = try store.delta(since: other.vector)
      costs.append(try counted(other) { try other.apply(delta) }.1)
      let (mine, theirs) = (try store.summary(), try other.summary())
      #expect(mine.vector == theirs.vector && mine.fingerprint == theirs.fingerprint)
      #expect(try other.verify().isSound)
    }
    #expect(costs[1] < 6 * costs[0], "\(costs)")
  }
}
