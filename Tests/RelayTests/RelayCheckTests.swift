#if Relay
  import Foundation
  import GRDB
  import TallyRelay
  @testable import TallyRelayServer
  import TallySync
  import Testing

  /// `tally relay check`: what it finds, what it mends, and what it leaves.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct RelayCheckTests {
    private let folder: URL
    private var path: String { folder.appendingPathComponent("relay.sqlite").path }

    init() throws { folder = try RelayFixture.newFolder() }

    /// Two spaces with small and large entries, removed ones, and unfinished uploads.
    private func fill() async throws -> [String] {
      let store = try RelayStore(path: path, for: .serving)
      var ids: [String] = []
      for _ in 0..<2 {
        let token = try await store.makeToken(space: nil, role: .writer)
        let space = try #require(try await store.bearer(token.token)).space
        ids.append(token.space)
        for number in 0..<6 { _ = try await store.put("small\(number)", [1, 2, 3], in: space, after: nil) }
        for number in 0..<3 {
          let body = [UInt8](repeating: UInt8(number), count: 600_000)
          _ = try await store.put("large\(number)", body, in: space, after: nil)
        }
        _ = try await store.put("empty", [], in: space, after: nil)
        _ = try await store.remove("small1", in: space)
        _ = try await store.remove("large1", in: space)
        for name in ["begun", "left"] {
          let piece = [UInt8](repeating: 9, count: 400_000)
          _ = try await store.put(piece: piece, at: 0, of: 1_000_000, name, in: space, after: nil)
        }
        let pieces = [UInt8](repeating: 5, count: 300_000)
        for offset in [0, 300_000] {
          _ = try await store.put(piece: pieces, at: offset, of: 600_000, "inPieces", in: space, after: nil)
        }
      }
      try store.close()
      return ids
    }

    /// Changes the file as no relay does.
    private func damage(_ sql: String) throws {
      let queue = try DatabaseQueue(path: path)
      try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
      try queue.close()
    }

    private func check(mends: Bool = false) async throws -> Tool.Outcome {
      guard mends else { return try await Tool.run("relay", "check", "--data", "relay.sqlite", in: folder) }
      return try await Tool.run("relay", "check", "--data", "relay.sqlite", "--mend", in: folder)
    }

    @Test func whatARelayHasWrittenIsSound() async throws {
      let ids = try await fill()
      let store = try RelayStore(path: path, for: .administration)
      try await store.deleteSpace(ids[1])
      #expect(try await store.findings(mends: false).isEmpty)
      try store.close()
      // A space that is being removed does not fit together, and need not.
      try damage("UPDATE space SET purging = 1 WHERE number = 2; DELETE FROM entry WHERE space = 2 AND position < 9")
      let sound = try await check()
      #expect(sound.status == 0 && sound.lines == ["relay.sqlite is sound"], "\(sound)")
    }

    /// Runs SQL on a connection that is open.
    private func run(_ sql: String, on queue: DatabaseQueue) throws {
      try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
    }

    /// Where there is nothing to mend, `--mend` only reads: it ends while another connection holds the lock for
    /// writing.
    @Test func whatIsSoundHoldsUpNoWriter() async throws {
      _ = try await fill()
      let store = try RelayStore(path: path, for: .administration)
      var configuration = Configuration()
      configuration.allowsUnsafeTransactions = true
      let other = try DatabaseQueue(path: path, configuration: configuration)
      try run("BEGIN IMMEDIATE", on: other)
      #expect(try await store.findings(mends: true).isEmpty)
      try run("UPDATE space SET entries = 77 WHERE number = 1; COMMIT", on: other)
      let mended = try await store.findings(mends: true)
      #expect(mended.map(\.message) == ["it counts 77 entries, and has 9"])
      #expect(try await store.findings(mends: true).isEmpty)
      try other.close()
      try store.close()
    }

    /// A mended space with more lost content than one transaction may remove is sound, and a relay removes the rest.
    @Test func muchThatIsLeftOverIsRemovedInSlices() async throws {
      _ = try await fill()
      try damage(
        """
        WITH RECURSIVE piece(number) AS (SELECT 0 UNION ALL SELECT number + 1 FROM piece WHERE number < 299)
        INSERT INTO chunk(space, name, start, bytes)
          SELECT 1, 'lost' || (number / 200), number, x'01' FROM piece
        """)
      #expect(try await check(mends: true).lines.count == 2)
      #expect(try await check().lines == ["relay.sqlite is sound"])
      let store = try RelayStore(path: path, for: .serving)
      let count = "SELECT COUNT(*) FROM chunk WHERE name LIKE 'lost%'"
      #expect(try await store.pool.read { try Int.fetchOne($0, sql: count) } == 300 - RelayStore.sliceRows)
      while try await store.removeSlice(deletedFor: 0) {}
      #expect(try await store.pool.read { try Int.fetchOne($0, sql: count) } == 0)
      #expect(try await store.findings(mends: false).isEmpty)
      try store.close()
    }

    /// What is wrong, in a space 1 beside a space 2 that is not touched, and what is said of it.
    private static let mendable: [(sql: String, message: String)] = [
      ("UPDATE space SET entries = 77 WHERE number = 1", "it counts 77 entries, and has 9"),
      ("UPDATE space SET bytes = bytes + 5 WHERE number = 1", "bytes, and has"),
      ("DELETE FROM chunk WHERE space = 1 AND name = 'large2' AND start > 0", "the content of large2 is not all there"),
      ("DELETE FROM chunk WHERE space = 1 AND name = 'large2' AND start = 0", "the content of large2 is not all there"),
      ("UPDATE entry SET body = x'01' WHERE space = 1 AND name = 'small2'", "the content of small2 is not all there"),
      ("UPDATE entry SET body = NULL WHERE space = 1 AND name = 'small2'", "the content of small2 is not all there"),
      ("DELETE FROM chunk WHERE space = 1 AND name = 'begun'", "the upload of begun does not have the 400000 bytes"),
      (
        "UPDATE upload SET received = 1 WHERE space = 1 AND name = 'left'",
        "the upload of left does not have the 1 bytes"
      ),
      ("DELETE FROM upload WHERE space = 1 AND name = 'left'", "there are pieces of left, which is neither"),
      (
        "INSERT INTO chunk(space, name, start, bytes) VALUES(1, 'small3', 0, x'01')",
        "there are pieces of small3, which is neither"
      ),
      ("UPDATE chunk SET space = 99 WHERE space = 1 AND name = 'begun'", "2 rows of chunk belong to no space"),
      ("INSERT INTO token(hash, space, role, created) VALUES(x'00', 99, 'reader', 0)", "1 rows of token belong to no"),
      ("INSERT INTO upload VALUES(99, 'a', 1, 1, 1)", "1 rows of upload belong to no space"),
      // Numbers beside which there is no room for another.
      (
        "UPDATE upload SET received = 9223372036854775807 WHERE space = 1",
        "the upload of left does not have the 9223372036854775807 bytes"
      ),
      (
        "UPDATE entry SET size = 9223372036854775807 WHERE space = 1 AND name = 'large2'",
        "the content of large2 is not all there: 9223372036854775807 bytes"
      ),
      ("UPDATE space SET bytes = -9223372036854775808 WHERE number = 1", "it counts -9223372036854775808 bytes"),
      ("UPDATE space SET entries = 9223372036854775807 WHERE number = 1", "it counts 9223372036854775807 entries"),
    ]

    /// What is mended is sound afterwards, the other space is as it was, and what is still there can be read.
    @Test(arguments: mendable.indices) func whatCanBeMendedIsMended(_ index: Int) async throws {
      let (sql, message) = Self.mendable[index]
      _ = try await fill()
      try damage(sql)
      let store = try RelayStore(path: path, for: .administration)
      let place = try await StoragePlace(.sqlite)
      let other = try await RelayTables.all(of: 2, store, place)
      try store.close()

      let found = try await check()
      #expect(found.status == 65 && found.output.contains(message), "\(found)")
      #expect(found.lines.allSatisfy { $0.hasSuffix(": --mend mends it") }, "\(found)")
      // Looking changes nothing.
      #expect(try await check().output == found.output)
      let mended = try await check(mends: true)
      #expect(mended.status == 0 && mended.lines.allSatisfy { $0.hasSuffix(": mended") }, "\(mended)")
      #expect(try await check().lines == ["relay.sqlite is sound"])

      let after = try RelayStore(path: path, for: .serving)
      #expect(try await RelayTables.all(of: 2, after, place) == other)
      let space: Int64 = 1
      let page = try await after.page(of: space, after: nil, limit: 100)
      for frame in page.frames {
        guard case .entry(let size, nil) = frame.change else { continue }
        var offset = 0
        let entry = try await after.entry(frame.name, in: space)
        while offset < size {
          offset += try await after.bytes(of: frame.name, in: space, at: entry.position, from: offset).count
        }
        #expect(offset == size)
      }
      _ = try await after.put("next", [1], in: space, after: page.cursor)
      #expect(try await after.findings(mends: false).isEmpty)
      try after.close()
    }

    /// What nothing can be made of is said, again and again, and what to do about it.
    @Test(arguments: [
      ("DELETE FROM entry WHERE space = 1 AND position IN (3, 4)", "positions 3 to 4 of its log are missing"),
      (
        "UPDATE entry SET chain = zeroblob(16) WHERE space = 1 AND position = 3", "its chain is another from position 3"
      ),
      ("UPDATE space SET head = head + 1 WHERE number = 1", "it counts 14"),
      ("UPDATE space SET head = 9223372036854775807 WHERE number = 1", "it counts 9223372036854775807 positions"),
      (
        "UPDATE entry SET position = 9223372036854775807 WHERE space = 1 AND position = 13",
        "positions 13 to 9223372036854775806 of its log are missing"
      ),
      ("DELETE FROM entry WHERE space = 1 AND position = 13", "its log ends at position 12"),
    ])
    func whatCannotBeMendedIsSaid(_ sql: String, _ message: String) async throws {
      _ = try await fill()
      try damage(sql)
      for mends in [false, true, false] {
        let found = try await check(mends: mends)
        #expect(found.status == 65 && found.output.contains(message), "\(found)")
        #expect(found.output.contains("restore a backup, or delete the space"), "\(found)")
      }
    }

    /// An index that lacks rows, as a disk may leave it, is made again; a page that is none is not.
    @Test func anIndexIsMadeAgain() async throws {
      _ = try await fill()
      try damage(
        """
        PRAGMA writable_schema = ON;
        CREATE TABLE saved AS SELECT sql FROM sqlite_master WHERE name = 'upload_expires';
        UPDATE sqlite_master SET sql = sql || ' WHERE expires < 0' WHERE name = 'upload_expires';
        """)
      try damage(
        """
        REINDEX upload_expires;
        PRAGMA writable_schema = ON;
        UPDATE sqlite_master SET sql = (SELECT sql FROM saved) WHERE name = 'upload_expires';
        """)
      try damage("DROP TABLE saved")
      let found = try await check()
      #expect(found.status == 65 && found.output.contains("index upload_expires"), "\(found)")
      #expect(try await check(mends: true).status == 0)
      #expect(try await check().lines == ["relay.sqlite is sound"])
    }

    @Test func aDamagedPageNeedsABackup() async throws {
      _ = try await fill()
      let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
      let size = try file.seekToEnd()
      for page in stride(from: UInt64(40 * 4_096), to: min(size, 60 * 4_096), by: 4_096) {
        try file.seek(toOffset: page)
        try file.write(contentsOf: Data(repeating: 0xFF, count: 4_096))
      }
      try file.close()
      for mends in [false, true] {
        let found = try await check(mends: mends)
        #expect(found.status == 65 && found.output.contains("restore a backup"), "\(found)")
      }
    }

    /// An entry of which a part was lost is put again by a device that has it, also when a relay served all the while.
    @Test func devicesPutAgainWhatWasRemoved() async throws {
      try await RelayFixture.run { relay in
        let mailbox = try relay.mailbox(try await relay.token())
        let (one, two) = (try Scores.store("one", noise: 500_000), try Scores.store("two"))
        try await Scores.settle([one], mailbox)
        let queue = try DatabaseQueue(path: relay.place.path)
        try await queue.write { try $0.execute(sql: "DELETE FROM chunk WHERE start > 0") }
        try queue.close()
        let mended = try await Tool.run("relay", "check", "--data", "relay.sqlite", "--mend", in: relay.folder)
        #expect(mended.status == 0 && mended.output.contains("is not all there"), "\(mended)")
        try await Scores.settle([one, two], mailbox)
        #expect(try Scores.names(two) == ["one", "two"])
        #expect(try Scores.dump(one) == Scores.dump(two))
      }
    }
  }
#endif
