#if Relay
  /// Why a relay's file cannot be used.
  public struct RelayStoreError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: String, Sendable {
      /// There is no such file.
      case noSuchFile
      /// The file is a database of something else.
      case notARelay
      /// A newer version has written it.
      case newerFormat
      /// Another process serves from it.
      case inUse
      /// The file beside it, which says that it is in use, cannot be made.
      case cannotLock
      /// There is no such space.
      case noSuchSpace
      /// There is no such token, or several begin so.
      case noSuchToken
    }

    /// The kind of failure.
    public let code: Code
    /// What was wrong, for people.
    public let message: String

    init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }

    /// The message and the code.
    public var description: String { "\(message) (\(code.rawValue))" }
  }
#endif
