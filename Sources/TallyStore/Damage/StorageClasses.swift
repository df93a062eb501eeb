import TallyCRDT

/// The storage classes of values in the store's own tables. They are STRICT, so SQLite writes no value of another class
/// than its column's; but one flipped bit in a row's header makes a blob a text of the same bytes, or the reverse. A
/// reader of the bytes does not notice, and `PRAGMA integrity_check` does.
enum StorageClasses {
  /// Puts every text and blob right that is of the other class. Cost: reads each row's header.
  static func putRight(_ connection: Connection) throws {
    for (table, column, type) in try columns(connection) {
      let other = type == "TEXT" ? "blob" : "text"
      try connection.execute(
        """
        UPDATE OR IGNORE main."\(table)" SET "\(column)" = CAST("\(column)" AS \(type)) WHERE typeof("\(column)") = '\(other)'
        """)
    }
  }

  private static func columns(_ connection: Connection) throws -> [(table: String, column: String, type: String)] {
    let query = try connection.statement(
      """
      SELECT t.name, c.name, c.type FROM pragma_table_list AS t, pragma_table_info(t.name, 'main') AS c
      WHERE t.schema = 'main' AND t.strict AND t.name GLOB 'tally_*' AND c.type IN ('TEXT', 'BLOB')
      """)
    defer { query.reset() }
    var columns: [(table: String, column: String, type: String)] = []
    while try query.step() { columns.append((query.text(0) ?? "", query.text(1) ?? "", query.text(2) ?? "")) }
    return columns
  }
}
