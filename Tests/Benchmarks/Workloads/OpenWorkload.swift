import GRDB
import Tally

/// W10: opens a full database and writes once, twenty times.
enum OpenWorkload {
  static func run(_ round: Round) throws {
    let pair = try round.filled()
    let path = pair.store.path
    let rows = round.rows.items.suffix(20)
    try round.compare(Figure("W10.open", "20 × open and first write", against: "the same with a plain file")) {
      for row in rows {
        let plain = try PlainDatabase.open(pair.plain.path)
        try write(plain, row)
        try plain.close()
      }
    } tally: {
      for row in rows {
        let store = try Store(path: path, schema: Tables.schema)
        try write(store, row)
        try store.close()
      }
    }
  }

  static func write(_ side: any Side, _ row: ItemRow) throws {
    try side.transaction { db in
      try db.execute(sql: "UPDATE Item SET name = 'opened' WHERE id = ?", arguments: [row.id])
    }
  }
}
