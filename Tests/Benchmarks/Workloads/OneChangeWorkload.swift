import GRDB
import Tally
import TallySync

/// W7: one change, its delta, and the delta applied; a thousand times. First with logs that are empty, as after an app
/// has started, so that both sides pay for their growth, and then as they are left by that.
enum OneChangeWorkload {
  static func run(_ round: Round) throws {
    let (first, second) = (try round.filled(), try round.replicas())
    try first.plain.setDurable(true)
    for path in [first.plain.path, second.plain.path, first.store.path, second.store.path] { try emptyLog(of: path) }
    for (id, suffix) in [("W7.start", ", from empty logs"), ("W7.durable", "")] {
      try measure(
        round,
        Figure(id, "\(name), synced to the disk\(suffix)", against: "\(baseline), the first synced to the disk"),
        first, second)
    }
    try first.plain.setDurable(false)
    let path = first.store.path
    var options = StoreOptions()
    (options.flushesBeforeSync, options.detectsCopies) = (false, false)
    let hasty = try Store(path: path, schema: Tables.schema, options: options)
    try measure(
      round, Figure("W7.change", "\(name), without the sync to the disk", against: "\(baseline), neither synced"),
      Pair(plain: first.plain, store: hasty), second)
    try hasty.close()
    try noteBytes(round, first, second)
  }

  private static func emptyLog(of path: String) throws {
    let queue = try DatabaseQueue(path: path)
    try queue.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
    try queue.close()
  }

  private static let name = "1,000 × one change, delta, apply"
  private static let baseline = "the update on two plain databases"

  private static func measure(_ round: Round, _ figure: Figure, _ first: Pair, _ second: Pair) throws {
    let order = round.randomOrder(1000)
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
    round.note(Figure("W7.bytes", "delta of one change", .bytes), bytes: Double(delta.count))
    let (header, blocks) = try first.store.blocks(since: base)
    let block = blocks.first?.encoded(replicas: header.target.entries.map(\.replica)) ?? []
    let live = SyncLive(number: 1000, advances: [.init(number: 0, added: nil, count: 1)], block: block)
    round.note(Figure("W7.cells", "one change in a live session, its cells", .bytes), bytes: Double(block.count))
    round.note(
      Figure("W7.message", "one change in a live session, the whole message", .bytes),
      bytes: Double(SyncMessage.live(live).encoded().count))
    try second.store.apply(delta)
    // Each replica that has written stands in the header's vectors.
    try change(second.store, round, 0)
    try first.store.apply(try second.store.delta(since: try first.store.vector))
    base = try second.store.vector
    try change(first.store, round, 1)
    round.note(
      Figure("W7.two", "delta of one change, two replicas have written", .bytes),
      bytes: Double(try first.store.delta(since: base).count))
  }

  private static func change(_ side: any Side, _ round: Round, _ index: Int) throws {
    try side.transaction { db in
      try db.cachedStatement(sql: "UPDATE Item SET count = ? WHERE id = ?")
        .execute(arguments: [5_000_000 + round.nextNumber(), round.rows.items[index].id])
    }
  }
}
