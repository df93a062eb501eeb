#if Relay
  import Foundation
  import TallyRelayProtocol
  @testable import TallyRelayServer
  import TallyTesting
  import TestEffort
  import Testing

  /// A space that has no quota of its own has the relay's, whatever one request does and however many come together.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct QuotaTests {
    private static let quota: Int64 = 20_000

    /// A storage as a relay with a quota serves from it.
    private func served(_ place: StoragePlace) async throws -> ServedStorage {
      ServedStorage(
        base: try await place.open(.serving), quota: Self.quota, fileLimit: nil, times: WriteTimes(), clock: { .zero })
    }

    private func space(_ storage: ServedStorage, quota: Int64? = nil) async throws -> Int64 {
      let token = try await storage.makeToken(space: nil, role: .writer, quota: quota, expires: nil)
      return try #require(try await storage.bearer(token.token)).space
    }

    /// What each write of a request says, without the cursor, which depends on the space.
    private func results(_ outcomes: [RelayStore.Outcome]) -> [String] {
      outcomes.map { outcome in
        switch outcome {
        case .put(let put): put.isKnown ? "known \(put.position)" : "put \(put.position)"
        case .removed(let wasThere): "removed \(wasThere)"
        case .refused(let problem): problem.code.rawValue
        }
      }
    }

    /// A name that is removed twice, or removed and put again, gives its room back once.
    @Test(arguments: StorageKind.available) func roomCountsOnceWithinARequest(_ kind: StorageKind) async throws {
      let storage = try await served(try await StoragePlace(kind))
      let space = try await space(storage)
      func write(_ writes: [RelayWrites.Write]) async throws -> [String] {
        results(try await storage.write(writes, by: RelayWriter(space: space), after: nil))
      }
      let large = [UInt8](repeating: 1, count: 9_000)
      #expect(
        try await write([.put(name: "a", content: large), .put(name: "b", content: large)]) == ["put 1", "put 2"])
      #expect(
        try await write([
          .removal(name: "a"), .removal(name: "a"), .removal(name: "a"), .put(name: "c", content: large),
          .put(name: "d", content: large), .put(name: "e", content: large), .put(name: "c", content: large),
        ]) == ["removed true", "removed false", "removed false", "put 4", "quotaExceeded", "quotaExceeded", "known 4"])
      #expect(
        try await write([.removal(name: "b"), .put(name: "b", content: large + large), .removal(name: "c")])
          == ["removed true", "quotaExceeded", "removed true"])
      #expect(try await storage.space(space).bytes <= Self.quota)
      try storage.close()
    }

    /// Any requests do to it what they do to a space with that quota of its own.
    @Test(arguments: StorageKind.available, Effort.seeds(4)) func theRelaysQuotaIsAsGoodAsASpacesOwn(
      _ kind: StorageKind, _ seed: UInt64
    ) async throws {
      let storage = try await served(try await StoragePlace(kind))
      let spaces = [try await space(storage), try await space(storage, quota: Self.quota)]
      var dice = SplitMix64(seed: seed)
      for request in 0..<60 {
        let writes = (0..<Int.random(in: 1...12, using: &dice)).map { _ -> RelayWrites.Write in
          let name = "n\(Int.random(in: 0..<6, using: &dice))"
          guard Int.random(in: 0..<5, using: &dice) < 3 else { return .removal(name: name) }
          let size = [0, 100, 3_000, 9_000][Int.random(in: 0..<4, using: &dice)]
          return .put(name: name, content: [UInt8](repeating: 7, count: size))
        }
        var found: [[String]] = []
        for space in spaces {
          found.append(results(try await storage.write(writes, by: RelayWriter(space: space), after: nil)))
          #expect(try await storage.space(space).bytes <= Self.quota + 256 * 12, "seed \(seed), request \(request)")
        }
        #expect(found[0] == found[1], "TALLY_SEED=\(seed), request \(request): \(writes.map(\.name))")
        guard found[0] == found[1] else { break }
      }
      try storage.close()
    }

    /// Requests that wait for one commit together see what those before them have taken.
    @Test(arguments: StorageKind.available) func whoComesTogetherSharesIt(_ kind: StorageKind) async throws {
      let storage = try await served(try await StoragePlace(kind))
      let space = try await space(storage)
      let bytes = [UInt8](repeating: 1, count: 1_000)
      let found = try await withThrowingTaskGroup(of: [String].self) { group in
        for writer in 0..<40 {
          group.addTask {
            let write = RelayWrites.Write.put(name: "w\(writer)", content: bytes)
            return results(try await storage.write([write], by: RelayWriter(space: space), after: nil))
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      #expect(found.count { $0 == "quotaExceeded" } == 40 - 15 && found.count { $0.hasPrefix("put ") } == 15)
      let length = 4_000
      let pieces = try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<20 {
          group.addTask {
            do {
              _ = try await storage.put(
                piece: bytes, at: 0, of: length, "p\(number)", by: RelayWriter(space: space), after: nil)
              return true
            } catch let problem as RelayProblem where problem.code == .quotaExceeded {
              return false
            }
          }
        }
        return try await group.reduce(into: [Bool]()) { $0.append($1) }
      }
      #expect(pieces.allSatisfy { !$0 })
      #expect(try await storage.space(space).bytes <= Self.quota)
      try storage.close()
    }
  }
#endif
