import GRDB
import Tally

/// W7: one change, its delta, and the delta applied; a thousand times.
enum OneChangeWorkload {
  static func run(_ round: Round) throws {
    let (first, second) = (try round.filled(), try round.replicas())
    let name = "1,000 × one change, delta, apply"
    try measure(round, name, first, second, accepted: 10)
    // The plain databases sync nothing to the disk either.
    guard let path = first.store.path else { throw Mistake("the store is in memory") }
    var options = StoreOptions()
    (options.isDurableBeforeSync, options.hasIncarnation) = (false, false)
    let hasty = try Store(path: path, schema: Schema(Owner.self, Item.self, Team.self), options: options)
    try measure(
      round, "\(name), without the sync to the disk", Pair(plain: first.plain, store: hasty), second, accepted: 8)
    try hasty.close()
    try noteBytes(round, first, second)
  }

  private static func measure(_ round: Round, _ name: String, _ first: Pair, _ second: Pair, accepted: Double) throws {
    let order = round.randomOrder(1000)
    let figure = Figure(
      "W7", name, against: "the update on two plain databases", target: .ratio(2.5), accepted: accepted)
    try round.compare(figure) {
      for index in order { for plain in [first.plain, second.plain] { try change(plain, round, index) } }
    } tally: {
      for index in order {
        let base = try second.store.vector
        try change(first.store, round, index)
        try second.store.apply(try first.store.delta(since: base))
      }
    }
  }

  private static func noteBytes(_ round: Round, _ first: Pair, _ second: Pair) throws {
    var base = try second.store.vector
    try change(first.store, round, 0)
    let delta = try first.store.delta(since: base)
    round.note(Figure("W7", "delta of one change", against: "", .bytes), bytes: Double(delta.count))
    let (header, blocks) = try first.store.blocks(since: base)
    let block = blocks.first?.encoded(replicas: header.target.entries.map(\.replica)) ?? []
    let live = SyncLive(number: 1000, advances: [.init(number: 0, added: nil, count: 1)], block: block)
    round.note(
      Figure("W7", "one change in a live session, its cells", against: "", .bytes, target: .bytes(60)),
      bytes: Double(block.count))
    round.note(
      Figure("W7", "one change in a live session, the whole message", against: "", .bytes),
      bytes: Double(SyncMessage.live(live).encoded().count))
    try second.store.apply(delta)
    // Each replica that has written stands in the header's vectors.
    try change(second.store, round, 0)
    try first.store.apply(try second.store.delta(since: try first.store.vector))
    base = try second.store.vector
    try change(first.store, round, 1)
    round.note(
      Figure("W7", "delta of one change, two replicas have written", against: "", .bytes),
      bytes: Double(try first.store.delta(since: base).count))
  }

  private static func change(_ side: any Side, _ round: Round, _ index: Int) throws {
    try side.transaction { db in
      try db.cachedStatement(sql: "UPDATE Item SET count = ? WHERE id = ?")
        .execute(arguments: [5_000_000 + round.nextNumber(), round.rows.items[index].id])
    }
  }
}
