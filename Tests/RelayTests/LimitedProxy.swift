#if Relay
  import Foundation
  import Synchronization

  /// Stands before a relay and refuses bodies of more than so many bytes in its own words, as nginx does: as soon as
  /// their length is known.
  final class LimitedProxy: Sendable {
    private struct State {
      var limit: Int
      var taken: [Int] = []
      var refusals = 0
    }

    private final class Counts: Sendable {
      let state: Mutex<State>
      init(_ limit: Int) { state = Mutex(State(limit: limit)) }
    }

    private let server: ScriptedServer
    private let counts: Counts

    init(to target: Int, limit: Int) throws {
      let counts = Counts(limit)
      self.counts = counts
      server = try ScriptedServer { client, _ in
        while let length = client.nextLength() {
          let isTaken = counts.state.withLock { state in
            if length <= state.limit { state.taken.append(length) } else { state.refusals += 1 }
            return length <= state.limit
          }
          guard isTaken else {
            let page = "<html><head><title>413 Request Entity Too Large</title></head></html>"
            client.send(
              "HTTP/1.1 413 Request Entity Too Large\r\nServer: nginx\r\nContent-Type: text/html\r\n"
                + "Content-Length: \(page.utf8.count)\r\nConnection: close\r\n\r\n\(page)")
            client.waitForEnd()
            return
          }
          guard let request = client.request(), Self.forward(request, to: target, client) else { return }
        }
      }
    }

    var port: Int { server.port }
    var limit: Int {
      get { counts.state.withLock { $0.limit } }
      set { counts.state.withLock { $0.limit = newValue } }
    }
    /// How many bytes the bodies had that went on to the relay, in their order.
    var taken: [Int] { counts.state.withLock { $0.taken } }
    /// How many requests were refused.
    var refusals: Int { counts.state.withLock { $0.refusals } }

    /// Takes no more connections.
    func stop() { server.stop() }

    /// Passes a request on, and its answer back; each on a connection of its own.
    private static func forward(
      _ request: ScriptedServer.Connection.Request, to target: Int, _ client: ScriptedServer.Connection
    ) -> Bool {
      guard let relay = try? RawHTTP.connect(target) else { return false }
      defer { close(relay) }
      let bytes = Array("\(request.head.dropLast(1))Connection: close\r\n\r\n".utf8) + request.body
      var sent = 0
      while sent < bytes.count {
        let count = bytes[sent...].withUnsafeBytes { send(relay, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard count > 0 else { return false }
        sent += count
      }
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      while true {
        let count = recv(relay, &buffer, buffer.count, 0)
        guard count > 0 else { return false }
        guard client.send(buffer[..<count]) else { return false }
      }
    }
  }
#endif
