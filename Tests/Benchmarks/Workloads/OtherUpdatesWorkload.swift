import GRDB
import Tally

/// W15: what else changes existing rows, each on a quarter as many random records as there are.
enum OtherUpdatesWorkload {
  static func run(_ round: Round) throws {
    let (pair, rows) = (try round.filled(), round.rows)
    let order = round.randomOrder(rows.items.count / 4).map { rows.items[$0] }
    func compare(_ id: String, _ name: String, _ sql: String, _ arguments: (Int) -> StatementArguments) throws {
      try round.compare(Figure("W15.\(id)", "\(name), random records", against: "the same in a plain table")) {
        try pair.plain.run(sql, order.count, arguments)
      } tally: {
        try pair.store.run(sql, order.count, arguments)
      }
    }
    try compare("text", "update a text", "UPDATE Item SET notes = ? WHERE id = ?") {
      ["changed \($0): \(order[$0].notes)", order[$0].id]
    }
    try compare("reference", "update a reference", "UPDATE Item SET owner = ? WHERE id = ?") {
      [rows.owners[($0 * 7 + round.number) % rows.owners.count], order[$0].id]
    }
    try compare("several", "update four fields", "UPDATE Item SET name = ?, count = ?, price = ?, day = ? WHERE id = ?")
    {
      ["several \($0)", 8_000_000 + $0, Double($0) / 8, "2026-02-01 00:00:00.000", order[$0].id]
    }
    func changed(_ index: Int, _ count: Int) -> StatementArguments {
      var row = order[index]
      row.count = count + index
      return row.arguments
    }
    try compare("replace", "REPLACE with another number", ItemRow.insertion(or: "OR REPLACE")) {
      changed($0, 9_000_000)
    }
    try compare(
      "upsert", "UPSERT of another number",
      ItemRow.insertion() + " ON CONFLICT(id) DO UPDATE SET count = excluded.count"
    ) { changed($0, 10_000_000) }
  }
}
