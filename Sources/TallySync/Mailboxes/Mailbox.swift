import TallyStore
import TallyWire

/// A place that several replicas can reach at different times and that keeps whole entries by name: a relay, a bucket,
/// a folder of a cloud drive. ``Store/sync(through:_:)`` syncs with everybody who uses it, and
/// ``SyncEngine/add(_:named:)`` does so again and again.
///
/// ```swift
/// let report = try await store.sync(through: FolderMailbox(driveURL))
/// print(report.changes, report.isComplete)
/// ```
///
/// An entry is never changed, only put and removed, and its name always stands for one content. It may show late, or
/// not be readable for a while, or come back after it was removed. Nothing is lost by that, it only takes longer.
///
/// A place that is a folder of files, and whose calls may block, conforms to `FileMailbox` instead, which takes about
/// forty lines; this protocol is for places that tell what is new and that are reached over a network.
/// ``FolderMailbox`` and `RelayMailbox` are there. `MailboxConformance` of `TallyTesting` checks what is said here.
///
/// Passes make one call at a time; several passes may make theirs at once. A call ends soon when its task is cancelled.
/// Every error of `get` concerns that entry alone; an error of any other call ends the pass, and the next one does the
/// rest. An engine tries again, unless the error is a ``TallyError`` that is permanent.
public protocol Mailbox: Sendable {
  /// The name of the place in logs. An engine lists it in its status by the name that it was added under.
  var name: String { get }
  /// The identity by which a store remembers the place: the same in every process, and another for another place. Two
  /// places with one identity cost reading again.
  var identity: String { get }
  /// Whether the place is a log or a folder, which decides what a store relies on.
  var kind: MailboxKind { get }
  /// Why a place that tells what is new does not at present, though it can be read and written; nil if it does, or
  /// never can. An engine says so in the peer's status, and looks into the place at intervals.
  var pollingError: (any TallyError)? { get }
  /// Returns what has come after a cursor, oldest first: a page of it, from which the next call goes on while
  /// `hasMore`.
  ///
  /// Everything, as the beginning of a listing, if there is no cursor, if the place cannot tell what is new, or if it
  /// does not know the cursor: one of a log that has gone back since, for instance, because it was restored from a
  /// backup. Then `isListing` is true, and what is not listed counts as gone. Entries of others cost nothing.
  func changes(after cursor: MailboxCursor?) async throws -> MailboxPage
  /// The bytes of an entry from an offset on, so that a download that broke off can go on; none if the entry ends
  /// there. In pieces of at most about a mebibyte.
  /// - Throws: `MailboxError` of code `noSuchFile` if there is no such entry, here or with the first piece.
  func get(_ name: String, from offset: Int) async throws -> any AsyncSequence<[UInt8], any Error>
  /// Puts an entry: it appears with all of its content or not at all. Putting it a second time does nothing, or
  /// replaces it in case it was damaged; there is one entry of the name afterwards. An upload that breaks off and that
  /// the place can go on with is gone on with here.
  /// - Throws: what reading the content throws, and `MailboxError`; nothing is put then.
  func put(_ upload: MailboxUpload) async throws -> MailboxReceipt
  /// Puts several entries, each as if it were put alone: one that fails keeps none of the others from being put.
  ///
  /// A place to which each call is a way over a network puts them together. A pass puts one entry at most, since a
  /// delta holds all that is new; this is for those who carry entries from one place to another.
  /// - Returns: what became of each, in the order of the uploads.
  /// - Throws: `CancellationError` soon after the task was cancelled; what was put stays.
  func put(_ uploads: [MailboxUpload]) async throws -> [Result<MailboxReceipt, any Error>]
  /// The contents of small entries, as many as the place gives at once, 4 MiB at most, by their names. What is not
  /// among them, `get` gives. Passes ask before they read many entries.
  /// - Throws: what keeps the place from answering. The pass goes on with `get` then.
  func contents(of names: [String]) async throws -> [String: [UInt8]]
  /// Asks everybody who uses a log for contents that it has lost: those who read the log are given these entries once
  /// more, with a `MailboxItem.version`, and who has the content puts it again. Nothing is removed for it. Asking again
  /// and again does not have them given each time.
  /// - Throws: what keeps the place from being asked. Another pass asks again.
  func ask(for names: [String]) async throws
  /// Removes entries that are no longer needed. One that is not there is no error; a log may keep them.
  func remove(_ names: [String]) async throws
  /// Returns when there may be something after a cursor, at once if there is already. A place that cannot tell never
  /// does.
  /// - Throws: `CancellationError` soon after the task was cancelled; an error that keeps the place from telling.
  func wait(after cursor: MailboxCursor?) async throws
}

extension Mailbox {
  /// Puts one entry after the other, for a place that has no other way.
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

  /// None, for a place that tells what is new, or never can.
  public var pollingError: (any TallyError)? { nil }

