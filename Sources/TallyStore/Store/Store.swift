import Foundation
import GRDB
import Synchronization
import TallyCRDT
import TallyWire

/// A database of records that replicates. It is used like any GRDB database, and it captures every write.
///
/// ```swift
/// let store = try Store(path: path, schema: Schema(Person.self, Game.self))
/// try store.write { db in
///   try Game(name: "Chess").insert(db)
/// }
/// let games = try store.read { db in try Game.order(Column("name")).fetchAll(db) }
/// ```
///
/// Each entity is an ordinary SQLite table, each to-many relationship an ordinary join table. Records, the query
/// interface, raw SQL and `ValueObservation` work as with GRDB alone, and writes that other connections and processes
/// make to the file are captured too. Rows that `REPLACE` deletes because of an app-defined unique index are captured,
/// starting with the transaction after the one that creates the index.
///
/// The later of concurrent writes to one field wins, and ``conflicts(limit:)`` returns the other; a relationship keeps
/// the members that anybody added; a concurrent edit survives a delete. Deleted records are kept, and ``restore(_:)``
/// brings them back. A ``SyncEngine`` brings stores of other devices to the same state; ``values(_:)`` and ``Observed``
/// follow the results of queries.
///
/// A store may be used from any thread. Calls that read or write the file block; in an asynchronous function the
/// compiler chooses the awaited form, which does not block the task's thread. Opening costs the same for any number of
/// records. Keep one store per file for as long as the app runs.
public final class Store: Sendable {
  /// The file; nil in memory.
  package let file: String?
  let writer: any DatabaseWriter
  /// For reading states; nil where there is but one connection.
  let snapshots: SnapshotReaders?
  package let options: StoreOptions
  let box = SessionBox()
  /// Whether the store is closed, or about to be.
  let isClosed = Atomic<Bool>(false)
  let closing = Mutex(())
  let applying = Applying()
  let turns = Turns()
  let catalogCache = Mutex<Catalog?>(nil)
  /// The day on which this store has last compacted, or found that it had been.
  let lastCompaction = Mutex<Int?>(nil)
  /// The day on which a delta was last looked at for what its sender had.
  let lastHeard = Mutex<Int?>(nil)
  /// When an engine's upkeep last took removed content out of the files beside the store, in milliseconds.
  let lastFinish = Mutex<UInt64?>(nil)
  let listeners = ChangeListeners()
  let eventFollowers = EventFollowers()
  let valueFollowers = ValueFollowers()
  /// The state after the last transaction of this store, to tell what others have committed since.
  let latest = Mutex<LatestCommit?>(nil)
  /// The app's recent edits, for the next delta.
  let recent = RecentEdits()
  /// Which of its own dots this store has given away.
  let given = Mutex(GivenDots())
  let logRoom = LogRoom()
  /// For each peer in a live session what it has acknowledged, and when it was last heard of. Kept in memory until the
  /// session writes it down.
  package let livePeers = Mutex<[ReplicaID: (acknowledged: StateVector, date: Date)]>([:])

  // MARK: Opening

  /// Opens the store at `path`, creates it if there is no file, and alters its tables to cover `schema`.
  ///
  /// ```swift
  /// let store = try Store(path: path, schema: Schema(Person.self, Game.self))
  /// ```
  ///
  /// The folder must exist. Beside the file are others that belong to it, with its name followed by `-wal`, `-shm`,
  /// `-incarnation` and `-transfers`. Tables are altered in one transaction, together with
  /// ``StoreOptions/willChangeSchema``. A debug build compares the types from which the schema was made with it
  /// (``Schema/checkDeclarations()``).
  /// - Parameters:
  ///   - path: the path of the file, which any number of stores and processes may have open.
  ///   - schema: the schema that the app declares. A file that has more keeps it.
  ///   - options: the store's options; see ``StoreOptions``.
  /// - Throws: `StoreError`: `.notAStore`, `.newerFormat`, `.olderFormat`, `.pathTaken`, `.invalidSchema`,
  ///   `.incompatibleSchema`, `.incompatibleTable`; `.noSuchStore` if the file is missing and opened read-only; or
  ///   GRDB's `DatabaseError`. Then the file is unchanged.
  public convenience init(path: String, schema: Schema, options: StoreOptions = StoreOptions()) throws {
    try schema.validate()
    #if DEBUG
      try schema.checkDeclarations()
    #endif
    let isNew = try !StoreFile.probe(path, options)
    guard !isNew || !options.isReadOnly else { throw Self.noStore(at: path) }
    try self.init(path: path, isNew: isNew, schema: schema, options: options)
  }

