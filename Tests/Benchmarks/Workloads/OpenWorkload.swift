import GRDB
import Tally

/// W10: opens a full database and writes once, twenty times: as an app that starts, and beside connections that the
/// process has already.
enum OpenWorkload {
  static func run(_ round: Round) throws {
    try round.whileClosed { plain, store in
      try measure(
        Figure("W10.open", "20 × open a closed file, first write, close", against: "the same with a plain file"),
        round, plain, store)
    }
    let pair = try round.filled()
    try measure(
      Figure("W10.beside", "20 × the same while it is open elsewhere", against: "the same with a plain file"),
      round, pair.plain.path, pair.store.path)
  }

  private static func measure(_ figure: Figure, _ round: Round, _ plainPath: String, _ path: String) throws {
    let rows = round.rows.items.suffix(20)
    try round.compare(figure) {
      for row in rows {
        let plain = try PlainDatabase.open(plainPath)
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
