import Synchronization

/// Bytes in both directions, in order: a pipe, a socket, a serial line. `FramedConnection` makes a connection of it.
///
/// One task reads and one writes at a time. After `close`, and when the task is cancelled, both end soon.
public protocol ByteStream: Sendable {
  /// The next bytes, as many as there are, at most 64 KiB; nil where the stream ends. Reads ahead no further than that.
  func read() async throws -> [UInt8]?
  /// Writes all of the bytes; waits while the other side is slow.
  func write(_ bytes: [UInt8]) async throws
  /// Closes both directions. `last` goes out before, unless that takes longer than a moment, something is being
  /// written, or a write was given up halfway.
  func close(sending last: [UInt8]) async
}

/// Whole messages over a stream of bytes: each with its length before it, at most `SyncLimits.messageBytes`, and an
/// explicit end, so that a peer that was killed is not mistaken for one that has finished.
///
/// A length is checked before anything is allocated for it. Memory: one message and 64 KiB in each direction.
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

  /// Creates a connection over a stream of bytes, such as a socket of your own. It owns the stream from now on, and
  /// closes it with the connection.
  public init(_ stream: any ByteStream) { self.stream = stream }

  /// Sends one message.
  /// - Throws: `SyncError` of code `limitExceeded` if it is too large; the connection can go on then.
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

  /// The next message; nil if the peer has closed in order, and after `close`.
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

  /// Says farewell and closes both directions. A message that is going out has a moment to do so. Of one that was
  /// cancelled the stream knows whether a part of it is out; if not, the farewell is still understood.
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
