#if Relay
  /// Why a relay's file, its database or its certificate cannot be used.
  public struct RelayStoreError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
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
      /// The address of the database is malformed.
      case badAddress
      /// The database cannot be reached.
      case unreachable
      /// The database refuses what is needed to begin.
      case refused
      /// The certificate or its key cannot be read, or they do not belong together.
      case badCertificate
      /// There is no such space.
      case noSuchSpace
      /// There is no such token, or several begin so.
      case noSuchToken
    }

    /// The kind of failure.
    public let code: Code
    /// A description of the error, for people.
    public let message: String

    init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }

    /// The message and the code.
    public var description: String { "\(message) (\(code.rawValue))" }
  }
#endif
