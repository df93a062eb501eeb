import Foundation
import GRDB
import Tally

/// Runs one workload on one side and nothing else, for a counter of instructions around the process: `Scripts/instructions.sh`.
///
/// What it takes to start falls out, since the script runs it with two numbers of rows; so does what it takes to make the rows.
enum Instructions {
  static let workloads = ["rows", "insert", "update", "commit", "change", "delta", "again", "apply", "delete"]

  static func run(_ workload: String, onStore isStore: Bool, records: Int, in folder: URL) throws {
    let round = try Round(1, rows: Rows(count: records), ledger: Ledger(), folder: folder)
    defer { try? round.remove() }
    // Every run fills the same, so that only the workload differs.
    let pair = try round.emptyPair()
    let side: any Side = isStore ? pair.store : pair.plain
    switch workload {
    // What all of them need, and the script subtracts.
    case "rows": break
    case "insert": try side.insertThroughC(round.rows.items)
    case "update":
      try side.insertThroughC(Array(round.rows.items.prefix(1000)))
      try side.updateThroughC(round.rows.items.prefix(1000).map(\.id), times: records)
    case "commit":
      try side.insertThroughC(Array(round.rows.items.prefix(1000)))
      for index in 0..<records { try side.updateThroughC(index, round.rows.items[index % 1000].id) }
    case "change":
      try side.insertThroughC(Array(round.rows.items.prefix(1000)))
      try changes(records, round, pair, onStore: isStore)
    case "delta":
      try side.insertThroughC(round.rows.items)
      guard isStore else { return try pair.plain.reading(FirstSyncWorkload.readRowsThroughC) }
      _ = try pair.store.delta()
    case "again":
      try side.insertThroughC(round.rows.items)
      guard isStore else { return try side.insertThroughC(round.rows.items, or: "OR IGNORE") }
      _ = try pair.store.apply(try pair.store.delta(), isRepair: true)
    case "apply":
      guard isStore else { return try side.insertThroughC(round.rows.items) }
      try side.insertThroughC(round.rows.items)
      try round.emptyStore().apply(try pair.store.delta())
    default:
      try side.insertThroughC(round.rows.items)
      try side.delete(round.rows.items[...])
    }
  }

  /// One change, its delta, and the delta applied; each in a transaction of its own.
  private static func changes(_ count: Int, _ round: Round, _ pair: Pair, onStore isStore: Bool) throws {
    let names = round.rows.items.prefix(1000).map(\.id)
    let (store, plain) = (try round.emptyStore(), try round.emptyPair().plain)
    if isStore {
      try store.apply(try pair.store.delta())
    } else {
      try plain.insertThroughC(Array(round.rows.items.prefix(1000)))
    }
    for index in 0..<count {
      let name = names[index % names.count]
      guard isStore else {
        for plain in [pair.plain, plain] { try plain.updateThroughC(index, name) }
        continue
      }
      let base = try store.vector
      try pair.store.updateThroughC(index, name)
      try store.apply(try pair.store.delta(since: base))
    }
  }
}

extension Side {
  fileprivate func updateThroughC(_ number: Int, _ name: String) throws {
    try transaction { db in
      let statement = try PreparedStatement(db, "UPDATE Item SET count = ? WHERE id = ?")
      statement.bind(1, 1_000_000 + number)
      statement.bind(2, name)
      try statement.run()
    }
  }

  fileprivate func updateThroughC(_ names: [String], times: Int) throws {
    try inThousands(times) { db, range in
      let statement = try PreparedStatement(db, "UPDATE Item SET count = ? WHERE id = ?")
      for index in range {
        statement.bind(1, 1_000_000 + index)
        statement.bind(2, names[index % names.count])
        try statement.run()
      }
    }
  }
}
