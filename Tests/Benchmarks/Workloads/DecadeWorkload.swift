import Foundation
import GRDB
import Synchronization
import Tally

/// W18: ten years in which each day a hundredth of the records is inserted, lives for a day, is deleted, and has its
/// content removed thirty days later; beside the records that stay.
///
/// It tells whether anything grows but what stays of a deleted record for good. Runs only if it is asked for.
enum DecadeWorkload {
  private static let years = 10

  static func run(_ round: Round) throws {
    guard !round.measuresMemory else { return }
    let daily = round.rows.items.count / 100
    let now = Mutex(Date(timeIntervalSince1970: 1_767_225_600))
    let date: @Sendable () -> Date = { now.withLock { $0 } }
    var options = StoreOptions()
    options.now = date
    let store = try Store(path: round.newPath(), schema: Tables.schema, options: options)
    try store.insertOwners(round.rows.owners)
    try store.insert(round.rows.items)
    var sizes = [try FileSizeWorkload.vacuumedBytes(store.path, in: round)]
    var emptied = 0
    var work = (write: Cost(), compact: Cost())
    for year in 0..<years {
      // Other names than those that stay, the same owners.
      var rows = Rows(count: 365 * daily, seed: UInt64(year)).items
      for index in rows.indices { rows[index].owner = round.rows.owners[index % round.rows.owners.count] }
      for day in 0..<365 {
        let today = Array(rows[day * daily..<(day + 1) * daily])
        work.write += try Meter.measure {
          try store.insert(today)
          try store.delete(today[...])
        }
        now.withLock { $0 += 86_400 }
        work.compact += try Meter.measure { emptied += try store.compact().emptied }
      }
      sizes.append(try FileSizeWorkload.vacuumedBytes(store.path, in: round))
    }
    let yearly = Double(365 * daily)
    // The first year leaves a month of content as well, which each later one replaces.
    round.note(
      Figure("W18.left", "ten years of deletes: what each leaves in the whole file, after the first year", .bytes),
      bytes: (sizes[years] - sizes[1]) / yearly / Double(years - 1))
    round.note(
      Figure("W18.growth", "growth of the file in the last four years", against: "in four earlier ones", .bytes),
      bytes: sizes[years] - sizes[years - 4], plain: sizes[5] - sizes[1])
    round.note(
      Figure("W18.stub", "table of stubs, for each", .bytes), bytes: try stubBytes(store) / Double(emptied))
    round.note(
      Figure("W18.compact", "removing what is due, once a day", against: "that day's inserts and deletes"),
      cost: work.compact, plain: work.write)
    round.note(
      Figure("W18.idle", "compact where there is nothing to do, after ten years"),
      cost: try Meter.measure { try store.compact() })
    try store.close()
  }

  /// The pages of `tally_stub`.
  private static func stubBytes(_ store: Store) throws -> Double {
    try store.read { db in
      try Double.fetchOne(db, sql: "SELECT sum(pgsize) FROM dbstat WHERE name = 'tally_stub'") ?? 0
    }
  }
}

extension Cost {
  fileprivate static func += (sum: inout Cost, cost: Cost) {
    sum = Cost(cpu: sum.cpu + cost.cpu, wall: sum.wall + cost.wall, bytes: sum.bytes + cost.bytes)
  }
}
