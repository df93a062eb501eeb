#if Relay
  import Foundation
  import GRDB
  import TallyRelayProtocol
  @testable import TallyRelayServer
  import TallyWire
  import Testing

  /// Files and databases of older versions.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct MigrationTests {
    private let token = "tally1_" + String(repeating: "A", count: 43)

    /// The rows as SQL.
    private func rows(_ prefix: String, _ bytes: (Substring) -> String) -> String {
      let hash = SHA256.hash(Array(token.utf8)).map { String(format: "%02x", $0) }.joined()
      let text = FormatOne.rows.replacingOccurrences(of: "@", with: prefix)
        .replacingOccurrences(of: "{HASH}", with: "{\(hash)}")
      return text.split(separator: "{").enumerated().map { index, part in
        guard index > 0, let end = part.firstIndex(of: "}") else { return String(part) }
        return bytes(part[..<end]) + part[part.index(after: end)...]
      }.joined()
    }

    private func make(_ place: StoragePlace, _ version: Int) async throws {
      if let database = place.database {
        let later = version > 1 ? FormatTwo.postgres : ""
        try await PostgresCluster.sql(
          FormatOne.postgres + rows("tally_relay.") { "'\\x\($0)'::bytea" } + later, in: database)
      } else {
        let queue = try DatabaseQueue(path: place.path)
        let later = version > 1 ? FormatTwo.sqlite : ""
        try await queue.writeWithoutTransaction {
          try $0.execute(sql: FormatOne.sqlite + rows("") { "x'\($0)'" } + later)
        }
        try queue.close()
      }
    }

    /// The definitions of tables and indexes, and all rows, without what later versions add.
    private func content(_ place: StoragePlace) async throws -> [String] {
      let space = "SELECT number, id, head, chain, entries, bytes, quota, created FROM"
      if let database = place.database {
        let sql = """
          SELECT table_name || column_name || data_type || is_nullable || COALESCE(collation_name, '')
          FROM information_schema.columns WHERE table_schema = 'tally_relay' AND column_name NOT IN ('deleted', 'purging')
            AND table_name <> 'removed'
          UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'tally_relay'
            AND indexname NOT IN ('space_deleted', 'removed_pkey')
          UNION ALL SELECT row::text FROM (\(space) tally_relay.space) AS row
          UNION ALL SELECT row::text FROM tally_relay.entry AS row UNION ALL SELECT row::text FROM tally_relay.chunk AS row
          UNION ALL SELECT row::text FROM tally_relay.upload AS row UNION ALL SELECT row::text FROM tally_relay.token AS row
          UNION ALL SELECT row::text FROM tally_relay.migration AS row WHERE number = 1
          ORDER BY 1
          """
        return try await PostgresCluster.sql(sql, in: database).split(separator: "\n").map(String.init)
      }
      let queue = try DatabaseQueue(path: place.path)
      defer { #expect(throws: Never.self) { try queue.close() } }
      return try await queue.read { db in
        let tables = ["entry", "chunk", "upload", "token"].map { "SELECT * FROM \($0)" }
        let schema =
          "SELECT sql FROM sqlite_master WHERE name NOT IN ('space', 'space_deleted', 'removed') AND sql IS NOT NULL"
        return try (tables + ["\(space) space", schema]).flatMap { sql in
          try Row.fetchAll(db, sql: sql).map { row in
            row.databaseValues.map { value in
              guard case .blob(let data) = value.storage else { return "\(value)" }
              return data.base64EncodedString()
            }.joined(separator: "|")
          }
        }
      }
    }

    @Test(arguments: StorageKind.available, [1, 2])
    func olderVersionsAreTakenOver(_ kind: StorageKind, _ version: Int) async throws {
      let place = try await StoragePlace(kind)
      try await make(place, version)
      let before = try await content(place)
      #expect(before.count > 15)
      // Of several that open it, one brings it up to date.
      try await place.open(.administration).close()
      let store = try await place.open(.serving, time: { 1_800_000_000 })
      try store.close()
      #expect(try await content(place) == before)

      let again = try await place.open(.serving, time: { 1_800_000_000 })
      let bearer = try #require(try await again.bearer(token))
      #expect(bearer.space == 1 && bearer.spaceID == "first" && bearer.role == .admin && !bearer.isSpaceDeleted)
      #expect(try await again.tokens().map(\.spaceDeleted) == [nil, nil, nil])
      #expect(try await again.space(1).head == 4)
      #expect(try await again.entry("small", in: 1).body == [1, 2, 3])
      #expect(try await again.upload("upload", in: 1) == .init(received: 2, length: 9))
      #expect(try await !again.removeSlice(deletedFor: 0))
      #expect(try await again.put("new", [1], in: 1, after: nil).position == 5)
      try await again.deleteSpace("first")
      #expect(try await again.removeSlice(deletedFor: 0))
      #expect(
        try await RelayTables.counts(again, place) == ["space": 1, "entry": 0, "chunk": 0, "upload": 0, "token": 1])
      try again.close()
    }
  }
#endif
