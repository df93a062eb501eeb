/// A connection to one peer that carries whole messages, in order, each once or not at all.
///
/// A transport has nothing to know of what it carries. It may be used by one task for sending and one for receiving at
/// a time.
///
/// - `send` returns when the message is on its way, and waits while the peer is slow. It refuses a message that is
///   empty or has more than `SyncLimits.messageBytes` with a `SyncError`, and goes on working.
/// - `receive` gives the next message; nil when the peer has closed in order, after the last message that it sent; it
///   throws when the connection broke. It reads ahead no more than a fixed amount.
/// - Neither blocks the thread that it is called on: the whole session runs there.
/// - After `close` both end soon: `send` throws, `receive` gives nil. When the task is cancelled both end soon, too.
///
/// `TransportConformance` in the library `TallyTesting` checks all of this; `Docs/Transports.md` tells how to write
/// one.
public protocol SyncConnection: Sendable {
  /// Sends one message of 1 to `SyncLimits.messageBytes` bytes.
  func send(_ message: [UInt8]) async throws
  /// The next message; nil at an orderly end.
  func receive() async throws -> [UInt8]?
  /// Closes both directions. May be called more than once.
  func close() async
}

/// A way to reach one peer: opens connections to it, again and again as an engine asks.
///
/// ```swift
/// struct Tunnel: Transport {
///   let name = "home"
///   func open() async throws -> any SyncConnection { try StreamConnection(reading: 3, writing: 4) }
/// }
/// ```
///
/// ``SyncEngine/add(_:)`` takes one for each peer. `ProcessTransport` and, behind the package trait `Network`,
/// `TCPTransport` are there. A transport of your own only has to carry bytes to the peer and back; what they mean, and
/// who wins, is decided by the stores. Access and encryption are its own.
/// `Docs/Transports.md` shows how to write one, and `TransportConformance` of `TallyTesting` checks it.
public protocol Transport: Sendable {
  /// The name of the peer in logs and status. In one engine it stands for one peer: a second transport of the name
  /// takes the first one's place.
  var name: String { get }
  /// Opens a connection. Ends soon, one way or the other, and at once when the task is cancelled: the engine waits for
  /// it.
  /// - Returns: a connection that is open, for one sync or as long as both sides stay live. The engine closes it.
  /// - Throws: what keeps it from being opened; the engine tries again later, unless it is a ``TallyError`` that is
  ///   permanent, such as ``SyncError`` of code `unauthorized`.
  func open() async throws -> any SyncConnection
}