  /// Opens an existing store with the schema in its file, for tools that do not have the app's types.
  ///
  /// ```swift
  /// let types = try Store(existing: path).schema.entities.map(\.type)
  /// ```
  ///
  /// It never creates a store. With ``StoreOptions/isReadOnly`` the file is not written to either.
  /// - Throws: `StoreError`: `.noSuchStore`, `.notAStore`, `.newerFormat`, `.olderFormat`, `.pathTaken`,
  ///   `.incompatibleTable`; or GRDB's `DatabaseError`.
  public convenience init(existing path: String, options: StoreOptions = StoreOptions()) throws {
    guard try StoreFile.probe(path, options) else { throw Self.noStore(at: path) }
    try self.init(path: path, isNew: false, schema: nil, options: options)
  }

  private static func noStore(at path: String) -> StoreError {
    StoreError(.noSuchStore, "there is no store at \(path)")
  }

  private init(path: String, isNew: Bool, schema: Schema?, options: StoreOptions) throws {
    let path = options.files.canonical(path)
    file = path
    self.options = options
    writer = try StoreFile.open(path, isNew: isNew, options, applying, turns)
    snapshots = options.isReadOnly ? nil : StoreFile.snapshots(path, options, applying)
    if !options.isReadOnly { try prepare(isNew: isNew, schema: schema) }
  }

  /// Creates a store in memory, for tests and previews.
  ///
  /// ```swift
  /// let store = try Store(inMemory: Schema(Person.self, Game.self))
  /// ```
  ///
  /// It works like a store in a file, and disappears with the object. It has one connection, so reads wait for writes.
  /// - Throws: `StoreError.invalidSchema`.
  public init(inMemory schema: Schema, options: StoreOptions = StoreOptions()) throws {
    try schema.validate()
    #if DEBUG
      try schema.checkDeclarations()
    #endif
    file = nil
    self.options = options
    writer = try DatabaseQueue(configuration: StoreFile.configuration(options, applying))
    snapshots = nil
    try prepare(isNew: true, schema: schema)
  }

  /// A copy of a store, in memory. It goes on under the same replica id, as a file does that is copied and that no one
  /// recognizes.
  package init(inMemoryCopyOf original: Store, options: StoreOptions = StoreOptions()) throws {
    file = nil
    self.options = options
    let copy = try DatabaseQueue(configuration: StoreFile.configuration(options, applying))
    try original.writer.backup(to: copy)
    writer = copy
    snapshots = nil
    try prepare(isNew: false, schema: nil)
  }

  /// An empty store of another's schema, in a file that has no name and goes with it, wherever that grows too large for
  /// memory.
  package init(scratchFor original: Store) throws {
    file = nil
    var options = StoreOptions()
    (options.logger, options.now) = (original.options.logger, original.options.now)
    self.options = options
    // https://sqlite.org/inmemorydb.html#temp_db
    writer = try DatabaseQueue(path: "", configuration: StoreFile.configuration(options, applying))
    snapshots = nil
    try prepare(isNew: true, schema: original.schema)
  }

