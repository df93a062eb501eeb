#if Network
  import NIOCore
  import NIOSSL
  import Synchronization
  import TallySync

  /// The bytes of a channel. It reads only when a call waits for bytes, so a slow reader holds up its peer and not
  /// memory.
  final class ChannelStream: ByteStream {
    struct State {
      var chunks: [[UInt8]] = []
      var reader: CheckedContinuation<[UInt8]?, any Error>?
      /// Counts waits, so that a timer knows whether it is still about the same one.
      var waits = 0
      var isEnded = false
      var isClosed = false
      var failure: (any Error)?
      /// TLS needs bytes that no call waits for.
      var isShakingHands = false
      /// Bytes that came after closing.
      var lateBytes = 0
    }

    /// The number of bytes that a peer may send before it has noticed that this side has closed.
    private static let lateBytes = 1 << 18

    /// The time to wait for a peer to take the farewell, and to close in turn.
    private static let patience: (farewell: Duration, turn: TimeAmount) = (.seconds(2), .seconds(5))
    let channel: any Channel
    private let idle: Duration
    private let state: Mutex<State>
    private let gone = Latch()

    /// A stream over a channel. `isShakingHands` says whether TLS is in the channel, and not ready yet.
    init(_ channel: any Channel, idle: Duration, isShakingHands: Bool) {
      self.channel = channel
      self.idle = idle
      state = Mutex(State(isShakingHands: isShakingHands))
    }

    // MARK: Reading

    func read() async throws -> [UInt8]? {
      try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          if let result = state.withLock({ Self.take(&$0) ?? Self.wait(&$0, continuation) }) {
            return continuation.resume(with: result)
          }
          if Task.isCancelled { return fail(CancellationError(), isLasting: false) }
          watch(state.withLock { $0.waits })
          channel.read()
        }
      } onCancel: {
        fail(CancellationError(), isLasting: false)
      }
    }

    private static func take(_ state: inout State) -> Result<[UInt8]?, any Error>? {
      if state.isClosed { return .success(nil) }
      if !state.chunks.isEmpty { return .success(state.chunks.removeFirst()) }
      if let failure = state.failure { return .failure(failure) }
      return state.isEnded ? .success(nil) : nil
    }

    private static func wait(
      _ state: inout State, _ continuation: CheckedContinuation<[UInt8]?, any Error>
    ) -> Result<[UInt8]?, any Error>? {
      state.reader = continuation
      state.waits += 1
      return nil
    }

    private func watch(_ wait: Int) {
      channel.eventLoop.scheduleTask(in: TimeAmount(idle)) { [weak self] in
        guard let self, state.withLock({ $0.reader != nil && $0.waits == wait }) else { return }
        fail(SyncError(.timedOut, "the peer has sent nothing for too long"))
        abort()
      }
    }

    // MARK: What the channel says

    /// Whether the channel should read on.
    var wantsBytes: Bool { state.withLock { $0.reader != nil || $0.isShakingHands || $0.isClosed } }

    var isClosing: Bool { state.withLock { $0.isClosed } }

    func handshakeEnded() { state.withLock { $0.isShakingHands = false } }

    func deliver(_ bytes: [UInt8]) {
      let (reader, isTooLate) = state.withLock { state -> (CheckedContinuation<[UInt8]?, any Error>?, Bool) in
        guard !state.isClosed else {
          state.lateBytes += bytes.count
          return (nil, state.lateBytes > Self.lateBytes)
        }
        defer { state.reader = nil }
        if state.reader == nil { state.chunks.append(bytes) }
        return (state.reader, false)
      }
      reader?.resume(returning: bytes)
      if isTooLate { abort() }
    }

    func end() {
      let reader = state.withLock { state in
        defer { state.reader = nil }
        (state.isEnded, state.isShakingHands) = (true, false)
        return state.reader
      }
      reader?.resume(returning: nil)
    }

    func closed() {
      end()
      gone.open()
    }

    func fail(_ error: any Error, isLasting: Bool = true) {
      let reader = state.withLock { state in
        defer { state.reader = nil }
        if isLasting {
          state.failure = state.failure ?? error
          state.isShakingHands = false
        }
        return state.reader
      }
      reader?.resume(throwing: error)
    }

    // MARK: Writing

    func write(_ bytes: [UInt8]) async throws {
      try Task.checkCancellation()
      // What has failed is about to be closed, on its event loop.
      if let failure = state.withLock({ $0.failure }) { throw failure }
      let (channel, written) = (channel, Latch())
      let timer = channel.eventLoop.scheduleTask(in: TimeAmount(idle)) { [weak self] in
        guard !written.isOpen else { return }
        self?.fail(SyncError(.timedOut, "the peer takes nothing"))
        self?.abort()
      }
      defer {
        written.open()
        timer.cancel()
      }
      do {
        // A message that went out in part cannot be taken back: who cancels it ends the connection.
        try await withTaskCancellationHandler {
          try await channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
        } onCancel: {
          abort()
        }
      } catch {
        try Task.checkCancellation()
        let known = state.withLock { $0.failure }
        throw known as? SyncError ?? SyncError(.disconnected, "the connection is closed", cause: error)
      }
    }

    // MARK: Closing

    func close(sending last: [UInt8]) async {
      let reader: CheckedContinuation<[UInt8]?, any Error>?? = state.withLock { state in
        guard !state.isClosed else { return nil }
        defer { (state.reader, state.chunks) = (nil, []) }
        state.isClosed = true
        return .some(state.reader)
      }
      guard let reader else { return }
      reader?.resume(returning: nil)
      if await say(last) {
        closeInTurn()
        await gone.wait(atMost: .milliseconds(500))
      } else {
        abort()
        await gone.wait(atMost: Self.patience.farewell)
      }
    }

    /// Closes at once, without waiting for TLS to say goodbye.
    func abort() {
      let channel = channel
      channel.eventLoop.execute {
        if let context = try? channel.pipeline.syncOperations.context(handlerType: NIOSSLHandler.self) {
          context.close(promise: nil)
        } else {
          channel.close(promise: nil)
        }
      }
    }

    /// - Returns: whether the peer has got it, so that the connection can end in order.
    private func say(_ last: [UInt8]) async -> Bool {
      guard !last.isEmpty, channel.isActive else { return false }
      let (ended, said, channel) = (Latch(), Latch(), channel)
      channel.writeAndFlush(ByteBuffer(bytes: last)).whenComplete { result in
        if case .success = result { said.open() }
        // A failed write must not leave the wait running: the peer is gone.
        ended.open()
      }
      await ended.wait(atMost: Self.patience.farewell)
      return said.isOpen
    }

    /// Stops sending and waits for the peer to do so. To close at once while the peer still sends would be answered
    /// with a reset, which takes away what the peer has not read yet (RFC 1122, 4.2.2.13).
    private func closeInTurn() {
      channel.eventLoop.scheduleTask(in: Self.patience.turn) { [weak self] in self?.abort() }
      channel.close(mode: .output, promise: nil)
      channel.read()
      if state.withLock({ $0.isEnded }) { channel.close(promise: nil) }
    }
  }
#endif
