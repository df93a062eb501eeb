import TallyCRDT
import TallyWire

/// The protocol of all errors of Tally's own: ``StoreError``, ``SyncError``, `RecordNameError`, `MailboxError`,
/// `RelayError`, `RelayStoreError` and `WireError` conform to it. An app can therefore log them, and decide what to
/// tell people, in one place.
///
/// ```swift
/// do {
///   try await store.sync(through: FolderMailbox(folder))
/// } catch let error as any TallyError {
///   print("\(error.code.rawValue): \(error.message)", error.isPermanent ? "needs help" : "will pass")
/// }
/// ```
///
/// Catch one type, such as ``StoreError``, to `switch` over its codes; catch `any TallyError` to get the code as text,
/// which is stable. Messages are in English and for logs. The app chooses by the code what people read.
///
/// Faults of the disk and of SQLite are thrown as GRDB's `DatabaseError`, errors of the file system as Foundation's
/// errors, and the end of a cancelled task as `CancellationError`. None of these conforms to this protocol.
public protocol TallyError: Error, Sendable, CustomStringConvertible {
  /// The kinds of failures. Later versions may add codes: include a `default` in a `switch`.
  associatedtype Code: RawRepresentable<String>, Sendable

  /// The kind of failure, to decide what to do about it. Its raw value is stable, for logs and statistics.
  var code: Code { get }
  /// A message for a log, without any of the user's data.
  var message: String { get }
  /// Whether a retry is pointless until a person does something: updates the app, signs in, enters another secret. An
  /// engine gives up a peer or mailbox after such an error until `resume()` or `syncNow()`. Of the store's own errors,
  /// only `closed` and `readOnly` have this effect, because the others may concern a single delta.
  var isPermanent: Bool { get }
  /// The time to wait before the next attempt, if the other side asks for a pause; otherwise nil.
  var retryAfter: Duration? { get }
}

extension TallyError {
  /// Always nil: no pause was requested, so the engine chooses one.
  public var retryAfter: Duration? { nil }
}

extension StoreError: TallyError {
  /// True for everything that would be refused again on an unchanged retry: all codes except `baseNotCovered`,
  /// `contentsDiffer`, `corrupt`, `damaged`, `damagedSender` and `notCaptured`, which another delta, a repair or
  /// another device can resolve.
  public var isPermanent: Bool {
    switch code {
    case .baseNotCovered, .contentsDiffer, .damaged, .damagedSender, .notCaptured, .corrupt: false
    default: true
    }
  }
}

extension WireError: TallyError {
  /// True for a format that only a newer version reads. Other malformed bytes may arrive intact the next time.
  public var isPermanent: Bool { code == .unsupportedVersion }
}

extension RecordNameError: TallyError {
  /// The kinds of malformed names: the cases of the error without their associated values.
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

  /// The kind of mistake, for a log; a `switch` over the error itself also gives the length or the offset.
  public var code: Code {
    switch self {
    case .delimiter: .delimiter
    case .empty: .empty
    case .tooLong: .tooLong
    case .notPrintableASCII: .notPrintableASCII
    case .type: .type
    }
  }

  /// A description of the mistake in the name, without the name itself.
  public var message: String {
    switch self {
    case .delimiter: "it needs exactly one |~|, as in SBGame|~|chess"
    case .empty: "nothing stands before or after the |~|"
    case .tooLong(let length): "it has \(length) bytes; the limit is \(AnyRecordName.maximumLength)"
    case .notPrintableASCII(let offset): "byte \(offset + 1) is not printable ASCII"
    case .type: "the part before |~| is not a letter followed by letters, digits and underscores"
    }
  }

  /// Always true: the same text never becomes a valid name.
  public var isPermanent: Bool { true }

  /// The message with the code in parentheses.
  public var description: String { "\(message) (\(code.rawValue))" }
}
