import TallyCRDT

/// Gives numbers to replicas, types, relationships and fields that have none yet. The only writer of the catalogue.
final class CatalogWriter {
  private let connection: Connection
  private let reader: StateReader
  /// Whether the transaction has added an entry that readers must notice.
  private(set) var isChanged = false

  init(_ reader: StateReader) {
    self.reader = reader
    connection = reader.connection
  }

  /// The number of a replica, given to it now if it has none.
  func number(of replica: ReplicaID) throws -> ReplicaNumber {
    if let known = reader.catalog.replicaNumbers[replica] { return known }
    let insert = try connection.statement("INSERT INTO tally_replica(id) VALUES(?)")
    insert.bind(1, replica.bytes)
    try insert.run()
    let number = ReplicaNumber(rawValue: connection.lastInsertedRowID)
    // A state that names it could not be read again.
    guard number <= ReplicaNumber.largest else {
      throw StoreError(.corrupt, "the file has no number left for another replica")
    }
    reader.catalog.add(replica: replica, number: number)
    isChanged = true
    return number
  }

  /// The number of a kind, given to it now if it has none.
  func kind(source: String, relationship: String = "", target: String = "") throws -> KindNumber {
    if relationship.isEmpty {
      if let known = reader.catalog.kindOfType[source] { return known }
    } else if let known = reader.catalog.linkOfName["\(source).\(relationship).\(target)"] {
      return known
    }
    let insert = try connection.statement("INSERT INTO tally_kind(source, relationship, target) VALUES(?, ?, ?)")
    insert.bind(1, source)
    insert.bind(2, relationship)
    insert.bind(3, target)
    try insert.run()
    let number = KindNumber(rawValue: connection.lastInsertedRowID)
    reader.catalog.add(kind: number, source: source, relationship: relationship, target: target)
    isChanged = true
    return number
  }

  /// The id of a field, given to it now if it has none.
  func field(_ name: String, kind: KindNumber) throws -> FieldID {
    if let known = reader.catalog.fieldOfName[kind]?[name] { return known }
    let insert = try connection.statement("INSERT INTO tally_field(kind, name) VALUES(?, ?)")
    insert.bind(1, kind)
    insert.bind(2, name)
    try insert.run()
    let field = FieldID(rawValue: UInt32(connection.lastInsertedRowID))
    reader.catalog.add(field: field, kind: kind, name: name)
    isChanged = true
    return field
  }

  /// Follows a schema that has grown.
  func adopt(_ schema: Schema) {
    reader.catalog.adopt(schema)
    isChanged = true
  }

  /// Makes readers on other connections notice what was added. At the end of a transaction.
  func publish() throws {
    guard isChanged else { return }
    try connection.execute("UPDATE tally_meta SET value = value + 1 WHERE key = 'catalog'")
    reader.catalog.version += 1
    isChanged = false
  }

  /// Forgets what a transaction did that was rolled back.
  func forget() { isChanged = false }
}
