import Foundation
import GRDB
import Tally

/// Runs one workload on one side and nothing else, for a counter of instructions around the process: `Scripts/instructions.sh`.
///
/// What it takes to start falls out, since the script runs it with two numbers of rows; so does what it takes to make the rows.
enum Instructions {
  static let workloads = ["rows", "insert", "update", "apply", "delete"]

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
    case "apply":
      guard isStore else { return try side.insertThroughC(round.rows.items) }
      try pair.store.insertThroughC(round.rows.items)
      try round.emptyStore().apply(try pair.store.delta())
    default:
      try side.insertThroughC(round.rows.items)
      try side.delete(round.rows.items[...])
    }
  }
}

extension Side {
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
