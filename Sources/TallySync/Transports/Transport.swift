/// A connection to one peer that carries whole messages in order, each once or not at all.
///
/// A connection need not understand the messages. At most one task sends and one receives at a time.
///
/// - `send` returns when the message is on its way, and waits while the peer is slow. It refuses a message that is
///   empty or larger than `SyncLimits.messageBytes` with a `SyncError`, and remains usable.
/// - `receive` returns the next message; nil when the peer has closed in an orderly way, after the last message that it
///   sent. It throws when the connection breaks. It reads ahead no more than a fixed amount.
/// - Neither blocks the calling thread, on which the whole session runs.
/// - After `close` both end soon: `send` throws, `receive` returns nil. They also end soon when the task is cancelled.
///
/// `TransportConformance` in the library `TallyTesting` checks all of this; `Docs/Transports.md` explains how to write
/// a transport.
public protocol SyncConnection: Sendable {
  /// Sends one message of 1 to `SyncLimits.messageBytes` bytes.
  func send(_ message: [UInt8]) async throws
  /// Returns the next message; nil at an orderly end.
  func receive() async throws -> [UInt8]?
  /// Closes both directions. It may be called more than once.
  func close() async
}

/// A way to reach one peer. It opens connections whenever an engine asks for one.
///
/// ```swift
/// struct Tunnel: Transport {
///   let name = "home"
///   func open() async throws -> any SyncConnection { try StreamConnection(reading: 3, writing: 4) }
/// }
/// ```
///
/// ``SyncEngine/add(_:)`` takes one for each peer. `ProcessTransport` and, with the package trait `Network`,
/// `TCPTransport` are implementations. A transport of your own only has to carry bytes to the peer and back; the stores
/// decide what they mean and which write wins. The transport is responsible for access control and encryption.
/// `Docs/Transports.md` shows how to write one, and `TransportConformance` of `TallyTesting` checks it.
public protocol Transport: Sendable {
  /// The name of the peer in logs and status. It identifies the peer within an engine: a second transport of the same
  /// name replaces the first one.
  var name: String { get }
  /// Opens a connection. It must succeed or fail soon, and at once when the task is cancelled, because the engine waits
  /// for it.
  /// - Returns: an open connection, for one sync or for as long as both sides stay live. The engine closes it.
  /// - Throws: the error that prevents the connection from opening. The engine retries later, unless it is a permanent
  ///   ``TallyError`` such as ``SyncError`` of code `unauthorized`.
  func open() async throws -> any SyncConnection
}