  private func prepare(isNew: Bool, schema: Schema?) throws {
    var catalog: Catalog?
    try perform { db in
      let connection = try Connection(on: db)
      // Another process may have created the tables since the file was looked at.
      let isEmpty = try isNew && connection.integer("SELECT 1 FROM sqlite_master WHERE name = 'tally_meta'") == nil
      if isEmpty { try SchemaMigration.create(connection) }
      let version = try isNew ? Format.version : connection.integer("PRAGMA user_version") ?? 0
      let hasOldLog = version < Format.logVersion
      let known = isNew || version != Format.version ? nil : try KnownShape.load(connection)
      // Restoring completes the format, too.
      let missing = isNew ? nil : try MissingParts.restore(connection, hasAll: known != nil)
      if isNew { try MissingParts.complete(connection) }
      let shape = missing?.lost == nil ? known : nil
      let gone = isNew || shape != nil ? nil : try restoreTables(connection)
      box.opening = (connection, shape)
      let incarnation = options.detectsCopies ? file.map { Incarnation(besides: $0, options.files) } : nil
      let commit = try TableShape.explaining(connection) {
        try withSession(db, opening: incarnation) { session in
          try session.transaction { transaction in
            if let lost = missing?.lost { try transaction.note(doubt: .damaged, because: lost) }
            let willChange = options.willChangeSchema.map { body in { try body(db, $0, $1) } }
            try SchemaMigration(transaction, gone: gone, willChange: willChange).migrate(to: schema)
            if !isNew, !session.isShapeKnown { try TableShape.check(connection, transaction.catalog) }
            if !isNew || isEmpty { session.isSchemaChecked = true }
            if missing?.hasLists == true || hasOldLog { try transaction.listAnew() }
            if let incarnation { try transaction.renew(incarnation) }
            catalog = transaction.catalog
          }
          return ((), nil)
        }
      }
      db.clearSchemaCache()
      return commit
    }
    // What reads first need not read the schema again.
    catalogCache.withLock { $0 = catalog }
  }

  /// Makes dropped tables again, before anything takes what was in them for deleted.
  /// - Returns: what was gone, in words; nil if nothing was.
  private func restoreTables(_ connection: Connection) throws -> String? {
    let catalog = try Catalog.load(connection, cached: nil)
    catalogCache.withLock { $0 = catalog }
    guard let gone = try SchemaMigration.restoreTables(connection, catalog) else { return nil }
    try StoreDoubt.note(.damaged, because: gone, at: options.environment.now(), connection)
    connection.forgetStatements()
    return gone
  }

  static let closed = StoreError(.closed, "the store is closed")

  /// The writer of a store that is open. GRDB would go on using the connection in memory that `close` has freed.
  var usable: any DatabaseWriter {
    get throws {
      guard !isClosed.load(ordering: .relaxed) else { throw Self.closed }
      return writer
    }
  }

  /// Returns the store's own error for GRDB's: of a connection that is gone it says that SQLite was misused.
  func explain(_ error: any Error) -> any Error {
    // Extended codes say that the file itself is in the way of reading.
    switch (error as? DatabaseError)?.extendedResultCode {
    case .SQLITE_MISUSE where isClosed.load(ordering: .relaxed): Self.closed
    case .SQLITE_READONLY where options.isReadOnly:
      StoreError(.readOnly, "the store was opened to read only (StoreOptions.isReadOnly)", cause: error)
    default: error
    }
  }

  deinit {
    // The writer closes its connection when it goes. What the session holds of the connection goes first, and where
    // nothing else uses it: GRDB's observations may keep the writer for longer than the store.
    writer.unsafeReentrantWrite { [box] _ in box.session = nil }
  }

  // MARK: Reading and writing

  /// Reads in one snapshot of the database.
  ///
  /// ```swift
  /// let games = try store.read { db in try Game.order(Column("name")).fetchAll(db) }
  /// ```
  ///
  /// A store in a file can read while others write, without seeing transactions that commit meanwhile. A store in
  /// memory has one connection, so a read waits its turn. The body cannot write and must not call the store's `read` or
  /// `write`.
  /// - Returns: what the body returns.
  /// - Throws: `StoreError.closed` after ``close()``; errors of the body; GRDB's `DatabaseError`.
  @_disfavoredOverload  // In an asynchronous context the asynchronous version, as in GRDB.
  public func read<T>(_ body: (Database) throws -> T) throws -> T {
    do { return try usable.read(body) } catch { throw explain(error) }
  }

