import TallyWire

/// An error of Tally's own, whichever part of it fails: `StoreError`, `SyncError`, `MailboxError`, `RelayError` and
/// `WireError` all have this shape, so that an app needs one place that logs them and decides what to tell people.
///
/// ```swift
/// do {
///   try await store.sync(through: FolderMailbox(folder))
/// } catch let error as any TallyError {
///   print("\(error.code.rawValue): \(error.message)", error.isPermanent ? "needs help" : "will pass")
/// }
/// ```
///
/// Faults of the disk and of SQLite arrive as GRDB's `DatabaseError`, what the file system says as Foundation's errors.
public protocol TallyError: Error, Sendable, CustomStringConvertible {
  /// The kinds of failures. Codes may be added: have a `default` in a `switch`.
  associatedtype Code: RawRepresentable<String>, Sendable

  /// The kind of failure, to decide what to do about it. Its raw value is stable, for logs and statistics.
  var code: Code { get }
  /// A message for a log, without any of the user's data.
  var message: String { get }
  /// Whether trying again is pointless until somebody does something: updates the app, signs in, gives another secret.
  /// An engine gives a peer up over such an error of the peer or mailbox, until `resume()`. Of the store's own errors
  /// it does so only over `closed`, because the others may have to do with one delta.
  var isPermanent: Bool { get }
  /// The time to let pass before the next attempt, where the other side asks for it; nil otherwise.
  var retryAfter: Duration? { get }
}

extension TallyError {
  /// No pause was asked for: the engine chooses one.
  public var retryAfter: Duration? { nil }
}

extension StoreError: TallyError {
  /// True for whatever would be refused again if it were tried again unchanged: all codes but `baseNotCovered`,
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
