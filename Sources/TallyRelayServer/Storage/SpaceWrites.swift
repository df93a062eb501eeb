#if Relay
  import Foundation
  import GRDB
  import TallyRelayProtocol

  /// What several writes do to one space in a transaction: its row, and the token, are read once and the row is saved
  /// once.
  struct SpaceWrites {
    private let db: Database
    private let time: Int64
    private var space: SpaceRow
    /// What has not been saved is in `space` alone.
    private var isChanged = false
    /// What stands in the table is newer than `space`.
    private var isStale = false
    /// What was found under the first write's name.
    private var first: (name: String, position: Int64?, staged: Int64?)?

    /// Reads, by one statement since every put begins with it: the space, the writer's token, and what there is under
    /// the first name.
    /// - Throws: `RelayProblem` if the token does not permit it, or the space is deleted or not there.
    init(_ db: Database, _ writer: RelayWriter, _ name: String, _ time: Int64) throws {
      let statement = try db.cachedStatement(
        sql: """
          SELECT \(SpaceRow.selected), \(RelayWriter.selected), entry.position, upload.received FROM space
          LEFT JOIN token ON token.hash = ?3
          LEFT JOIN entry ON entry.space = space.number AND entry.name = ?2 AND entry.kind = 1
          LEFT JOIN upload ON upload.space = space.number AND upload.name = ?2
          WHERE space.number = ?1
          """)
      let row = try Row.fetchOne(statement, arguments: [writer.space, name, writer.token.map { Data($0) }])
      try writer.check(row.flatMap { RelayWriter.Found($0) }, time)
      (self.db, self.time) = (db, time)
      space = try SpaceRow.live(row.map { SpaceRow($0) }).limited(to: writer.quota)
      first = (name, row?[12], (row?[13] as Int64?).map(RelayStore.counted))
    }

    /// Appends an entry, unless one of that name is there.
    /// - Throws: `RelayProblem`, and nothing has changed but that uploads that nobody can have any more may have gone.
    mutating func put(_ name: String, _ body: [UInt8], after cursor: RelayCursor?) throws -> RelayStore.Put {
      try refresh()
      let (position, staged) = try find(name)
      if let position { return RelayStore.Put(isKnown: true, position: position, cursor: nil) }
      let growth = Int64(body.count) + RelayStore.overhead
      guard staged == nil, body.count <= RelayStore.inlineBytes, space.quota.map({ space.bytes + growth <= $0 }) ?? true
      else { return try putLarge(name, body, staged, after: cursor) }
      let chain = RelayChain.next(space.chain, entry: name)
      let isNext = cursor != nil && cursor == space.cursor
      try RelayStore.insert(db, space, EntryKind.entry, name, chain, body.count, body, time)
      advance(chain, entries: 1, bytes: growth)
      return RelayStore.Put(isKnown: false, position: space.head, cursor: isNext ? space.cursor : nil)
    }

    /// The same where rows of `chunk` or of uploads change, or the space has little room.
    private mutating func putLarge(_ name: String, _ body: [UInt8], _ staged: Int64?, after cursor: RelayCursor?) throws
      -> RelayStore.Put
    {
      try save()
      isStale = true
      try RelayStore.makeRoom(
        db, space, Int64(body.count) + RelayStore.overhead - (staged ?? 0), besides: name, time)
      if let staged { try RelayStore.dropUpload(db, name, space.number, staged) }
      let isInline = body.count <= RelayStore.inlineBytes
      if !isInline {
        try RelayStore.clearPlace(db, name, space.number)
        try RelayStore.insertChunks(db, name, space.number, body, from: 0)
      }
      return try RelayStore.append(
        db, space, name, body.count, isInline ? body : nil, Int64(body.count), cursor, time)
    }

    /// Removes an entry: its place stays, without content.
    /// - Returns: whether it was there.
    mutating func remove(_ name: String) throws -> Bool {
      try refresh()
      first = nil
      guard let known = try RelayStore.entry(db, name, in: space.number) else { return false }
      let stub = try db.cachedStatement(
        sql: "UPDATE entry SET kind = \(EntryKind.stub), body = NULL WHERE space = ? AND position = ?")
      try stub.execute(arguments: [space.number, known.position])
      if known.body == nil { try RelayStore.removeContent(db, name, space.number) }
      let chain = RelayChain.next(space.chain, removal: name)
      try RelayStore.insert(db, space, EntryKind.removal, name, chain, 0, nil, time)
      advance(chain, entries: -1, bytes: RelayStore.overhead - Int64(known.size))
      return true
    }

    /// Saves the space's row, if it has changed.
    mutating func save() throws {
      guard isChanged else { return }
      let statement = try db.cachedStatement(
        sql: "UPDATE space SET head = ?, chain = ?, entries = ?, bytes = ? WHERE number = ?")
      try statement.execute(arguments: [space.head, Data(space.chain), space.entries, space.bytes, space.number])
      isChanged = false
    }

    private mutating func advance(_ chain: [UInt8], entries: Int, bytes: Int64) {
      (space.head, space.chain) = (space.head + 1, chain)
      space.entries += entries
      space.bytes += bytes
      isChanged = true
    }

    private mutating func refresh() throws {
      guard isStale else { return }
      space = try SpaceRow.fetch(db, space.number).limited(to: space.quota)
      isStale = false
    }

    /// The position of the entry of a name, if there is one, and how many bytes of an upload are there.
    private mutating func find(_ name: String) throws -> (position: Int64?, staged: Int64?) {
      if let first, first.name == name {
        self.first = nil
        return (first.position, first.staged)
      }
      first = nil
      let statement = try db.cachedStatement(
        sql: """
          SELECT (SELECT position FROM entry WHERE space = ?1 AND name = ?2 AND kind = 1),
            (SELECT received FROM upload WHERE space = ?1 AND name = ?2)
          """)
      let row = try Row.fetchOne(statement, arguments: [space.number, name])
      return (row?[0], (row?[1] as Int64?).map(RelayStore.counted))
    }
  }

  extension RelayWriter {
    /// The columns that `Found.init(_:)` reads after those of a space.
    static let selected = "token.space, token.role, token.expires, token.revoked"
  }

  extension RelayWriter.Found {
    /// Nil if there is no such token.
    init?(_ row: Row) {
      guard let space = row[8] as Int64?, let role = row[9] as String? else { return nil }
      self.init(
        space: space, role: RelayRole(rawValue: role) ?? .reader, expires: row[10], isRevoked: row[11] as Int64? != nil)
    }
  }

  extension SpaceRow {
    /// The row of a space, for somebody who writes there.
    /// - Throws: `RelayProblem` if the token does not permit it, or the space is deleted or not there.
    static func fetch(_ db: Database, _ writer: RelayWriter, _ time: Int64) throws -> SpaceRow {
      let statement = try db.cachedStatement(
        sql: """
          SELECT \(selected), \(RelayWriter.selected) FROM space LEFT JOIN token ON token.hash = ?2
          WHERE space.number = ?1
          """)
      let row = try Row.fetchOne(statement, arguments: [writer.space, writer.token.map { Data($0) }])
      try writer.check(row.flatMap { RelayWriter.Found($0) }, time)
      return try live(row.map { SpaceRow($0) }).limited(to: writer.quota)
    }
  }
#endif
