import TallyWire

/// A place that several replicas can reach at different times and that keeps whole files by name: a folder of a cloud
/// drive, a bucket, a USB stick. `Store.sync(through:)` syncs with everybody who uses it.
///
/// Not much is asked of it. Files are never changed, only put and removed. A file may show late, or for a while
/// incompletely, or not be listed though it can be read; it may come back after it was removed. Nothing is lost by
/// that, it only takes longer.
///
/// The calls may block: the asynchronous `Store.sync(through:)` makes them on a queue of its own. They may come from
/// several threads. Every error of `get` concerns that file alone; an error of the other calls ends the pass, and the
/// next one does the rest.
///
/// `FolderMailbox` and `MemoryMailbox` are two of them. One for a web service takes about forty lines.
public protocol Mailbox: Sendable {
  /// What to call the place in logs and status.
  var name: String { get }
  /// What passes remember of the files, so that they need not read all of them again. Make one with the mailbox and
  /// return it always.
  var notes: MailboxNotes { get }
  /// The files whose name begins with `prefix`, in either case, in any order; at most `MailboxLimits.files`. Others
  /// cost nothing.
  func list(prefix: String) throws -> [MailboxItem]
  /// Opens a file.
  /// - Returns: what gives its next bytes, in pieces of at most about a mebibyte; nil at the end.
  func get(_ name: String) throws -> () throws -> [UInt8]?
  /// Puts a file: its name appears with all of the content or not at all. A file of that name has the same content, and
  /// is replaced in case it was damaged.
  /// - Parameter source: gives the next bytes; nil at the end. What it throws passes through, and nothing is put.
  func put(_ name: String, from source: () throws -> [UInt8]?) throws
  /// Removes a file. One that is not there is no error.
  func remove(_ name: String) throws
}

/// A file in a mailbox.
public struct MailboxItem: Sendable, Hashable {
  /// What can be done with a file.
  public enum State: Sendable, Hashable {
    /// It can be read.
    case here
    /// It is known to exist and is not on this device. The mailbox has asked for it.
    case elsewhere
    /// It is a link, a folder, a pipe: something that nobody reads.
    case notAFile
  }

  /// Its name, without any folder.
  public var name: String
  /// What can be done with it.
  public var state: State
  /// Something that changes whenever the content may have changed; nil if that is not known, so that it is read each
  /// time.
  public var version: String?

  /// An item.
  public init(name: String, state: State = .here, version: String? = nil) {
    self.name = name
    self.state = state
    self.version = version
  }
}

/// The limits of a pass.
public enum MailboxLimits {
  /// The most files of ours that a listing gives.
  public static let files = 50_000
  /// The most vector entries of all files together that a pass keeps in memory. Files beyond that wait.
  public static let vectorEntries = 1 << 20
  /// The most bytes of a name.
  public static let nameBytes = 255
}

/// Why a mailbox could not do what it was asked for.
public struct MailboxError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure.
  public enum Code: String, Sendable {
    /// The mailbox itself is not there: the folder is gone, the stick is pulled out.
    case unavailable
    /// There is no file of that name, or no longer.
    case noSuchFile
    /// What has that name is not a file.
    case notAFile
    /// A name that could mean something else than a file in the mailbox.
    case invalidName
    /// Reading failed.
    case unreadable
    /// Writing failed.
    case unwritable
  }

  /// The kind of failure.
  public let code: Code
  /// What was wrong.
  public let message: String
  /// What caused it.
  public let cause: (any Error)?

  /// An error.
  public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  /// The message and the code.
  public var description: String { "\(message) (\(code.rawValue))" }
}
