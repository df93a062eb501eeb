#if Relay
  import Foundation
  import Synchronization

  /// Stands before a relay and answers as one of before does, which knows no batches; or loses answers to them.
  final class OlderRelay: Sendable {
    private struct State {
      var isOlder = true
      var answersLost = 0
      var refusals = 0
    }

    private final class Shared: Sendable { let state = Mutex(State()) }

    private let server: ScriptedServer
    private let shared: Shared

    init(before target: Int) throws {
      let shared = Shared()
      self.shared = shared
      server = try ScriptedServer { client, _ in
        while let request = client.request() {
          let isBatch = request.head.hasPrefix("POST ")
          let isRefused = shared.state.withLock { state in
            guard isBatch, state.isOlder else { return false }
            state.refusals += 1
            return true
          }
          if isRefused {
            client.send(
              "HTTP/1.1 404 Not Found\r\nTally-Problem: noSuchPath\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            client.waitForEnd()
            return
          }
          guard let answer = Self.forward(request, to: target) else { return }
          let (isLost, isOlder) = shared.state.withLock { state in
            guard isBatch, state.answersLost > 0 else { return (false, state.isOlder) }
            state.answersLost -= 1
            return (true, state.isOlder)
          }
          if isLost { return }
          client.send(isOlder ? Self.withoutBatches(answer) : answer)
          return
        }
      }
    }

    var port: Int { server.port }
    /// Whether it knows no batches.
    var isOlder: Bool {
      get { shared.state.withLock { $0.isOlder } }
      set { shared.state.withLock { $0.isOlder = newValue } }
    }
    /// How many answers to batches are lost, from now on.
    var answersLost: Int {
      get { shared.state.withLock { $0.answersLost } }
      set { shared.state.withLock { $0.answersLost = newValue } }
    }
    /// How many batches were refused.
    var refusals: Int { shared.state.withLock { $0.refusals } }

    func stop() { server.stop() }

    private static func forward(_ request: ScriptedServer.Connection.Request, to target: Int) -> [UInt8]? {
      let lines = request.head.components(separatedBy: "\r\n").filter { !$0.lowercased().hasPrefix("connection:") }
      let head = ([lines[0], "Connection: close"] + lines.dropFirst()).joined(separator: "\r\n")
      return RawHTTP.blockingExchange(Array(head.utf8) + request.body, port: target)
    }

    private static func withoutBatches(_ answer: [UInt8]) -> [UInt8] {
      guard let end = answer.firstRange(of: Array("\r\n\r\n".utf8)) else { return answer }
      let lines = String(decoding: answer[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
      let head = lines.filter { !$0.lowercased().hasPrefix("tally-batch:") }.joined(separator: "\r\n")
      return Array(head.utf8) + answer[end.lowerBound...]
    }
  }
#endif
