import TallyCRDT
import TallyStore
import TallyWire

/// Why a sync ended early. Each store is consistent: what was applied stays, what was not has changed nothing, and the
/// next sync does the rest.
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
  /// The kinds of failures. Codes may be added: have a `default` in a `switch`.
  public enum Code: String, Sendable, CaseIterable {
    /// The peer speaks only newer versions of the protocol, or only older ones.
    case upgradeRequired
    /// The peer syncs another zone.
    case wrongZone
    /// The peer sent bytes that are not a message of this protocol, or sent messages out of order.
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
    /// The data of one of the two is damaged, and the other has nothing to heal it with, or was given nothing of it.
    /// The message says which.
    case damaged
  }

  /// The kind of failure, to decide what to do about it.
  public let code: Code
  /// A message for a log, without any of the user's data.
  public let message: String
  /// The error beneath; nil if there is none.
  public let cause: (any Error)?

  /// Creates an error, as a transport of your own does.
  public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  /// True for a peer that needs another version of the app, syncs another zone, or does not let this device in. An
  /// engine gives such a peer up (``PeerStatus/Phase/blocked``) until ``SyncEngine/resume()`` or
  /// ``SyncEngine/syncNow()``.
  public var isPermanent: Bool { [.upgradeRequired, .wrongZone, .unauthorized].contains(code) }

  /// The message and the code.
  public var description: String { "\(message) (\(code.rawValue))" }
}
