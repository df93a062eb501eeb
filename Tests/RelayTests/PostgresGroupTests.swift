#if Postgres
  import Foundation
  import TallyRelayProtocol
  @testable import TallyRelayServer
  import TestEffort
  import Testing

  /// A group of writes in a database does what the same writes do in a file, one after the other.
  @Suite(
    .cleansUp,
    .enabled(if: PostgresCluster.isAvailable, "no PostgreSQL server is installed (Debian: postgresql)"),
    .timeLimit(.minutes(5)))
  struct PostgresGroupTests {
    /// A generator that a seed repeats.
    private struct Dice: RandomNumberGenerator {
      var state: UInt64
      mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
      }
      mutating func roll(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self) }
    }

    private static let seeds = Effort.seeds(6)

    /// What became of a write, to be compared.
    private func text(_ result: Result<PostgresWrite.Outcome, any Error>) -> String {
      switch result {
      case .success(let outcome): "\(outcome)"
      case .failure(let problem as RelayProblem): problem.code.rawValue
      case .failure(let error): "\(error)"
      }
    }

    private func run(_ write: PostgresWrite, _ store: RelayStore) async -> Result<PostgresWrite.Outcome, any Error> {
      do {
        switch write {
        case .put(let key, let body, let cursor):
          return .success(.put(try await store.put(key.name, body, in: key.space, after: cursor)))
        case .piece(let key, let piece, let offset, let length, let cursor):
          return .success(
            .piece(
              try await store.put(piece: piece, at: offset, of: length, key.name, in: key.space, after: cursor)))
        case .remove(let key): return .success(.removed(try await store.remove(key.name, in: key.space)))
        }
      } catch { return .failure(error) }
    }

    /// Whether what becomes of a write does not depend on a cursor, which writes of one request hand on.
    private func isFree(_ write: PostgresWrite) -> Bool {
      switch write {
      case .put(_, _, let cursor): cursor == nil
      case .piece: false
      case .remove: true
      }
    }

    /// A write to one of few names, so that writes meet.
    private func write(_ dice: inout Dice, _ spaces: [Int64], _ cursor: RelayCursor?) -> PostgresWrite {
      let key = EntryKey(space: spaces[dice.roll(spaces.count)], name: "n\(dice.roll(6))")
      let after = dice.roll(2) == 0 ? cursor : nil
      let sizes = [0, 1, 300, 65_536, 65_537, 300_000]
      switch dice.roll(8) {
      case 0, 1: return .remove(key)
      case 2, 3, 4:
        return .put(key, body: Array(repeating: UInt8(dice.roll(256)), count: sizes[dice.roll(6)]), after: after)
      default:
        // Offsets that often fit: pieces of a third.
        let length = [0, 3, 9_000, 65_535, 400_002][dice.roll(5)]
        let third = length / 3
        let piece = Array(repeating: UInt8(dice.roll(256)), count: dice.roll(9) == 0 ? 0 : third)
        return .piece(key, piece, offset: third * dice.roll(3), length: length, after: after)
      }
    }

    @Test(arguments: seeds) func aGroupDoesWhatItsWritesDo(_ seed: UInt64) async throws {
      var dice = Dice(state: seed)
      let (here, there) = (try await StoragePlace(.sqlite), try await StoragePlace(.postgres))
      let time: @Sendable () -> Int64 = { 1_800_000_000 }
      let file = try #require(try await here.open(.serving, time: time) as? RelayStore)
      let database = try #require(try await there.open(.serving, time: time) as? PostgresRelayStore)
      // Numbers of spaces are the same in both, and so are their names, which the chains depend on.
      var spaces: [Int64] = []
      for (index, quota) in [nil, 1_000_000, 3_000].enumerated() {
        let id = "space\(index)"
        try await file.pool.write { db in
          try db.execute(
            sql: "INSERT INTO space(id, head, chain, entries, bytes, quota, created) VALUES(?, 0, ?, 0, 0, ?, 0)",
            arguments: [id, Data(RelayChain.start(of: id)), quota])
        }
        _ = try await database.reading.run { session in
          try session.execute(
            """
            INSERT INTO tally_relay.space(id, head, chain, entries, bytes, quota, created)
            VALUES($1, 0, $2, 0, 0, $3, 0)
            """, [.text(id), .bytes(RelayChain.start(of: id)), .integer(quota.map { Int64($0) })])
        }
        spaces.append(Int64(index + 1))
      }
      // One that is not there.
      spaces.append(99)
      for group in 0..<40 {
        let cursor = try await file.space(1).cursor
        let writes = (0..<(1 + dice.roll(20))).map { _ in write(&dice, spaces, cursor) }
        var expected: [String] = []
        for write in writes { expected.append(text(await run(write, file))) }
        // Neighbours that are about one space are sometimes one request.
        var requests: [PostgresRequest] = []
        for write in writes {
          let writer = RelayWriter(space: write.key.space)
          if let last = requests.last, last.writer == writer, (last.writes + [write]).allSatisfy(isFree),
            dice.roll(2) == 0
          {
            requests[requests.count - 1] = PostgresRequest(writer: writer, writes: last.writes + [write])
          } else {
            requests.append(PostgresRequest(writer: writer, writes: [write]))
          }
        }
        let result = try await database.commits.threads.run { [requests] session in
          try PostgresGroup.commit(requests, session, time())
        }
        let outcomes = zip(requests, result.outcomes).flatMap { request, outcome in
          switch outcome {
          case .success(let results): results.map { text($0.mapError { $0 }) }
          case .failure(let problem): request.writes.map { _ in text(.failure(problem)) }
          }
        }
        #expect(outcomes == expected, "seed \(seed), group \(group)")
        try await expectSame(file, database, "seed \(seed), group \(group)")
        if outcomes != expected { break }
      }
      try file.close()
      database.close()
    }

    private func expectSame(_ file: RelayStore, _ database: PostgresRelayStore, _ place: String) async throws {
      for space: Int64 in 1...3 {
        #expect(try await file.space(space) == database.space(space), "\(place)")
        var cursor: RelayCursor?
        for round in 0..<20 {
          let limit = [7, 1_000][round % 2]
          let (one, other) = (
            try await file.page(of: space, after: cursor, limit: limit),
            try await database.page(of: space, after: cursor, limit: limit)
          )
          #expect(one == other, "\(place)")
          for frame in other.frames {
            guard case .entry(let size, nil) = frame.change else { continue }
            let (left, right) = (
              try await bytes(file, frame, space, size), try await bytes(database, frame, space, size)
            )
            #expect(left == right, "\(place)")
          }
          cursor = one.cursor
          if !one.hasMore { break }
        }
        for name in (0..<6).map({ "n\($0)" }) {
          let (left, right) = (try? await file.upload(name, in: space), try? await database.upload(name, in: space))
          #expect(left == right, "\(place)")
        }
      }
    }

    private func bytes(_ store: any RelayStorage, _ frame: RelayPage.Frame, _ space: Int64, _ size: Int) async throws
      -> [UInt8]
    {
      var bytes: [UInt8] = []
      while bytes.count < size {
        bytes += try await store.bytes(of: frame.name, in: space, at: Int64(frame.position), from: bytes.count)
      }
      return bytes
    }
  }
#endif
