#if Relay
  import Foundation
  import Synchronization

  /// Stands between a client and a relay, and cuts connections after so many bytes.
  final class CutProxy: Sendable {
    /// What is cut.
    struct Plan: Sendable {
      /// After how many bytes to the relay the first connection is cut, the second, and so on; the last is for all
      /// others.
      var up = [Int.max]
      /// After how many bytes to the client a connection is cut.
      var down = Int.max
      /// How many connections are cut; the others are let be.
      var count = Int.max
    }

    private struct State {
      var plan: Plan
      var cuts = 0
      var connections = 0
      var bytesUp = 0
      var bytesDown = 0
    }

    let port: Int
    private let listener: Int32
    private let target: Int
    private let state: Mutex<State>

    init(to target: Int, _ plan: Plan) throws {
      (listener, port) = try RawHTTP.listen()
      self.target = target
      state = Mutex(State(plan: plan))
      Thread.detachNewThread { self.accept() }
    }

    /// How many connections were cut.
    var cuts: Int { state.withLock { $0.cuts } }
    /// How many bytes went to the relay.
    var bytesUp: Int { state.withLock { $0.bytesUp } }
    /// How many bytes went to the client.
    var bytesDown: Int { state.withLock { $0.bytesDown } }

    /// Takes no more connections.
    func close() { shutdown(listener, Int32(SHUT_RDWR)) }

    private func accept() {
      defer { Foundation.close(listener) }
      while true {
        let client = Foundation.accept(listener, nil, nil)
        guard client >= 0 else { return }
        guard let relay = try? RawHTTP.connect(target) else {
          Foundation.close(client)
          continue
        }
        let pair = Pair(client, relay)
        let (up, down) = state.withLock { state -> (Int, Int) in
          defer { state.connections += 1 }
          return (state.plan.up[min(state.connections, state.plan.up.count - 1)], state.plan.down)
        }
        Thread.detachNewThread { self.pump(pair, from: client, to: relay, isUp: true, limit: up) }
        Thread.detachNewThread { self.pump(pair, from: relay, to: client, isUp: false, limit: down) }
      }
    }

    private func pump(_ pair: Pair, from source: Int32, to sink: Int32, isUp: Bool, limit: Int) {
      defer { pair.end() }
      var buffer = [UInt8](repeating: 0, count: 1 << 14)
      var rest = limit
      while true {
        let count = recv(source, &buffer, buffer.count, 0)
        // A side that says nothing for a while is no end.
        if count < 0, errno == EAGAIN || errno == EWOULDBLOCK { continue }
        guard count > 0 else { return pair.cut() }
        let passed = min(count, rest)
        rest -= passed
        var sent = 0
        while sent < passed {
          let more = buffer[sent..<passed].withUnsafeBytes {
            send(sink, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
          }
          guard more > 0 else { return pair.cut() }
          sent += more
        }
        state.withLock { state in if isUp { state.bytesUp += passed } else { state.bytesDown += passed } }
        guard passed < count else { continue }
        let isCut = state.withLock { state in
          guard state.cuts < state.plan.count else { return false }
          state.cuts += 1
          return true
        }
        if isCut { return pair.cut() }
        // This one is let be, and what was held back goes on.
        rest = .max
        _ = buffer[passed..<count].withUnsafeBytes {
          send(sink, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        state.withLock { state in if isUp { state.bytesUp += count - passed } else { state.bytesDown += count - passed }
        }
      }
    }

    /// Both ends of a connection, closed when both directions have ended.
    private final class Pair: Sendable {
      private let one: Int32
      private let other: Int32
      private let ended = Mutex(0)

      init(_ one: Int32, _ other: Int32) { (self.one, self.other) = (one, other) }

      func cut() { for descriptor in [one, other] { shutdown(descriptor, Int32(SHUT_RDWR)) } }

      func end() {
        let isLast = ended.withLock { ended in
          ended += 1
          return ended == 2
        }
        if isLast { for descriptor in [one, other] { Foundation.close(descriptor) } }
      }
    }
  }
#endif
