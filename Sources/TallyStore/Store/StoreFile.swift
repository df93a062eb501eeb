import Foundation
import GRDB
import GRDBSQLite
import TallyCRDT

/// Opening files safely: looking before touching.
package enum StoreFile {
  /// Whether there is a store at `path`; false if there is nothing or an empty database.
  /// - Throws: `StoreError` if there is something else. The file is not changed.
  static func probe(_ path: String, _ options: StoreOptions) throws -> Bool {
    switch options.files.kind(of: path) {
    case .nothing:
      try checkNeighbors(path, options.files)
      return false
    case .file: try checkNeighbors(path, options.files)
    case .folder: throw StoreError(.notAStore, "\(path) is a folder")
    case .other: throw StoreError(.notAStore, "\(path) is not an ordinary file")
    }
    if let stamp = headerStamp(path, options.files) {
      // Looked at without SQLite, which would leave files of its own beside what is not ours.
      if stamp.application == Format.applicationID {
        try check(stamp.version, of: path)
        // A store has more pages than that. What only bears our mark must not be changed by opening it.
        guard stamp.pages < 16, try !hasTables(path, options) else { return true }
        throw StoreError(.notAStore, "\(path) has the mark of a store and none of its tables")
      }
      guard stamp.application == 0, stamp.version == 0 else {
        throw StoreError(.notAStore, "\(path) is an SQLite database, but not a store")
      }
    }
    do {
      return try inspect(path, options, isReadOnly: true)
    } catch let error as DatabaseError where error.resultCode == .SQLITE_READONLY && !options.isReadOnly {
      // A crash left a journal behind. SQLite undoes with it what was half done before anybody can read, and that
      // writes.
      return try inspect(path, options, isReadOnly: false)
    } catch let error as DatabaseError where error.resultCode == .SQLITE_NOTADB {
      throw StoreError(.notAStore, "\(path) is not a store")
    }
  }

  private static func inspect(_ path: String, _ options: StoreOptions, isReadOnly: Bool) throws -> Bool {
    try DatabaseQueue(path: path, configuration: looking(options, isReadOnly)).read { db in
      let application = try Int.fetchOne(db, sql: "PRAGMA application_id") ?? 0
      let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
      if application == Format.applicationID {
        try check(version, of: path)
        return true
      }
      let tables = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") ?? 0
      guard application == 0, version == 0, tables == 0 else {
        let isUnmarked = try Int.fetchOne(
          db, sql: "SELECT count(*) FROM sqlite_master WHERE name IN ('tally_meta', 'tally_zone', 'tally_vector')")
        throw StoreError(
          .notAStore,
          isUnmarked == 3
            ? "\(path) has the tables of a store, but not its mark (application_id), which a dump of SQL does not keep: "
              + "recover makes a store of it (tally recover, Store.recover)"
            : "\(path) is an SQLite database, but not a store")
      }
      return false
    }
  }

  private static func hasTables(_ path: String, _ options: StoreOptions) throws -> Bool {
    try DatabaseQueue(path: path, configuration: looking(options, true)).read {
      try Bool.fetchOne($0, sql: "SELECT EXISTS(SELECT 1 FROM sqlite_master WHERE name LIKE 'tally~_%' ESCAPE '~')")
        ?? false
    }
  }

  /// Returns the configuration of a connection that looks at a file before it is opened as a store. It waits as others
  /// do: who closes the file last, in another process too, holds it for a moment.
  private static func looking(_ options: StoreOptions, _ isReadOnly: Bool) -> Configuration {
    var configuration = Configuration()
    configuration.readonly = isReadOnly
    configuration.busyMode = .callback(LockWait.callback(atMost: options.busyTimeout, nil))
    return configuration
  }

  /// Refuses a file that another program has brought to another format while it was open here, such as a newer version
  /// of the app beside this one.
  package static func checkFormat(_ connection: Connection, of path: String) throws {
    try check(connection.integer("PRAGMA user_version") ?? 0, of: path)
  }

  private static func check(_ version: Int, of path: String) throws(StoreError) {
    if version > Format.version {
      throw StoreError(.newerFormat, "\(path) has format \(version); this version knows up to \(Format.version)")
    }
    guard version < Format.oldest, version > 0 else { return }
    throw StoreError(
      .olderFormat,
      "\(path) has format \(version), from before the first release; sync it with a new store, with the build that made it"
    )
  }

  /// Refuses a store of a format that is not read here, as far as its first bytes say so. A number far beyond this
  /// version's is taken for damage; none of those that are refused is one bit away from it.
  package static func refuseOtherFormat(_ path: String, _ files: any StoreFiles) throws(StoreError) {
    guard let stamp = headerStamp(path, files), stamp.application == Format.applicationID,
      (1...2 * Format.version).contains(stamp.version)
    else { return }
    try check(stamp.version, of: path)
  }

  /// `application_id` and `user_version` as the file's first bytes have them
  /// (https://www.sqlite.org/fileformat.html#the_database_header), which is ten times cheaper than opening it; nil if
  /// there is no telling, since a log or a journal may say otherwise.
  private static func headerStamp(_ path: String, _ files: any StoreFiles) -> (
    application: Int, version: Int, pages: Int
  )? {
    // Who only reads leaves an empty log.
    let log = path + "-wal"
    guard files.kind(of: path + "-journal") == .nothing,
      files.kind(of: log) == .nothing || files.kind(of: log) == .file && files.head(1, of: log) == [],
      let header = files.head(72, of: path), header.count == 72, header.starts(with: "SQLite format 3\0".utf8)
    else { return nil }
    func number(at offset: Int) -> Int { header[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } }
    return (number(at: 68), number(at: 60), number(at: 28))
  }

  /// Opens the file for a store. With `isNew` the file is missing or empty.
  static func open(
    _ path: String, isNew: Bool, _ options: StoreOptions, _ applying: Applying, _ turns: Turns
  ) throws -> any DatabaseWriter {
    var configuration = configuration(options, applying, turns)
    let file = target(of: path)
    if isNew { FilePages.prepareNewFile(&configuration) } else { fillLog(of: file, &configuration, options.files) }
    do {
      return options.isReadOnly
        ? try DatabaseQueue(path: file, configuration: configuration)
        : try DatabasePool(path: file, configuration: configuration)
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CANTOPEN {
      // SQLite does not say which file.
      let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
      let reason = options.files.kind(of: folder) == .folder ? "" : ": there is no folder \(folder)"
      throw DatabaseError(resultCode: error.extendedResultCode, message: "\(path) cannot be opened\(reason)")
    }
  }

  /// Where a symbolic link leads: SQLite has the log there, and GRDB looks for it beside the name that it is given.
  private static func target(of path: String) -> String {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return path }
    return URL(fileURLWithPath: path).resolvingSymlinksInPath().path
  }

  /// Sees to it that the first connection to a file puts something into its write-ahead log. GRDB's pool needs that,
  /// and makes a table and drops it again where the log is empty: a twentieth of what an opening takes, and after it
  /// each connection of another process has to read the schema once more.
  private static func fillLog(of path: String, _ configuration: inout Configuration, _ files: any StoreFiles) {
    guard !configuration.readonly else { return }
    configuration.prepareDatabase { db in
      // The readers of the pool come later.
      guard !db.configuration.readonly else { return }
      let connection = Connection(try db.handle())
      let mode = try SQLStatement(connection, "PRAGMA journal_mode")
      guard try mode.step(), mode.text(0) == "wal", files.head(1, of: path + "-wal") == [] else { return }
      mode.reset()
      let version = try connection.integer("PRAGMA user_version") ?? 0
      try connection.execute("BEGIN IMMEDIATE; PRAGMA user_version = \(version); COMMIT")
    }
  }

  /// More connections that read the file, opened when they are needed.
  static func snapshots(_ path: String, _ options: StoreOptions, _ applying: Applying) -> SnapshotReaders {
    var configuration = configuration(options, applying)
    configuration.readonly = true
    return SnapshotReaders { [configuration] in try DatabaseQueue(path: path, configuration: configuration) }
  }

  /// Returns the configuration of a connection. `turns` hears of waits for the lock; it is nil for what never writes to
  /// a file of others.
  static func configuration(_ options: StoreOptions, _ applying: Applying, _ turns: Turns? = nil) -> Configuration {
    var configuration = Configuration()
    configuration.readonly = options.isReadOnly
    configuration.observesSuspensionNotifications = options.observesSuspensionNotifications
    configuration.busyMode = .callback(LockWait.callback(atMost: options.busyTimeout, turns))
    configuration.transactionClock = applying.starts
    let prepare = options.prepareDatabase
    #if PlantedFaults
      applying.lists.plant(options.planted)
    #endif
    let mint = options.environment.mintReplica
    applying.lists.follow { mint().low }
    configuration.prepareDatabase { db in
      let pacer = CheckpointPacer()
      pacer.follow(try db.handle())
      // Statements nested in triggers would otherwise write their journals to files.
      try db.execute(sql: "PRAGMA temp_store = MEMORY")
      try applying.register(try db.handle(), keeping: pacer)
      try FoldedText.register(try db.handle())
      try RowFinder.register(try db.handle())
      try ListFunctions.register(try db.handle(), applying.lists)
      try prepare?(db)
    }
    return configuration
  }

  /// Brings the write-ahead log into the file and empties it, unless it is in use right now.
  static func checkpoint(_ db: Database) throws {
    // SQLite remembers an interruption that found nothing to interrupt until the next statement begins.
    try db.execute(sql: "SELECT 1")
    do {
      // Who reads in another process may take long, and closing must not wait for it.
      try LockWait.without { try db.checkpoint(.truncate) }
    } catch let error as DatabaseError where [.SQLITE_BUSY, .SQLITE_LOCKED].contains(error.resultCode) {}
  }
}
