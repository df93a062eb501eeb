import GRDB
import Tally
import TallyCRDT
import TallyTesting

/// W2: as many updates of one field as there are records, each of a record chosen at random, which changes 63 % of them
/// once or more; the delta of these updates; and its application.
enum UpdateWorkload {
  private static let start = 1_000_000

  static func run(_ round: Round) throws {
    let (pair, second) = (try round.filled(), try round.replicas())
    let rows = round.rows.items
    let order = round.randomOrder(rows.count)
    let base = try second.store.vector
    try round.compare(
      Figure("W2.one", "update one field, random records", against: "the same in a plain table")
    ) {
      try pair.plain.update(rows, order, from: start)
    } tally: {
      try pair.store.update(rows, order, from: start)
    }
    try runDelta(round, pair, second, order, since: base)
    // Of these the file has every record updated, the others as well.
    let others = Array(Set(round.living).subtracting(order)).sorted()
    for side in [pair.plain, pair.store] as [any Side] { try side.update(rows, others, from: start * 2) }
    try FileSizeWorkload.measure(pair, in: round, "W8.updated", after: "every record was updated")
  }

  private static func runDelta(
    _ round: Round, _ pair: Pair, _ second: Pair, _ order: [Int], since base: StateVector
  ) throws {
    if round.measuresMemory { try pair.store.update(round.rows.items, order, from: start) }
    let file = try DeltaFile(round.newPath())
    try round.compare(
      Figure(
        "W2.delta", "delta of these updates, into a compressed file",
        against: "reading the changed rows through SQLite's C API")
    ) {
      try pair.plain.reading { db in try FirstSyncWorkload.readThroughC(db, where: "count >= \(start)") }
    } tally: {
      try file.write(pair.store, since: base)
    }
    // The last value of each record, in the order in which it was given.
    var last: [Int: Int] = [:]
    for (number, index) in order.enumerated() { last[index] = number }
    let changes = last.values.sorted().map { (start + $0, round.rows.items[order[$0]].id) }
    if round.measuresMemory { try file.write(pair.store, since: base) }
    try round.compare(
      Figure("W2.apply", "apply it", against: "an update of each changed record, C API, one transaction")
    ) {
      try second.plain.updateThroughC(changes)
    } tally: {
      try file.apply(to: second.store)
    }
    round.note(
      Figure("W2.bytes", "delta of these updates, for each changed record", .bytes),
      bytes: Double(try file.byteCount) / Double(changes.count))
  }
}

extension Round {
  /// So many numbers of items, drawn with repetition.
  func randomOrder(_ count: Int) -> [Int] {
    var random = SplitMix64(seed: UInt64(number))
    return (0..<count).map { _ in Int.random(in: living, using: &random) }
  }
}
