#if Relay
  // One shape for all errors of Tally's. It is all that a relay takes from stores, of which it knows nothing.
  import protocol TallyStore.TallyError

  /// Why a relay's file, its database or its certificate cannot be used.
  public struct RelayStoreError: TallyError {
    /// The kinds of failure of a relay's storage.
    public enum Code: String, Sendable {
      /// There is no such file, or nothing of a relay in the database.
      case noSuchFile
      /// The file, or the schema `tally_relay` in the database, is something else's.
      case notARelay
      /// A newer version has written it.
      case newerFormat
      /// Another process serves from it.
      case inUse
      /// The file beside it, which says that it is in use, cannot be made.
      case cannotLock
      /// The file, or its disk, is read-only: a relay that serves has to write, and so has any process that finds no
      /// log beside the file.
      case readOnly
      /// The address of the database is malformed.
      case badAddress
      /// The database cannot be reached, or is about to begin.
      case unreachable
      /// The database refuses the user or the password, or what is needed to begin.
      case refused
      /// A pooler before the database does not give each connection a session of its own, or has too few of them.
      case pooled
      /// The certificate or its key cannot be read, or they do not belong together.
      case badCertificate
      /// There is no such space.
      case noSuchSpace
      /// There is no such token, or several begin so.
      case noSuchToken
    }

    /// The kind of failure, to decide what to answer.
    public let code: Code
    /// A description of the error, for people.
    public let message: String

    init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }

    /// True unless time alone can help: another process may let go of the file, and a database may be reached again.
    public var isPermanent: Bool { code != .inUse && code != .unreachable }

    /// The message and the code.
    public var description: String { "\(message) (\(code.rawValue))" }
  }
#endif
