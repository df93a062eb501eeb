import TallyStore
import TallyWire

/// A place that several replicas can reach at different times and that keeps whole entries by name: a relay, a bucket,
/// a folder of a cloud drive. ``Store/sync(through:_:)`` syncs with everybody who uses it; ``SyncEngine/add(_:named:)``
/// does so continually.
///
/// ```swift
/// let report = try await store.sync(through: FolderMailbox(driveURL))
/// print(report.changes, report.isComplete)
/// ```
///
/// An entry is never changed, only put and removed, and its name always stands for the same content. It may appear
/// late, be unreadable for a while, or come back after it was removed. None of this loses data; it only delays it.
///
/// For a folder of files whose calls may block, conform to `FileMailbox` instead, which takes about forty lines. This
/// protocol is for places that are reached over a network and announce new entries. ``FolderMailbox`` and
/// `RelayMailbox` are implementations. `MailboxConformance` in `TallyTesting` checks these rules.
///
/// A pass makes one call at a time; several passes may run at once. A call ends soon after its task is cancelled. An
/// error of `get` affects only that entry; an error of any other call ends the pass, and the next pass does the rest.
/// An engine retries, unless the error is a permanent ``TallyError``.
public protocol Mailbox: Sendable {
  /// The name of the place in logs. An engine's status lists it by the name under which it was added.
  var name: String { get }
  /// The identity by which a store remembers the place: the same in every process, and different for every place. If
  /// two places share an identity, they are read again and again.
  var identity: String { get }
  /// Whether the place is a log or a folder, which determines the guarantees on which a store relies.
  var kind: MailboxKind { get }
  /// Whether the place keeps files of any size, so that those of assets, such as pictures, travel through it as well.
  var carriesAssets: Bool { get }
  /// The reason why a place that usually announces new entries does not do so at present, though it can be read and
  /// written; nil if it does, or never can. An engine shows it in the peer's status and checks the place at intervals.
  var pollingError: (any TallyError)? { get }
  /// Returns a page of the entries after a cursor, oldest first. While `hasMore` is true, the next call continues from
  /// the page's cursor.
  ///
  /// It returns a listing from the beginning if there is no cursor, if the place cannot tell what is new, or if it does
  /// not know the cursor, for instance because the log has since been restored from a backup. Then `isListing` is true,
  /// and entries that are not listed count as gone. Files that are not entries cost nothing.
  func changes(after cursor: MailboxCursor?) async throws -> MailboxPage
  /// Returns the bytes of an entry from an offset on, in pieces of at most about a mebibyte; no bytes if the entry ends
  /// there. An interrupted download can continue this way.
  /// - Throws: `MailboxError` of code `noSuchFile` if there is no such entry, here or with the first piece.
  func get(_ name: String, from offset: Int) async throws -> any AsyncSequence<[UInt8], any Error>
  /// Puts an entry: it appears with all of its content or not at all. Putting it a second time does nothing or replaces
  /// it, in case it was damaged; afterwards there is one entry of the name. If the place can resume an interrupted
  /// upload, this call does so. Returns a receipt, perhaps with a new cursor.
  /// - Throws: errors of reading the content, and `MailboxError`; then nothing is put.
  func put(_ upload: MailboxUpload) async throws -> MailboxReceipt
  /// Puts several entries, each as if it were put alone: a failure of one does not prevent the others from being put.
  ///
  /// A place for which each call is a network round trip puts them together. A pass puts at most one entry, since a
  /// delta holds everything that is new; this call is for programs that copy entries from one place to another.
  /// - Returns: the result for each upload, in the order of the uploads.
  /// - Throws: `CancellationError` soon after the task was cancelled; entries that were put stay.
  func put(_ uploads: [MailboxUpload]) async throws -> [Result<MailboxReceipt, any Error>]
  /// Returns the contents of small entries by name, as many as the place sends at once, at most 4 MiB. Read the others
  /// with `get`. Passes call it before they read many entries.
  /// - Throws: the error that prevents the place from answering. The pass then continues with `get`.
  func contents(of names: [String]) async throws -> [String: [UInt8]]
  /// Asks everybody who uses a log for contents that it has lost. Readers of the log get these entries once more, with
  /// a `MailboxItem.version`, and any store that has the content puts it again. Nothing is removed. Repeated requests
  /// do not announce the entries each time.
  /// - Throws: the error that prevents the place from being asked. A later pass asks again.
  func ask(for names: [String]) async throws
  /// Removes entries that are no longer needed. Removing an entry that does not exist is not an error. A log may keep
  /// them.
  func remove(_ names: [String]) async throws
  /// Waits until there may be an entry after a cursor; returns at once if there is one already. A place that cannot
  /// tell never returns.
  /// - Throws: `CancellationError` soon after the task was cancelled; an error that prevents the place from announcing
  ///   entries.
  func wait(after cursor: MailboxCursor?) async throws
}

extension Mailbox {
  /// Always true, for a place where a file of gigabytes is an entry like any other.
  public var carriesAssets: Bool { true }

  /// Puts one entry after the other, for a place that cannot put several at once. Returns the result for each.
  public func put(_ uploads: [MailboxUpload]) async throws -> [Result<MailboxReceipt, any Error>] {
    var results: [Result<MailboxReceipt, any Error>] = []
    for upload in uploads {
      try Task.checkCancellation()
      do {
        results.append(.success(try await put(upload)))
      } catch {
        guard !(error is CancellationError), !Task.isCancelled else { throw CancellationError() }
        results.append(.failure(error))
      }
    }
    return results
  }

  /// Always nil, for a place that announces new entries without fail, or never can.
  public var pollingError: (any TallyError)? { nil }

  /// Does nothing, for a place that keeps every entry that it lists, or whose files everybody reads.
  public func ask(for names: [String]) async throws {}

