#if Relay
  import Foundation
  import GRDB
  import TallyRelayProtocol

  extension RelayStore {
    /// The largest body that stands in its entry's row.
    static let inlineBytes = RelayLimits.inlineBytes
    /// The maximum number of bytes in a row of a larger body.
    static let chunkBytes = 256 << 10
    /// The amount that each position of a log counts against the quota, beside its content.
    static let overhead: Int64 = 256

    /// The outcome of a put.
    package struct Put: Sendable, Hashable {
      /// Whether it was there already.
      package let isKnown: Bool
      package let position: Int64
      /// The cursor from which the sender can continue, if nothing but this entry has come after the cursor that it
      /// had.
      package let cursor: RelayCursor?
    }

    /// Appends an entry, unless one of that name is there.
    package func put(_ name: String, _ body: [UInt8], in space: Int64, after cursor: RelayCursor?) async throws -> Put {
      let time = now()
      return try await commits.write(body.count) { db in
        let (row, known, staged) = try Self.lookUp(db, name, space)
        if let known { return Put(isKnown: true, position: known, cursor: nil) }
        try Self.makeRoom(db, row, Int64(body.count) + Self.overhead - (staged ?? 0), besides: name, time)
        if let staged { try Self.dropUpload(db, name, space, staged) }
        let isInline = body.count <= Self.inlineBytes
        if !isInline {
          try Self.clearPlace(db, name, space)
          try Self.insertChunks(db, name, space, body, from: 0)
        }
        return try Self.append(db, row, name, body.count, isInline ? body : nil, Int64(body.count), cursor, time)
      }
    }

    /// Removes an entry: its place stays, without content. What is large is removed later, a slice at a time.
    /// - Returns: whether it was there.
    package func remove(_ name: String, in space: Int64) async throws -> Bool {
      let time = now()
      return try await commits.write(name.utf8.count, grows: false) { db in
        let row = try SpaceRow.fetch(db, space)
        guard let known = try Self.entry(db, name, in: space) else { return false }
        try db.execute(
          literal:
            "UPDATE entry SET kind = \(EntryKind.stub), body = NULL WHERE space = \(space) AND position = \(known.position)"
        )
        if known.body == nil { try Self.removeContent(db, name, space) }
        let chain = RelayChain.next(row.chain, removal: name)
        try Self.insert(db, row, EntryKind.removal, name, chain, 0, nil, time)
        try Self.update(db, row, chain, entries: -1, bytes: Self.overhead - Int64(known.size))
        return true
      }
    }

    // MARK: Steps

    /// Returns, by one statement since every put begins with it: the space, the position of the entry if there is one
    /// of that name, and how many bytes of an upload are there.
    /// - Throws: `RelayProblem` if the space is deleted or not there.
    private static func lookUp(_ db: Database, _ name: String, _ space: Int64) throws
      -> (space: SpaceRow, position: Int64?, staged: Int64?)
    {
      let statement = try db.cachedStatement(
        sql: """
          SELECT \(SpaceRow.selected), entry.position, upload.received FROM space
          LEFT JOIN entry ON entry.space = space.number AND entry.name = ?2 AND entry.kind = 1
          LEFT JOIN upload ON upload.space = space.number AND upload.name = ?2
          WHERE space.number = ?1
          """)
      let row = try Row.fetchOne(statement, arguments: [space, name])
      return (try SpaceRow.live(row.map { SpaceRow($0) }), row?[8], row?[9])
    }

    static func check(_ space: SpaceRow, growsBy bytes: Int64) throws(RelayProblem) {
      guard let quota = space.quota, space.bytes + bytes > quota else { return }
      throw RelayProblem(.quotaExceeded, "the space has \(space.bytes) of \(quota) bytes")
    }

    /// Appends an entry. The space has `growth` bytes more then, beside the place in the log.
    static func append(
      _ db: Database, _ space: SpaceRow, _ name: String, _ size: Int, _ body: [UInt8]?, _ growth: Int64,
      _ cursor: RelayCursor?, _ time: Int64
    ) throws -> Put {
      // What dropping an upload has given back is in the row.
      let chain = RelayChain.next(space.chain, entry: name)
      try insert(db, space, EntryKind.entry, name, chain, size, body, time)
      try update(db, space, chain, entries: 1, bytes: growth + overhead)
      let position = space.head + 1
      let isNext = cursor != nil && cursor == space.cursor
      return Put(
        isKnown: false, position: position,
        cursor: isNext ? RelayCursor(position: UInt64(position), chain: chain) : nil)
    }

    private static func insert(
      _ db: Database, _ space: SpaceRow, _ kind: Int, _ name: String, _ chain: [UInt8], _ size: Int, _ body: [UInt8]?,
      _ time: Int64
    ) throws {
      let statement = try db.cachedStatement(
        sql: "INSERT INTO entry(space, position, kind, name, chain, size, at, body) VALUES(?, ?, ?, ?, ?, ?, ?, ?)")
      try statement.execute(
        arguments: [
          space.number, space.head + 1, kind, name, Data(chain), size, time, body.map { Data($0) },
        ])
    }

    private static func update(_ db: Database, _ space: SpaceRow, _ chain: [UInt8], entries: Int, bytes: Int64) throws {
      let statement = try db.cachedStatement(
        sql: """
          UPDATE space SET head = head + 1, chain = ?, entries = entries + ?, bytes = bytes + ? WHERE number = ?
          """)
      try statement.execute(arguments: [Data(chain), entries, bytes, space.number])
    }

    static func insertChunks(_ db: Database, _ name: String, _ space: Int64, _ body: [UInt8], from offset: Int) throws {
      let statement = try db.cachedStatement(
        sql: "INSERT INTO chunk(space, name, start, bytes) VALUES(?, ?, ?, ?)")
      for start in stride(from: 0, to: body.count, by: chunkBytes) {
        let bytes = Data(body[start..<min(start + chunkBytes, body.count)])
        try statement.execute(arguments: [space, name, offset + start, bytes])
      }
    }
  }
#endif
