import Foundation
import GRDB
import Tally

/// A store and a plain database with the same rows.
struct Pair {
  var plain: DatabasePool
  var store: Store

  func close() throws {
    try plain.close()
    try store.close()
  }
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
  /// The only figure of which the round measures anything, and that only our side's memory.
  private let memoryOf: String?
  private var files = 0
  private var numbers = 0
  /// The rows of `rows.items` that the databases still have.
  private(set) var living: Range<Int>
  private var pair: Pair?
  private var peers: Pair?

  /// A round in a folder of its own; one that measures memory takes a folder whose files another round has made, since
  /// closed.
  init(_ number: Int, rows: Rows, ledger: Ledger, folder: URL, memoryOf: String? = nil) throws {
    (self.number, self.rows, self.ledger, self.folder) = (number, rows, ledger, folder)
    self.memoryOf = memoryOf
    living = rows.items.indices
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  func close() throws {
    try pair?.close()
    try peers?.close()
    (pair, peers) = (nil, nil)
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

  func emptyStore() throws -> Store { try Store(path: newPath(), schema: Tables.schema) }

  /// A store and a plain database with owners, and no items.
  func emptyPair() throws -> Pair { try withOwners(try PlainDatabase.create(newPath()), try emptyStore()) }

  /// The pair with all items, in whatever state the workloads before have left it.
  func filled() throws -> Pair {
    if let pair { return pair }
    let files = path("first")
    let pair =
      try prepared(files)
      ?? withOwners(PlainDatabase.create(files.plain), Store(path: files.store, schema: Tables.schema))
    if memoryOf == nil {
      try pair.plain.insert(rows.items)
      try pair.store.insert(rows.items)
    }
    self.pair = pair
    return pair
  }

  func keep(_ pair: Pair) { self.pair = pair }

  /// Runs `body` while nobody has the files of `filled()` open, as between two launches of an app.
  func whileClosed(_ body: (_ plain: String, _ store: String) throws -> Void) throws {
    let (plain, store) = { ($0.plain.path, $0.store.path) }(try filled())
    try pair?.close()
    pair = nil
    try body(plain, store)
    pair = Pair(plain: try PlainDatabase.open(plain), store: try Store(path: store, schema: Tables.schema))
  }

  /// Second replicas of `filled()`: a store that has all of the first, and a plain database with the same keys.
  func replicas() throws -> Pair {
    let first = try filled()
    let second = try peers ?? prepared(path("second")) ?? emptyReplicas()
    peers = second
    try second.store.apply(try first.store.delta(since: try second.store.vector))
    return second
  }

  func keep(replicas: Pair) { peers = replicas }

  /// The rows before this one are gone: whoever writes to or looks for one of them does nothing.
  func noteDeleted(before index: Int) { living = index..<rows.items.count }

  private func withOwners(_ plain: DatabasePool, _ store: Store) throws -> Pair {
    try plain.insertOwners(rows.owners)
    try store.insertOwners(rows.owners)
    return Pair(plain: plain, store: store)
  }

  /// A store with all rows at this path, in which each item's count was changed once, a thousand in a transaction, so
  /// that its state has the form that most edited rows have.
  static func writeStore(_ rows: Rows, to path: String) throws {
    guard !FileManager.default.fileExists(atPath: path) else { throw Mistake("there is something at \(path)") }
    let store = try Store(path: path, schema: Tables.schema)
    try store.insertOwners(rows.owners)
    try store.insertThroughC(rows.items)
    for start in stride(from: 0, to: rows.items.count, by: 1000) {
      try store.updateThroughC(rows.items[start...].prefix(1000).map { (-1, $0.id) })
    }
    try store.close()
  }

  private func emptyReplicas() throws -> Pair {
    let files = path("second")
    let plain = try PlainDatabase.create(files.plain)
    try plain.insertOwners(rows.owners)
    try plain.insert(rows.items)
    return Pair(plain: plain, store: try Store(path: files.store, schema: Tables.schema))
  }

  private func path(_ name: String) -> (plain: String, store: String) {
    let place = folder.appendingPathComponent(name).path
    return (place + ".sqlite", place + ".tally")
  }

  /// What another round has made. A copy is not to take another replica id here.
  private func prepared(_ files: (plain: String, store: String)) throws -> Pair? {
    guard memoryOf != nil else { return nil }
    var options = StoreOptions()
    options.detectsCopies = false
    let store = try Store(path: files.store, schema: Tables.schema, options: options)
    return Pair(plain: try PlainDatabase.open(files.plain), store: store)
  }

  var measuresMemory: Bool { memoryOf != nil }

  // MARK: Measuring

  /// Measures both, one right after the other; who comes first alternates with the rounds.
  func compare(
    _ figure: Figure, isFirst: Bool = true, plain: () throws -> Void, tally: () throws -> Void
  ) throws {
    try withoutActuallyEscaping(plain) { try compare([(figure, $0)], isFirst: isFirst, tally: tally) }
  }

  /// The same with several baselines for one stretch of our work. `isFirst` is false for what needs the state that the
  /// figure before it leaves: a process of its own cannot measure its memory.
  func compare(
    _ baselines: [(Figure, () throws -> Void)], isFirst: Bool = true, tally: () throws -> Void
  ) throws {
    if let memoryOf {
      if baselines.first?.0.id == memoryOf { throw try Memory.Measured(tally) }
      return
    }
    if isFirst { ledger.addStretch(baselines.map(\.0)) }
    let isTallyFirst = number.isMultiple(of: 2)
    var ours = isTallyFirst ? try Meter.measure(tally) : Cost()
    let others = try (isTallyFirst ? baselines : baselines.reversed()).map { ($0.0, try Meter.measure($0.1)) }
    if !isTallyFirst { ours = try Meter.measure(tally) }
    for (figure, _) in baselines {
      ledger.add(Sample(tally: ours, plain: others.first { $0.0 == figure }?.1), to: figure)
    }
  }

  /// Notes the cost of something, perhaps beside that of something else that must come before it.
  func note(_ figure: Figure, cost: Cost, plain: Cost? = nil) {
    ledger.add(Sample(tally: cost, plain: plain), to: figure)
  }

  /// Notes how many bytes something takes.
  func note(_ figure: Figure, bytes: Double, plain: Double? = nil) {
    ledger.add(Sample(tally: Cost(bytes: bytes), plain: plain.map { Cost(bytes: $0) }), to: figure)
  }
}
