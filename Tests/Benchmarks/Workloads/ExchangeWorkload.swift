import GRDB
import Tally
import TallyTesting

/// W6: two replicas update a tenth of the records each, half of them the same ones, and exchange.
enum ExchangeWorkload {
  static func run(_ round: Round) throws {
    let (first, second) = (try round.filled(), try round.replicas())
    let (rows, tenth) = (round.rows.items, round.rows.items.count / 10)
    var random = SplitMix64(seed: UInt64(round.number))
    let order = Array(rows.indices).shuffled(using: &random)
    let (mine, theirs) = (Array(order[..<tenth]), Array(order[(tenth / 2)..<(tenth / 2 + tenth)]))
    let base = try second.store.vector
    var size = 0
    try round.compare(
      Figure(
        "W6.exchange", "two replicas update a tenth each and exchange",
        against: "all these updates on two plain databases")
    ) {
      for plain in [first.plain, second.plain] {
        try plain.update(rows, mine, from: 3_000_000)
        try plain.update(rows, theirs, from: 4_000_000)
      }
    } tally: {
      try first.store.update(rows, mine, from: 3_000_000)
      try second.store.update(rows, theirs, from: 4_000_000)
      let (there, back) = (try first.store.delta(since: base), try second.store.delta(since: base))
      try second.store.apply(there)
      try first.store.apply(back)
      size = there.count + back.count
    }
    guard try first.store.summary().fingerprint == second.store.summary().fingerprint else {
      throw Mistake("the two replicas differ")
    }
    round.note(Figure("W6.bytes", "deltas of the exchange, both ways", .bytes), bytes: Double(size))
  }
}
