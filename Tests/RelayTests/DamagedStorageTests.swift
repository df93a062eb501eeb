#if Relay
  import Foundation
  import GRDB
  import TallyRelay
  import TallyRelayProtocol
  @testable import TallyRelayServer
  import TallySync
  import Testing

  /// A relay whose file or rows were changed behind its back, by a person or the disk.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct DamagedStorageTests {
    private let folder: URL
    private var path: String { folder.appendingPathComponent("relay.sqlite").path }

    init() throws { folder = try RelayFixture.newFolder() }

    private func space(of store: any RelayStorage, quota: Int64? = nil) async throws -> Int64 {
      let token = try await store.makeToken(space: nil, role: .writer, quota: quota, expires: nil)
      return try #require(try await store.bearer(token.token)).space
    }

    private func run(_ sql: String, _ store: any RelayStorage, _ place: StoragePlace) async throws {
      if let file = store as? RelayStore { return try await file.pool.write { try $0.execute(sql: sql) } }
      let qualified = ["space", "entry", "upload"].reduce(sql) { sql, table in
        sql.replacing("UPDATE \(table) ", with: "UPDATE tally_relay.\(table) ")
      }
      _ = try await PostgresCluster.sql(qualified, in: place.database ?? "")
    }

    /// What is read from a file that has lost its name looks as if it were there to stay, and what is written there is
    /// lost; of a lost log as well.
    @Test(arguments: ["", "-wal", "-shm"]) func afterTheFileHasGoneNothingIsReadOrWritten(end: String) async throws {
      let store = try RelayStore(path: path, for: .serving)
      let space = try await space(of: store)
      _ = try await store.put("a", [1], in: space, after: nil)
      let there = path + end
      try FileManager.default.moveItem(atPath: there, toPath: there + ".away")
      await #expect(throws: RelayFileGone.self) { try await store.put("b", [1], in: space, after: nil) }
      await #expect(throws: RelayFileGone.self) { try await store.page(of: space, after: nil, limit: 10) }
      await #expect(throws: RelayFileGone.self) { try await store.entry("a", in: space) }
      await #expect(throws: RelayFileGone.self) { try await store.hasNews(in: space, after: nil) }
      await #expect(throws: RelayFileGone.self) { try await store.upload("a", in: space) }
      await #expect(throws: RelayFileGone.self) { try await store.check() }
      // The same file under its name again is as good as before.
      try FileManager.default.moveItem(atPath: there + ".away", toPath: there)
      #expect(try await store.put("b", [1], in: space, after: nil).position == 2)
      #expect(try await store.page(of: space, after: nil, limit: 10).frames.map(\.name) == ["a", "b"])
      try store.close()
    }

    @Test func aYoungFileWhoseLogIsLostIsARelays() throws {
      try RelayStore(path: path, for: .serving).close()
      let store = try RelayStore(path: path, for: .serving)
      // As after a power cut, with the log deleted by somebody.
      let copy = folder.appendingPathComponent("copy.sqlite").path
      try FileManager.default.copyItem(atPath: path, toPath: copy)
      try store.close()
      try RelayStore(path: copy, for: .serving).close()
    }

    #if os(Linux)
      @Test func aFileOfTwoNamesIsServedOnce() throws {
        let store = try RelayStore(path: path, for: .serving)
        for name in ["hard", "symbolic"] {
          let other = folder.appendingPathComponent(name).path
          if name == "hard" {
            try FileManager.default.linkItem(atPath: path, toPath: other)
          } else {
            try FileManager.default.createSymbolicLink(atPath: other, withDestinationPath: path)
          }
          #expect(throws: RelayStoreError.self) { try RelayStore(path: other, for: .serving) }
        }
        try FileManager.default.removeItem(atPath: path + "-serving")
        #expect(throws: RelayStoreError.self) { try RelayStore(path: path, for: .serving) }
        try RelayStore(path: path, for: .administration).close()
        try store.close()
      }
    #endif

    /// One row that cannot be is the trouble of one space, and ends no process.
    @Test(arguments: StorageKind.available) func aRowThatCannotBeHarmsNoOtherSpace(_ kind: StorageKind) async throws {
      for sql in [
        "UPDATE entry SET size = -1 WHERE position = 2", "UPDATE space SET head = -1 WHERE number = 1",
        "UPDATE entry SET position = -5 WHERE position = 3", "UPDATE space SET entries = -1 WHERE number = 1",
        "UPDATE entry SET name = '' WHERE position = 2",
        // Beside the greatest number there is no room for one more.
        "UPDATE space SET head = 9223372036854775807 WHERE number = 1",
        "UPDATE space SET entries = 9223372036854775807 WHERE number = 1",
        "UPDATE space SET bytes = 9223372036854775807 WHERE number = 1",
        "UPDATE space SET bytes = -9223372036854775807 WHERE number = 1",
        "UPDATE entry SET size = 9223372036854775807 WHERE position = 2",
        "UPDATE entry SET size = -9223372036854775807 WHERE position = 2",
        "UPDATE upload SET received = 9223372036854775807 WHERE space = 1",
        "UPDATE upload SET received = -9223372036854775807 WHERE space = 1",
      ] {
        let place = try await StoragePlace(kind)
        let store = try await place.open(.serving)
        let (space, other) = (try await space(of: store), try await space(of: store))
        #expect(space == 1)
        for number in 1...3 {
          _ = try await store.put("n\(number)", [UInt8(number)], in: space, after: nil)
          _ = try await store.put("n\(number)", [UInt8(number)], in: other, after: nil)
        }
        for (upload, length) in [("up", 10), ("left", 20)] {
          _ = try await store.put(piece: [1], at: 0, of: length, upload, in: space, after: nil)
        }
        let whole = try await store.page(of: other, after: nil, limit: 10)
        try await run(sql.replacing("WHERE position", with: "WHERE space = 1 AND position"), store, place)
        // Whatever it answers, it answers.
        do {
          let page = try await store.page(of: space, after: nil, limit: 10)
          // A size is looked at where it is needed: a small entry comes with its bytes.
          let isOfLog = !sql.contains("upload") && !sql.contains("size = 9")
          #expect(page.frames.count < 3 || !isOfLog, "\(sql)")
        } catch let problem as RelayProblem {
          #expect(problem.code == .storageFailed, "\(sql)")
        }
        _ = try? await store.put("n4", [4], in: space, after: whole.cursor)
        _ = try? await store.hasNews(in: space, after: whole.cursor)
        for number in 1...3 { _ = try? await store.entry("n\(number)", in: space) }
        for name in ["up", "left"] { _ = try? await store.upload(name, in: space) }
        _ = try? await store.put(piece: [2], at: 1, of: 10, "up", in: space, after: nil)
        _ = try? await store.put("left", [UInt8](repeating: 1, count: 70_000), in: space, after: nil)
        for name in ["n1", "n2", "n3", "up"] { _ = try? await store.remove(name, in: space) }
        #expect(try await store.page(of: other, after: nil, limit: 10) == whole, "\(sql)")
        try store.close()
      }
    }

    /// An upload that nobody can go on with any more takes no room.
    @Test(arguments: StorageKind.available)
    func anUploadThatHasExpiredGivesItsRoomBack(_ kind: StorageKind) async throws {
      for isPiece in [false, true] {
        let (place, state) = (try await StoragePlace(kind), RelayFixture.State())
        let store = try await place.open(.serving, time: { state.now })
        let space = try await space(of: store, quota: 1_000_000)
        let piece = try await store.put(
          piece: [UInt8](repeating: 1, count: 600_000), at: 0, of: 900_000, "left", in: space, after: nil)
        #expect(piece == .taken(600_000))
        let body = [UInt8](repeating: 2, count: 500_000)
        func put() async throws {
          if isPiece {
            _ = try await store.put(piece: body, at: 0, of: body.count, "new", in: space, after: nil)
          } else {
            _ = try await store.put("new", body, in: space, after: nil)
          }
        }
        await #expect(throws: RelayProblem.self) { try await put() }
        state.now += RelayStore.uploadSeconds + 1
        try await put()
        #expect(try await store.entry("new", in: space).size == body.count)
        #expect(try await store.space(space).bytes < 501_000)
        try store.close()
      }
    }
  }
#endif
