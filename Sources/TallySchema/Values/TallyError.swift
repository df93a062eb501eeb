import TallyCRDT
import TallyWire

/// An error of Tally's own, whichever part of it fails: ``StoreError``, ``SyncError``, `RecordNameError`,
/// `MailboxError`, `RelayError`, `RelayStoreError` and `WireError` all have this shape, so that an app needs one place
/// that logs them and decides what to tell people.
///
/// ```swift
/// do {
///   try await store.sync(through: FolderMailbox(folder))
/// } catch let error as any TallyError {
///   print("\(error.code.rawValue): \(error.message)", error.isPermanent ? "needs help" : "will pass")
/// }
/// ```
///
/// Catch one type, such as ``StoreError``, to `switch` over its codes; catch `any TallyError` for the code as text,
/// which is stable. Messages are in English and for logs. What people read, the app says, by the code.
///
/// Faults of the disk and of SQLite arrive as GRDB's `DatabaseError`, what the file system says as Foundation's errors,
/// and the end of a cancelled task as `CancellationError`. None of these has this shape.
public protocol TallyError: Error, Sendable, CustomStringConvertible {
  /// The kinds of failures. Codes may be added: have a `default` in a `switch`.
  associatedtype Code: RawRepresentable<String>, Sendable

  /// The kind of failure, to decide what to do about it. Its raw value is stable, for logs and statistics.
  var code: Code { get }
  /// A message for a log, without any of the user's data.
  var message: String { get }
  /// Whether trying again is pointless until a person does something: updates the app, signs in, gives another secret.
  /// An engine gives a peer up over such an error of the peer or mailbox, until `resume()`. Of the store's own errors
  /// it does so only over `closed` and `readOnly`, because the others may have to do with one delta.
  var isPermanent: Bool { get }
  /// The time to let pass before the next attempt, where the other side asks for it; nil otherwise.
  var retryAfter: Duration? { get }
}

extension TallyError {
  /// No pause was asked for: the engine chooses one.
  public var retryAfter: Duration? { nil }
}

extension StoreError: TallyError {
  /// True for everything that would be refused again if it were tried again unchanged: all codes but `baseNotCovered`,
  /// `contentsDiffer`, `corrupt`, `damaged`, `damagedSender` and `notCaptured`, which another delta, a repair or
  /// another device can mend.
  public var isPermanent: Bool {
    switch code {
    case .baseNotCovered, .contentsDiffer, .damaged, .damagedSender, .notCaptured, .corrupt: false
    default: true
    }
  }
}

extension WireError: TallyError {
  /// True for a format that only a newer version reads. Other bytes may be whole the next time they are sent.
  public var isPermanent: Bool { code == .unsupportedVersion }
}

extension RecordNameError: TallyError {
  /// The kinds of malformed names: the cases of the error, without what some of them carry.
  public enum Code: String, Sendable {
    /// The name has no `|~|`, or more than one.
    case delimiter
    /// The part before or after the delimiter is empty.
    case empty
    /// The name is longer than 255 bytes.
    case tooLong
    /// A byte is outside printable ASCII.
    case notPrintableASCII
    /// The type is not a letter followed by letters, digits and underscores, or has more than 64 bytes.
    case type
  }

  /// The kind of mistake, for a log; a `switch` over the error itself also has the length or the offset.
  public var code: Code {
    switch self {
    case .delimiter: .delimiter
    case .empty: .empty
    case .tooLong: .tooLong
    case .notPrintableASCII: .notPrintableASCII
    case .type: .type
    }
  }

  /// The fault of the name, without the name itself.
  public var message: String {
    switch self {
    case .delimiter: "it needs exactly one |~|, as in SBGame|~|chess"
    case .empty: "nothing stands before or after the |~|"
    case .tooLong(let length): "it has \(length) bytes; the limit is \(AnyRecordName.maximumLength)"
    case .notPrintableASCII(let offset): "byte \(offset + 1) is not printable ASCII"
    case .type: "the part before |~| is not a letter followed by letters, digits and underscores"
    }
  }

  /// Always true: the same text is never a name.
  public var isPermanent: Bool { true }

  /// The message and the code.
  public var description: String { "\(message) (\(code.rawValue))" }
}
