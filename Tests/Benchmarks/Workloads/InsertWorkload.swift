import GRDB
import Tally

/// W1: inserts everything, a thousand rows in a transaction, each way into databases of their own.
enum InsertWorkload {
  static func run(_ round: Round) throws {
    try statements(round)
    try records(round)
    try preparedStatements(round)
    try defaultIdentifiers(round)
  }

  private static func statements(_ round: Round) throws {
    let pair = try round.emptyPair()
    let figure = Figure("W1", "insert, SQL", against: "the same in a plain table", target: .ratio(1.5))
    try round.compare(figure) {
      try pair.plain.insert(round.rows.items)
    } tally: {
      try pair.store.insert(round.rows.items)
    }
    round.keep(pair)
  }

  private static func records(_ round: Round) throws {
    let pair = try round.emptyPair()
    let (items, plainItems) = (try round.rows.items.map(Item.init), round.rows.items.map(PlainItem.init))
    let figure = Figure("W1", "insert, GRDB records", against: "the same in a plain table", target: .ratio(1.5))
    try round.compare(figure) {
      try pair.plain.insert(records: plainItems)
    } tally: {
      try pair.store.insert(records: items)
    }
  }

  private static func preparedStatements(_ round: Round) throws {
    let pair = try round.emptyPair()
    let figure = Figure("W1", "insert, SQLite's C API", against: "the same in a plain table", target: .ratio(1.5))
    try round.compare(figure) {
      try pair.plain.insertThroughC(round.rows.items)
    } tally: {
      try pair.store.insertThroughC(round.rows.items)
    }
  }

  private static func defaultIdentifiers(_ round: Round) throws {
    let (pair, other) = (try round.emptyPair(), try round.emptyPair())
    let figure = Figure(
      "W1", "insert, SQL, default identifiers", against: "a plain table with random UUIDs", target: .ratio(1),
      accepted: 1.3)
    try round.compare(figure) {
      try pair.plain.insert(round.rows.items)
    } tally: {
      try pair.store.insert(round.rows.ordered)
    }
    let same = Figure("W1", "insert, SQL, default identifiers", against: "a plain table with the same")
    try round.compare(same) {
      try other.plain.insert(round.rows.ordered)
    } tally: {
      try other.store.insert(round.rows.ordered)
    }
  }
}

extension Side {
  fileprivate func insert(records: [some PersistableRecord]) throws {
    try inThousands(records.count) { db, range in
      for record in records[range] { try record.insert(db) }
    }
  }

  func insertThroughC(_ rows: [ItemRow], or clause: String = "") throws {
    let sql = "INSERT \(clause) INTO Item(id, name, notes, count, price, day, owner) VALUES(?, ?, ?, ?, ?, ?, ?)"
    try inThousands(rows.count) { db, range in
      let statement = try PreparedStatement(db, sql)
      for row in rows[range] {
        statement.bind(1, row.id)
        statement.bind(2, row.name)
        statement.bind(3, row.notes)
        statement.bind(4, row.count)
        statement.bind(5, row.price)
        statement.bind(6, row.day)
        statement.bind(7, row.owner)
        try statement.run()
      }
    }
  }
}
