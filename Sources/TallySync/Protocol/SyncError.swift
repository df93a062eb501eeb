import TallyCRDT
import TallyStore
import TallyWire

/// The reason why a sync ended early. Each store is consistent: deltas that were applied stay, others have changed
/// nothing, and the next sync does the rest.
///
/// ```swift
/// do {
///   try await engine.accept(StreamConnection.standardStreams(), from: "laptop")
/// } catch let error as SyncError where error.code == .upgradeRequired {
///   print("Update the app: \(error)")
/// }
/// ```
///
/// An engine catches these errors itself and shows them in the status of the peer.
public struct SyncError: TallyError {
  /// The kinds of failures. Later versions may add codes: include a `default` in a `switch`.
  public enum Code: String, Sendable, CaseIterable {
    /// The peer supports only newer versions of the protocol, or only older ones.
    case upgradeRequired
    /// The peer syncs another zone.
    case wrongZone
    /// The peer sent bytes that are not a message of this protocol, or sent messages out of order.
    case protocolViolation
    /// The peer sent more than the limits allow.
    case limitExceeded
    /// The peer or this device was not accepted: a wrong secret or certificate.
    case unauthorized
    /// No connection to the peer could be opened.
    case unreachable
    /// The connection ended before the sync was done.
    case disconnected
    /// The peer was silent for too long.
    case timedOut
    /// The peer failed; its own message gives the reason.
    case peerFailed
    /// Both stores still differ after a full exchange. Their contents are kept; please report this.
    case notConverged
    /// The peer is this very store, or echoes what it receives.
    case sameStore
    /// The data of one of the two sides is damaged, and the other side cannot heal it or was sent none of it. The
    /// message names the side.
    case damaged
  }

  /// The kind of failure, to decide what to do about it.
  public let code: Code
  /// A message for a log, without any of the user's data.
  public let message: String
  /// The underlying error; nil if there is none.
  public let cause: (any Error)?

  /// Creates an error, for a transport of your own.
  public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  /// True for a peer that needs another version of the app, syncs another zone, or does not let this device in. An
  /// engine gives up such a peer (``PeerStatus/Phase/blocked``) until ``SyncEngine/resume()`` or
  /// ``SyncEngine/syncNow()``.
  public var isPermanent: Bool { [.upgradeRequired, .wrongZone, .unauthorized].contains(code) }

  /// The message with the code in parentheses.
  public var description: String { "\(message) (\(code.rawValue))" }
}
