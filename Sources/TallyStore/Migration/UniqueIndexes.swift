import GRDB
import TallyCRDT

/// The UNIQUE indexes that keep the schema's rules: made with the tables, and again after the app has rebuilt one.
///
/// Records that have the same values by then show what the rule's policy says; no state changes.
struct UniqueIndexes {
  let transaction: WriteTransaction
  private var connection: Connection { transaction.connection }
  private var reader: StateReader { transaction.reader }
  private var catalog: Catalog { transaction.catalog }

  /// Whether an index is missing, as after the app has rebuilt its table, or one is there that no rule wants.
  static func differ(_ connection: Connection, _ catalog: Catalog) throws -> Bool {
    try catalog.schema.hasUniqueRules && wanted(catalog).mapValues(\.sql) != present(connection, catalog)
  }

  /// Makes the indexes what the schema says, and the rows what they then admit.
  func follow() throws {
    let wanted = Self.wanted(catalog)
    let present = try Self.present(connection, catalog)
    guard wanted.mapValues(\.sql) != present || !reader.aside.contested.isEmpty else { return }
    // Open rows keep SQLite from changing tables.
    transaction.writer.closeRows()
    for name in present.keys.sorted() where wanted[name]?.sql != present[name] {
      try connection.execute("DROP INDEX main.\"\(name)\"")
    }
    try review()
    for (name, index) in wanted.sorted(by: { $0.key < $1.key }) where present[name] != index.sql {
      try part(index.unique)
      transaction.writer.closeRows()
      do {
        try connection.execute(index.sql)
      } catch let error as DatabaseError where error.isRefusal(on: connection) {
        // Rows of another program's that are no records, and so cannot be told apart here.
        transaction.environment.logger.warning(
          "a unique rule cannot be kept", metadata: ["index": "\(name)", "reason": "\(error.message ?? "")"])
      }
    }
    connection.forgetStatements()
    try transaction.session.followSchema()
  }

  private struct Index {
    var unique: UniquePlaces
    var sql: String
  }

  private static func wanted(_ catalog: Catalog) -> [String: Index] {
    var indexes: [String: Index] = [:]
    for kind in catalog.orderedKinds {
      guard let entity = kind.entity else { continue }
      for unique in UniquePlaces.all(of: kind) {
        let name = entity.unique[unique.rule].indexName(kind.type)
        let columns = unique.places.map { "\"\(kind.columns[$0].name)\"" }.joined(separator: ", ")
        indexes[name] = Index(
          unique: unique, sql: "CREATE UNIQUE INDEX \"\(name)\" ON \"\(kind.type)\"(\(columns))")
      }
    }
    return indexes
  }

  /// The SQL of the indexes that are there, by their names.
  private static func present(_ connection: Connection, _ catalog: Catalog) throws -> [String: String] {
    var indexes: [String: String] = [:]
    let query = try SQLStatement(
      connection, "SELECT name, tbl_name, sql FROM main.sqlite_master WHERE type = 'index' AND name GLOB 'tally_*'")
    while try query.step() {
      guard let name = query.text(0), let table = query.text(1), name.hasPrefix(UniqueRule.indexPrefix(table)),
        catalog.kind(of: table)?.isKnown == true
      else { continue }
      indexes[name] = query.text(2) ?? ""
    }
    return indexes
  }

  /// Looks at all rows again that show something else than their records have, since the rules may be others.
  private func review() throws {
    for (address, columns) in reader.aside.contested.entries.sorted(by: { $0.key < $1.key }) {
      let name = try? AnyRecordName(address.key)
      let kind = catalog.records[address.kind]
      let rules = kind.map(UniquePlaces.contested(of:)) ?? []
      for column in columns.keys.sorted() {
        guard let name, let kind, let unique = rules.first(where: { $0.column == column }),
          let key = try reader.record(name, kind).flatMap({ unique.key(of: $0.state) })
        else {
          try reader.aside.contested.remove(address, column, connection)
          transaction.writer.touch(ContestedValue.databaseTableName)
          if let name { transaction.view.mark(name) }
          continue
        }
        reader.aside.contested.mark(key)
      }
    }
  }

  /// Parts the rows that show the same values.
  private func part(_ unique: UniquePlaces) throws {
    let kind = unique.kind
    let columns = unique.places.map { "\"\(kind.columns[$0].name)\"" }
    let list = columns.joined(separator: ", ")
    let isGiven = columns.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
    let query = try SQLStatement(
      connection,
      """
      SELECT id FROM main."\(kind.type)" WHERE (\(list)) IN (
        SELECT \(list) FROM main."\(kind.type)" WHERE \(isGiven) GROUP BY \(list) HAVING count(*) > 1) ORDER BY id
      """)
    var names: [AnyRecordName] = []
    while try query.step() { if let name = try? AnyRecordName(query.text(0) ?? "") { names.append(name) } }
    query.reset()
    for name in names {
      guard let stored = try reader.record(name, kind), stored.isVisible else { continue }
      let address = RowAddress(kind: kind.number, key: name.text)
      guard unique.policy != .hide else {
        try transaction.writer.put(name, kind, stored.state, previous: stored, shown: nil)
        let entry = SetAside.Entry(mode: .withheld, reason: "UNIQUE: another record has the value", isUnique: true)
        try reader.aside.insert(address, entry, connection)
        try transaction.view.markReferrers(of: name)
        continue
      }
      let wanted = stored.values[unique.last]
      if let key = unique.key(of: stored.values) { reader.aside.contested.mark(key) }
      let value = try UniqueParking.standIn(for: wanted, of: name, unique, connection, besides: [wanted])
      try reader.aside.contested.insert(
        address, unique.column, ContestedValues.Entry(wanted: wanted, shown: value), connection)
      var shown = stored.values
      shown[unique.last] = value
      if try !transaction.writer.put(name, kind, stored.state, previous: stored, shown: shown) {
        try transaction.view.markReferrers(of: name)
      }
    }
  }
}
