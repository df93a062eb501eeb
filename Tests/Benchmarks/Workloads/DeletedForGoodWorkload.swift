import Foundation
import GRDB
import Synchronization
import Tally

/// W17: removes the content of records that were deleted long ago, all at once; and what stays of each in the file.
enum DeletedForGoodWorkload {
  static func run(_ round: Round) throws {
    guard !round.measuresMemory else { return }
    let now = Mutex(Date(timeIntervalSince1970: 1_767_225_600))
    let date: @Sendable () -> Date = { now.withLock { $0 } }
    var options = StoreOptions()
    options.now = date
    let store = try Store(path: round.newPath(), schema: Tables.schema, options: options)
    try store.insertOwners(round.rows.owners)
    let before = try FileSizeWorkload.vacuumedBytes(store.path, in: round)
    let rows = round.rows.items[...]
    try store.insert(round.rows.items)
    let delete = try Meter.measure { try store.delete(rows) }
    // A store that has never been synced counts the days from the first compaction after the delete.
    try store.compact()
    now.withLock { $0 += 40 * 86_400 }
    var emptied = 0
    let shred = try Meter.measure { emptied = try store.compact().emptied }
    guard emptied == rows.count else { throw Mistake("\(emptied) of \(rows.count) records were emptied") }
    round.note(
      Figure("W17.empty", "remove the content of deleted records", against: "deleting them, in the same store"),
      cost: shred, plain: delete)
    let left = try FileSizeWorkload.vacuumedBytes(store.path, in: round) - before
    round.note(
      Figure("W17.left", "what stays of a deleted record that had an owner, in the whole file", .bytes),
      bytes: left / Double(rows.count))
    round.note(
      Figure("W17.idle", "compact where there is nothing to do, beside as many deleted records"),
      cost: try Meter.measure { try store.compact() })
    try store.close()
  }
}