  /// Returns none, for a place where reading several at once saves nothing: each is read when it is needed.
  public func contents(of names: [String]) async throws -> [String: [UInt8]] { [:] }

  /// Waits until the task is cancelled and then throws `CancellationError`, for a place that cannot announce new
  /// entries. An engine checks it every `SyncEngine.Settings.interval` instead.
  public func wait(after cursor: MailboxCursor?) async throws {
    let (stream, end) = AsyncStream.makeStream(of: Never.self)
    await withTaskCancellationHandler {
      for await _ in stream {}
    } onCancel: {
      end.finish()
    }
    throw CancellationError()
  }
}

/// The kind of mailbox, which determines its guarantees for the entries that it lists.
public enum MailboxKind: Sendable, Hashable {
  /// It keeps the entries that it has accepted, whole and in one order, and numbers them. Listed entries are assumed to
  /// be readable.
  case log
  /// It promises nothing: files appear before they are complete, are changed by others, and vanish. An entry counts as
  /// present once it was read to its end.
  case folder
}

/// One page of the new entries of a mailbox.
public struct MailboxPage: Sendable {
  /// The entries, oldest first, each once.
  public var items: [MailboxItem]
  /// The cursor from which the next call continues; nil if the place cannot tell what is new.
  public var cursor: MailboxCursor?
  /// Whether this is the beginning of a listing of all existing entries, rather than the entries after the given
  /// cursor.
  public var isListing: Bool
  /// Whether there are already more entries after `cursor`. Then there is a cursor, and it differs from the given one.
  public var hasMore: Bool

  /// Creates a page of items, oldest first.
  public init(items: [MailboxItem], cursor: MailboxCursor? = nil, isListing: Bool, hasMore: Bool = false) {
    (self.items, self.cursor, self.isListing, self.hasMore) = (items, cursor, isListing, hasMore)
  }
}

/// The answer of a mailbox to an entry that was put.
public struct MailboxReceipt: Sendable, Hashable {
  /// The cursor from which to continue if only this entry has arrived after `MailboxUpload.cursor`, so senders need not
  /// ask for entries that they have put themselves; nil if others have arrived, or if the place cannot tell.
  public var cursor: MailboxCursor?

  /// Creates a receipt, with a cursor if nothing else has arrived.
  public init(cursor: MailboxCursor? = nil) { self.cursor = cursor }
}

/// An entry of a mailbox.
public struct MailboxItem: Sendable, Hashable {
  /// The availability of an entry.
  public enum State: Sendable, Hashable {
    /// The entry is present and can be read.
    case available
    /// The entry is known to exist but is not on this device. The mailbox has requested it.
    case notDownloaded
    /// The item is a link, a folder or a pipe, which is not read.
    case notAFile
    /// The entry existed and has been removed. This occurs only in a page that is not a listing.
    case removed
  }

  /// The name of the entry, without any folder.
  public var name: String
  /// The availability of the entry.
  public var state: State
  /// A text that changes whenever the content may have changed; nil if that is unknown. Without one, a folder's file is
  /// read each time, and a log's entry is assumed to be unchanged. A log gives one to an entry that somebody has asked
  /// for (``Mailbox/ask(for:)``), so that every store checks whether it can be read.
  public var version: String?
  /// The size of the entry in bytes; nil if unknown.
  public var byteCount: Int?
  /// All bytes of a small entry that the place sends along, so no store needs to request them.
  public var content: [UInt8]?

  /// Creates an item of a listing; everything except the name may be unknown.
  public init(
    name: String, state: State = .available, version: String? = nil, byteCount: Int? = nil, content: [UInt8]? = nil
  ) {
    self.name = name
    self.state = state
    self.version = version
    self.byteCount = byteCount
    self.content = content
  }
}

/// The limits of a pass.
public enum MailboxLimits {
  /// The maximum number of forgotten entries whose vectors a store remembers, and of the entries of these vectors.
  static let (pastEntries, pastVectorEntries) = (64, 1 << 16)
  /// The maximum number of entries that a listing returns, and that a store remembers of a mailbox.
  public static let files = 50_000
  /// The maximum number of vector entries, of all files together, that a pass keeps in memory. Files beyond that wait.
  public static let vectorEntries = 1 << 20
  /// The maximum length of a name, in bytes.
  public static let nameBytes = 255
  /// The maximum length, in bytes, of an identity and of the text of a cursor's entry.
  public static let identityBytes = 4_096
  /// The most bytes of contents sent along with listings that a pass keeps; the rest is asked for.
  static let contentBytes = 4 << 20
}

/// The reason why a mailbox could not carry out a call.
public struct MailboxError: TallyError {
  /// The kinds of failures that a mailbox reports.
  public enum Code: String, Sendable {
    /// The mailbox itself does not exist: the folder is gone, or the stick was removed.
    case unavailable
    /// There is no file of that name, or it no longer exists.
    case noSuchFile
    /// The item with that name is not a file.
    case notAFile
    /// A name could refer to something other than a file in the mailbox.
    case invalidName
    /// The place could not be read from.
    case unreadable
    /// The place has the entry and reports that its content is gone.
    case contentLost
    /// The place could not be written to.
    case unwritable
    /// The place violates the rules of `Mailbox`.
    case malformed
  }

  /// The kind of failure, to decide what to do about it.
  public let code: Code
  /// A description of the error in one sentence, for a log.
  public let message: String
  /// The underlying error; nil if there is none.
  public let cause: (any Error)?

  /// Creates an error from a code and a message.
  public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  /// Always false: drives are plugged in again, folders come back.
  public var isPermanent: Bool { false }

  /// The message with the code in parentheses.
  public var description: String { "\(message) (\(code.rawValue))" }
}
