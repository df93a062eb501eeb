import CoreMetrics

/// The outcome of a pass through a mailbox.
///
/// ```swift
/// let report = try await store.sync(through: FolderMailbox(folder))
/// for issue in report.pending + report.refused { print(issue.name, issue.message) }
/// ```
///
/// A file that cannot be taken in is not an error of the pass: it is listed here, does not delay other files, and stays
/// where it is.
public struct MailboxReport: Sendable, Equatable {
  /// A file that was not taken in.
  public struct Issue: Sendable, Hashable {
    /// The reasons why a file is not taken in.
    public enum Reason: String, Sendable {
      /// The file builds on files that have not arrived.
      case waitsForOthers
      /// The file is not on this device yet.
      case notDownloaded
      /// The file is incomplete or damaged; this store cannot tell which.
      case incomplete
      /// The place could not read the file.
      case unreadable
      /// The file was written in a newer version of the format.
      case newerVersion
      /// The file is larger than the limits allow.
      case tooLarge
      /// The item has the name of an entry but is a link, a folder or a pipe.
      case notAFile
      /// The file's content belongs to another zone than its name says.
      case wrongZone
      /// This store cannot take in the file, for instance because it contains something that only a newer version
      /// knows. It waits in the mailbox for others and for a later pass. A single row that an index, trigger or table
      /// of the app blocks does not make a store refuse a file: see `StoreStatus.setAside`.
      case refusedByStore
    }

    /// The name of the file in the mailbox.
    public var name: String
    /// The reason why the file was not taken in.
    public var reason: Reason
    /// The reason in words, for a log.
    public var message: String
  }

  /// The names of the files that were applied, in this order.
  public var taken: [String] = []
  /// The names of the files that this pass put.
  public var written: [String] = []
  /// The names of this store's own files that were removed because newer snapshots contain their content.
  public var removed: [String] = []
  /// The files that the next pass tries again.
  public var pending: [Issue] = []
  /// The files that will fail again next time unless a person helps.
  public var refused: [Issue] = []
  /// The number of records and links of this store that changed.
  public var changes = 0
  /// The number of concurrent writes that lost and are now in the conflict journal.
  public var conflicts = 0
  /// The numbers of bytes read from the mailbox and put into it.
  public var bytesRead = 0, bytesWritten = 0
  /// The files of assets that have come and were put.
  public var assets = AssetTransfers()
  /// Whether a file contradicted this store's content although both covered the same, so that a full state was put to
  /// repair it.
  public var repaired = false
  /// Whether this store's content was damaged or in doubt and content that others had put replaced it.
  public var isHealed = false
  /// The records and links that could not be checked after healing: see `ApplyResult.inDoubt`.
  public var inDoubt: [String] = []

  /// The cursor up to which the mailbox was read, as the argument of `Mailbox.wait(after:)`. Nil if the mailbox has no
  /// cursors.
  public var cursor: MailboxCursor?

  /// Creates the report of a pass that did nothing.
  public init() {}

  /// Whether the mailbox holds nothing that this store lacks, as far as the pass could see: nothing is pending and
  /// nothing was refused.
  public var isComplete: Bool { pending.isEmpty && refused.isEmpty }
}

/// The settings of a pass through a mailbox: limits, progress and metrics.
public struct MailboxSettings: Sendable {
  /// The size limit, in bytes, of the deltas since the last snapshot: if they exceed both this limit and the size of
  /// that snapshot, a new one is written.
  public var deltaBytes = 1 << 20
  /// The minimum size, in bytes, with which a delta counts in the sum for `deltaBytes`: even an empty file has a cost.
  public var minimumDeltaWeight = 1 << 14
  /// The destination of counters; nil for the one that the app has set up with `MetricsSystem.bootstrap`.
  public var metrics: (any MetricsFactory)?
  /// The time after which a pass begins no further file of an asset, so that records need not wait for the next pass.
  public var assetTime: Duration = .seconds(20)
  /// Whether the pass exchanges files of assets, after the records.
  public var carriesAssets = true
  /// Whether the store remembers the devices whose files it has found: see `Store.devices()`.
  public var remembersDevices = false
  /// A function that receives the progress of a pass: at each file that it examines, and as bytes are read, applied and
  /// put. It is called on the pass's thread, up to some thousand times a second, and must be quick.
  public var onProgress: (@Sendable (MailboxProgress) -> Void)?

  /// When a delta that is put names another entry instead of listing all replicas.
  package enum NamesBases: Sendable { case whereItSaves, always }
  package var namesBases = NamesBases.whereItSaves

  /// Creates the default settings, which suit an app: a new snapshot once the deltas since the last one are larger than
  /// it and than a mebibyte.
  public init() {}
}
