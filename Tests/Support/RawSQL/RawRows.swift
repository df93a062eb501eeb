import GRDB
import TallyStore

/// What a person sees in the tables that replicate, as SQL literals, without Tally's own column.
struct RawRows: Equatable {
  typealias Row = [String: String]
  /// By table, then by id; of a join table the id is source and target.
  var tables: [String: [String: Row]] = [:]

  /// Reads the records of a file; `main` keeps temporary tables of the same names out.
  static func records(_ db: Database, _ version: RawVersion, in schema: String = "main") throws -> RawRows {
    var rows = RawRows()
    for entity in version.schema.entities {
      let columns = entity.fields.map(\.name) + entity.references.map(\.name)
      rows.tables[entity.type] = try read(db, "\(schema).\(entity.type)", key: "id", columns)
    }
    return rows
  }

  /// Records and links.
  static func all(_ db: Database, _ version: RawVersion) throws -> RawRows {
    var rows = try records(db, version)
    for entity in version.schema.entities {
      for relationship in entity.relationships {
        let table = Schema.joinTable(entity.type, relationship.name)
        rows.tables[table] = try read(db, "main.\(table)", key: "source || ' -> ' || target", [])
      }
    }
    return rows
  }

  private static func read(_ db: Database, _ table: String, key: String, _ columns: [String]) throws -> [String: Row] {
    let quoted = columns.map { "CASE typeof(\($0)) WHEN 'text' THEN hex(\($0)) ELSE quote(\($0)) END" }
    let sql = "SELECT \(([key] + quoted).joined(separator: ", ")) FROM \(table)"
    var result: [String: Row] = [:]
    for row in try GRDB.Row.fetchAll(try db.cachedStatement(sql: sql)) {
      var shown: Row = [:]
      for (index, column) in columns.enumerated() {
        // Texts in hexadecimal: quote() ends at their first NUL.
        let literal: String = row[1 + index]
        shown[column] = literal
      }
      result[row[0]] = shown
    }
    return result
  }

  /// A difference, in words.
  func difference(at table: String, _ id: String, to other: RawRows) -> String {
    "\(table) \(id): \(Self.describe(tables[table]?[id])) and \(Self.describe(other.tables[table]?[id]))"
  }

  /// Where both differ, in order.
  func differences(to other: RawRows) -> [(table: String, id: String)] {
    var found: [(String, String)] = []
    for table in Set(tables.keys).union(other.tables.keys).sorted() {
      let (here, there) = (tables[table] ?? [:], other.tables[table] ?? [:])
      for id in Set(here.keys).union(there.keys).sorted() where here[id] != there[id] { found.append((table, id)) }
    }
    return found
  }

  private static func describe(_ row: Row?) -> String {
    guard let row else { return "not there" }
    return "[\(row.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))]"
  }
}
