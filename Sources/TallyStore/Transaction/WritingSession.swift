import CTallySQLite
import GRDB
import GRDBSQLite
import Logging
import TallyCRDT

/// The store's one writing connection, with what lives as long as it: prepared statements, the catalog, the hook that
/// notes the app's writes, and what the file said when it was last looked at.
///
/// Used only on the connection's queue, inside a transaction. After an error, or when another process has written, it
/// reads the file again. What one transaction does is a `WriteTransaction`'s.
final class WritingSession {
  let connection: Connection
  let reader: StateReader
  let numbers: CatalogWriter
  let facts = FileFacts()
  let writer: StateWriter
  let refusals: Refusals
  let environment: StoreEnvironment
  private(set) var standing = Standing()
  let log: Log
  private var objects: AppObjects?
  /// Notes the app's writes; nil where triggers do.
  private(set) var recorder: ChangeRecorder?
  let opaque: OpaqueTables
  var areTriggersOn = true
  /// Without the hook: whether there are triggers that can write while the store writes.
  private var mayEcho = false
  private var echoes = EchoDetector()
  let applying: Applying
  /// Whether anybody follows the store's events.
  var isFollowed: () -> Bool = { false }
  /// The last dot of its own that the store has given away.
  var lastGiven: () -> Dot? = { nil }
  /// Told SQLite's number of the schema that was looked at.
  var hasFollowed: (Int) -> Void = { _ in }
  /// The events of this SQLite transaction, to report once it is committed.
  private(set) var events: [StoreEvent] = []
  private var told = ToldStanding()
  /// Whether another store, such as that of another process, has committed since this one last looked.
  private(set) var hasForeignCommits = false

  private var dataVersion: Int?
  /// The schema that `objects` was read from.
  private var schemaVersion: Int?
  /// Whether files were attached when it was.
  private var hasAttachedFiles = false
  /// The schema as opening found it, for the session's first look.
  private var shape: KnownShape?
  /// The order of the tables as it was last looked at; nil for what the file says.
  private var tables: TableOrder?
  private var areTablesNoted = true
  /// Whether the file says what a look at its schema finds.
  private(set) var isShapeKnown = false
  /// Whether all of the schema is as a store needs it, which only opening looks for; then that is noted in the file.
  var isSchemaChecked = false
  /// Whether a transaction of the store's is under way. A commit or rollback meanwhile is not the store's.
  private(set) var isOpen = false
  private var hasEnded = false
  /// The error that occurred where nothing could be thrown.
  var failure: (any Error)?
  private(set) var isChanged = false

  init(
    _ connection: Connection, _ environment: StoreEnvironment, _ applying: Applying, _ known: Catalog?,
    _ shape: KnownShape?
  ) throws {
    (self.connection, self.shape) = (connection, shape)
    reader = StateReader(connection, catalog: try .load(connection, cached: known))
    numbers = CatalogWriter(reader)
    writer = StateWriter(reader, numbers, facts)
    log = Log(reader, numbers)
    opaque = OpaqueTables(connection)
    refusals = Refusals(reader, environment)
    self.environment = environment
    #if PlantedFaults
      reader.planted = environment.planted
    #endif
    self.applying = applying
    writer.withoutTriggers = { [unowned self] in try withoutTriggers($0) }
  }

  deinit { if !areTriggersOn { _ = tally_enable_triggers(connection.handle, 1) } }

  /// Whether the app's transaction has changed the schema.
  var changesSchema = false
  /// Whether a table has foreign keys that SQLite checks with each statement unless it is told to wait.
  var defersKeys = false
  /// The schema in which the transaction's columns were last looked at; nil if it has not changed those of a table.
  var movedVersion: Int?
  /// Whether the schema is another, after the SQLite transaction, than the one that was looked at.
  private(set) var leavesNewSchema = false

  /// The changes of the SQLite transaction, and who is told of its edits; nil if they are not kept.
  @exclusivity(unchecked) var buffer: DeltaBuffer?
  @exclusivity(unchecked) var edits: RecentEdits?
  var lastCatalog: SharedCatalog?

  // MARK: One SQLite transaction

