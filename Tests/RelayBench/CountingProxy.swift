#if Relay
  import Foundation
  import Synchronization

  /// Stands between a client and a relay, counts what passes, and lets nothing more pass after any byte.
  final class CountingProxy: Sendable {
    enum Direction: Sendable {
      case up, down
    }

    private struct State {
      var (up, down) = (0, 0)
      var end: (direction: Direction, byte: Int)?
      /// Whether it has come: nothing passes any more, and neither side notices.
      var isOver = false

      subscript(direction: Direction) -> Int {
        get { direction == .up ? up : down }
        set { if direction == .up { up = newValue } else { down = newValue } }
      }

      /// How many of so many bytes pass, and whether they are the last.
      mutating func pass(_ count: Int, _ direction: Direction) -> (count: Int, isEnd: Bool) {
        guard !isOver else { return (0, false) }
        guard let end, end.direction == direction, self[direction] + count >= end.byte else {
          self[direction] += count
          return (count, false)
        }
        defer { (self[direction], isOver) = (end.byte, true) }
        return (end.byte - self[direction], true)
      }
    }

    /// Two sockets, which are closed when neither direction needs them.
    private final class Pair: Sendable {
      let client: Int32
      let relay: Int32

      init(_ client: Int32, _ relay: Int32) { (self.client, self.relay) = (client, relay) }

      deinit {
        close(client)
        close(relay)
      }

      func end() {
        shutdown(client, Int32(SHUT_RDWR))
        shutdown(relay, Int32(SHUT_RDWR))
      }
    }

    let port: Int
    private let listener: Int32
    private let target: Int
    private let state = Mutex(State())
    private let ended = DispatchSemaphore(value: 0)

    init(to target: Int) throws {
      listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var address = sockaddr_in()
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = inet_addr("127.0.0.1")
      let listener = listener
      let isListening = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(listener, $0, length) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &length) == 0
        }
      }
      guard listener >= 0, isListening else { throw LoadConnection.Failure(call: "listen") }
      (port, self.target) = (Int(UInt16(bigEndian: address.sin_port)), target)
      Thread.detachNewThread { self.accept() }
    }

    /// Takes no more connections.
    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

    /// Counts from 0 again, and ends after so many bytes in one direction.
    func count(upTo byte: Int, _ direction: Direction) {
      state.withLock { state in
        state = State()
        state.end = (direction, byte)
      }
    }

    /// Counts from 0 again, without an end.
    func count() { state.withLock { $0 = State() } }

    /// Waits until the end has come.
    /// - Returns: whether it has.
    func waitForEnd(_ patience: DispatchTimeInterval) -> Bool { ended.wait(timeout: .now() + patience) == .success }

    /// How many bytes have passed since.
    func passed(_ direction: Direction) -> Int { state.withLock { $0[direction] } }

    private func accept() {
      defer { close(listener) }
      while true {
        let client = Foundation.accept(listener, nil, nil)
        guard client >= 0 else { return }
        guard !state.withLock({ $0.isOver }), let relay = try? LoadConnection.socket(to: target) else {
          close(client)
          continue
        }
        let pair = Pair(client, relay)
        Thread.detachNewThread { self.pump(pair, .up) }
        Thread.detachNewThread { self.pump(pair, .down) }
      }
    }

    private func pump(_ pair: Pair, _ direction: Direction) {
      let (source, sink) = direction == .up ? (pair.client, pair.relay) : (pair.relay, pair.client)
      defer { pair.end() }
      var piece = [UInt8](repeating: 0, count: 1 << 14)
      while true {
        let count = recv(source, &piece, piece.count, 0)
        guard count > 0 else { return }
        let passing = state.withLock { $0.pass(count, direction) }
        var sent = 0
        while sent < passing.count {
          let more = piece[sent..<passing.count].withUnsafeBytes {
            send(sink, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
          }
          guard more > 0 else { break }
          sent += more
        }
        guard sent == passing.count else { return }
        if passing.isEnd { ended.signal() }
      }
    }
  }
#endif
