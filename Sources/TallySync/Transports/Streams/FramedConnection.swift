import Synchronization

/// A stream of bytes in both directions, in order: a pipe, a socket, a serial line. `FramedConnection` turns it into a
/// connection.
///
/// At most one task reads and one writes at a time. Both calls end soon after `close`, and when their task is
/// cancelled.
public protocol ByteStream: Sendable {
  /// Returns the next available bytes, at most 64 KiB; nil at the end of the stream. It reads ahead no further than
  /// that.
  func read() async throws -> [UInt8]?
  /// Writes all of the bytes, and waits while the other side is slow.
  func write(_ bytes: [UInt8]) async throws
  /// Closes both directions. `last` is sent first, unless that takes longer than a moment, another write is under way,
  /// or a write was abandoned halfway.
  func close(sending last: [UInt8]) async
}

/// A connection that carries whole messages over a stream of bytes. Each message is preceded by its length, at most
/// `SyncLimits.messageBytes`. An explicit end marker distinguishes a peer that has finished from one that was killed.
///
/// A length is checked before memory is allocated for it. Memory: one message and 64 KiB in each direction.
public final class FramedConnection: SyncConnection {
  private struct State {
    var decoder = FrameDecoder()
    var isEnded = false
    var isClosed = false
    /// Opens when the message that is going out is out; nil if none is.
    var sending: Latch?
    /// A message did not go out, or only in part: no other may follow it.
    var isBroken = false
  }

  /// The time for which a close waits for a message that is being sent.
  private static let patience: Duration = .milliseconds(500)
  private let stream: any ByteStream
  private let state = Mutex(State())

  /// Creates a connection over a stream of bytes, such as a socket of your own. The connection takes ownership of the
  /// stream and closes it.
  public init(_ stream: any ByteStream) { self.stream = stream }

  /// Sends one message over the stream.
  /// - Throws: `SyncError` of code `limitExceeded` if it is too large; the connection remains usable.
  public func send(_ message: [UInt8]) async throws {
    let frame = try FrameDecoder.frame(message)
    let sending = Latch()
    try state.withLock { state in
      guard !state.isClosed, !state.isBroken else { throw SyncError(.disconnected, "the connection is closed") }
      state.sending = sending
    }
    defer { sending.open() }
    do {
      try await stream.write(frame)
      state.withLock { $0.sending = nil }
    } catch {
      state.withLock { ($0.sending, $0.isBroken) = (nil, true) }
      throw error
    }
  }

  /// Returns the next message; nil if the peer has closed in an orderly way, and after `close`.
  public func receive() async throws -> [UInt8]? {
    while true {
      if let frame = try state.withLock({ state in try Self.take(&state) }) {
        guard case .message(let message) = frame else { return nil }
        return message
      }
      let bytes = try await stream.read()
      try state.withLock { state in
        if let bytes { return state.decoder.append(bytes) }
        guard !state.isClosed else {
          state.isEnded = true
          return
        }
        throw SyncError(.disconnected, "the connection ended without a farewell")
      }
    }
  }

  private static func take(_ state: inout State) throws -> FrameDecoder.Frame? {
    guard !state.isEnded, !state.isClosed else { return .end }
    let frame = try state.decoder.next()
    if frame == .end { state.isEnded = true }
    return frame
  }

  /// Sends the end marker and closes both directions. A message that is being sent has a moment to finish. If a send
  /// was cancelled, the stream knows whether part of the message was sent; if not, the peer still understands the end
  /// marker.
  public func close() async {
    let (isFirst, sending) = state.withLock { state in
      defer { state.isClosed = true }
      return (!state.isClosed, state.sending)
    }
    guard isFirst else { return }
    await sending?.wait(atMost: Self.patience)
    let isSilent = state.withLock { $0.sending != nil }
    await stream.close(sending: isSilent ? [] : FrameDecoder.farewell)
  }
}