  /// Reads in one snapshot of the database without blocking the caller's thread, and returns what the body returns.
  /// Otherwise it is like the synchronous `read`.
  ///
  /// ```swift
  /// let count = try await store.read { db in try Game.fetchCount(db) }
  /// ```
  /// - Throws: `StoreError.closed` after ``close()``; errors of the body; GRDB's `DatabaseError`; `CancellationError`.
  public func read<T: Sendable>(_ body: @Sendable (Database) throws -> T) async throws -> T {
    do { return try await usable.read(body) } catch { throw explain(error) }
  }

  /// Writes in one transaction, which becomes visible and is replicated as a whole or not at all.
  ///
  /// ```swift
  /// try store.write { db in
  ///   try Game(name: "Chess").insert(db)
  ///   try db.execute(sql: "DELETE FROM Game WHERE name IS NULL")
  /// }
  /// ```
  ///
  /// The effects of a delete on other records (owned records, references, relationships) take place at the end of the
  /// transaction. Each change gets a stamp of this replica, observations fire, and engines send the changes. A write
  /// that changes nothing replicates nothing.
  ///
  /// There is one writer at a time: the call waits for other writes of the process, and for other processes up to
  /// ``StoreOptions/busyTimeout``. Writes cannot be nested. The store's calls that take a `db`, such as `restore` and
  /// `resolve`, can be part of a write.
  ///
  /// A write that also changes an attached file is not atomic across both: SQLite commits file by file, so the store's
  /// changes may be committed although the other file's cannot be.
  ///
  /// - Returns: what the body returns.
  /// - Throws: errors of the body; `StoreError` for values that cannot be replicated (`.typeMismatch`, `.invalidName`,
  ///   `.valueTooLarge`), a reference to a record that does not exist (`.danglingReference`), a delete that is denied
  ///   (`.deleteDenied`); `StoreError.closed` after ``close()``; GRDB's `DatabaseError`, with SQLITE_BUSY if another
  ///   process writes for too long. Then nothing has changed.
  @discardableResult
  public func write<T>(_ body: (Database) throws -> T) throws -> T { try commit(body).value }

  /// Writes in one transaction without blocking the caller's thread, and returns what the body returns. Otherwise it is
  /// like the synchronous `write`.
  ///
  /// ```swift
  /// try await store.write { db in try Game(name: "Chess").insert(db) }
  /// ```
  /// - Throws: the errors of the synchronous `write`; `CancellationError` if the task is cancelled before the commit.
  ///   Then nothing has changed.
  @discardableResult
  public func write<T: Sendable>(_ body: @Sendable (Database) throws -> T) async throws -> T {
    do {
      let rest = turns.rest
      if rest > 0 { try await Task.sleep(nanoseconds: rest) }
      let commit = try await usable.writeWithoutTransaction { db in
        try self.inTransaction(db) { try self.transact(db, body) }
      }
      turns.end()
      announce(commit)
      return commit.value
    } catch {
      box.needsReload.store(true, ordering: .relaxed)
      // What GRDB interrupts because the task is cancelled may be a statement of the store's own.
      if Task.isCancelled, (error as? DatabaseError)?.resultCode == .SQLITE_INTERRUPT { throw CancellationError() }
      throw explain(error)
    }
  }

  /// The outcome of a transaction, as ``Store/commit(_:)`` returns it: the value of its body, and its dot.
  public struct Commit<Value> {
    /// The value that the body of the transaction returned.
    public let value: Value
    /// The transaction's dot; nil if it changed nothing that replicates.
    public let dot: Dot?
    /// The events to report.
    let events: [StoreEvent]
    let outcome: CommitOutcome
    /// The state of the store with this transaction, and without any later one.
    package var summary: StoreSummary { outcome.summary }
  }

  /// Writes like ``write(_:)`` and also returns the transaction's dot, which identifies it on all devices.
  ///
  /// ```swift
  /// let commit = try store.commit { db in try Game(name: "Chess").insert(db) }
  /// let isReplicated = commit.dot != nil
  /// ```
  /// - Throws: the errors of `write`. Then nothing has changed.
  public func commit<T>(_ body: (Database) throws -> T) throws -> Commit<T> {
    try perform { db in try transact(db, body) }
  }
}

extension Store.Commit: Sendable where Value: Sendable {}
