import TallyCRDT
import TallyWire

/// Gives numbers to replicas, types, relationships and fields that have none yet. The only writer of the catalog.
final class CatalogWriter {
  private let connection: Connection
  private let reader: StateReader
  /// Whether the transaction has added an entry that readers must notice.
  private(set) var isChanged = false
  /// The total that was asked for last.
  var lastTotal: (counter: FieldID, replica: ReplicaID, field: FieldID)?

  init(_ reader: StateReader) {
    self.reader = reader
    connection = reader.connection
  }

  /// The number of a replica, given to it now if it has none.
  func number(of replica: ReplicaID) throws -> ReplicaNumber {
    if let known = reader.catalog.replicaNumbers[replica] { return known }
    let number = ReplicaNumber(rawValue: try NumberedTable.replica.add(connection, [replica.bytes]))
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
    let names = [source, relationship, target].map { Array($0.utf8) }
    let number = KindNumber(rawValue: try NumberedTable.kind.add(connection, names))
    reader.catalog.add(kind: number, source: source, relationship: relationship, target: target)
    isChanged = true
    return number
  }

  /// The id of the field with a key (`FieldKey`), given to it now if it has none.
  func field(_ key: String, kind: KindNumber) throws -> FieldID {
    if let known = reader.catalog.fieldOfKey[kind]?[key] { return known }
    if case .total = FieldKey.kind(of: key) {
      // The field of the offset comes first, also where nothing but totals is known of a counter.
      _ = try field(FieldKey.key(of: FieldKey.name(in: key), .counter), kind: kind)
    }
    let number = try NumberedTable.field.add(connection, [Array("\(kind)".utf8), Array(key.utf8)])
    guard let known = UInt32(exactly: number) else {
      throw StoreError(.corrupt, "the file has no number left for another field")
    }
    let field = reader.catalog.add(field: known, kind: kind, key: key)
    isChanged = true
    return field
  }

  /// Notes that members of a relationship have places: deltas say so from now on.
  func notePlaces(of kind: LinkKind) throws { _ = try field(LinkKind.placeKey, kind: kind.number) }

  /// Notes that the file has stubs from now on, for everybody who reads it.
  func noteStubs() throws {
    guard !reader.catalog.hasStubs else { return }
    try connection.execute("INSERT OR IGNORE INTO tally_meta VALUES('stubs', x'00')")
    reader.catalog.hasStubs = true
    isChanged = true
  }

  /// Follows a schema that has grown.
  func adopt(_ schema: Schema) {
    reader.catalog.adopt(schema)
    isChanged = true
  }

  /// Makes readers on other connections notice what was added. At the end of a transaction.
  func publish() throws {
    guard isChanged else { return }
    try NumberedTable.noteRows(connection)
    // Not the next one: another copy of the file can have counted as far, with other numbers, and take its place.
    let version = Int.random(in: 1...1 << 53)
    let update = try connection.statement("UPDATE tally_meta SET value = ? WHERE key = 'catalog'")
    update.bind(1, version)
    try update.run()
    reader.catalog.version = version
    isChanged = false
  }

  /// Forgets what a transaction did that was rolled back.
  func forget() { (isChanged, lastTotal) = (false, nil) }
}
