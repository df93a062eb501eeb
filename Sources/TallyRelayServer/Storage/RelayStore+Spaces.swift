#if Relay
  import Foundation
  import GRDB

  extension RelayStore {
    /// What is known of a space, for its owner.
    public struct SpaceInfo: Sendable, Hashable {
      /// The space's id.
      public let id: String
      /// The number of entries that are there.
      public let entries: Int
      /// What counts against the quota: contents, pieces of uploads, and 256 for each position of the log.
      public let bytes: Int64
      /// The most bytes, if the space has a limit of its own.
      public let quota: Int64?
      /// When it was made, in seconds since 1970.
      public let created: Int64
      /// When an entry was last put or removed, in seconds since 1970; nil if none ever was.
      public let lastWrite: Int64?
      /// The number of devices that have entries there, by the names that stores give to entries.
      public let devices: Int
      /// The number of its tokens that are neither revoked nor expired.
      public let tokens: Int
      /// When it was deleted, in seconds since 1970; nil if it was not.
      public let deleted: Int64?
    }

    /// All spaces, the oldest first. Looks at the name of each entry that is there.
    public func spaces() async throws -> [SpaceInfo] {
      let time = now()
      return try await reading { db in
        let rows = try Row.fetchAll(
          db,
          sql: """
            SELECT id, entries, bytes, quota, created, deleted,
              (SELECT at FROM entry WHERE entry.space = number AND position = head) AS lastWrite,
              (SELECT COUNT(DISTINCT device) FROM (
                SELECT substr(rest, 1, instr(rest, '-') - 1) AS device FROM (
                  SELECT substr(name, 8 + instr(substr(name, 8), '-')) AS rest FROM entry
                  WHERE entry.space = number AND kind = 1 AND name LIKE 'tally1-%-%-%')
              ) WHERE trim(device, '0') <> '') AS devices,
              (SELECT COUNT(*) FROM token
                WHERE token.space = number AND revoked IS NULL AND (expires IS NULL OR expires > ?)) AS tokens
            FROM space ORDER BY created, number
            """, arguments: [time])
        return rows.map { row in
          SpaceInfo(
            id: row["id"], entries: row["entries"], bytes: row["bytes"], quota: row["quota"], created: row["created"],
            lastWrite: row["lastWrite"], devices: row["devices"], tokens: row["tokens"], deleted: row["deleted"])
        }
      }
    }

    /// Sums over all spaces, and what the file takes of the disk.
    package func figures() async throws -> StorageFigures {
      let path = pool.path
      var figures = try await reading { db in
        let row = try Row.fetchOne(
          db,
          sql: """
            SELECT COUNT(*) FILTER (WHERE deleted IS NULL) AS spaces, COUNT(deleted) AS deleted,
              COALESCE(SUM(entries), 0) AS entries, COALESCE(SUM(bytes), 0) AS bytes FROM space
            """)
        return StorageFigures(
          spaces: row?["spaces"] ?? 0, deletedSpaces: row?["deleted"] ?? 0, entries: row?["entries"] ?? 0,
          bytes: row?["bytes"] ?? 0)
      }
      figures.file = StorageFigures.File(path)
      return figures
    }

    /// Keeps the file from growing beyond so many bytes, as long as this process has it open: what would need more
    /// is answered with 507 `storageFull`. What is there already stays, and removing goes on. The log beside the file
    /// comes on top.
    /// - Throws: `DatabaseError`.
    package func limitFile(to bytes: Int64) async throws {
      try await pool.writeWithoutTransaction { db in
        let page = try Int64.fetchOne(db, sql: "PRAGMA page_size") ?? 4_096
        try db.execute(sql: "PRAGMA max_page_count = \(max(1, bytes / page))")
      }
    }
  }

  /// What a storage holds, for metrics.
  package struct StorageFigures: Sendable {
    /// What a file takes.
    package struct File: Sendable {
      package let bytes: Int64
      /// Of the log beside the file.
      package let logBytes: Int64
      /// Of the disk that it is on, and what of it this process may still take; nil where the system does not say.
      package let diskBytes: Int64?, freeBytes: Int64?

      init(_ path: String) {
        (bytes, logBytes) = (Self.size(of: path), Self.size(of: path + "-wal"))
        var disk = statvfs()
        guard statvfs(path, &disk) == 0 else {
          (diskBytes, freeBytes) = (nil, nil)
          return
        }
        diskBytes = Int64(clamping: UInt64(disk.f_blocks).multipliedReportingOverflow(by: UInt64(disk.f_frsize)).0)
        freeBytes = Int64(clamping: UInt64(disk.f_bavail).multipliedReportingOverflow(by: UInt64(disk.f_frsize)).0)
      }

      private static func size(of path: String) -> Int64 {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : 0
      }
    }

    package var spaces: Int
    package var deletedSpaces: Int
    package var entries: Int64
    package var bytes: Int64
    /// Of a file; nil with a database.
    package var file: File?
    /// Of the tables and indexes of a database; nil with a file.
    package var databaseBytes: Int64?
  }
#endif
