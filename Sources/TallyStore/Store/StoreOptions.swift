import Foundation
import GRDB
import Logging
import TallyCRDT

#if PlantedFaults
  import TallyFaults
#endif

/// The options of a store: its behavior, and its clock, logger and hooks. The defaults suit an app.
///
/// ```swift
/// var options = StoreOptions()
/// options.prepareDatabase = { db in try db.execute(sql: "PRAGMA cache_size = -8000") }
/// let store = try Store(path: path, schema: schema, options: options)
/// ```
///
/// They are read when a store is opened and apply for as long as it is open. They are local to this device: none is
/// stored in the file, and devices with different options end up with the same data.
public struct StoreOptions: Sendable {
  /// The number of seconds for which a write waits for another process that is writing. After that it fails with GRDB's
  /// `DatabaseError` and SQLITE_BUSY, and nothing has changed. Writes of one process wait for each other without limit.
  public var busyTimeout: TimeInterval = 5
  /// The clock. It provides the time for the stamps of local writes, and for the age of conflicts. Tests set it.
  public var now: @Sendable () -> Date = { Date() }
  /// The logger for warnings; by default with the label `tally.store`.
  public var logger = Logger(label: "tally.store")
  /// The number of entries that the conflict journal keeps; the oldest are removed first. See
  /// ``Store/conflicts(limit:)``.
  public var conflictLimit = 10_000
  /// The number of seconds for which the conflict journal keeps an entry, by this device's clock; by default 90 days.
  /// Nil keeps entries of any age, up to ``conflictLimit``.
  public var conflictAge: TimeInterval? = 90 * 86_400
  /// When the content of deleted records is removed for good; by default a sync engine does so once a day, 30 days
  /// after a delete was first synced.
  public var compaction = Compaction.automatic(restoreWindow: .days(30))
  /// Whether this replica's own changes are flushed to the disk before a delta with them is sent. Without it, a power
  /// cut after a sync can lead to two changes with the same identity, and to replicas that differ.
  public var flushesBeforeSync = true
  /// Whether a token is kept beside the file, in `<file>-incarnation`, to recognize an older or copied file. Turn it
  /// off for stores that are moved between folders on purpose.
  public var detectsCopies = true
  /// Whether the file is opened without writing to it, for a tool or an extension that only reads. Writes throw
  /// `StoreError.readOnly`, an engine gives up its peers with that error, the schema stays that of the file, and writes
  /// of other programs are not captured: where that matters, calls throw `StoreError.notCaptured`. Each read shows the
  /// current content of the file; a sequence of ``Store/values(_:)`` provides only the current value. SQLite needs a
  /// file with an index of the write-ahead log beside the store, so the folder must be writable.
  public var isReadOnly = false
  /// A function that is called for each SQLite connection when it is opened, for the app's functions, collations or
  /// pragmas. A store in a file has several connections, so the function is called more than once, on any thread. For
  /// the same reason the app must not set `journal_mode` and `locking_mode`: with other modes than the store's, opening
  /// fails with SQLite's SQLITE_BUSY or SQLITE_LOCKED as soon as there is a second connection.
  public var prepareDatabase: (@Sendable (Database) throws -> Void)?
  /// A function that is called when opening is about to change the tables, in the same transaction, with the file's
  /// schema and the new one. Use it to drop objects that depend on columns to be renamed, such as a full-text index
  /// with external content. If it throws, opening throws the same error, and the file is unchanged.
  public var willChangeSchema: (@Sendable (Database, Schema, Schema) throws -> Void)?
  /// Whether SQLite's preupdate hook captures the writes of this store's own connection, if SQLite has the hook, as
  /// Debian's and Apple's builds do. Otherwise triggers capture them, which takes longer and replicates the same.
  ///
  /// Switch it off for an app that uses SQLite's session extension, or a preupdate hook of its own, on the store's
  /// writing connection: SQLite has only one such hook per connection, sessions assume that it is theirs, and a process
  /// in which both use it crashes within SQLite. No API can detect this beforehand.
  public var usesHook = usesHookByDefault
  /// Whether the store releases its locks when the app is suspended, as GRDB's
  /// `Configuration.observesSuspensionNotifications` does. For a file in an App Group, iOS otherwise kills the app.
  /// While suspended, writes fail with SQLITE_ABORT or SQLITE_INTERRUPT and change nothing. The app posts
  /// `Database.suspendNotification` and `resumeNotification`.
  public var observesSuspensionNotifications = false
  /// The files beside the database.
  package var files: any StoreFiles = SystemFiles()
  /// The source of replica ids; nil for the system's randomness.
  package var mintReplica: (@Sendable () -> ReplicaID)?
  #if PlantedFaults
    /// Faults that tests put in.
    package var planted: PlantedFault = []
    /// `TALLY_CAPTURE=triggers` runs a whole suite as where SQLite lacks the hook.
    private static let usesHookByDefault = ProcessInfo.processInfo.environment["TALLY_CAPTURE"] != "triggers"
  #else
    private static let usesHookByDefault = true
  #endif

  /// Creates the default options, which suit an app: writes wait five seconds for another process, changes are durable
  /// before a peer sees them, copies are recognized, the journal keeps 10,000 conflicts for 90 days, and warnings have
  /// the label `tally.store`.
  public init() {}

  var environment: StoreEnvironment {
    let now = now
    let mint = mintReplica
    let environment = StoreEnvironment(
      now: { HybridTime(clock: now().timeIntervalSince1970 * 1000) },
      mintReplica: {
        if let mint { return mint() }
        var generator = SystemRandomNumberGenerator()
        return .random(using: &generator)
      },
      logger: logger, conflictLimit: conflictLimit,
      conflictAge: conflictAge.map { UInt64(max(0, $0 * 1000)) }, usesHook: usesHook)
    #if PlantedFaults
      return environment.planting(planted)
    #else
      return environment
    #endif
  }
}
