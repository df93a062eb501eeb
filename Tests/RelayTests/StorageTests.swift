#if Relay
  import Foundation
  import GRDB
  import TallyRelay
  import TallyRelayProtocol
  @testable import TallyRelayServer
  import TallyStore
  import TallySync
  import TallyWire
  import Testing

  /// What stands in the file, and who may have it.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct StorageTests {
    private let folder: URL
    private var path: String { folder.appendingPathComponent("relay.sqlite").path }

    init() throws { folder = try RelayFixture.newFolder() }

    @Test func aFileHasItsMarksAndIsWrittenThroughToTheDisk() throws {
      let store = try RelayStore(path: path, for: .serving)
      let pragmas = try store.pool.writeWithoutTransaction { db in
        try ["application_id", "user_version", "synchronous", "journal_mode"].map {
          try String.fetchOne(db, sql: "PRAGMA \($0)") ?? ""
        }
      }
      #expect(pragmas == ["\(0x544C_5952)", "3", "2", "wal"])
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
      #expect(mode == 0o600)
      try store.close()
    }

    @Test func oneProcessServesAndOthersMakeTokens() async throws {
      do {
        let store = try RelayStore(path: path, for: .serving)
        let refusal = #expect(throws: RelayStoreError.self) { try RelayStore(path: path, for: .serving) }
        #expect(refusal?.code == .inUse && refusal?.isPermanent == false)
        let beside = try RelayStore(path: path, for: .administration)
        let token = try await beside.makeToken(space: nil, role: .writer)
        #expect(try await store.tokens().map(\.id) == [token.id])
        try beside.close()
        try store.close()
      }
      // The lock ends with whoever held it.
      try RelayStore(path: path, for: .serving).close()
    }

    @Test func anErrorOfARelaysFileIsOneOfTallys() throws {
      let refusal = #expect(throws: RelayStoreError.self) {
        try RelayStore(path: path, for: .administration, mayCreate: false)
      }
      let error: (any TallyError)? = refusal
      #expect(error?.code.rawValue == "noSuchFile" && error?.isPermanent == true && error?.retryAfter == nil)
      #expect(error.map { "\($0)" } == "there is no file \(path) (noSuchFile)")
    }

    @Test func filesOfOthersAreRefusedAndLeftAlone() throws {
      try Data(
        "not a database, but a letter of more than a hundred bytes to somebody who will want to read it again".utf8
      )
      .write(to: URL(fileURLWithPath: path))
      let letter = try Data(contentsOf: URL(fileURLWithPath: path))
      #expect(throws: RelayStoreError.self) { try RelayStore(path: path, for: .serving) }
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == letter)
      let other = folder.appendingPathComponent("other.sqlite").path
      let queue = try DatabaseQueue(path: other)
      try queue.write { try $0.execute(sql: "CREATE TABLE t(x)") }
      try queue.close()
      let database = try Data(contentsOf: URL(fileURLWithPath: other))
      let refusal = #expect(throws: RelayStoreError.self) { try RelayStore(path: other, for: .administration) }
      #expect(refusal?.code == .notARelay)
      #expect(try Data(contentsOf: URL(fileURLWithPath: other)) == database)
    }

    @Test func aNewerFormatIsRefused() throws {
      let store = try RelayStore(path: path, for: .serving)
      try store.pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = 4") }
      try store.close()
      let refusal = #expect(throws: RelayStoreError.self) { try RelayStore(path: path, for: .administration) }
      #expect(refusal?.code == .newerFormat)
    }

    /// What waits is committed together: many writers wait for few commits.
    @Test(arguments: StorageKind.available) func writersShareCommits(_ kind: StorageKind) async throws {
      let place = try await StoragePlace(kind)
      let store = try await place.open(.serving)
      let token = try await store.makeToken(space: nil, role: .writer, quota: nil, expires: nil)
      let space = try #require(try await store.bearer(token.token)).space
      try await withThrowingTaskGroup(of: Void.self) { group in
        for writer in 0..<64 {
          group.addTask {
            for number in 0..<8 { _ = try await store.put("\(writer)-\(number)", [1], in: space, after: nil) }
          }
        }
        try await group.waitForAll()
      }
      let (commits, writes) = await store.commitCounts
      #expect(writes == 512)
      #expect(commits <= 256, "\(commits) commits for 512 writes of 64 writers")
      try await expectWhole(store, space, 512)
      try store.close()
    }

    /// Positions without gaps, each name once, and the chain as it is defined.
    private func expectWhole(_ store: any RelayStorage, _ space: Int64, _ count: Int) async throws {
      var frames: [RelayPage.Frame] = []
      var cursor: RelayCursor?
      for _ in 0..<100 {
        let page = try await store.page(of: space, after: cursor, limit: 100)
        frames += page.frames
        cursor = page.cursor
        if !page.hasMore { break }
      }
      #expect(frames.map(\.position) == (1...UInt64(count)).map { $0 })
      #expect(Set(frames.map(\.name)).count == count)
      let id = try await store.space(space).id
      var chain = Array(SHA256.hash(Array("tally relay log 1\0\(id)".utf8)).prefix(16))
      for frame in frames { chain = Array(SHA256.hash(chain + [1] + Array(frame.name.utf8)).prefix(16)) }
      #expect(cursor?.chain == chain)
    }

    @Test(arguments: StorageKind.available) func removalKeepsAPlaceAndTellsOfIt(_ kind: StorageKind) async throws {
      let place = try await StoragePlace(kind)
      let store = try await place.open(.serving)
      let token = try await store.makeToken(space: nil, role: .writer, quota: nil, expires: nil)
      let space = try #require(try await store.bearer(token.token)).space
      for name in ["a", "b", "c"] {
        _ = try await store.put(name, Array(repeating: 7, count: 100_000), in: space, after: nil)
      }
      let before = try await store.page(of: space, after: nil, limit: 1_000).cursor
      #expect(try await store.remove("b", in: space))
      #expect(try await store.remove("b", in: space) == false)
      let news = try await store.page(of: space, after: before, limit: 1_000)
      #expect(news.frames == [.init(position: 4, name: "b", change: .removal)] && !news.isListing)
      let listing = try await store.page(of: space, after: nil, limit: 1_000)
      #expect(listing.frames.map(\.name) == ["a", "c"] && listing.cursor == news.cursor)
      // It can come back, as news; and the page tells of it once.
      let again = try await store.put("b", [1], in: space, after: news.cursor)
      #expect(again.position == 5 && again.cursor?.position == 5)
      let back = try await store.page(of: space, after: before, limit: 1_000)
      #expect(back.frames == [.init(position: 5, name: "b", change: .entry(byteCount: 1, content: [1]))])
      let row = try await store.space(space)
      #expect(row.entries == 3 && row.bytes == 2 * 100_000 + 1 + 5 * 256)
      let chunks = "SELECT COUNT(DISTINCT name) FROM"
      if let file = store as? RelayStore {
        #expect(try await file.pool.read { try Int.fetchOne($0, sql: "\(chunks) chunk") } == 2)
      } else {
        #expect(try await PostgresCluster.sql("\(chunks) tally_relay.chunk", in: try #require(place.database)) == "2")
      }
      try store.close()
    }

    /// Somebody reads a large entry piece by piece; meanwhile it is removed, and put again with another content.
    @Test(arguments: StorageKind.available) func aDownloadMixesNoContents(_ kind: StorageKind) async throws {
      let place = try await StoragePlace(kind)
      let store = try await place.open(.serving)
      let token = try await store.makeToken(space: nil, role: .writer, quota: nil, expires: nil)
      let space = try #require(try await store.bearer(token.token)).space
      func put(_ byte: UInt8) async throws {
        _ = try await store.put("large", Array(repeating: byte, count: 600_000), in: space, after: nil)
      }
      try await put(1)
      let entry = try await store.entry("large", in: space)
      let first = try await store.bytes(of: "large", in: space, at: entry.position, from: 0)
      #expect(first == Array(repeating: 1, count: RelayStore.chunkBytes))
      #expect(try await store.remove("large", in: space))
      try await put(2)
      let problem = await #expect(throws: RelayProblem.self) {
        try await store.bytes(of: "large", in: space, at: entry.position, from: first.count)
      }
      #expect(problem?.code == .noSuchEntry)
      let again = try await store.entry("large", in: space)
      #expect(try await store.bytes(of: "large", in: space, at: again.position, from: first.count).first == 2)
      try store.close()
    }

    /// An upload that is left alone goes after three days, with what it took up.
    @Test(arguments: StorageKind.available) func uploadsThatAreLeftAloneGo(_ kind: StorageKind) async throws {
      let state = RelayFixture.State()
      let place = try await StoragePlace(kind)
      let store = try await place.open(.serving, time: { state.now })
      let token = try await store.makeToken(space: nil, role: .writer, quota: 10_000, expires: nil)
      let space = try #require(try await store.bearer(token.token)).space
      let piece = try await store.put(
        piece: Array(repeating: 1, count: 5_000), at: 0, of: 8_000, "a", in: space, after: nil)
      #expect(piece == .taken(5_000))
      #expect(try await store.upload("a", in: space) == .init(received: 5_000, length: 8_000))
      // What is staged takes up room.
      await #expect(throws: RelayProblem.self) {
        try await store.put("b", Array(repeating: 1, count: 5_000), in: space, after: nil)
      }
      // A piece at another offset is told where the upload stands.
      let other = try await store.put(piece: [1], at: 4_000, of: 8_000, "a", in: space, after: nil)
      #expect(other == .elsewhere(5_000))
      state.now += RelayStore.uploadSeconds + 1
      await #expect(throws: RelayProblem.self) { try await store.upload("a", in: space) }
      _ = try await store.put(piece: [1], at: 0, of: 2, "c", in: space, after: nil)
      _ = try await store.put("b", Array(repeating: 1, count: 5_000), in: space, after: nil)
      // One that is begun anew with another length begins at its beginning.
      #expect(try await store.put(piece: [1, 2, 3], at: 0, of: 4, "c", in: space, after: nil) == .taken(3))
      guard case .put(let put) = try await store.put(piece: [4], at: 3, of: 4, "c", in: space, after: nil) else {
        Issue.record("the last piece puts nothing")
        return
      }
      #expect(put.position == 2 && !put.isKnown)
      #expect(try await store.entry("c", in: space).body == [1, 2, 3, 4])
      #expect(try await store.space(space).bytes == 5_000 + 4 + 2 * 256)
      try store.close()
    }
  }
#endif