  /// Brings the session up to date when an SQLite transaction starts, and captures other connections' writes. With
  /// `buffers` what it changes is kept in memory if it is little. If `isUnchanged`, no connection has committed since
  /// this session has, and there is little to look for. `incarnation` is that of a file that is being opened.
  func begin(buffers: Bool, isUnchanged: Bool, opening incarnation: Incarnation? = nil) throws {
    if try connection.hasAttachedFiles() != hasAttachedFiles { schemaVersion = nil }
    let isUnchanged = isUnchanged && dataVersion != nil && schemaVersion != nil
    let version = try isUnchanged ? dataVersion : connection.integer("PRAGMA data_version")
    let hasReloaded = version != dataVersion || dataVersion == nil
    told.confirm()
    (writer.touches, events, hasForeignCommits) = (isFollowed() ? Touches() : nil, [], false)
    if hasReloaded {
      try reload()
      hasForeignCommits = told.follow(standing, reader, writer.touches)
      tell(.outside)
    }
    dataVersion = version
    writer.reset()
    recorder?.forget(andListen: false)
    (isChanged, hasEnded, isOpen, failure, changesSchema, interludeDot) = (false, false, true, nil, false, nil)
    if movedVersion != nil { forgetMoved() }
    let suspects = try isUnchanged ? [] : followSchema()
    // Rows come and go in any order until the end of a transaction. SQLite forgets this with each.
    if defersKeys { try connection.execute("PRAGMA defer_foreign_keys = ON") }
    try standAside(true)
    buffer = buffers && !facts.hasDoubt && !standing.vector.isEmpty ? DeltaBuffer(before: standing.vector) : nil
    beginEdits()
    #if PlantedFaults
      let kept = try reader.tail()
      precondition(log.tail == kept, "the newest entries are not those in the file")
    #endif
    if hasReloaded {
      try mendVector()
      if told.hasMore(than: standing) || hasGivenMore { try leaveFormerNumbers() }
    }
    try incarnation?.compare(self)
    if recorder == nil { mayEcho = try mayRunTriggers() }
    if !suspects.isEmpty { try transaction(by: .outside) { try Reconciler($0).reconcile(suspects) } }
    guard !isUnchanged else { return }
    if try reader.hasPendingWrites() { try transaction(by: .outside) { try $0.capture(.outside) } }
    opaque.keep(objects?.tables(with: .opaqueUniqueIndex) ?? [])
    if !facts.hasDoubt { try UniqueIndexes.follow(self) }
  }

  /// Runs the app's own statements; all that they write to replicated tables is noted.
  func listen<T>(_ body: () throws -> T) throws -> T {
    try writer.endAnnouncing()
    if !isHooked { try opaque.countRows() }
    isListening = true
    defer { isListening = false }
    let value = try body()
    try checkInterlude()
    if changesSchema { try followChange() }
    return value
  }

  /// Whether what is written now is the app's, in a write of the store's.
  private(set) var isListening = false {
    didSet {
      recorder?.isListening = isListening
      applying.isOn = !isListening
    }
  }
  /// The last dot that was taken before the app's own statements had ended.
  private(set) var interludeDot: Dot?

  /// Runs a transaction of the store's own amid the app's statements. What they have written is captured first.
  /// An error ends the whole: what is known here would not fit the file, if the app caught it and went on.
  func interlude<T>(_ body: (WriteTransaction) throws -> T) throws -> T {
    isListening = false
    defer { isListening = true }
    do {
      try checkInterlude()
      if changesSchema { try followChange() }
      try transaction { transaction in
        try transaction.capture(.app)
        interludeDot = transaction.dot ?? interludeDot
      }
      let value = try transaction { transaction in
        defer { interludeDot = transaction.dot ?? interludeDot }
        return try body(transaction)
      }
      try writer.endAnnouncing()
      if !isHooked { try opaque.countRows() }
      return value
    } catch {
      failure = failure ?? error
      throw error
    }
  }

  /// Nothing tells that a savepoint was rolled back, and with it what an interlude has written.
  func checkInterlude() throws {
    guard interludeDot != nil else { return }
    let (sums, known) = (try reader.keptSums(), KeptSums(standing.fingerprint, standing.vectorCheck))
    guard try sums.bytes == known.bytes && reader.tail() == log.tail else {
      throw StoreError(
        .transactionEnded,
        "a savepoint was rolled back in which the store has written, as `restore` does, so the rest cannot be captured")
    }
  }

  /// Runs one transaction of the replica's to its end. `origin` says whose changes they are.
  @discardableResult
  func transaction<T>(by origin: StoreEvent.Origin = .app, _ body: (WriteTransaction) throws -> T) throws -> T {
    try checkIsOpen()
    let transaction = WriteTransaction(self, standing)
    let value = try body(transaction)
    try transaction.commit()
    tell(origin)
    return value
  }

  private func tell(_ origin: StoreEvent.Origin) {
    if let event = writer.touches?.take(origin) { events.append(event) }
  }

