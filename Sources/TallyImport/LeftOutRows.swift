/// The rows of the imported database that a map does not take.
struct LeftOutRows {
  /// The number of rows of each table, or entity of Core Data's, of which nothing in the map takes a row.
  var leftOut: [String: Int] = [:]
  /// The number of rows that conditions leave out of tables and entities of which others come in.
  var excluded = 0

  /// Tables in which libraries keep what is theirs.
  private static let bookkeeping: Set<String> = ["grdb_migrations", "android_metadata", "room_master_table"]

  /// Counts what is not taken. Reads every row's place, and what the conditions name.
  /// - Throws: `StoreError.invalidMap` for a condition that SQLite cannot compute.
  init(_ map: ImportMap, _ source: ForeignDatabase) throws {
    let entities = try source.coreDataEntities()
    for table in try source.ordinaryTables() where !Self.bookkeeping.contains(table) {
      if entities != nil, !Self.isOfAnApp(table) { continue }
      let records = map.tables.filter { $0.from == table }.map(\.condition)
      // A table of records may hold links as well; those take no record.
      let conditions = records.isEmpty ? map.links.filter { $0.from == table }.map(\.condition) : records
      guard !conditions.contains(nil) else { continue }
      try count(table, conditions, entities, source)
    }
    for name in map.leavesOut { leftOut[name] = nil }
  }

  /// Whether a table of Core Data's holds an app's rows: of an entity, or of a relationship.
  private static func isOfAnApp(_ table: String) -> Bool {
    let rest = table.uppercased().dropFirst()
    guard table.uppercased().first == "Z", let first = rest.first else { return false }
    return first != "_" || rest.dropFirst().first?.isNumber == true
  }

  private mutating func count(
    _ table: String, _ conditions: [String?], _ entities: CoreDataEntities?, _ source: ForeignDatabase
  ) throws {
    let hasEntities = try entities != nil && source.columns(of: table)?.contains { $0.name == "Z_ENT" } == true
    let number = hasEntities ? "t.Z_ENT" : "0"
    let taken = try conditions.map { "WHEN \(try source.sql(condition: $0, of: table)) THEN 1 " }.joined()
    // An index may need a collation that only its app has.
    let rows = try source.numbers(
      "SELECT \(number), count(*), sum(\(taken.isEmpty ? "0" : "CASE \(taken)ELSE 0 END")) "
        + "FROM \(try source.quoted(table: table)) AS t NOT INDEXED GROUP BY 1",
      of: table)
    for row in rows where row[1] > row[2] {
      if row[2] > 0 || !hasEntities && !conditions.isEmpty {
        excluded += row[1] - row[2]
      } else {
        leftOut[hasEntities ? entities?[row[0]]?.name ?? "\(table), Z_ENT \(row[0])" : table, default: 0] += row[1]
      }
    }
  }
}
