#if Relay
  import Foundation
  import GRDB
  import TallyRelayProtocol

  extension RelayStore {
    /// The time for which an upload is kept after its last piece.
    static let uploadSeconds: Int64 = 3 * 86_400

    /// The progress of an upload.
    package struct Upload: Sendable, Hashable {
      package let received: Int
      package let length: Int

      /// So many bytes of so many.
      package init(received: Int, length: Int) { (self.received, self.length) = (received, length) }
    }

    /// The outcome of a piece.
    package enum Piece: Sendable, Hashable {
      /// It was taken; so many bytes are there now.
      case taken(Int)
      /// It does not begin where the relay stands, which is here.
      case elsewhere(Int)
      /// It was the last, or the entry is there already.
      case put(Put)
    }

    /// Returns the progress of an upload of a name; all of it if the entry is there.
    package func upload(_ name: String, in space: Int64) async throws -> Upload {
      let time = now()
      return try await reading { db in
        if let known = try Self.entry(db, name, in: space) { return Upload(received: known.size, length: known.size) }
        guard let upload = try Self.upload(db, name, space, time) else {
          throw RelayProblem(.noSuchUpload, "there is no such upload")
        }
        return upload
      }
    }

    /// Takes a piece of an upload; the last makes it an entry.
    package func put(
      piece: [UInt8], at offset: Int, of length: Int, _ name: String, by writer: RelayWriter, after cursor: RelayCursor?
    ) async throws -> Piece {
      let (space, now) = (writer.space, self.now)
      return try await commits.write(piece.count, to: writer.space) { db in
        let time = now()
        let row = try SpaceRow.fetch(db, writer, time)
        if let known = try Self.entry(db, name, in: space) {
          return .put(Put(isKnown: true, position: known.position, cursor: nil))
        }
        var upload = try Self.upload(db, name, space, time)
        // One of another length starts over.
        if upload?.length != length, offset == 0 { upload = nil }
        let received = upload?.length == length ? upload?.received ?? 0 : 0
        guard offset == received else { return .elsewhere(received) }
        guard !piece.isEmpty || length == 0 else { return .elsewhere(received) }
        let rest = Int64(length - received) + Self.overhead
        let staged = upload == nil ? try Self.staged(db, name, space) : nil
        try Self.makeRoom(db, row, rest - (staged ?? 0), besides: name, time)
        // Nothing but expired uploads was dropped before this line: see FileCommits.
        if let staged { try Self.dropUpload(db, name, space, staged) }
        if upload == nil { try Self.clearPlace(db, name, space) }
        try Self.insertChunks(db, name, space, piece, from: offset)
        let there = received + piece.count
        try Self.grow(db, space, by: Int64(piece.count))
        guard there == length else {
          try Self.save(db, name, space, Upload(received: there, length: length), time)
          return .taken(there)
        }
        try db.execute(literal: "DELETE FROM upload WHERE space = \(space) AND name = \(name)")
        return .put(try Self.finish(db, name, space, length, cursor, time))
      }
    }

    /// Makes an entry of an upload whose bytes are all there.
    private static func finish(
      _ db: Database, _ name: String, _ space: Int64, _ length: Int, _ cursor: RelayCursor?, _ time: Int64
    ) throws -> Put {
      var body: [UInt8]?
      if length <= inlineBytes {
        let parts = try Data.fetchAll(
          db, sql: "SELECT bytes FROM chunk WHERE space = ? AND name = ? ORDER BY start", arguments: [space, name])
        body = parts.flatMap(Array.init)
        try removeContent(db, name, space)
      }
      return try append(db, try SpaceRow.fetch(db, space), name, length, body, 0, cursor, time)
    }

    private static func upload(_ db: Database, _ name: String, _ space: Int64, _ time: Int64) throws -> Upload? {
      let statement = try db.cachedStatement(
        sql: "SELECT received, length FROM upload WHERE space = ? AND name = ? AND expires > ?")
      return try Row.fetchOne(statement, arguments: [space, name, time]).map { row in
        Upload(received: row["received"], length: row["length"])
      }
    }

    private static func save(_ db: Database, _ name: String, _ space: Int64, _ upload: Upload, _ time: Int64) throws {
      try db.execute(
        sql: """
          INSERT INTO upload(space, name, length, received, expires) VALUES(?, ?, ?, ?, ?)
          ON CONFLICT DO UPDATE SET received = excluded.received, expires = excluded.expires
          """, arguments: [space, name, upload.length, upload.received, time + uploadSeconds])
    }

    /// Returns the number of bytes of an upload that are stored, expired or not; nil if there is no such upload.
    static func staged(_ db: Database, _ name: String, _ space: Int64) throws -> Int64? {
      let statement = try db.cachedStatement(sql: "SELECT received FROM upload WHERE space = ? AND name = ?")
      return try Int64.fetchOne(statement, arguments: [space, name]).map(counted)
    }

    /// The bytes that an upload, or an entry, has counted for. A row that says what none can have has lost its number,
    /// and is the trouble of its own space.
    static func counted(_ bytes: Int64) -> Int64 { min(max(0, bytes), Int64(RelayLimits.entryBytes)) }

    static func dropUpload(_ db: Database, _ name: String, _ space: Int64, _ received: Int64) throws {
      try db.execute(literal: "DELETE FROM upload WHERE space = \(space) AND name = \(name)")
      try removeContent(db, name, space)
      try grow(db, space, by: -received)
    }

    /// Drops uploads that nobody can have any more; the sweeper removes their bytes.
    private static func leaveUploads(_ db: Database, _ rows: [Row]) throws {
      for row in rows {
        let (space, name) = (row["space"] as Int64, row["name"] as String)
        try db.execute(literal: "DELETE FROM upload WHERE space = \(space) AND name = \(name)")
        try leaveContent(db, name, space)
        try grow(db, space, by: -counted(row["received"]))
      }
    }

    /// Looks whether a space may grow. If it may not, its expired uploads go first, the largest before others, also if
    /// that is not enough: nobody can have them any more.
    static func makeRoom(
      _ db: Database, _ space: SpaceRow, _ bytes: Int64, besides name: String, _ time: Int64
    ) throws {
      do {
        try check(space, growsBy: bytes)
      } catch let problem {
        let expired = try Row.fetchAll(
          db,
          sql: """
            SELECT space, name, received FROM upload WHERE space = ? AND expires <= ? AND name <> ?
            ORDER BY received DESC LIMIT \(sliceRows)
            """, arguments: [space.number, time, name])
        guard !expired.isEmpty else { throw problem }
        try leaveUploads(db, expired)
        try check(try SpaceRow.fetch(db, space.number).limited(to: space.quota), growsBy: bytes)
      }
    }

    /// Drops expired uploads, some at a time, since others wait.
    /// - Returns: whether there was one.
    static func dropExpired(_ db: Database, _ time: Int64) throws -> Bool {
      let expired = try Row.fetchAll(
        db, sql: "SELECT space, name, received FROM upload WHERE expires <= ? LIMIT \(sliceRows)", arguments: [time])
      try leaveUploads(db, expired)
      return !expired.isEmpty
    }

    private static func grow(_ db: Database, _ space: Int64, by bytes: Int64) throws {
      try db.execute(literal: "UPDATE space SET bytes = bytes + \(bytes) WHERE number = \(space)")
    }
  }
#endif
