import GRDB
import Tally

/// W9: deletes a tenth of the records, and tells the other replica.
enum DeleteWorkload {
  static func run(_ round: Round) throws {
    let (first, second) = (try round.filled(), try round.replicas())
    let rows = round.rows.items.prefix(round.rows.items.count / 10)
    let base = try second.store.vector
    var size = 0
    try round.compare(
      Figure("W9.delete", "delete a tenth and sync", against: "the deletes on two plain databases")
    ) {
      for plain in [first.plain, second.plain] { try plain.delete(rows) }
    } tally: {
      try first.store.delete(rows)
      let delta = try first.store.delta(since: base)
      try second.store.apply(delta)
      size = delta.count
    }
    round.noteDeleted(before: rows.endIndex)
    round.note(Figure("W9.bytes", "delta of the deletes, for each", .bytes), bytes: Double(size) / Double(rows.count))
  }
}
