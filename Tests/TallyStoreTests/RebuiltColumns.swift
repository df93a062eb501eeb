import Foundation
import GRDB
import Testing

extension Lab {
  /// Makes a table again as a program does that knows nothing of Tally: a new one, a copy of the rows, a change of
  /// names, and none of the triggers. `columns` are expressions to copy instead of columns, `definitions` what
  /// stands in the place of a column's definition.
  func rebuild(
    _ name: String, _ table: String, copying columns: [String: String] = [:],
    defining definitions: [(old: String, new: String)] = [], keepsClocks: Bool = true
  ) throws {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    let queue = try DatabaseQueue(path: scratch.path(name), configuration: configuration)
    try queue.writeWithoutTransaction { db in
      let found = try String.fetchOne(
        db, sql: "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", arguments: [table])
      let indexes = try String.fetchAll(
        db, sql: "SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql NOT NULL",
        arguments: [table])
      var sql = try #require(found)
      let place = try #require(sql.range(of: table))
      sql.replaceSubrange(place, with: "rebuilt")
      for (old, new) in definitions {
        try #require(sql.contains(old))
        sql = sql.replacingOccurrences(of: old, with: new)
      }
      let names = try db.columns(in: table).map(\.name).filter { keepsClocks || $0 != "tally_clock" }
      let list = names.map { "\"\($0)\"" }.joined(separator: ", ")
      let values = names.map { columns[$0] ?? "\"\($0)\"" }.joined(separator: ", ")
      try db.inTransaction {
        try db.execute(sql: sql)
        try db.execute(sql: "INSERT INTO rebuilt(\(list)) SELECT \(values) FROM \"\(table)\" ORDER BY rowid")
        try db.execute(sql: "DROP TABLE \"\(table)\"; ALTER TABLE rebuilt RENAME TO \"\(table)\"")
        for index in indexes { try db.execute(sql: index) }
        return .commit
      }
    }
    try queue.close()
  }
}
