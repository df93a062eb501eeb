#if Relay
  import Foundation
  import GRDB
  import TallyRelayProtocol

  extension RelayStore {
    /// Whether the file can be read.
    func check() async throws { _ = try await pool.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM space") } }

    /// A space's numbers.
    func space(_ number: Int64) async throws -> SpaceRow { try await pool.read { try SpaceRow.fetch($0, number) } }

    /// A page of a space's log.
    /// - Parameter cursor: where it goes on; nil for the beginning.
    func page(of space: Int64, after cursor: RelayCursor?, limit: Int) async throws -> RelayPage {
      try await pool.read { db in
        let space = try SpaceRow.fetch(db, space)
        let known = try cursor.flatMap { try Self.knows(db, space, $0) ? $0 : nil }
        let start = Int64(known?.position ?? 0)
        var builder = PageBuilder(space: space, start: start, isListing: known == nil, limit: limit)
        if limit > 0 {
          let rows = try Row.fetchCursor(
            db.cachedStatement(
              sql: """
                SELECT position, kind, name, chain, size, body FROM entry
                WHERE space = ? AND position > ? ORDER BY position
                """), arguments: [space.number, start])
          while let row = try rows.next(), try builder.add(row) {}
        }
        return try builder.page(known ?? Self.start(of: space))
      }
    }

    /// Whether the log has that chain at that position.
    private static func knows(_ db: Database, _ space: SpaceRow, _ cursor: RelayCursor) throws -> Bool {
      guard cursor.position <= UInt64(space.head) else { return false }
      if cursor.position == UInt64(space.head) { return cursor.chain == space.chain }
      if cursor.position == 0 { return cursor == start(of: space) }
      let statement = try db.cachedStatement(sql: "SELECT chain FROM entry WHERE space = ? AND position = ?")
      let chain = try Data.fetchOne(statement, arguments: [space.number, Int64(cursor.position)])
      return chain.map(Array.init) == cursor.chain
    }

    private static func start(of space: SpaceRow) -> RelayCursor? {
      RelayCursor(position: 0, chain: RelayChain.start(of: space.id))
    }

    /// Whether there may be something after a cursor.
    func hasNews(in space: Int64, after cursor: RelayCursor?) async throws -> Bool {
      let space = try await self.space(space)
      guard let cursor else { return space.head > 0 }
      return space.cursor != cursor
    }

    /// An entry that is there.
    struct EntryRow: Sendable {
      let position: Int64
      let size: Int
      /// The content, if it is small.
      let body: [UInt8]?
    }

    /// - Throws: `RelayProblem` if there is none.
    func entry(_ name: String, in space: Int64) async throws -> EntryRow {
      try await pool.read { db in
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
        EntryRow(position: row["position"], size: row["size"], body: (row["body"] as Data?).map(Array.init))
      }
    }

    /// The bytes of an entry from an offset on to the end of the row in which they stand.
    /// - Throws: `RelayProblem` if the entry has gone meanwhile.
    func bytes(of name: String, in space: Int64, from offset: Int) async throws -> [UInt8] {
      try await pool.read { db in
        let statement = try db.cachedStatement(
          sql: """
            SELECT start, bytes FROM chunk WHERE space = ? AND name = ? AND start <= ? ORDER BY start DESC LIMIT 1
            """)
        guard let row = try Row.fetchOne(statement, arguments: [space, name, offset]) else {
          throw RelayProblem(.noSuchEntry, "the entry has gone")
        }
        let (start, bytes) = (row["start"] as Int, row["bytes"] as Data)
        guard offset - start < bytes.count else { throw RelayProblem(.storageFailed, "a part of the entry is missing") }
        return Array(bytes[(bytes.startIndex + offset - start)...])
      }
    }
  }

  /// Gathers the frames of a page until it is full.
  private struct PageBuilder {
    let space: SpaceRow
    let isListing: Bool
    let limit: Int
    private var frames: [RelayPage.Frame] = []
    /// Which frame has a name, so that a name stands once.
    private var indices: [String: Int] = [:]
    private var byteCount = 32
    private var count = 0
    private var last: Int64
    private var chain: [UInt8]?

    init(space: SpaceRow, start: Int64, isListing: Bool, limit: Int) {
      (self.space, self.isListing, self.limit, self.last) = (space, isListing, limit, start)
    }

    /// - Returns: whether there is room for more.
    mutating func add(_ row: Row) throws -> Bool {
      let (kind, name, size) = (row["kind"] as Int, row["name"] as String, row["size"] as Int)
      let body = row["body"] as Data?
      let bytes = RelayPage.Frame.overhead + (kind == EntryKind.entry ? body?.count ?? 0 : 0)
      guard frames.isEmpty || byteCount + bytes <= RelayLimits.pageBytes else { return false }
      let position = row["position"] as Int64
      switch kind {
      case EntryKind.entry:
        add(name, position, .entry(byteCount: size, content: body.map(Array.init)), bytes)
      case EntryKind.removal where !isListing: add(name, position, .removal, bytes)
      default: break
      }
      (last, chain) = (position, Array(row["chain"] as Data))
      count += 1
      // Places of entries that have gone cost little, but there may be many.
      return frames.count < limit && count < 100 * RelayLimits.pageEntries
    }

    private mutating func add(_ name: String, _ position: Int64, _ change: RelayPage.Frame.Change, _ bytes: Int) {
      if let index = indices[name] {
        // The newest counts.
        frames.remove(at: index)
        for other in indices.keys where indices[other] ?? 0 > index { indices[other]? -= 1 }
      }
      indices[name] = frames.count
      frames.append(RelayPage.Frame(position: UInt64(position), name: name, change: change))
      byteCount += bytes
    }

    /// - Parameter start: the cursor if nothing was added.
    func page(_ start: RelayCursor?) throws -> RelayPage {
      let cursor = chain.flatMap { RelayCursor(position: UInt64(last), chain: $0) } ?? start
      guard let cursor else { throw RelayProblem(.storageFailed, "the chain of a space is damaged") }
      return RelayPage(isListing: isListing, hasMore: last < space.head, cursor: cursor, frames: frames)
    }
  }
#endif
