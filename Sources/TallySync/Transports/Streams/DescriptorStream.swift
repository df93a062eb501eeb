import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A byte stream on two file descriptors, which it closes at the end.
///
/// One thread of its own waits with `poll` for every descriptor that a call waits for. It never blocks in `read` or
/// `write`, so closing and cancelling are noticed at once, and no thread of the cooperative pool is held up.
final class DescriptorStream: ByteStream {
  struct Writing {
    let bytes: [UInt8]
    var offset = 0
    let continuation: CheckedContinuation<Void, any Error>
  }

  struct State {
    var reader: CheckedContinuation<[UInt8]?, any Error>?
    var writer: Writing?
    /// The bytes to write before closing; nil until it closes.
    var last: [UInt8]?
    /// Whether a write was given up halfway.
    var isBroken = false
  }

  private let state = Mutex(State())
  private let waker: Waker
  private let ended = Latch()

  /// A stream whose bytes come from one descriptor and go to the other, which may be the same, as with a socket.
  init(reading: Int32, writing: Int32) throws {
    waker = try Waker()
    let loop = DescriptorLoop(reading: reading, writing: writing, waker: waker.reading, stream: self)
    let thread = Thread { loop.run() }
    thread.name = "tally.stream"
    thread.start()
  }

  func read() async throws -> [UInt8]? {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isClosed = state.withLock { state in
          if state.last == nil { state.reader = continuation }
          return state.last != nil
        }
        if isClosed { return continuation.resume(returning: nil) }
        if Task.isCancelled { return cancelRead() }
        waker.wake()
      }
    } onCancel: {
      cancelRead()
    }
  }

  func write(_ bytes: [UInt8]) async throws {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isOver = state.withLock { state in
          let isOver = state.last != nil || state.isBroken
          if !isOver { state.writer = Writing(bytes: bytes, continuation: continuation) }
          return isOver
        }
        if isOver { return continuation.resume(throwing: Self.closed) }
        if Task.isCancelled { return cancelWrite() }
        waker.wake()
      }
    } onCancel: {
      cancelWrite()
    }
  }

  func close(sending last: [UInt8]) async {
    let (reader, writer) = state.withLock { state in
      guard state.last == nil else { return (nil as CheckedContinuation<[UInt8]?, any Error>?, nil as Writing?) }
      defer { (state.reader, state.writer) = (nil, nil) }
      state.last = state.isBroken || state.writer != nil ? [] : last
      return (state.reader, state.writer)
    }
    reader?.resume(returning: nil)
    writer?.continuation.resume(throwing: Self.closed)
    waker.wake()
    await ended.wait(atMost: DescriptorLoop.patience * 2)
  }

  /// Closes without waiting, and without a word.
  func abandon() {
    state.withLock { if $0.last == nil { $0.last = [] } }
    waker.wake()
  }

  private func cancelRead() {
    let reader = state.withLock { state in
      defer { state.reader = nil }
      return state.reader
    }
    reader?.resume(throwing: CancellationError())
  }

  private func cancelWrite() {
    let writer = state.withLock { state in
      defer { state.writer = nil }
      if let writer = state.writer, writer.offset > 0 { state.isBroken = true }
      return state.writer
    }
    writer?.continuation.resume(throwing: CancellationError())
  }

  static let closed = SyncError(.disconnected, "the connection is closed")
}

// MARK: - What the loop asks

extension DescriptorStream {
  /// Whether calls wait to read and to write, and what is to be said before closing.
  var wishes: (reads: Bool, writes: Bool, last: [UInt8]?) {
    state.withLock { ($0.reader != nil, $0.writer != nil, $0.last) }
  }

  /// Hands bytes, or the end of the stream, to the call that waits.
  /// - Returns: false if none does any more: what was read must be kept.
  func deliver(_ result: Result<[UInt8]?, any Error>) -> Bool {
    let reader = state.withLock { state in
      defer { state.reader = nil }
      return state.reader
    }
    reader?.resume(with: result)
    return reader != nil
  }

  /// Writes the next piece with `body`, which tells how many bytes it wrote, while the bytes cannot be taken away.
  func writePiece(_ body: (ArraySlice<UInt8>) -> Result<Int, any Error>) {
    let resume: (() -> Void)? = state.withLock { state in
      guard var writer = state.writer else { return nil }
      let continuation = writer.continuation
      switch body(writer.bytes[writer.offset...]) {
      case .success(let count):
        writer.offset += count
        state.writer = writer.offset < writer.bytes.count ? writer : nil
        return state.writer == nil ? { continuation.resume() } : nil
      case .failure(let error):
        state.writer = nil
        state.isBroken = true
        return { continuation.resume(throwing: error) }
      }
    }
    resume?()
  }

  func loopEnded() { ended.open() }
}
