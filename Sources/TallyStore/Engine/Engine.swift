import Foundation
import GRDB
import Logging
import TallyCRDT
import TallyWire

/// The writing side of a store: captures what the app wrote, joins what peers wrote, and keeps the app's tables equal to
/// what the state says.
///
/// It lives on the store's one writing connection and is used only there, inside a transaction. What it remembers between
/// transactions is only what the file says; after an error, or when another process has written, it reads that again.
final class Engine {
  let connection: Connection
  let reader: StateReader
  let environment: StoreEnvironment
  var catalog: Catalog {
    get { reader.catalog }
    _modify { yield &reader.catalog }
  }

  // What the file says.
  var vector = StateVector()
  var fingerprint = Fingerprint()
  var ownNumber: Int?
  /// Whether any record has a delete or a retired seed, so that what is below it matters.
  var hasDeletes = false
  var hasWaits = false
  /// The kinds of which something is hidden: of others nothing needs to be looked up.
  var hiddenKinds = Set<Int>()
  /// The fields of rows that another connection wrote and that cannot be replicated; none if the whole row cannot.
  var refused: [RowAddress: Set<FieldID>] = [:]
  var hasRefusals = false
  private var dataVersion: Int?
  /// The schema that the capture triggers were last compared with.
  var schemaVersion: Int?

  // What this transaction has done.
  var log = ChangeLog()
  var forwarded = Set<AnyRecordName>()
  var dirty = DirtySet()
  var touchedTables = Set<String>()
  var isChanged = false
  private var catalogIsChanged = false
  var blobs: [Int: BlobHandle] = [:]

  init(_ handle: OpaquePointer, _ environment: StoreEnvironment) throws {
    connection = Connection(handle)
    reader = StateReader(connection, catalog: try Catalog.load(connection, cached: nil))
    self.environment = environment
  }

  // MARK: Transactions

  /// Brings the engine up to date at the start of a transaction.
  func begin() throws {
    let version = try connection.integer("PRAGMA data_version")
    if version != dataVersion || dataVersion == nil { try reload() }
    dataVersion = version
    try followIndexes()
    log = ChangeLog()
    dirty = DirtySet()
    forwarded = []
    touchedTables = []
    isChanged = false
    catalogIsChanged = false
  }

  private func reload() throws {
    reader.forget()
    let before = catalog.version
    catalog = try Catalog.load(connection, cached: before < 0 ? nil : catalog)
    if catalog.version != before { connection.forgetStatements() }
    vector = try reader.vector()
    fingerprint = try reader.fingerprint()
    ownNumber = try connection.integer("SELECT value FROM tally_meta WHERE key = 'self'")
    hasDeletes =
      try connection.exists("SELECT 1 FROM tally_context LIMIT 1")
      || connection.exists("SELECT 1 FROM tally_meta WHERE key = 'retired'")
    hasWaits = try connection.exists("SELECT 1 FROM tally_wait LIMIT 1")
    let hidden = try connection.statement(
      "SELECT n FROM tally_kind WHERE EXISTS(SELECT 1 FROM tally_hidden WHERE kind = tally_kind.n)")
    hiddenKinds = []
    while try hidden.step() { hiddenKinds.insert(hidden.int(0)) }
    try loadRefusals()
  }

  /// Writes what the transaction changed in the engine's own tables.
  func end() throws {
    blobs = [:]
    if hasRefusals { try reviewRefusals() }
    guard isChanged else { return }
    try log.flush(self)
    let update = try connection.statement("UPDATE tally_zone SET fingerprint = ? WHERE n = 0")
    update.bind(1, fingerprint.bytes)
    try update.run()
    if catalogIsChanged {
      try connection.execute("UPDATE tally_meta SET value = value + 1 WHERE key = 'catalog'")
      catalog.version += 1
    }
  }

  /// Forgets everything, after an error or a rollback.
  func invalidate() {
    dataVersion = nil
    schemaVersion = nil
    blobs = [:]
    catalog.version = -1
    connection.forgetStatements()
  }

