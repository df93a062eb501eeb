import GRDB
import Tally

/// W13: reads as an app does, with records and the query interface.
enum ReadWorkload {
  static func run(_ round: Round) throws {
    try scan(round)
    try query(round)
    try find(round)
  }

  private static func scan(_ round: Round) throws {
    let pair = try round.filled()
    try round.compare(Figure("W13.all", "fetch all records", against: "the same from a plain table")) {
      try pair.plain.reading { db in _ = try PlainItem.fetchAll(db) }
    } tally: {
      try pair.store.reading { db in _ = try Item.fetchAll(db) }
    }
  }

  private static func query(_ round: Round) throws {
    let pair = try round.filled()
    let owners = round.rows.owners.prefix(200)
    try round.compare(Figure("W13.query", "200 queries by reference, ordered", against: "the same from a plain table"))
    {
      for owner in owners {
        try pair.plain.reading { db in
          _ = try PlainItem.filter(Column("owner") == owner).order(Column("name")).fetchAll(db)
        }
      }
    } tally: {
      for owner in owners {
        try pair.store.reading { db in
          _ = try Item.filter(Column("owner") == owner).order(Column("name")).fetchAll(db)
        }
      }
    }
  }

  private static func find(_ round: Round) throws {
    let pair = try round.filled()
    let names = round.randomOrder(10_000).map { round.rows.items[$0].id }
    try round.compare(Figure("W13.key", "10,000 records by key", against: "the same from a plain table")) {
      try pair.plain.reading { db in for name in names { _ = try PlainItem.fetchOne(db, key: name) } }
    } tally: {
      try pair.store.reading { db in for name in names { _ = try Item.fetchOne(db, key: name) } }
    }
  }
}
