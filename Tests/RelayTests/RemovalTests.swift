#if Relay
  import Foundation
  import GRDB
  import TallyRelayProtocol
  @testable import TallyRelayServer
  import Testing

  /// What is large goes in slices, and nothing of it is in the way of what comes.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct RemovalTests {
    private static let mebibyte = 1 << 20
    private static let piece = 4 * mebibyte

    private final class Opened: Sendable {
      let place: StoragePlace
      let store: any RelayStorage
      let state = RelayFixture.State()
      let token: RelayStore.NewToken
      let space: Int64

      init(_ kind: StorageKind, quota: Int64? = nil) async throws {
        let state = state
        place = try await StoragePlace(kind)
        store = try await place.open(.serving, time: { state.now })
        token = try await store.makeToken(space: nil, role: .writer, quota: quota, expires: nil)
        space = try #require(try await store.bearer(token.token)).space
      }

      func rows(_ table: String) async throws -> Int {
        if let file = store as? RelayStore {
          return try await file.pool.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM \(table)") ?? -1 }
        }
        let sql = "SELECT COUNT(*) FROM tally_relay.\(table)"
        return Int(try await PostgresCluster.sql(sql, in: place.database ?? "")) ?? -1
      }

      /// The rows of contents, and the notes of those that are left.
      var contents: [Int] {
        get async throws { [try await rows("chunk"), try await rows("removed")] }
      }

      /// Sweeps until nothing is left, and returns how many rows of contents each transaction has removed.
      func sweep() async throws -> [Int] {
        var (slices, before) = ([Int](), try await rows("chunk"))
        for _ in 0..<1_000 {
          guard try await store.removeSlice(deletedFor: 0) else { return slices }
          let after = try await rows("chunk")
          slices.append(before - after)
          before = after
        }
        Issue.record("sweeping finds no end")
        return slices
      }

      /// Uploads pieces of that size.
      func upload(_ name: String, _ byte: UInt8, pieces: Int, _ bytes: Int = RemovalTests.piece, of length: Int? = nil)
        async throws
      {
        let length = length ?? pieces * bytes
        let piece = [UInt8](repeating: byte, count: bytes)
        for number in 0..<pieces {
          _ = try await store.put(piece: piece, at: number * bytes, of: length, name, in: space, after: nil)
        }
      }
    }

    /// Uploads that nobody can go on with any more go without anybody putting anything, and their space has room again.
    @Test(arguments: StorageKind.available) func expiredUploadsAreSwept(_ kind: StorageKind) async throws {
      let opened = try await Opened(kind)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<300 {
          group.addTask { try await opened.upload("upload-\(number)", 1, pieces: 1, 5_000, of: 6_000) }
        }
        try await group.waitForAll()
      }
      opened.state.now += RelayStore.uploadSeconds - 1
      try await opened.upload("later", 2, pieces: 1, 5_000, of: 6_000)
      #expect(try await !opened.store.removeSlice(deletedFor: 0))
      opened.state.now += 1
      // Not by a process that does not trust its clock.
      #expect(try await !opened.store.removeSlice(deletedFor: nil))
      #expect(try await opened.rows("upload") == 301)
      #expect(try await opened.store.removeSlice(deletedFor: 0))
      #expect(try await opened.rows("upload") == 301 - RelayStore.sliceRows)
      // What one has begun, another ends; also one that does not trust its clock.
      #expect(try await opened.store.removeSlice(deletedFor: nil))
      _ = try await opened.sweep()
      #expect(try await opened.rows("upload") == 1)
      #expect(try await opened.contents == [1, 0])
      #expect(try await opened.store.space(opened.space).bytes == 5_000)
      #expect(try await opened.store.upload("later", in: opened.space).received == 5_000)
      try opened.store.close()
    }

    /// The removal of an entry touches no more than one slice; the rest goes in transactions that are as small.
    @Test(arguments: StorageKind.available) func aLargeEntryGoesInSlices(_ kind: StorageKind) async throws {
      let opened = try await Opened(kind)
      let (store, space) = (opened.store, opened.space)
      try await opened.upload("large", 7, pieces: 5)
      _ = try await store.put("other", Array(repeating: 1, count: 600_000), in: space, after: nil)
      let (before, perSlice) = (try await opened.rows("chunk"), Self.piece / RelayStore.chunkBytes)
      #expect(before == 5 * perSlice + 3)
      #expect(try await store.remove("large", in: space))
      // For everybody it is gone, and so is what it took of the quota.
      #expect(before - (try await opened.rows("chunk")) <= perSlice)
      let problem = await #expect(throws: RelayProblem.self) { try await store.entry("large", in: space) }
      #expect(problem?.code == .noSuchEntry)
      #expect(try await store.space(space).bytes == 600_000 + 3 * 256)
      let slices = try await opened.sweep()
      #expect(slices.count >= 4 && slices.allSatisfy { $0 <= perSlice }, "\(slices)")
      #expect(try await opened.contents == [3, 0])
      #expect(try await store.bytes(of: "other", in: space, at: 2, from: 524_288).count == 600_000 - 524_288)
      try store.close()
    }

    /// Many small pieces are many rows.
    @Test(arguments: StorageKind.available) func anUploadOfManyPiecesGoesInSlices(_ kind: StorageKind) async throws {
      let opened = try await Opened(kind)
      let (store, space) = (opened.store, opened.space)
      try await opened.upload("small", 3, pieces: 150, 7)
      // It is small enough for its entry's row, and its pieces are not needed.
      #expect(try await store.entry("small", in: space).body == Array(repeating: 3, count: 1_050))
      #expect(try await opened.rows("chunk") >= 150 - RelayStore.sliceRows)
      let slices = try await opened.sweep()
      #expect(slices.allSatisfy { $0 <= RelayStore.sliceRows })
      #expect(try await opened.contents == [0, 0])
      #expect(try await store.entry("small", in: space).body?.count == 1_050)
      try store.close()
    }

    /// Puts until what is in the way is gone.
    private func put(_ opened: Opened, _ refusals: inout Int, _ put: () async throws -> Void) async throws {
      while refusals < 100 {
        do { return try await put() } catch let problem as RelayProblem where problem.code == .busy {
          refusals += 1
          #expect(problem.retryAfter == 1)
          _ = try await opened.store.removeSlice(deletedFor: 0)
        }
      }
    }

    /// A small entry has room in its row at once; a large one comes when the former content is gone, and has nothing of
    /// it.
    @Test(arguments: StorageKind.available) func aNameCanBePutAgain(_ kind: StorageKind) async throws {
      let opened = try await Opened(kind)
      let (store, space) = (opened.store, opened.space)
      try await opened.upload("a", 1, pieces: 4)
      #expect(try await store.remove("a", in: space))
      #expect(try await !store.put("a", [2], in: space, after: nil).isKnown)
      #expect(try await store.entry("a", in: space).body == [2])
      #expect(try await store.remove("a", in: space))
      var refusals = 0
      let large = [UInt8](repeating: 3, count: 300_000)
      try await put(opened, &refusals) { _ = try await store.put("a", large, in: space, after: nil) }
      #expect((1...16).contains(refusals))
      let entry = try await store.entry("a", in: space)
      #expect(entry.size == large.count && entry.position == 5)
      var content: [UInt8] = []
      while content.count < entry.size {
        content += try await store.bytes(of: "a", in: space, at: entry.position, from: content.count)
      }
      #expect(content == large)
      _ = try await opened.sweep()
      #expect(try await opened.contents == [2, 0])
      try store.close()
    }

    /// An upload that begins again with another length gives way, and takes up no quota.
    @Test(arguments: StorageKind.available) func anUploadCanBeginAgain(_ kind: StorageKind) async throws {
      let opened = try await Opened(kind)
      let (store, space) = (opened.store, opened.space)
      try await opened.upload("a", 1, pieces: 4, of: 5 * Self.piece)
      let first = [UInt8](repeating: 2, count: 200_000)
      var (refusals, piece): (Int, RelayStore.Piece?) = (0, nil)
      try await put(opened, &refusals) {
        piece = try await store.put(piece: first, at: 0, of: 300_000, "a", in: space, after: nil)
      }
      #expect((1...16).contains(refusals) && piece == .taken(200_000))
      #expect(try await store.upload("a", in: space) == .init(received: 200_000, length: 300_000))
      #expect(try await store.space(space).bytes == 200_000)
      _ = try await opened.sweep()
      #expect(try await opened.rows("removed") == 0)
      let rest = [UInt8](repeating: 2, count: 100_000)
      let last = try await store.put(piece: rest, at: 200_000, of: 300_000, "a", in: space, after: nil)
      #expect(last == .put(.init(isKnown: false, position: 1, cursor: nil)))
      #expect(try await store.bytes(of: "a", in: space, at: 1, from: 0).allSatisfy { $0 == 2 })
      try store.close()
    }

    /// Uploads whose time is over give their quota back at once, and their bytes in slices.
    @Test(arguments: StorageKind.available) func whatIsLeftAloneGoesInSlices(_ kind: StorageKind) async throws {
      let opened = try await Opened(kind, quota: Int64(21 * Self.mebibyte))
      let (store, space) = (opened.store, opened.space)
      try await opened.upload("a", 1, pieces: 2, of: 3 * Self.piece)
      try await opened.upload("b", 1, pieces: 2, of: 3 * Self.piece)
      opened.state.now += RelayStore.uploadSeconds + 1
      let before = try await opened.rows("chunk")
      // The space is full of what nobody can have any more.
      let added = 6 * Self.mebibyte
      _ = try await store.put("c", Array(repeating: 4, count: added), in: space, after: nil)
      #expect(try await opened.rows("chunk") == before + added / RelayStore.chunkBytes)
      #expect(try await store.space(space).bytes == Int64(added) + 256)
      let slices = try await opened.sweep()
      #expect(slices.allSatisfy { $0 <= Self.piece / RelayStore.chunkBytes } && slices.reduce(0, +) == before)
      // One that comes back begins at its beginning.
      var refusals = 0
      try await put(opened, &refusals) { try await opened.upload("a", 2, pieces: 1, 100, of: 200) }
      #expect(refusals == 0)
      #expect(try await store.upload("a", in: space) == .init(received: 100, length: 200))
      try store.close()
    }

    /// What is left of contents goes with a deleted space.
    @Test(arguments: StorageKind.available) func nothingIsLeftOfADeletedSpace(_ kind: StorageKind) async throws {
      let opened = try await Opened(kind)
      let (store, space) = (opened.store, opened.space)
      try await opened.upload("a", 1, pieces: 3)
      try await opened.upload("b", 1, pieces: 3)
      #expect(try await store.remove("a", in: space))
      try await store.deleteSpace(opened.token.space)
      let slices = try await opened.sweep()
      #expect(slices.allSatisfy { $0 <= Self.piece / RelayStore.chunkBytes })
      for table in RelayTables.names + ["removed"] { #expect(try await opened.rows(table) == 0, "\(table)") }
      try store.close()
    }

    /// A relay sweeps as soon as something large is removed, however long it would have waited.
    @Test(arguments: StorageKind.available) func aRelaySweepsAtOnce(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) {
        $0.limits.sweepPause = .seconds(3_600)
      } _: { relay in
        let token = try await relay.token()
        let space = try #require(try await relay.store.bearer(token.token)).space
        let piece = [UInt8](repeating: 1, count: Self.piece)
        for number in 0..<3 {
          _ = try await relay.store.put(
            piece: piece, at: number * piece.count, of: 3 * piece.count, "a", in: space, after: nil)
        }
        try await relay.mailbox(token).remove(["a"])
        try await Looking.until("the content is gone", within: .seconds(60)) {
          try await RelayTables.counts(relay.store, relay.place)["chunk"] == 0
        }
        #expect(!relay.log.contains { $0.contains("fault=") })
      }
    }
  }
#endif
