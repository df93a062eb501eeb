#if Relay
  import Foundation
  import TallyRelayProtocol
  import TallyWire

  /// Very many streams of one space: their memory, and one entry for all of them.
  struct StreamBench {
    let folder: URL
    /// A token follows at most so often.
    private static let streamsOfAToken = 16

    func run(count: Int) async throws -> [Figure] {
      let relay = try await RelayUnderLoad(folder, "streams")
      let first = try await relay.token()
      var connections: [LoadConnection] = []
      var token = first
      for number in 0..<count {
        if number % Self.streamsOfAToken == 0 { token = try await relay.token(first.space) }
        let connection = try LoadConnection(relay.port)
        try connection.follow(token, after: nil)
        connections.append(connection)
      }
      let reader = EventReader(connections)
      guard reader.read(until: count, containing: ":\n\n", within: .seconds(120), onEvent: { _ in }) else {
        throw LoadConnection.Failure(call: "events")
      }
      let memory = relay.memory
      let body = [UInt8](repeating: 7, count: 120)
      let digest = RelayDigest.field(SHA256.hash(body))
      let writer = try LoadConnection(relay.port)
      var times: [Duration] = []
      let before = relay.processorTime
      // The first is news, as the log was empty; the others come as pages.
      for round in 0..<5 {
        let start = ContinuousClock.now
        try writer.put("r\(round)", body, digest: digest, first)
        guard reader.read(until: count, containing: "event: ", within: .seconds(60), onEvent: { _ in }) else {
          throw LoadConnection.Failure(call: "events")
        }
        times.append(ContinuousClock.now - start)
      }
      let each = (relay.processorTime - before) / (5 * count)
      try relay.stop()
      times.sort()
      return [
        Figure(
          name: "memory of \(count) idle streams", value: String(format: "%.0f MiB", memory), target: "≤ 220"),
        Figure(
          name: "an entry to all of \(count)",
          value: String(
            format: "%.2f s, %.0f µs of processor time each", times[2] / .seconds(1), each / .microseconds(1)),
          target: "≤ 0.5 s"),
      ]
    }
  }
#endif