  /// Ends an SQLite transaction.
  func finish() throws {
    try checkIsOpen()
    try refusals.review()
    leavesNewSchema = try connection.integer("PRAGMA schema_version") != schemaVersion
    try checkTriggers()
    if numbers.isChanged { isShapeKnown = false }
    try numbers.publish()
    if isSchemaChecked, !isShapeKnown, !changesSchema, !leavesNewSchema, let objects {
      try KnownShape.note(objects, connection)
      isShapeKnown = true
    }
    if !areTablesNoted, let tables {
      try tables.note(connection)
      areTablesNoted = true
    }
    try standAside(false)
    try writer.endAnnouncing()
    for address in reader.aside.news.isEmpty ? [] : reader.aside.unheard {
      environment.logger.warning(
        "a row is set aside: SQLite does not take it as the state says",
        metadata: ["row": "\(printable(address.key))", "reason": "\(reader.aside[address]?.reason ?? "")"])
    }
    reader.aside.forgetNews()
    writer.closeRows()
    told.finish(standing)
    isOpen = false
    // What is written from now on, until the next transaction, is noted to be refused: see `CommitGuard`.
    recorder?.isListening = true
  }

  /// Forgets everything, after an error or a rollback.
  func invalidate() {
    (dataVersion, schemaVersion, tables, areTablesNoted, isOpen) = (nil, nil, nil, true, false)
    told.doubt()
    recorder?.forget(andListen: false)
    // Who is told of the rollback may write: that is noted as what other connections write.
    if !areTriggersOn { areTriggersOn = tally_enable_triggers(connection.handle, 1) == SQLITE_OK }
    writer.reset()
    log.forget()
    numbers.forget()
    reader.catalog.version = -1
    connection.forgetStatements()
    lastCatalog = nil
  }

  /// A transaction is rolled back: by the app, behind the store's back, or at its COMMIT. Others are yet to be told.
  func noteEnd() { if isOpen { hasEnded = true } else { invalidate() } }

  /// Whether anything was noted that no transaction of the store's will capture.
  var hasUncapturedNotes: Bool { recorder?.notes.isEmpty == false }

  private func checkIsOpen() throws {
    if let failure { throw failure }
    guard isOpen, !hasEnded, connection.isInTransaction else {
      throw StoreError(
        .transactionEnded, "the transaction was committed or rolled back inside the write, so it cannot be captured")
    }
  }

  // MARK: Transactions that the app runs itself

  /// Whether the app begins and ends transactions on the connection.
  private(set) var isStandingBack = false

  /// Leaves the connection to the app: what it writes is noted by the file's triggers, as what other connections write.
  /// No transaction may be under way.
  func standBack() {
    told.confirm()
    invalidate()
    // It would note what no transaction of the store's takes. The next one makes another.
    recorder = nil
    (isStandingBack, applying.isOn) = (true, false)
  }

  /// Takes the connection back. The next transaction reads everything again.
  func comeBack() {
    (isStandingBack, applying.isOn) = (false, true)
    invalidate()
  }

  // MARK: What transactions need

  /// Takes what was written and not captured yet; nil if there is nothing.
  func takeWrites(_ origin: Capture.Origin) throws -> (any WrittenRows)? {
    try checkIsOpen()
    if origin != .outside, let recorder {
      let before = changesSchema || movedVersion != nil ? try tables ?? .kept(connection) : nil
      return recorder.take().map { RecordedRows($0, reader, since: before) }
    }
    return try PendingTable(connection, reader.catalog, refusals, origin)
  }

  /// The kinds whose tables may have lost rows without a note in the writes that are captured next.
  func kindsThatLostRows(_ origin: Capture.Origin) throws -> Set<KindNumber> {
    guard origin == .outside || recorder == nil else { return [] }
    #if PlantedFaults
      if environment.planted.contains(.lostRowsUnnoticed) { return [] }
    #endif
    return try opaque.suspects(origin, reader.catalog)
  }

  /// Whether SQLite's hook notes what this connection writes.
  var isHooked: Bool { recorder != nil }

  /// Whether the app has changed the schema in this transaction, and triggers capture, which may be gone now.
  var mayLackTriggers: Bool { changesSchema && !isHooked }

  /// Whether there are triggers of the app's, in the file or in this connection alone.
  func mayRunTriggers() throws -> Bool {
    try objects?.hasTriggers != false
      || connection.exists("SELECT 1 FROM temp.sqlite_master WHERE type = 'trigger' LIMIT 1")
  }

  /// Whether a trigger of the app's may have written while the store wrote. Costs nothing where there are none.
  func hasWrites() throws -> Bool {
    if let recorder { return !recorder.notes.isEmpty }
    return try mayEcho && reader.hasPendingWrites()
  }

