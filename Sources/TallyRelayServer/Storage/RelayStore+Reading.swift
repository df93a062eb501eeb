#if Relay
  import Foundation
  import GRDB
  import TallyRelayProtocol

  extension RelayStore {
    /// Whether the file can be read.
    package func check() async throws {
      _ = try await reading { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM space") }
    }

    /// Reads, and fails if the file has lost its name: entries of a file that is gone are not there to stay, and a
    /// listing would say that they are.
    func reading<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
      let result = try await pool.read(body)
      try place.check()
      return result
    }

    /// A space's numbers.
    package func space(_ number: Int64) async throws -> SpaceRow {
      try await reading { try SpaceRow.fetch($0, number) }
    }

    /// A page of a space's log, which goes on after a cursor; nil for the beginning.
    package func page(of space: Int64, after cursor: RelayCursor?, limit: Int, bytes: Int) async throws -> RelayPage {
      try await reading { db in
        let space = try SpaceRow.fetch(db, space)
        let known = try cursor.flatMap { try Self.knows(db, space, $0) ? $0 : nil }
        let start = Int64(known?.position ?? 0)
        var builder = PageBuilder(space: space, start: start, isListing: known == nil, limit: limit, bytes: bytes)
        if limit > 0 {
          let rows = try Row.fetchCursor(
            db.cachedStatement(
              sql: """
                SELECT position, kind, name, chain, size, body FROM entry
                WHERE space = ? AND position > ? ORDER BY position
                """), arguments: [space.number, start])
          while let row = try rows.next(), try builder.add(LogRow(row)) {}
        }
        return try builder.page(known ?? Self.start(of: space))
      }
    }

    /// Whether the log has that chain at that position.
    private static func knows(_ db: Database, _ space: SpaceRow, _ cursor: RelayCursor) throws -> Bool {
      guard let head = space.cursor?.position, cursor.position <= head else { return false }
      if cursor.position == head { return cursor.chain == space.chain }
      if cursor.position == 0 { return cursor == start(of: space) }
      let statement = try db.cachedStatement(sql: "SELECT chain FROM entry WHERE space = ? AND position = ?")
      let chain = try Data.fetchOne(statement, arguments: [space.number, Int64(cursor.position)])
      return chain.map(Array.init) == cursor.chain
    }

    static func start(of space: SpaceRow) -> RelayCursor? {
      RelayCursor(position: 0, chain: RelayChain.start(of: space.id))
    }

    /// Whether there may be something after a cursor.
    package func hasNews(in space: Int64, after cursor: RelayCursor?) async throws -> Bool {
      let space = try await self.space(space)
      guard let cursor else { return space.head > 0 }
      return space.cursor != cursor
    }

    /// An entry that is there.
    package struct EntryRow: Sendable {
      package let position: Int64
      package let size: Int
      /// The content, if it is small.
      package let body: [UInt8]?

      /// - Throws: `RelayProblem` if no entry has such numbers. Of a body that has lost something the rest is the
      ///   entry, and who reads it notices.
      init(position: Int64, size: Int, body: [UInt8]?) throws(RelayProblem) {
        guard position > 0, (0...RelayLimits.entryBytes).contains(size) else {
          throw RelayProblem(.storageFailed, "the row of an entry is damaged")
        }
        (self.position, self.size, self.body) = (position, body?.count ?? size, body)
      }
    }

    /// - Throws: `RelayProblem` if there is none.
    package func entry(_ name: String, in space: Int64) async throws -> EntryRow {
      try await reading { db in
        guard let entry = try Self.entry(db, name, in: space) else {
          throw RelayProblem(.noSuchEntry, "there is no such entry")
        }
        return entry
      }
    }

    static func entry(_ db: Database, _ name: String, in space: Int64) throws -> EntryRow? {
      let statement = try db.cachedStatement(
        sql: "SELECT position, size, body FROM entry WHERE space = ? AND name = ? AND kind = 1")
      return try Row.fetchOne(statement, arguments: [space, name]).map { row in
        try EntryRow(position: row["position"], size: row["size"], body: (row["body"] as Data?).map(Array.init))
      }
    }

    /// What there is under some names, in their order: small contents, as long as they fit.
    package func contents(of names: [String], in space: Int64, bytes: Int) async throws -> [Content] {
      try await reading { db in
        _ = try SpaceRow.fetch(db, space)
        var room = ContentRoom(bytes)
        let size = try db.cachedStatement(
          sql: "SELECT position, size, length(body) FROM entry WHERE space = ? AND name = ? AND kind = 1")
        let body = try db.cachedStatement(sql: "SELECT body FROM entry WHERE space = ? AND position = ?")
        return try names.map { name -> Content in
          guard let row = try Row.fetchOne(size, arguments: [space, name]) else { return .missing }
          let entry = try EntryRow(position: row[0], size: row[1], body: nil)
          // Of a body that has lost something the rest is the entry, as where it is read alone.
          let count = row[2] as Int?
          guard let count, room.takes(count) else { return .elsewhere(count ?? entry.size) }
          guard let data = try Data.fetchOne(body, arguments: [space, entry.position]) else { return .missing }
          return .whole(Array(data))
        }
      }
    }

    /// The room for small contents that are read together.
    struct ContentRoom {
      private var rest: Int
      private var isEmpty = true

      /// Room for so many bytes; the first content may have more.
      init(_ bytes: Int) { rest = bytes - RelayContents.mostOverhead }

      /// Whether a content of so many bytes fits, which it is put into then.
      mutating func takes(_ count: Int) -> Bool {
        guard count <= RelayStore.inlineBytes, isEmpty || count <= rest else { return false }
        rest -= count
        isEmpty = false
        return true
      }
    }

    /// The bytes of an entry from an offset on to the end of the row in which they stand.
    /// - Throws: `RelayProblem` if the entry at that position, or its space, has gone meanwhile; also if the name was
    ///   put again.
    package func bytes(of name: String, in space: Int64, at position: Int64, from offset: Int) async throws -> [UInt8] {
      try await reading { db in
        let statement = try db.cachedStatement(
          sql: """
            SELECT start, bytes FROM chunk WHERE space = ?1 AND name = ?2 AND start <= ?3
              AND EXISTS(SELECT 1 FROM space WHERE number = ?1 AND deleted IS NULL)
              AND EXISTS(SELECT 1 FROM entry WHERE space = ?1 AND position = ?4 AND kind = 1)
            ORDER BY start DESC LIMIT 1
            """)
        guard let row = try Row.fetchOne(statement, arguments: [space, name, offset, position]) else {
          throw RelayProblem(.noSuchEntry, "the entry has gone")
        }
        let (start, bytes) = (row["start"] as Int, row["bytes"] as Data)
        guard offset - start < bytes.count else { throw RelayProblem(.storageFailed, "a part of the entry is missing") }
        return Array(bytes[(bytes.startIndex + offset - start)...])
      }
    }
  }

  extension LogRow {
    fileprivate init(_ row: Row) {
      self.init(
        position: row["position"], kind: row["kind"], name: row["name"], chain: Array(row["chain"] as Data),
        size: row["size"], body: (row["body"] as Data?).map(Array.init))
    }
  }
#endif
