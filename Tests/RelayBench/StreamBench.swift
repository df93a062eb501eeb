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

    // MARK: Under load

    /// Streams of one space from its beginning on, each of which has said its first word.
    private func listen(_ count: Int, _ relay: RelayUnderLoad, _ tokens: [RelayUnderLoad.Token]) throws
      -> (connections: [LoadConnection], reader: EventReader)
    {
      let connections = try (0..<count).map { number in
        let connection = try LoadConnection(relay.port)
        try connection.follow(tokens[number / Self.streamsOfAToken], after: nil)
        return connection
      }
      let reader = EventReader(connections)
      guard reader.read(until: count, containing: ":\n\n", within: .seconds(120), onEvent: { _ in }) else {
        throw LoadConnection.Failure(call: "events")
      }
      return (connections, reader)
    }

    private func tokens(for count: Int, _ relay: RelayUnderLoad) async throws -> [RelayUnderLoad.Token] {
      let first = try await relay.token()
      var tokens = [first]
      while tokens.count * Self.streamsOfAToken < count { tokens.append(try await relay.token(first.space)) }
      return tokens
    }

    /// From the put of an entry to its event at each of so many who follow the space.
    func pushes(listeners: [Int]) async throws -> [Figure] {
      var (values, memory) = ([String](), 0.0)
      let body = [UInt8](repeating: 7, count: 120)
      let digest = RelayDigest.field(SHA256.hash(body))
      for count in listeners {
        let relay = try await RelayUnderLoad(folder, "push-\(count)")
        let tokens = try await tokens(for: count, relay)
        let (connections, reader) = try listen(count, relay, tokens)
        memory = relay.memory
        let writer = try LoadConnection(relay.port)
        var times: [Duration] = []
        for round in 0..<max(10, 1_000 / count) {
          let start = ContinuousClock.now
          try writer.put("r\(round)", body, digest: digest, tokens[0])
          guard
            reader.read(
              until: count, containing: "event: ", within: .seconds(60),
              onEvent: { _ in times.append(ContinuousClock.now - start) })
          else { throw LoadConnection.Failure(call: "events") }
        }
        withExtendedLifetime(connections) {}
        try relay.stop()
        times.sort()
        values.append(milliseconds(times[times.count * 99 / 100]))
      }
      return [
        Figure(
          name: "push, from PUT to the event, p99 with \(listeners.map(String.init).joined(separator: ", ")) listeners",
          value: values.joined(separator: ", "), target: "≤ 5, ≤ 20, ≤ 100 ms"),
        Figure(
          name: "memory of \(listeners.last ?? 0) idle streams", value: String(format: "%.0f MiB", memory),
          target: "≤ 200 MiB"),
      ]
    }

    /// So many streams come back at once when a relay that was killed is there again.
    func restart(count: Int) async throws -> Figure {
      let first = try await RelayUnderLoad(folder, "restart")
      let tokens = try await tokens(for: count, first)
      let (connections, _) = try listen(count, first, tokens)
      withExtendedLifetime(connections) {}
      try first.crash()
      let second = try await RelayUnderLoad(folder, "restart", port: first.port)
      let (start, overflows) = (ContinuousClock.now, Self.listenOverflows)
      let (again, reader) = try listen(count, second, tokens)
      let time = ContinuousClock.now - start
      withExtendedLifetime((again, reader)) {}
      let more = Self.listenOverflows - overflows
      try second.stop()
      return Figure(
        name: "\(count) streams return after a restart; connections for which there was no room",
        value: String(format: "%.1f s; %d", time / .seconds(1), more), target: "≤ 2 s; 0")
    }

    /// How often a connection found no room among those that wait, since the system has started.
    private static var listenOverflows: Int {
      let data = FileManager.default.contents(atPath: "/proc/net/netstat") ?? Data()
      let lines = String(decoding: data, as: UTF8.self).split(separator: "\n").filter { $0.hasPrefix("TcpExt:") }
        .map { $0.split(separator: " ") }
      guard lines.count == 2, let index = lines[0].firstIndex(of: "ListenOverflows") else { return 0 }
      return Int(lines[1][index]) ?? 0
    }
  }
#endif