  /// Takes over what a transaction did, at its end. `logged` is by how many bytes it has let the change log's table
  /// grow, `listed` what it has listed.
  func end(_ transaction: WriteTransaction, logged: Int, listed: LogSweep.Listed) throws {
    let isNew = transaction.standing != standing
    let next = transaction.standing
    if next.fingerprint != standing.fingerprint || next.vectorCheck != standing.vectorCheck || log.tail.isChanged {
      try log.put(next)
    }
    standing = transaction.standing
    isChanged = isChanged || isNew || writer.isChanged || numbers.isChanged
    if !transaction.incoming.isEmpty { try echoes.note(transaction.hasEcho, connection, environment.logger) }
    try log.sweep(added: logged, listed: listed)
  }

  // MARK: Following the file

  func reload() throws {
    try StoreFile.checkFormat(connection, of: "the file")
    reader.forget()
    let before = reader.catalog.version
    reader.catalog = try Catalog.load(connection, cached: before < 0 ? nil : reader.catalog)
    if reader.catalog.version != before {
      connection.forgetStatements()
      schemaVersion = nil
    }
    standing = try Standing(reader)
    try log.follow()
    try facts.load(connection, reader.catalog)
    reader.aside = try facts.hasAside ? SetAside(connection, reader.catalog.schema) : SetAside()
    refusals.forget()
    if facts.hasRefusals { try refusals.load() }
  }

  /// Looks at what the app has added if the schema has changed, and makes the capture triggers again where they are not
  /// as they should be.
  /// - Returns: the tables that may have been written to without a note.
  @discardableResult
  func followSchema() throws -> Set<String> {
    let version = try connection.integer("PRAGMA schema_version")
    guard version != schemaVersion || objects == nil else { return [] }
    #if PlantedFaults
      if environment.planted.contains(.lostTriggersUnnoticed), objects != nil { return [] }
    #endif
    hasAttachedFiles = try connection.hasAttachedFiles()
    let known = try shape ?? KnownShape.load(connection)
    let objects = try known?.objects ?? AppObjects(connection, reader.catalog)
    (self.objects, shape, isShapeKnown, isSchemaChecked) = (objects, nil, known != nil, known != nil)
    opaque.add(objects.tables(with: .opaqueUniqueIndex))
    var suspects = Set<String>()
    // The digest is of all tables in their order.
    if known == nil {
      suspects = try followTables()
      let found = try CaptureTriggers(connection, reader.catalog, objects).install()
      suspects.formUnion(found.unwatched)
      opaque.add(found.opaque)
    }
    readIndexes(objects)
    chooseCapture(objects)
    schemaVersion = known == nil ? try connection.integer("PRAGMA schema_version") : version
    if let schemaVersion { hasFollowed(schemaVersion) }
    return suspects
  }

  /// Looks at the order of the tables, and returns those that were dropped and made again.
  private func followTables() throws -> Set<String> {
    let before = try tables ?? .kept(connection)
    var order = try TableOrder(connection)
    let anew = before.map { before in reader.catalog.ownTables.filter { order.hasMadeAnew($0, since: before) } }
    try order.complete(connection, reader.catalog)
    (areTablesNoted, tables) = (areTablesNoted && order == before, order)
    return Set(anew ?? [])
  }

  private func chooseCapture(_ objects: AppObjects) {
    let isHooked = environment.usesHook && ChangeRecorder.isAvailable && objects.tables(with: .virtualColumn).isEmpty
    if isHooked {
      if recorder == nil { recorder = ChangeRecorder(connection.handle) }
      #if PlantedFaults
        recorder?.planted = environment.planted
      #endif
      recorder?.follow(ChangeRecorder.layouts(reader.catalog, objects))
    } else {
      recorder = nil
    }
    writer.announcesRows = !isHooked
    // Without triggers of the app's there is nothing to fire, and SQLite writes a row at half the price.
    let needsTriggers = !isHooked || objects.hasTriggers
    if needsTriggers != areTriggersOn {
      _ = tally_enable_triggers(connection.handle, needsTriggers ? 1 : 0)
      areTriggersOn = needsTriggers
    }
  }

  /// Whether what the app has written since the last capture can refer to what is not there.
  func mayHaveOpenReferences() throws -> Bool {
    if try !reader.catalog.uncheckedReferences.isEmpty || connection.hasOpenReferences() { return true }
    guard let recorder else { return reader.catalog.hasSelfReferences }
    return recorder.hasUpdatedSelfReference
  }

  /// Runs something with the file's triggers switched off.
  func withoutTriggers(_ body: () throws -> Void) throws {
    let mayFire = areTriggersOn && (objects?.hasTriggers == true || changesSchema && isHooked)
    guard mayFire, tally_enable_triggers(connection.handle, 0) == SQLITE_OK else { return try body() }
    areTriggersOn = false
    defer {
      _ = tally_enable_triggers(connection.handle, 1)
      areTriggersOn = true
    }
    try body()
  }
}
