#if Relay
  import Synchronization
  import TallyRelayProtocol

  /// A budget for bytes in memory at once, of all requests together and of each token: for bodies that come, and for
  /// answers that go. A request that finds no room must be made again.
  final class ByteBudget: Sendable {
    private struct State {
      var used = 0
      var byToken: [[UInt8]: Int] = [:]
    }

    private let limit: Int
    private let parts: Int
    private let state = Mutex(State())

    /// So many bytes, of which one token gets a part, so that one that reads or sends nothing keeps nobody else out. It
    /// is a part of what others have left, so that some that do the same leave room for one more.
    init(_ limit: Int, parts: Int) { (self.limit, self.parts) = (limit, parts) }

    /// The bytes that are taken, and the number of tokens that have taken any.
    var usage: (bytes: Int, tokens: Int) { state.withLock { ($0.used, $0.byToken.count) } }

    /// Takes room for so many bytes; for more than a token's part only if the token has taken nothing else.
    /// - Throws: `RelayProblem` if there is no room.
    func room(for bytes: Int, of token: [UInt8]) throws -> Room {
      let hasRoom = state.withLock { state in
        let before = state.byToken[token, default: 0]
        let own = before + bytes
        guard state.used + bytes <= limit, own <= max(share(state, before), bytes) else { return false }
        state.used += bytes
        state.byToken[token] = own
        return true
      }
      guard hasRoom else { throw Self.busy }
      return Room(self, bytes, token)
    }

    /// Takes room for what can be cut to size: a quarter of what is left to the token, between both numbers. So there
    /// is room for many who read at once, and each has to come more often.
    /// - Throws: `RelayProblem` if there is not even room for the smaller number.
    func room(from fewest: Int, to most: Int, of token: [UInt8]) throws -> Room {
      let bytes = state.withLock { state in
        let own = state.byToken[token, default: 0]
        let left = min(limit - state.used, max(share(state, own), fewest) - own)
        guard left >= fewest else { return 0 }
        let bytes = min(most, max(left / 4, fewest))
        state.used += bytes
        state.byToken[token] = own + bytes
        return bytes
      }
      guard bytes > 0 else { throw Self.busy }
      return Room(self, bytes, token)
    }

    /// Runs what takes in a body of at most so many bytes.
    /// - Throws: `RelayProblem` if there is no room.
    func withRoom<T>(for bytes: Int, of token: [UInt8], _ body: () async throws -> T) async throws -> T {
      let room = try room(for: bytes, of: token)
      defer { room.leave() }
      return try await body()
    }

    /// What a token that has taken some may have in all.
    private func share(_ state: State, _ own: Int) -> Int { (limit - (state.used - own)) / parts }

    private static var busy: RelayProblem {
      RelayProblem(.busy, "the relay has too much in its memory", retryAfter: 1)
    }

    private func change(_ token: [UInt8], by bytes: Int) {
      state.withLock { state in
        state.used += bytes
        let own = state.byToken[token, default: 0] + bytes
        state.byToken[token] = own > 0 ? own : nil
      }
    }

    /// Room that is taken until it is left, or nobody has it any more.
    final class Room: Sendable {
      private let budget: ByteBudget
      private let token: [UInt8]
      private let taken: Mutex<Int>

      fileprivate init(_ budget: ByteBudget, _ bytes: Int, _ token: [UInt8]) {
        (self.budget, self.token) = (budget, token)
        taken = Mutex(bytes)
      }

      var bytes: Int { taken.withLock { $0 } }

      /// The size is known now.
      func resize(to bytes: Int) {
        let difference = taken.withLock { taken in
          defer { taken = bytes }
          return bytes - taken
        }
        if difference != 0 { budget.change(token, by: difference) }
      }

      func leave() { resize(to: 0) }

      deinit { leave() }
    }
  }
#endif