  /// Where the store stands, with what this transaction has written.
  var summary: StoreSummary {
    StoreSummary(vector: vector, fingerprint: fingerprint, replica: ownNumber.flatMap { catalog.replicas[$0] })
  }

  // MARK: Replicas, kinds and fields

  /// The number of a replica, given to it now if it has none.
  func number(of replica: ReplicaID) throws -> Int {
    if let known = catalog.replicaNumbers[replica] { return known }
    let insert = try connection.statement("INSERT INTO tally_replica(id) VALUES(?)")
    insert.bind(1, replica.bytes)
    try insert.run()
    let number = connection.lastInsertedRowID
    catalog.add(replica: replica, number: number)
    changedCatalog()
    return number
  }

  /// This store's replica, minted now if it has none.
  func ownReplica() throws -> ReplicaID {
    if let ownNumber, let known = catalog.replicas[ownNumber] { return known }
    let minted = environment.mintReplica()
    let number = try number(of: minted)
    let insert = try connection.statement("INSERT OR REPLACE INTO tally_meta VALUES('self', ?)")
    insert.bind(1, number)
    try insert.run()
    ownNumber = number
    return minted
  }

  /// Gives up the replica id: the next local write mints another. For a store that turns out to be an old copy of itself.
  func forgetOwnReplica() throws {
    try connection.execute("DELETE FROM tally_meta WHERE key = 'self'")
    ownNumber = nil
    isChanged = true
  }

  /// The number of a kind, given to it now if it has none.
  func kind(source: String, relationship: String = "", target: String = "") throws -> Int {
    if relationship.isEmpty {
      if let known = catalog.kindOfType[source] { return known }
    } else if let known = catalog.linkOfName["\(source).\(relationship).\(target)"] {
      return known
    }
    let insert = try connection.statement("INSERT INTO tally_kind(source, relationship, target) VALUES(?, ?, ?)")
    insert.bind(1, source)
    insert.bind(2, relationship)
    insert.bind(3, target)
    try insert.run()
    catalog.add(kind: connection.lastInsertedRowID, source: source, relationship: relationship, target: target)
    changedCatalog()
    return connection.lastInsertedRowID
  }

  /// The id of a field, given to it now if it has none.
  func field(_ name: String, kind: Int) throws -> FieldID {
    if let known = catalog.fieldOfName[kind]?[name] { return known }
    let insert = try connection.statement("INSERT INTO tally_field(kind, name) VALUES(?, ?)")
    insert.bind(1, kind)
    insert.bind(2, name)
    try insert.run()
    let field = FieldID(rawValue: UInt32(connection.lastInsertedRowID))
    catalog.add(field: field, kind: kind, name: name)
    changedCatalog()
    return field
  }

  func changedCatalog() {
    catalogIsChanged = true
    isChanged = true
  }

  /// Raises the state vector in memory and in the file.
  func raiseVector(to target: StateVector) throws {
    for dot in target.entries where dot.sequence > vector[dot.replica] {
      let update = try connection.statement(
        "INSERT INTO tally_vector VALUES(0, ?, ?) ON CONFLICT(zone, replica) DO UPDATE SET sequence = excluded.sequence"
      )
      update.bind(1, try number(of: dot.replica))
      update.bind(2, Int64(dot.sequence))
      try update.run()
      vector.include(dot)
      isChanged = true
    }
  }
}

extension Connection {
  var lastInsertedRowID: Int { Int(sqliteLastInsertedRowID(handle)) }
}

/// What a store takes from outside: time, randomness, a logger, and the faults that tests plant.
struct StoreEnvironment: Sendable {
  var now: @Sendable () -> HybridTime
  var mintReplica: @Sendable () -> ReplicaID
  var logger: Logger
  var conflictLimit: Int
  var conflictAge: UInt64?
  var planted: PlantedFault

  /// Entries of the conflict journal from before then go; nil to keep them whatever their age.
  func oldestConflict() -> HybridTime? {
    guard let conflictAge else { return nil }
    let now = now().milliseconds
    return HybridTime(milliseconds: now > conflictAge ? now - conflictAge : 0)
  }
}
