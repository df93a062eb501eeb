#if Relay
  import Foundation
  import Synchronization
  import TallyRelayProtocol
  import TallyWire

  /// When the newest entry of each space was put.
  private final class SendTimes: Sendable {
    private let times: Mutex<[ContinuousClock.Instant?]>

    init(_ count: Int) { times = Mutex(Array(repeating: nil, count: count)) }

    subscript(space: Int) -> ContinuousClock.Instant? {
      get { times.withLock { $0[space] } }
      set { times.withLock { $0[space] = newValue } }
    }
  }

  /// Entries at a steady rate over many spaces, each followed by one stream: how long from the put to the event.
  struct PushBench {
    let folder: URL

    func run(spaces: Int, rate: Int, seconds: Int) async throws -> [Figure] {
      let relay = try await RelayUnderLoad(folder, "push")
      let figures = try await run(
        spaces: spaces, rate: rate, seconds: seconds, from: relay, to: relay,
        "push, from PUT to another client's event", "≤ 5 ms, ≤ 50 ms")
      try relay.stop()
      return figures
    }

    /// Puts entries in one relay and follows them in the other, which is the same, or another on the same database.
    func run(
      spaces: Int, rate: Int, seconds: Int, from relay: RelayUnderLoad, to other: RelayUnderLoad, _ name: String,
      _ target: String
    ) async throws -> [Figure] {
      var tokens: [RelayUnderLoad.Token] = []
      for _ in 0..<spaces { tokens.append(try await relay.token()) }
      let connections = try tokens.map { token in
        let connection = try LoadConnection(other.port)
        try connection.follow(token, after: nil)
        return connection
      }
      let reader = EventReader(connections)
      guard reader.read(until: spaces, containing: ":\n\n", within: .seconds(60), onEvent: { _ in }) else {
        throw LoadConnection.Failure(call: "events")
      }
      let count = rate * seconds
      let sent = SendTimes(spaces)
      let port = relay.port
      let writing = Task.detached { [tokens] in try Self.write(count, rate, tokens, port, sent) }
      var times: [Duration] = []
      let isWhole = reader.read(until: count, containing: "event: ", within: .seconds(seconds * 3 + 30)) { space in
        if let start = sent[space] { times.append(ContinuousClock.now - start) }
      }
      try await writing.value
      guard isWhole, times.count == count else { throw LoadConnection.Failure(call: "events") }
      times.sort()
      return [
        Figure(
          name: "\(name), \(rate) entries a second over \(spaces) spaces: p50, p99",
          value: "\(milliseconds(times[count / 2])), \(milliseconds(times[count * 99 / 100]))",
          target: target)
      ]
    }

    private static func write(
      _ count: Int, _ rate: Int, _ tokens: [RelayUnderLoad.Token], _ port: Int,
      _ sent: SendTimes
    ) throws {
      let body = [UInt8](repeating: 7, count: 120)
      let digest = RelayDigest.field(SHA256.hash(body))
      let connection = try LoadConnection(port)
      let start = ContinuousClock.now
      for number in 0..<count {
        let pause = start + .seconds(1) * number / rate - ContinuousClock.now
        if pause > .zero { usleep(useconds_t(pause / .microseconds(1))) }
        let space = number % tokens.count
        sent[space] = ContinuousClock.now
        try connection.put("e\(number)", body, digest: digest, tokens[space])
      }
    }
  }
#endif
