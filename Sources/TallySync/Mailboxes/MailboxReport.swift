import CoreMetrics

/// The outcome of a pass through a mailbox.
///
/// ```swift
/// let report = try await store.sync(through: FolderMailbox(folder))
/// for issue in report.pending + report.refused { print(issue.name, issue.message) }
/// ```
///
/// A file that cannot be taken in is no error of the pass: it is listed here, holds up no other, and stays where it is.
public struct MailboxReport: Sendable, Equatable {
  /// A file that was not taken in.
  public struct Issue: Sendable, Hashable {
    /// The reasons why a file is not taken in.
    public enum Reason: String, Sendable {
      /// It builds on files that have not arrived.
      case waitsForOthers
      /// It is not on this device yet.
      case notDownloaded
      /// It is incomplete or damaged; from here the two look the same.
      case incomplete
      /// The place could not read the file.
      case unreadable
      /// It was written by a newer version of the format.
      case newerVersion
      /// It is larger than the limits allow.
      case tooLarge
      /// It has the name of an entry, but is a link, a folder or a pipe.
      case notAFile
      /// Its content belongs to another zone than its name says.
      case wrongZone
      /// This store cannot take it, for instance since it holds what only a newer version knows. It waits in the
      /// mailbox for others and for a later pass. A single row that an index, trigger or table of the app's keeps out
      /// does not make a store refuse a file: see `StoreStatus.setAside`.
      case refusedByStore
    }

    /// The name of the file in the mailbox.
    public var name: String
    /// The reason why the file was not taken in.
    public var reason: Reason
    /// The same in words, for a log.
    public var message: String
  }

  /// Files that were applied, in this order.
  public var taken: [String] = []
  /// The names of the files that this pass put.
  public var written: [String] = []
  /// Own files that were removed because newer snapshots hold what was in them.
  public var removed: [String] = []
  /// Files that the next pass tries again.
  public var pending: [Issue] = []
  /// Files that will not be better next time, without a person's help.
  public var refused: [Issue] = []
  /// Records and links of this store that changed.
  public var changes = 0
  /// Concurrent writes that lost, now in the conflict journal.
  public var conflicts = 0
  /// Bytes read from the mailbox and put into it.
  public var bytesRead = 0, bytesWritten = 0
  /// Whether content contradicted this store's though both covered the same, so that a full state was put to repair it.
  public var repaired = false
  /// Whether what was stored here was damaged, or in doubt, and content that others had put was taken in its place.
  public var isHealed = false
  /// What could not be checked after healing: see `ApplyResult.inDoubt`.
  public var inDoubt: [String] = []

  /// The cursor up to which the mailbox was read, for `Mailbox.wait(after:)` to wait after. Nil if the mailbox has no
  /// cursors.
  public var cursor: MailboxCursor?

  /// The report of a pass that did nothing.
  public init() {}

  /// Whether the mailbox holds nothing that this store lacks, as far as could be seen: nothing is pending and nothing
  /// was refused.
  public var isComplete: Bool { pending.isEmpty && refused.isEmpty }
}

/// The settings of a pass through a mailbox: limits, progress and metrics.
public struct MailboxSettings: Sendable {
  /// When the deltas since the last snapshot take more bytes than that snapshot, and more than this, a new one is
  /// written.
  public var deltaBytes = 1 << 20
  /// The size that a small delta counts as in that sum: files cost something even when they are empty.
  public var minimumDeltaWeight = 1 << 14
  /// The destination of counters; nil for what the app has set up with `MetricsSystem.bootstrap`.
  public var metrics: (any MetricsFactory)?
  /// Whether the store remembers whose files it has found: see `Store.devices()`.
  public var remembersDevices = false
  /// Told how far a pass is: at each file that it looks at, and as bytes are read, applied and put. Called on the
  /// pass's thread, up to some thousand times a second; it must not take long.
  public var onProgress: (@Sendable (MailboxProgress) -> Void)?

  /// Creates the default settings, which are right for an app: a new snapshot when the deltas since the last one
  /// outweigh it and a mebibyte.
  public init() {}
}
