import Foundation
import GRDB
import Tally

/// A store and a plain database with the same rows.
struct Pair {
  var plain: DatabasePool
  var store: Store
}

/// One pass through the workloads, in a folder of its own.
///
/// Workloads build on each other: the rows that W1 inserts are those that W2 updates. What a workload needs and nobody
/// has made, the round makes without measuring it.
final class Round {
  let number: Int
  let rows: Rows
  let ledger: Ledger
  let folder: URL
  private var files = 0
  private var numbers = 0
  /// The rows of `rows.items` that the databases still have.
  private(set) var living: Range<Int>
  private var pair: Pair?
  private var peers: Pair?

  init(_ number: Int, rows: Rows, ledger: Ledger, folder: URL) throws {
    (self.number, self.rows, self.ledger) = (number, rows, ledger)
    living = rows.items.indices
    self.folder = folder.appendingPathComponent("round-\(number)")
    try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
  }

  func remove() throws {
    (pair, peers) = (nil, nil)
    try FileManager.default.removeItem(at: folder)
  }

  // MARK: Databases

  /// A number that no other call gives: a value that a field does not have.
  func nextNumber() -> Int {
    numbers += 1
    return numbers
  }

  /// A path that nothing has yet.
  func newPath() -> String {
    files += 1
    return folder.appendingPathComponent("\(files).sqlite").path
  }

  func emptyStore() throws -> Store {
    try Store(path: newPath(), schema: Schema(Owner.self, Item.self, Team.self))
  }

  /// A store and a plain database with owners, and no items.
  func emptyPair() throws -> Pair {
    let pair = Pair(plain: try PlainDatabase.create(newPath()), store: try emptyStore())
    try pair.plain.insertOwners(rows.owners)
    try pair.store.insertOwners(rows.owners)
    return pair
  }

  /// The pair with all items, in whatever state the workloads before have left it.
  func filled() throws -> Pair {
    if let pair { return pair }
    let pair = try emptyPair()
    try pair.plain.insert(rows.items)
    try pair.store.insert(rows.items)
    self.pair = pair
    return pair
  }

  func keep(_ pair: Pair) { self.pair = pair }

  /// Second replicas of `filled()`: a store that has all of the first, and a plain database with the same keys.
  func replicas() throws -> Pair {
    let first = try filled()
    let second = try peers ?? emptyReplicas()
    peers = second
    try second.store.apply(try first.store.delta(since: try second.store.vector))
    return second
  }

  func keep(replicas: Pair) { peers = replicas }

  /// The rows before this one are gone: whoever writes to or looks for one of them does nothing.
  func noteDeleted(before index: Int) { living = index..<rows.items.count }

  private func emptyReplicas() throws -> Pair {
    let plain = try PlainDatabase.create(newPath())
    try plain.insertOwners(rows.owners)
    try plain.insert(rows.items)
    return Pair(plain: plain, store: try emptyStore())
  }

  // MARK: Measuring

  /// Measures both, one right after the other; who comes first alternates with the rounds.
  func compare(_ figure: Figure, plain: () throws -> Void, tally: () throws -> Void) throws {
    let first = number.isMultiple(of: 2) ? nil : try Meter.measure(plain)
    let ours = try Meter.measure(tally)
    ledger.add(Sample(tally: ours, plain: try first ?? Meter.measure(plain)), to: figure)
  }

  /// Notes how many bytes something takes.
  func note(_ figure: Figure, bytes: Double, plain: Double? = nil) {
    ledger.add(Sample(tally: Cost(bytes: bytes), plain: plain.map { Cost(bytes: $0) }), to: figure)
  }
}