  /// Does nothing, for a place that keeps what it lists, or whose files everybody reads.
  public func ask(for names: [String]) async throws {}

  /// None, for a place where asking for several at once saves nothing: each is read when it is needed.
  public func contents(of names: [String]) async throws -> [String: [UInt8]] { [:] }

  /// Returns only when the task is cancelled, with `CancellationError`: for a place that cannot tell what is new. An
  /// engine looks into it every `SyncEngine.Settings.interval` instead.
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

/// The guarantee that a mailbox gives for the entries that it lists.
public enum MailboxKind: Sendable, Hashable {
  /// It keeps what it has accepted, whole and in one order, and numbers it. What it lists is taken to be readable.
  case log
  /// It promises nothing: files show before they are whole, are changed by others, and vanish. An entry counts as being
  /// there when it was read to its end.
  case folder
}

/// The new entries of a mailbox.
public struct MailboxPage: Sendable {
  /// The entries, oldest first, each once.
  public var items: [MailboxItem]
  /// The cursor from which the next call continues; nil if the place cannot tell what is new.
  public var cursor: MailboxCursor?
  /// Whether this is the beginning of everything that is there, and not what came after the cursor that was given.
  public var isListing: Bool
  /// Whether there is more after `cursor` already. Then there is a cursor, and it is not the one that was given.
  public var hasMore: Bool

  /// Creates a page of items, oldest first.
  public init(items: [MailboxItem], cursor: MailboxCursor? = nil, isListing: Bool, hasMore: Bool = false) {
    (self.items, self.cursor, self.isListing, self.hasMore) = (items, cursor, isListing, hasMore)
  }
}

/// The answer of a mailbox to an entry that was put.
public struct MailboxReceipt: Sendable, Hashable {
  /// The cursor from which to continue, if nothing but this entry has come after `MailboxUpload.cursor`, so that
  /// senders need not ask for what they have put themselves; nil if something has, or the place cannot tell.
  public var cursor: MailboxCursor?

  /// Creates a receipt, with a cursor if nothing else has come.
  public init(cursor: MailboxCursor? = nil) { self.cursor = cursor }
}

/// An entry of a mailbox.
public struct MailboxItem: Sendable, Hashable {
  /// The availability of an entry.
  public enum State: Sendable, Hashable {
    /// It is here, and can be read.
    case available
    /// It is known to exist and is not on this device. The mailbox has asked for it.
    case notDownloaded
    /// It is a link, a folder, a pipe: something that is not read.
    case notAFile
    /// It was there and has been removed. Only where a page is no listing.
    case removed
  }

  /// Its name, without any folder.
  public var name: String
  /// The availability of the entry.
  public var state: State
  /// Something that changes whenever the content may have changed; nil if that is not known. Then a folder's file is
  /// read each time, and a log's entry is taken to be what it was. A log gives one to an entry that somebody has asked
  /// for (``Mailbox/ask(for:)``), so that everybody looks whether it can be read.
  public var version: String?
  /// The size of the entry in bytes; nil if it is not known.
  public var byteCount: Int?
  /// All of its bytes, for a small entry that the place sends along, so that no store need ask for them.
  public var content: [UInt8]?

  /// Creates an item of a listing; everything but the name may be unknown.
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
  /// The most entries that a listing gives, and the most entries that a store remembers of a mailbox.
  public static let files = 50_000
  /// The most vector entries of all files together that a pass keeps in memory. Files beyond that wait.
  public static let vectorEntries = 1 << 20
  /// The most bytes of a name.
  public static let nameBytes = 255
  /// The most bytes of an identity and of the text of a cursor's entry.
  public static let identityBytes = 4_096
  /// The most bytes of contents sent along with listings that a pass keeps; the rest is asked for.
  static let contentBytes = 4 << 20
}

/// Why a mailbox could not do what it was asked for.
public struct MailboxError: TallyError {
  /// The kinds of failures that a mailbox reports.
  public enum Code: String, Sendable {
    /// The mailbox itself is not there: the folder is gone, the stick is pulled out.
    case unavailable
    /// There is no file of that name, or no longer.
    case noSuchFile
    /// The item with that name is not a file.
    case notAFile
    /// A name that could mean something else than a file in the mailbox.
    case invalidName
    /// The place could not be read from.
    case unreadable
    /// The place has the entry, and says that its content is gone.
    case contentLost
    /// The place could not be written to.
    case unwritable
    /// The place does not keep to what `Mailbox` says.
    case malformed
  }

  /// The kind of failure, to decide what to do about it.
  public let code: Code
  /// A description of the error, in a sentence for a log.
  public let message: String
  /// The error beneath; nil if there is none.
  public let cause: (any Error)?

  /// Creates an error from a code and a message.
  public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  /// Never true: drives are plugged in again, folders come back.
  public var isPermanent: Bool { false }

  /// The message and the code.
  public var description: String { "\(message) (\(code.rawValue))" }
}
