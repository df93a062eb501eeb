#if Relay
  import Foundation
  import TallyRelayProtocol
  import TallyWire

  /// One table of a relay under load, with its floor in the same run: a bare handler of the HTTP library, and the raw
  /// row in the database. `make relay-load`.
  struct LoadBench {
    let folder: URL
    /// How many entries are put alone; four times as many with 32 in flight.
    let appends: Int
    let streams: Int
    /// How many streams return after a restart.
    let returning: Int

    /// What so many appends took, each.
    private struct Cost {
      var processor: Duration
      var time: Duration

      static func + (one: Cost, other: Cost) -> Cost {
        Cost(processor: one.processor + other.processor, time: one.time + other.time)
      }
    }

    func run() async throws -> [Figure] {
      let bare = try BareServer()
      let floors = (
        alone: try await bareCost(bare, 1, appends), together: try await bareCost(bare, 32, 4 * appends)
      )
      bare.stop()
      var figures = try await sqlite(floors.alone, floors.together)
      #if Postgres
        figures += try await postgres(floors.alone, floors.together)
      #endif
      let streaming = StreamBench(folder: folder)
      figures += try await streaming.pushes(listeners: [1, 1_000, streams])
      figures.append(try await streaming.restart(count: returning))
      return figures
    }

    private static func microseconds(_ duration: Duration) -> String {
      String(format: "%.0f µs", duration / .microseconds(1))
    }

    private static func ratio(_ one: Duration, _ other: Duration) -> String { String(format: "%.2f ×", one / other) }

    /// Runs something, and says what each of so many cost.
    private func cost(
      of count: Int, _ processorTime: () throws -> Duration, _ body: () async throws -> Void
    ) async throws -> Cost {
      let (before, start) = (try processorTime(), ContinuousClock.now)
      try await body()
      let time = ContinuousClock.now - start
      return Cost(processor: (try processorTime() - before) / count, time: time / count)
    }

    private static let digest = RelayDigest.field(SHA256.hash(WriterThreads.body))

    private func bareCost(_ bare: BareServer, _ writers: Int, _ count: Int) async throws -> Cost {
      let load = WriterThreads(port: bare.port, token: .init(space: "none", token: "none"), digest: Self.digest)
      try await load.run(writers, count: count / 10, "warm")
      return try await cost(of: count) {
        bare.processorTime
      } _: {
        try await load.run(writers, count: count)
      }
    }

    // MARK: SQLite

    private func sqlite(_ alone: Cost, _ together: Cost) async throws -> [Figure] {
      let relay = try await RelayUnderLoad(folder, "load")
      let idle = relay.memory
      let load = WriterThreads(port: relay.port, token: try await relay.token(), digest: Self.digest)
      try await load.run(1, count: appends / 10, "warm")
      let one = try await cost(of: appends) {
        relay.processorTime
      } _: {
        try await load.run(1, count: appends)
      }
      let many = try await cost(of: 4 * appends) {
        relay.processorTime
      } _: {
        try await load.run(32, count: 4 * appends)
      }
      let batches = try await cost(of: 16 * appends) {
        relay.processorTime
      } _: {
        try await load.run(32, count: 16 * appends, batch: 16)
      }
      let alone16 = try await cost(of: 4 * appends) {
        relay.processorTime
      } _: {
        try await load.run(1, count: 4 * appends, batch: 16)
      }
      try relay.stop()
      let bench = AppendBench(folder: folder)
      let rawOne = try await cost(of: appends, ownProcessorTime) { try bench.plainInserts(appends, batch: 1) }
      let rawMany = try await cost(of: 4 * appends, ownProcessorTime) { try bench.plainInserts(4 * appends, batch: 32) }
      let (floorOne, floorMany) = (alone + rawOne, together + rawMany)
      return [
        Figure(
          name: "append alone, SQLite: processor, time, beside the floor",
          value: "\(Self.ratio(one.processor, floorOne.processor)), \(Self.ratio(one.time, floorOne.time)) "
            + "(\(Self.microseconds(one.processor)), \(Self.microseconds(one.time)); floor: request "
            + "\(Self.microseconds(alone.processor)), row \(Self.microseconds(rawOne.processor)))",
          target: "≤ 2.0 ×, ≤ 1.8 ×"),
        Figure(
          name: "append, 32 in flight, SQLite: processor, beside the floor",
          value: "\(Self.ratio(many.processor, floorMany.processor)) (\(Self.microseconds(many.processor)); floor: "
            + "request \(Self.microseconds(together.processor)), row \(Self.microseconds(rawMany.processor)))",
          target: "≤ 2.0 ×"),
        Figure(
          name: "16 entries in one request, SQLite: processor of each, beside a bare request, 32 in flight, alone",
          value: "\(Self.ratio(batches.processor, together.processor)), "
            + "\(Self.ratio(alone16.processor, alone.processor)) (\(Self.microseconds(batches.processor)), "
            + "\(Self.microseconds(alone16.processor)))",
          target: "≤ 1.0 ×"),
        Figure(name: "memory of an idle relay", value: String(format: "%.0f MiB", idle), target: "≤ 35 MiB"),
      ]
    }

    // MARK: PostgreSQL

    #if Postgres
      private func postgres(_ alone: Cost, _ together: Cost) async throws -> [Figure] {
        let server = try PostgresUnderLoad()
        let relay = try await RelayUnderLoad(folder, "load-postgres", database: try server.database("relay"))
        let load = WriterThreads(port: relay.port, token: try await relay.token(), digest: Self.digest)
        func processorTime() throws -> Duration { try relay.processorTime + server.processorTime() }
        try await load.run(1, count: appends / 10, "warm")
        let one = try await cost(of: appends, processorTime) { try await load.run(1, count: appends) }
        let many = try await cost(of: 4 * appends, processorTime) { try await load.run(32, count: 4 * appends) }
        let batches = try await cost(of: 16 * appends, processorTime) {
          try await load.run(32, count: 16 * appends, batch: 16)
        }
        try relay.stop()
        let bench = PostgresBench(folder: folder)
        let rawOne = try await cost(of: appends, server.processorTime) {
          try bench.insertPlainly(appends, 1, server)
        }
        let rawMany = try await cost(of: 4 * appends, server.processorTime) {
          try bench.insertPlainly(4 * appends, 32, server)
        }
        try server.stop()
        let (floorOne, floorMany) = (alone + rawOne, together + rawMany)
        return [
          Figure(
            name: "append alone, PostgreSQL: processor of both, time, beside the floor",
            value: "\(Self.ratio(one.processor, floorOne.processor)), \(Self.ratio(one.time, floorOne.time)) "
              + "(\(Self.microseconds(one.processor)), \(Self.microseconds(one.time)); floor: request "
              + "\(Self.microseconds(alone.processor)), row \(Self.microseconds(rawOne.processor)))",
            target: "≤ 2.2 ×, ≤ 1.8 ×"),
          Figure(
            name: "append, 32 in flight, PostgreSQL: processor of both, beside the floor",
            value: "\(Self.ratio(many.processor, floorMany.processor)) (\(Self.microseconds(many.processor)); floor: "
              + "request \(Self.microseconds(together.processor)), row \(Self.microseconds(rawMany.processor)))",
            target: "≤ 1.5 ×"),
          Figure(
            name: "16 entries in one request, PostgreSQL: processor of both for each, beside a bare request",
            value: "\(Self.ratio(batches.processor, together.processor)) (\(Self.microseconds(batches.processor)))",
            target: "≤ 1.0 ×"),
        ]
      }
    #endif
  }
#endif
