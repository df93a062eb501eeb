#if Relay
  import Foundation
  import TallyRelay
  import TallyRelayProtocol
  @testable import TallyRelayServer
  import TallySync
  import Testing

  /// How long a deleted space is kept, and how its rows are removed.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct KeepTests {
    private func opened(_ kind: StorageKind) async throws -> (StoragePlace, any RelayStorage, RelayFixture.State) {
      let (place, state) = (try await StoragePlace(kind), RelayFixture.State())
      return (place, try await place.open(.serving, time: { state.now }), state)
    }

    /// A space with rows in all tables: small and large entries, one that has gone, an upload, and several tokens.
    private func fill(_ store: any RelayStorage, entries: Int = 3) async throws -> (RelayStore.NewToken, Int64) {
      let token = try await store.makeToken(space: nil, role: .writer, quota: 10_000_000, expires: nil)
      _ = try await store.makeToken(space: token.space, role: .admin, quota: nil, expires: nil)
      let revoked = try await store.makeToken(space: token.space, role: .reader, quota: nil, expires: 2_000_000_000)
      try await store.revoke(revoked.id)
      let space = try #require(try await store.bearer(token.token)).space
      _ = try await store.put("large", (0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }, in: space, after: nil)
      try await put(entries, "small", store, space)
      _ = try await store.remove("small-1", in: space)
      let piece = try await store.put(
        piece: Array(repeating: 3, count: 300_000), at: 0, of: 500_000, "upload", in: space, after: nil)
      #expect(piece == .taken(300_000))
      return (token, space)
    }

    private func put(_ count: Int, _ prefix: String, _ store: any RelayStorage, _ space: Int64) async throws {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<count {
          group.addTask { _ = try await store.put("\(prefix)-\(number)", [UInt8(number % 256)], in: space, after: nil) }
        }
        try await group.waitForAll()
      }
    }

    private func rowCount(of space: Int64, _ store: any RelayStorage, _ place: StoragePlace) async throws -> Int {
      try await RelayTables.counts(of: space, store, place).values.reduce(0, +)
    }

    @Test(arguments: StorageKind.available) func restoringBringsEverythingBack(_ kind: StorageKind) async throws {
      let (place, store, state) = try await opened(kind)
      let (token, space) = try await fill(store)
      let before = try await RelayTables.all(store, place)
      #expect(RelayTables.names.allSatisfy { before[$0]?.isEmpty == false })
      let (page, tokens) = (try await store.page(of: space, after: nil, limit: 1_000), try await store.tokens())

      try await store.deleteSpace(token.space)
      let again = await #expect(throws: RelayStoreError.self) { try await store.deleteSpace(token.space) }
      #expect(again?.code == .noSuchSpace)
      #expect(try await store.tokens().map(\.spaceDeleted) == [state.now, state.now, state.now])
      #expect(try await store.missing(among: [space, 99]) == [space, 99])
      state.now += 99
      #expect(try await !store.removeSlice(deletedFor: 100))
      try await store.restoreSpace(token.space)

      #expect(try await RelayTables.all(store, place) == before)
      #expect(try await store.tokens() == tokens && tokens.count == 3)
      #expect(try await store.page(of: space, after: nil, limit: 1_000) == page)
      #expect(try await store.missing(among: [space, 99]) == [99])
      #expect(try await store.bearer(token.token)?.isSpaceDeleted == false)
      // Time that has passed does not count any more, and the upload goes on.
      state.now += 1_000
      #expect(try await !store.removeSlice(deletedFor: 100))
      let last = try await store.put(
        piece: Array(repeating: 4, count: 200_000), at: 300_000, of: 500_000, "upload", in: space, after: nil)
      guard case .put(let put) = last, !put.isKnown else {
        Issue.record("the upload does not go on: \(last)")
        return
      }
      // What is not deleted is as it was afterwards.
      try await store.restoreSpace(token.space)
      let unknown = await #expect(throws: RelayStoreError.self) { try await store.restoreSpace("unknown") }
      #expect(unknown?.code == .noSuchSpace)
      try store.close()
    }

    @Test(arguments: StorageKind.available) func afterItsTimeNothingIsLeft(_ kind: StorageKind) async throws {
      let (place, store, state) = try await opened(kind)
      let (other, kept) = try await fill(store)
      let (token, gone) = try await fill(store, entries: 300)
      let others = try await RelayTables.all(of: kept, store, place)
      try await store.deleteSpace(token.space)
      let before = try await rowCount(of: gone, store, place)
      #expect(before > 300)
      state.now += 99
      #expect(try await !store.removeSlice(deletedFor: 100))
      #expect(try await rowCount(of: gone, store, place) == before)

      // The first transaction removes so many rows and no more; from then on there is no way back.
      state.now += 1
      #expect(try await store.removeSlice(deletedFor: 100))
      #expect(try await rowCount(of: gone, store, place) == before - RelayStore.sliceRows)
      let late = await #expect(throws: RelayStoreError.self) { try await store.restoreSpace(token.space) }
      #expect(late?.code == .noSuchSpace)
      // What has begun is ended, also by a process that keeps for longer.
      var slices = 1
      while try await store.removeSlice(deletedFor: 1_000_000), slices < 100 { slices += 1 }
      #expect(slices == (before + RelayStore.sliceRows - 1) / RelayStore.sliceRows)
      let counts = try await RelayTables.counts(of: gone, store, place)
      #expect(counts == Dictionary(uniqueKeysWithValues: RelayTables.names.map { ($0, 0) }))

      #expect(try await RelayTables.all(of: kept, store, place) == others)
      #expect(try await RelayTables.all(store, place) == others)
      #expect(try await store.bearer(token.token) == nil)
      #expect(try await store.bearer(other.token) != nil)
      await #expect(throws: RelayStoreError.self) { try await store.restoreSpace(token.space) }
      try store.close()
    }

    /// Several processes remove at once, where there are several, while others write elsewhere and into the space that
    /// goes: nobody fails who may write, nothing of others is missing, nothing is left over.
    @Test(arguments: StorageKind.available) func writersGoOnWhileASpaceIsRemoved(_ kind: StorageKind) async throws {
      let (place, store, state) = try await opened(kind)
      var stores = [store]
      if kind == .postgres { stores.append(try await place.open(.serving, time: { state.now })) }
      let (token, gone) = try await fill(store, entries: 800)
      let (_, kept) = try await fill(store)
      let head = try await store.space(kept).head
      try await store.deleteSpace(token.space)
      let before = try await rowCount(of: gone, store, place)
      let slices = try await withThrowingTaskGroup(of: Int.self) { group in
        for store in stores {
          group.addTask {
            var slices = 0
            // Bounded: whoever finds the space taken by the other ends early.
            while slices < 1_000, try await store.removeSlice(deletedFor: 0) { slices += 1 }
            return slices
          }
          group.addTask {
            for number in 0..<60 {
              _ = try await store.put("late-\(number % 9)-\(UInt64(number))", [1, 2, 3], in: kept, after: nil)
              let late = await #expect(throws: RelayProblem.self) {
                try await store.put("late-\(number)", [1], in: gone, after: nil)
              }
              #expect(late?.code == .noSuchSpace)
            }
            return 0
          }
        }
        var slices = 0
        for try await count in group { slices += count }
        return slices
      }
      var rest = 0
      while rest < 100, try await store.removeSlice(deletedFor: 0) { rest += 1 }
      #expect(slices + rest == (before + RelayStore.sliceRows - 1) / RelayStore.sliceRows)
      #expect(try await rowCount(of: gone, store, place) == 0)
      #expect(try await store.space(kept).head == head + 60)
      let frames = try await store.page(of: kept, after: nil, limit: 1_000).frames
      #expect(frames.suffix(60).map(\.position) == (UInt64(head) + 1...UInt64(head) + 60).map { $0 })
      for store in stores { try store.close() }
    }

    /// A relay that serves removes by itself, and leaves what is to be kept.
    @Test(arguments: StorageKind.available) func aRelaySweeps(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) {
        $0.keep = .seconds(100)
        $0.limits.sweepPause = .milliseconds(20)
        $0.limits.clockProbation = .zero
      } _: { relay in
        let (first, gone) = try await fill(relay.store, entries: 200)
        try await relay.store.deleteSpace(first.space)
        relay.now += 50
        let (second, kept) = try await fill(relay.store)
        try await relay.store.deleteSpace(second.space)
        relay.now += 50
        let authorization = ["Authorization": "Bearer \(first.token)"]
        var answer = RawHTTP.Answer([])
        for _ in 0..<5_000 where answer.status != 401 {
          answer = try await RawHTTP.send("GET", "/v1/spaces/\(first.space)", authorization, port: relay.port)
        }
        #expect(answer.problem == "unauthenticated")
        // Its tokens go with it or just before.
        for _ in 0..<100 where try await rowCount(of: gone, relay.store, relay.place) > 0 {}
        #expect(try await rowCount(of: gone, relay.store, relay.place) == 0)
        #expect(try await RelayTables.counts(of: kept, relay.store, relay.place).values.allSatisfy { $0 > 0 })
        try await relay.store.restoreSpace(second.space)
        #expect(try await relay.mailbox(second).status().entries == 3)
        #expect(!relay.log.contains { $0.contains("fault=") })
      }
    }
  }
#endif
