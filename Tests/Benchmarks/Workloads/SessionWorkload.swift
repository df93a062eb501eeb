import Dispatch
import GRDB
import Synchronization
import Tally
import TallySync

/// W14: everything to an empty peer over two pipes; then single changes to a peer that stays connected.
enum SessionWorkload {
  static func run(_ round: Round) throws {
    try runFirst(round)
    try runLive(round)
  }

  private static func runFirst(_ round: Round) throws {
    let first = try round.filled()
    let (peer, other) = (try round.emptyStore(), try round.emptyStore())
    let file = try DeltaFile(round.newPath())
    try round.compare(Figure("W14.first", "first sync over pipes", against: "delta and apply in process")) {
      try file.write(first.store)
      try file.apply(to: other)
    } tally: {
      try waiting {
        let (here, there) = try StreamConnection.pair()
        async let serving = peer.sync(over: there)
        try await first.store.sync(over: here)
        _ = try await serving
      }
    }
  }

  /// A change counts as delivered when the peer has said that it is committed there. It must be on the disk before it
  /// leaves, so the baseline's commits are as well.
  private static func runLive(_ round: Round) throws {
    let (first, second) = (try round.filled(), try round.replicas())
    let order = round.randomOrder(500)
    let (here, there) = try StreamConnection.pair()
    let live = LiveSession()
    let serving = Task { try await LiveSession().sync(second.store, over: there) }
    let syncing = Task { try await live.sync(first.store, over: here) }
    try live.waitUntilLive()
    let figure = Figure(
      "W14.live", "500 × one live change", against: "the update, durable, on one plain database, and a round trip")
    try first.plain.setDurable(true)
    defer { try? first.plain.setDurable(false) }
    try round.compare(figure) {
      let echo = try Echo()
      for (number, index) in order.enumerated() {
        try first.plain.write { db in try update(db, round.rows.items[index], to: number) }
        try echo.roundTrip()
      }
      try echo.close()
    } tally: {
      for (number, index) in order.enumerated() {
        let commit = try first.store.commit { db in try update(db, round.rows.items[index], to: number) }
        try live.wait(for: commit.dot)
      }
    }
    try waiting {
      await here.close()
      _ = try await syncing.value
      _ = try await serving.value
    }
    guard try first.store.vector == second.store.vector else { throw Mistake("a live change did not arrive") }
  }

  private static func update(_ db: Database, _ row: ItemRow, to number: Int) throws {
    try db.cachedStatement(sql: "UPDATE Item SET count = ? WHERE id = ?")
      .execute(arguments: [7_000_000 + number, row.id])
    guard db.changesCount == 1 else { throw Mistake("there is no such record any more") }
  }

  /// Lets a workload, which is not asynchronous, wait for something that is.
  static func waiting(_ body: @escaping @Sendable () async throws -> Void) throws {
    let (result, ended) = (Failure(), DispatchSemaphore(value: 0))
    Task.detached {
      do { try await body() } catch { result.error.withLock { $0 = error } }
      ended.signal()
    }
    ended.wait()
    try result.error.withLock { if let error = $0 { throw error } }
  }

  private final class Failure: Sendable {
    let error = Mutex<(any Error)?>(nil)
  }
}

/// Sixty bytes there and back over two pipes, as a live change and its answer go.
private struct Echo {
  private let here: StreamConnection
  private let answering: Task<Void, any Error>

  init() throws {
    let (here, there) = try StreamConnection.pair()
    self.here = here
    answering = Task.detached { while let message = try await there.receive() { try await there.send(message) } }
  }

  func roundTrip() throws {
    let here = here
    try SessionWorkload.waiting {
      try await here.send([UInt8](repeating: 7, count: 60))
      _ = try await here.receive()
    }
  }

  func close() throws {
    let (here, answering) = (here, answering)
    try SessionWorkload.waiting {
      await here.close()
      try await answering.value
    }
  }
}
