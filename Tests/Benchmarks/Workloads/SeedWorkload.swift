import GRDB
import Tally
import TallyCRDT

/// W12: a thousand records of default data at the first launch, and at the second.
enum SeedWorkload {
  static func run(_ round: Round) throws {
    let rows = Array(round.rows.items.prefix(1000))
    let pair = try round.emptyPair()
    let set = set(of: rows)
    try round.compare(
      Figure("W12.first", "seed 1,000 records, first launch", against: "inserting them in a plain table")
    ) {
      try pair.plain.insert(rows)
    } tally: {
      try pair.store.seed(set)
    }
    try round.compare(
      Figure("W12.second", "seed 1,000 records, second launch", against: "INSERT OR IGNORE of them"), isFirst: false
    ) {
      try pair.plain.insert(rows, or: "OR IGNORE")
    } tally: {
      try pair.store.seed(set)
    }
  }

  static func set(of rows: [ItemRow]) -> SeedSet {
    SeedSet("items", version: 1, records: rows.enumerated().map(record))
  }

  /// All fields but the reference: it names another seed, and owners are none.
  private static func record(_ index: Int, _ row: ItemRow) -> SeedRecord {
    SeedRecord(
      "item-\(index)", type: "Item",
      [
        "name": Value(text: row.name), "notes": Value(text: row.notes), "count": .integer(Int64(row.count)),
        "price": Value(real: row.price), "day": Value(text: row.day),
      ])
  }
}
