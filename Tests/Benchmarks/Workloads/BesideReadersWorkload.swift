import Dispatch
import GRDB
import Tally

/// W16: a thousand transactions of ten updates while somebody observes the table, and while a reader keeps a snapshot,
/// so that the write-ahead log only grows.
enum BesideReadersWorkload {
  static func run(_ round: Round) throws {
    let pair = try round.filled()
    try compare(round, pair, "W16.observed", "beside an observation of one owner's items") { reader in
      try Observer(reader, owner: round.rows.owners[0]).stop
    }
    try compare(round, pair, "W16.snapshot", "beside a reader with an open snapshot") { reader in
      try Snapshot(reader).close
    }
  }

  /// Compares updates beside a reader. `begin` begins to read, and returns what ends it.
  private static func compare(
    _ round: Round, _ pair: Pair, _ id: String, _ name: String, _ begin: (any DatabaseReader) throws -> () -> Void
  ) throws {
    let (order, rows) = (round.randomOrder(10_000), round.rows.items)
    func write(_ side: any Side, _ reader: any DatabaseReader) throws {
      let end = try begin(reader)
      defer { end() }
      try side.run("UPDATE Item SET count = ? WHERE id = ?", order.count, inTransactionsOf: 10) {
        [20_000_000 + round.nextNumber(), rows[order[$0]].id]
      }
    }
    try round.compare(Figure(id, "1,000 × ten updates \(name)", against: "the same in a plain table")) {
      try write(pair.plain, pair.plain)
    } tally: {
      try write(pair.store, pair.store)
    }
  }
}

/// Reads once and keeps its transaction open until it is told to close.
private final class Snapshot: Sendable {
  private let (mayEnd, hasEnded) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))

  init(_ reader: any DatabaseReader) throws {
    let hasBegun = DispatchSemaphore(value: 0)
    reader.asyncRead { [mayEnd, hasEnded] result in
      defer { hasEnded.signal() }
      let count = Result { try Int.fetchOne(result.get(), sql: "SELECT count FROM Item LIMIT 1") }
      if case .failure(let error) = count { fatalError("a snapshot cannot be read: \(error)") }
      hasBegun.signal()
      mayEnd.wait()
    }
    hasBegun.wait()
  }

  func close() {
    mayEnd.signal()
    hasEnded.wait()
  }
}

/// Observes the items of one owner.
private final class Observer {
  private let observation: AnyDatabaseCancellable

  init(_ reader: any DatabaseReader, owner: String) throws {
    let hasBegun = DispatchSemaphore(value: 0)
    observation = ValueObservation.tracking { db in
      try PlainItem.filter(Column("owner") == owner).fetchAll(db)
    }.start(
      in: reader, scheduling: .async(onQueue: DispatchQueue(label: "observer")),
      onError: { error in fatalError("an observation ended: \(error)") }, onChange: { _ in hasBegun.signal() })
    hasBegun.wait()
  }

  func stop() { observation.cancel() }
}
