import Tally

/// W5: the delta of everything, applied to a store that has all of it, or half of it.
enum ApplyAgainWorkload {
  static func run(_ round: Round) throws {
    let (first, second) = (try round.filled(), try round.replicas())
    let file = try DeltaFile(round.newPath())
    try file.write(first.store)
    try compare(round, "W5.known", "apply a known delta: decoded only", second) { try file.apply(to: $0) }
    try compare(round, "W5.repair", "apply it as a repair: every cell joined", second) {
      try file.apply(to: $0, isRepair: true)
    }
    try runHalf(round)
  }

  /// Half of the records are known, and in the delta they stand among the others.
  private static func runHalf(_ round: Round) throws {
    let (source, target) = (
      try round.emptyPair(), Pair(plain: try PlainDatabase.create(round.newPath()), store: try round.emptyStore())
    )
    let rows = round.rows.items
    let half = Array(rows[..<(rows.count / 2)])
    try source.store.insertThroughC(half)
    try target.store.apply(try source.store.delta())
    try target.plain.insertAtOnceThroughC(round.rows.owners, half)
    try source.store.insertThroughC(Array(rows[half.count...]))
    let file = try DeltaFile(round.newPath())
    try file.write(source.store)
    try compare(round, "W5.half", "apply a delta of which half of the records are known", target) {
      try file.apply(to: $0)
    }
  }

  private static func compare(
    _ round: Round, _ id: String, _ name: String, _ pair: Pair, _ apply: (Store) throws -> Void
  ) throws {
    try round.compare(Figure(id, name, against: "INSERT OR IGNORE of the same rows, C API, one transaction")) {
      try pair.plain.insertAtOnceThroughC(round.rows.owners, round.rows.items, or: "OR IGNORE")
    } tally: {
      try apply(pair.store)
    }
  }
}
