/// Why bytes from a peer or a file were refused. Nothing has been changed when it is thrown.
public struct WireError: Error, Hashable, Sendable {
  /// The kinds of refusals that a decoder makes.
  public enum Code: String, Hashable, Sendable {
    /// The bytes end too early.
    case truncated
    /// The bytes are not a delta of ours, or break a rule of the format.
    case malformed
    /// A newer version of the format, or a feature that this version does not know.
    case unsupportedVersion
    /// A quantity above its limit.
    case limitExceeded
    /// The checksum does not match the bytes.
    case checksumMismatch
    /// The compressed data is damaged.
    case compression
  }

  /// The kind of refusal, to decide what to do about it.
  public let code: Code
  /// A message for a log, without any of the user's data.
  public let message: String

  /// Creates an error from a code and a message.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
}

extension WireError: CustomStringConvertible {
  /// The message and the code.
  public var description: String { "\(message) (\(code.rawValue))" }
}
