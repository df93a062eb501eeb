import GRDB
import Tally

/// W7: one change, its delta, and the delta applied; a thousand times.
enum OneChangeWorkload {
  static func run(_ round: Round) throws {
    let (first, second) = (try round.filled(), try round.replicas())
    let order = round.randomOrder(1000)
    var sizes: [Double] = []
    let figure = Figure(
      "W7", "1,000 × one change, delta, apply", against: "the update on two plain databases", target: .ratio(2.5))
    try round.compare(figure) {
      for (number, index) in order.enumerated() {
        for plain in [first.plain, second.plain] { try change(plain, round.rows.items[index], to: number) }
      }
    } tally: {
      for (number, index) in order.enumerated() {
        let base = try second.store.vector
        try change(first.store, round.rows.items[index], to: number)
        let delta = try first.store.delta(since: base)
        try second.store.apply(delta)
        sizes.append(Double(delta.count))
      }
    }
    round.note(Figure("W7", "delta of one change", against: "", .bytes, target: .bytes(60)), bytes: sizes.median)
    // Each replica that has written stands in the header's vectors.
    try change(second.store, round.rows.items[0], to: 1000)
    try first.store.apply(try second.store.delta(since: try first.store.vector))
    let base = try second.store.vector
    try change(first.store, round.rows.items[1], to: 1001)
    round.note(
      Figure("W7", "delta of one change, two replicas have written", against: "", .bytes),
      bytes: Double(try first.store.delta(since: base).count))
  }

  private static func change(_ side: any Side, _ row: ItemRow, to number: Int) throws {
    try side.transaction { db in
      try db.cachedStatement(sql: "UPDATE Item SET count = ? WHERE id = ?")
        .execute(arguments: [5_000_000 + number, row.id])
    }
  }
}
