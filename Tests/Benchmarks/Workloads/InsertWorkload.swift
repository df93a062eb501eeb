import GRDB
import Tally

/// W1: inserts everything, a thousand rows in a transaction, each way into databases of their own.
enum InsertWorkload {
  static func run(_ round: Round) throws {
    let (rows, ordered) = (round.rows.items, round.rows.ordered)
    let pair = try compare(round, "W1.sql", "insert, SQL") { side in try side.insert(rows) }
    try records(round)
    _ = try compare(round, "W1.c", "insert, SQLite's C API") { side in try side.insertThroughC(rows) }
    _ = try compare(round, "W1.default", "insert, SQL, default identifiers", with: " with the same identifiers") {
      side in try side.insert(ordered)
    }
    round.keep(pair)
  }

  private static func compare(
    _ round: Round, _ id: String, _ name: String, with remark: String = "", _ insert: (any Side) throws -> Void
  ) throws -> Pair {
    let pair = try round.emptyPair()
    try round.compare(Figure(id, name, against: "the same in a plain table\(remark)")) {
      try insert(pair.plain)
    } tally: {
      try insert(pair.store)
    }
    return pair
  }

  private static func records(_ round: Round) throws {
    let pair = try round.emptyPair()
    let (items, plainItems) = (try round.rows.items.map(Item.init), round.rows.items.map(PlainItem.init))
    try round.compare(Figure("W1.record", "insert, GRDB records", against: "the same in a plain table")) {
      try pair.plain.insert(records: plainItems)
    } tally: {
      try pair.store.insert(records: items)
    }
  }
}

extension Side {
  fileprivate func insert(records: [some PersistableRecord]) throws {
    try inTransactions(of: 1000, records.count) { db, range in
      for record in records[range] { try record.insert(db) }
    }
  }
}
