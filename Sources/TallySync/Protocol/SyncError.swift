import TallyCRDT
import TallyWire

/// Why a sync ended early. Each store is consistent; what was applied stays, what was not has changed nothing.
public struct SyncError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure.
  public enum Code: String, Sendable, CaseIterable {
    /// The peer speaks only newer versions of the protocol, or only older ones.
    case upgradeRequired
    /// The peer syncs another zone.
    case wrongZone
    /// The peer's bytes are no message of ours, or come in an order that the protocol does not have.
    case protocolViolation
    /// The peer sent more than the limits allow.
    case limitExceeded
    /// The peer is not allowed in: a wrong secret or certificate.
    case unauthorized
    /// No connection to the peer could be opened.
    case unreachable
    /// The connection ended before the sync was done.
    case disconnected
    /// Nothing came from the peer for too long.
    case timedOut
    /// The peer failed; its own message says why.
    case peerFailed
    /// After a full exchange both stores still differ. The contents are kept; report this.
    case notConverged
    /// The peer is this very store, or sends back what it is sent.
    case sameStore
    /// What one of the two holds is damaged, and the other has nothing to heal it with, or was given nothing of it. The
    /// message says which.
    case damaged
  }

  /// The kind of failure.
  public let code: Code
  /// What was wrong, without any of the user's data.
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
