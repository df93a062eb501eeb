#if Relay
  import GRDB
  import TallyRelayProtocol

  extension RelayStore {
    /// The most rows that one transaction removes: others wait for it. See `RemovalSlice`, too.
    static let sliceRows = 128

    /// Deletes a space. A process that serves answers from the next request on as if it had never been, and removes
    /// its content when `RelaySettings.keep` is over.
    /// - Throws: `RelayStoreError` if there is no such space, or it is deleted already.
    public func deleteSpace(_ id: String) async throws {
      let time = now()
      let isDone = try await commits.write(id.utf8.count, to: FileCommits.ownersSpace, grows: false) { db in
        try db.execute(
          sql: "UPDATE space SET deleted = ? WHERE id = ? AND deleted IS NULL", arguments: [time, id])
        return db.changesCount > 0
      }
      guard isDone else { throw Self.noSuchSpace }
    }

    /// Takes a deletion back: entries, uploads and tokens are as they were. A space that is not deleted stays as it is.
    /// - Throws: `RelayStoreError` if there is no such space, or its content is being removed already.
    public func restoreSpace(_ id: String) async throws {
      let isDone = try await commits.write(id.utf8.count, to: FileCommits.ownersSpace, grows: false) { db in
        try db.execute(sql: "UPDATE space SET deleted = NULL WHERE id = ? AND purging IS NULL", arguments: [id])
        return db.changesCount > 0
      }
      guard isDone else { throw Self.noSuchSpace }
    }

    static var noSuchSpace: RelayStoreError { RelayStoreError(.noSuchSpace, "there is no such space") }

    /// Those of the spaces that are deleted or not there.
    package func missing(among spaces: [Int64]) async throws -> [Int64] {
      let list = "[\(spaces.map(String.init).joined(separator: ","))]"
      return try await pool.read { db in
        try Int64.fetchAll(
          db,
          sql: """
            SELECT value FROM json_each(?)
            WHERE NOT EXISTS(SELECT 1 FROM space WHERE number = value AND deleted IS NULL)
            """, arguments: [list])
      }
    }

    /// Removes a bounded number of rows of a large content that was removed, of uploads that have expired, or of a
    /// space that was deleted at least so many seconds ago; with nil, only of what is being removed already.
    /// - Returns: whether there was one.
    package func removeSlice(deletedFor seconds: Int64?) async throws -> Bool {
      let time = now()
      let latest: (expiry: Int64, deletion: Int64) = seconds.map { (time, time - $0) } ?? (.min, .min)
      let due = """
        SELECT number FROM space WHERE deleted IS NOT NULL AND (purging IS NOT NULL OR deleted <= ?)
        ORDER BY deleted, number LIMIT 1
        """
      // Most looks find nothing, and need not wait for those who write.
      let isDue = """
        SELECT EXISTS(SELECT 1 FROM removed) OR EXISTS(SELECT 1 FROM upload WHERE expires <= ?) OR EXISTS(\(due))
        """
      let arguments: StatementArguments = [latest.expiry, latest.deletion]
      guard try await pool.read({ try Bool.fetchOne($0, sql: isDue, arguments: arguments) }) == true else {
        return false
      }
      // As large as a group may be, so that it is a transaction of its own and others take turns with it.
      return try await commits.write(GroupLimits.groupBytes, to: FileCommits.ownersSpace, grows: false) { db in
        if try Self.removeLeftContent(db) { return true }
        if try Self.dropExpired(db, latest.expiry) { return true }
        // It may have been restored in between.
        guard let space = try Int64.fetchOne(db, sql: due, arguments: [latest.deletion]) else { return false }
        try db.execute(
          sql: "UPDATE space SET purging = ? WHERE number = ? AND purging IS NULL", arguments: [time, space])
        try Self.removeRows(db, space)
        return true
      }
    }

    private static func removeRows(_ db: Database, _ space: Int64) throws {
      var slice = RemovalSlice(upTo: RemovalSlice.sweptBytes)
      for table in RemovalSlice.Table.all { try slice.remove(db, from: table, of: space) }
      if !slice.isFull { try db.execute(sql: "DELETE FROM space WHERE number = ?", arguments: [space]) }
    }
  }
#endif
