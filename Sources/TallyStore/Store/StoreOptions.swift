import Foundation
import GRDB
import Logging
import TallyCRDT

#if PlantedFaults
  import TallyFaults
#endif

/// The behavior of a store, and what it takes from its surroundings. The defaults are right for an app.
///
/// ```swift
/// var options = StoreOptions()
/// options.prepareDatabase = { db in try db.execute(sql: "PRAGMA cache_size = -8000") }
/// let store = try Store(path: path, schema: schema, options: options)
/// ```
///
/// They are read when a store is opened, and hold as long as it is open. They are of this device alone: none is in the
/// file, and devices that differ in them end up with the same data.
public struct StoreOptions: Sendable {
  /// The seconds that a write waits for another process that is writing. Then it fails with GRDB's `DatabaseError` and
  /// SQLITE_BUSY, and nothing has changed. Writes of one process wait for each other as long as it takes.
  public var busyTimeout: TimeInterval = 5
  /// The clock: for the stamps of local writes, and for when a conflict was noticed and is too old. Tests set it.
  public var now: @Sendable () -> Date = { Date() }
  /// The logger for warnings, under the label `tally.store` unless set.
  public var logger = Logger(label: "tally.store")
  /// The number of entries that the conflict journal keeps; older ones go first. See ``Store/conflicts(limit:)``.
  public var conflictLimit = 10_000
  /// The seconds for which the conflict journal keeps an entry, by this device's clock: 90 days. Nil keeps entries of
  /// any age, up to ``conflictLimit``.
  public var conflictAge: TimeInterval? = 90 * 86_400
  /// When the content of deleted records is removed for good: once a day by a sync engine, 30 days after the delete was
  /// first synced, unless set.
  public var compaction = Compaction.automatic(restoreWindow: .days(30))
  /// Whether this replica's own changes are synced to the disk before a delta with them is handed out. Without it, a
  /// power cut after a sync can lead to two changes with one identity, and replicas that differ.
  public var flushesBeforeSync = true
  /// Whether a token is kept beside the file, in `<file>-incarnation`, by which an older or copied file is recognized.
  /// Off for stores that move between folders on purpose.
  public var detectsCopies = true
  /// Opens the file without writing to it, for a tool or an extension that only looks. Writes throw
  /// `StoreError.readOnly`, an engine gives its peers up with it, the schema stays as the file has it, and what other
  /// programs have written is not captured: where that matters, calls throw `StoreError.notCaptured`. Each read shows
  /// what is in the file by then; a sequence of ``Store/values(_:)`` tells the value of now and nothing more. SQLite
  /// needs a file with an index of the write-ahead log beside the store, so the folder must be writable.
  public var isReadOnly = false
  /// Called for each SQLite connection when it is opened, for the app's functions, collations or pragmas. A store in a
  /// file has several connections, so it is called more than once, and on any thread. For the same reason
  /// `journal_mode` and `locking_mode` are not the app's to set: with another than the store's, opening fails with
  /// SQLite's SQLITE_BUSY or SQLITE_LOCKED as soon as there is a second connection.
  public var prepareDatabase: (@Sendable (Database) throws -> Void)?
  /// Called when opening is about to change the tables, in the same transaction, with the file's schema and the one to
  /// come: the place to drop what depends on columns that get other names, such as a full-text index with external
  /// content. What it throws, opening throws, and the file is as it was.
  public var willChangeSchema: (@Sendable (Database, Schema, Schema) throws -> Void)?
  /// Whether SQLite's preupdate hook captures what this store's own connection writes, where SQLite has the hook, as
  /// Debian's and Apple's do; otherwise triggers do, which takes longer and replicates the same.
  ///
  /// Switch it off for an app that uses SQLite's session extension, or a preupdate hook of its own, on the store's
  /// writing connection: SQLite has one such hook for a connection, sessions take it for theirs, and a process where
  /// both use it crashes within SQLite. No API tells one from the other beforehand.
  public var usesHook = usesHookByDefault
  /// Whether the store lets go of its locks when the app is suspended, as GRDB's
  /// `Configuration.observesSuspensionNotifications` does for a file in an App Group, which iOS would otherwise kill
  /// the app for. Writes fail with SQLITE_ABORT or SQLITE_INTERRUPT then, and change nothing. The app posts
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

  /// Creates the default options, which are right for an app: five seconds to wait for another process, durable before
  /// a peer sees anything, copies recognized, 10,000 conflicts for 90 days, warnings under the label `tally.store`.
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
