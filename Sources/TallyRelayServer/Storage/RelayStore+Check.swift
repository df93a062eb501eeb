#if Relay
  import Foundation
  import GRDB
  import TallyRelayProtocol

  extension RelayStore {
    /// Something that a check has found.
    public struct Finding: Sendable, Hashable {
      /// The id of the space that it is about; nil if it is about the file.
      public let space: String?
      /// What is wrong, for people.
      public let message: String
      /// What helps, for people; nil if `mend` mends it.
      public let remedy: String?

      /// Whether a check that mends takes it away.
      public var isMendable: Bool { remedy == nil }
    }

    /// Reads the whole file, and says what does not fit together: what SQLite finds damaged, logs with gaps or with
    /// another chain, entries without their content, counts that are wrong, and rows that belong to nothing.
    ///
    /// It mends, if it is to, what nothing is lost by: indexes, counts, and rows that belong to nothing. An entry whose
    /// content is not all there is removed, as the first device that read it would do, so that a device that has it
    /// puts it again.
    ///
    /// A relay may serve meanwhile. Each space is looked at in a transaction of its own that only reads; a space in
    /// which something can be mended is looked at again in the transaction that mends it, and others who write wait for
    /// that one alone.
    /// - Parameter mends: whether to mend what can be mended.
    /// - Returns: what was found. What is mendable was mended if that was asked for.
    /// - Throws: `DatabaseError` if the file cannot be read at all.
    public func findings(mends: Bool) async throws -> [Finding] {
      var found = try await damage(mends: mends)
      // SQLite may not get through what it finds damaged.
      guard found.allSatisfy(\.isMendable) else { return found }
      found += try await strays(mends: mends)
      let spaces = try await reading { db in
        try Int64.fetchAll(db, sql: "SELECT number FROM space WHERE purging IS NULL ORDER BY number")
      }
      for space in spaces { found += try await findings(in: space, mends: mends) }
      return found
    }

    // MARK: The file

    private static let fileRemedy =
      "restore a backup; without one, sqlite3 FILE .recover saves what can be read"

    /// What SQLite finds. An index can be made again from its table.
    private func damage(mends: Bool) async throws -> [Finding] {
      let lines = try await integrity()
      guard !lines.isEmpty else { return [] }
      let isOfIndexes = lines.allSatisfy(Self.isOfIndex)
      var isMended = false
      if mends, isOfIndexes {
        try await pool.writeWithoutTransaction { try $0.execute(sql: "REINDEX") }
        isMended = try await integrity().isEmpty
      }
      let remedy = isOfIndexes && (isMended || !mends) ? nil : Self.fileRemedy
      // One fault of a page makes a line for each page behind it.
      let shown = lines.prefix(Self.shownLines)
      let rest = lines.count - shown.count
      return (shown + (rest > 0 ? ["and \(rest) more lines"] : [])).map { line in
        Finding(space: nil, message: "SQLite: \(line)", remedy: remedy)
      }
    }

    private static let shownLines = 20

    /// What SQLite says, line by line.
    private func integrity() async throws -> [String] {
      do {
        let rows = try await reading { try String.fetchAll($0, sql: "PRAGMA integrity_check") }
        return rows.flatMap { $0.split(whereSeparator: \.isNewline).map(String.init) }
          .filter { $0 != "ok" && !$0.hasPrefix("***") }
      } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
        return [error.message ?? "the file is damaged"]
      }
    }

    private static func isOfIndex(_ line: String) -> Bool {
      line.hasPrefix("wrong # of entries in index") || line.contains("missing from index")
    }

    /// Rows of spaces that are not there.
    private func strays(mends: Bool) async throws -> [Finding] {
      var found: [Finding] = []
      for table in ["entry", "chunk", "upload", "token"] {
        let condition = "space NOT IN (SELECT number FROM space)"
        let count = try await reading { db in
          try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM \(table) WHERE \(condition)") ?? 0
        }
        guard count > 0 else { continue }
        found.append(Finding(space: nil, message: "\(count) rows of \(table) belong to no space", remedy: nil))
        if mends { try await delete(from: table, where: condition) }
      }
      return found
    }

    /// Deletes rows a few at a time, since others wait.
    private func delete(from table: String, where condition: String) async throws {
      let key = ["entry": "rowid", "chunk": "rowid", "upload": "space, name", "token": "hash"][table] ?? "rowid"
      var isMore = true
      while isMore {
        isMore = try await pool.write { db in
          try db.execute(
            sql: """
              DELETE FROM \(table) WHERE (\(key)) IN
                (SELECT \(key) FROM \(table) WHERE \(condition) LIMIT \(Self.sliceRows))
              """)
          return db.changesCount > 0
        }
      }
    }

    // MARK: A space

    private func findings(in space: Int64, mends: Bool) async throws -> [Finding] {
      let found = try await reading { try SpaceCheck($0, space)?.findings ?? [] }
      guard mends, found.contains(where: \.isMendable) else { return found }
      // What mends looks again under the lock under which it writes: meanwhile others may have written.
      return try await pool.write { db in
        guard let check = try SpaceCheck(db, space) else { return [] }
        let time = self.now()
        try check.mend(db, time)
        return check.findings
      }
    }
  }

  /// What is wrong in one space.
  private struct SpaceCheck {
    private let space: SpaceRow
    private(set) var findings: [RelayStore.Finding] = []
    private var incomplete: [String] = []
    private var leftovers: [String] = []
    private var uploads: [String] = []

    private static let logRemedy =
      "restore a backup, or delete the space and create another, into which devices put all that they have"

    /// Looks at a space; nil if it has gone meanwhile.
    init?(_ db: Database, _ number: Int64) throws {
      let row = try Row.fetchOne(
        db, sql: "SELECT \(SpaceRow.selected) FROM space WHERE number = ? AND purging IS NULL", arguments: [number])
      guard let row else { return nil }
      space = SpaceRow(row)
      guard (0...SpaceRow.mostPositions).contains(space.head) else {
        note("it counts \(space.head) positions, which no log has", remedy: Self.logRemedy)
        return
      }
      let (entries, content) = try lookAtLog(db)
      try lookAtPieces(db)
      // No sum, since what a damaged row counts may be more than there is room for.
      let received = try Int64.fetchAll(db, sql: "SELECT received FROM upload WHERE space = ?", arguments: [number])
      let bytes = received.reduce(content.plus(RelayStore.overhead * space.head)) { $0.plus($1) }
      if space.entries != entries { note("it counts \(space.entries) entries, and has \(entries)") }
      if space.bytes != bytes { note("it counts \(space.bytes) bytes, and has \(bytes)") }
    }

    private mutating func note(_ message: String, remedy: String? = nil) {
      findings.append(RelayStore.Finding(space: space.id, message: message, remedy: remedy))
    }

    /// Goes through the log.
    /// - Returns: the number of entries that are there, and their bytes.
    private mutating func lookAtLog(_ db: Database) throws -> (entries: Int, bytes: Int64) {
      var (chain, last) = (RelayChain.start(of: space.id), Int64(0))
      var (entries, bytes, hasBroken) = (0, Int64(0), false)
      let rows = try Row.fetchCursor(
        db,
        sql: "SELECT position, kind, name, chain, size, length(body) FROM entry WHERE space = ? ORDER BY position",
        arguments: [space.number])
      while let row = try rows.next() {
        let (position, kind, name, found) = (row[0] as Int64, row[1] as Int, row[2] as String, Array(row[3] as Data))
        let (size, body) = (row[4] as Int64, row[5] as Int64?)
        if position != last.plus(1) {
          note("positions \(last.plus(1)) to \(position.plus(-1)) of its log are missing", remedy: Self.logRemedy)
          hasBroken = true
        } else {
          chain =
            kind == EntryKind.removal ? RelayChain.next(chain, removal: name) : RelayChain.next(chain, entry: name)
          if chain != found, !hasBroken {
            note("its chain is another from position \(position) on", remedy: Self.logRemedy)
            hasBroken = true
          }
        }
        (chain, last) = (found, position)
        guard kind == EntryKind.entry else { continue }
        (entries, bytes) = (entries + 1, bytes.plus(size))
        guard try isWhole(db, name, size, body) else {
          note("the content of \(name) is not all there: \(size) bytes")
          incomplete.append(name)
          continue
        }
      }
      if last != space.head || chain != space.chain {
        note("its log ends at position \(last), and it counts \(space.head)", remedy: Self.logRemedy)
      }
      return (entries, bytes)
    }

    private func isWhole(_ db: Database, _ name: String, _ size: Int64, _ body: Int64?) throws -> Bool {
      if let body { return body == size }
      return try received(db, name) == size
    }

    /// How many bytes there are from the first on, without a gap.
    private func received(_ db: Database, _ name: String) throws -> Int64 {
      let statement = try db.cachedStatement(
        sql: "SELECT start, length(bytes) FROM chunk WHERE space = ? AND name = ? ORDER BY start")
      let rows = try Row.fetchCursor(statement, arguments: [space.number, name])
      var end: Int64 = 0
      while let row = try rows.next() {
        guard row[0] as Int64 == end else { return -1 }
        end += row[1] as Int64
      }
      return end
    }

    /// Looks at uploads, and for pieces of what is neither an entry nor an upload.
    private mutating func lookAtPieces(_ db: Database) throws {
      for row in try Row.fetchAll(
        db, sql: "SELECT name, received, length FROM upload WHERE space = ?", arguments: [space.number])
      {
        let (name, count) = (row[0] as String, row[1] as Int64)
        guard try received(db, name) != count || count > row[2] as Int64 else { continue }
        note("the upload of \(name) does not have the \(count) bytes that it counts")
        uploads.append(name)
      }
      // What is on a list of content to be removed belongs to that.
      let due =
        try db.tableExists("removed")
        ? "AND NOT EXISTS(SELECT 1 FROM removed WHERE removed.space = ?1 AND removed.name = chunk.name)" : ""
      leftovers = try String.fetchAll(
        db,
        sql: """
          SELECT DISTINCT name FROM chunk WHERE space = ?1 \(due)
            AND NOT EXISTS(SELECT 1 FROM upload WHERE upload.space = ?1 AND upload.name = chunk.name)
            AND NOT EXISTS(SELECT 1 FROM entry
              WHERE entry.space = ?1 AND entry.name = chunk.name AND kind = 1 AND body IS NULL)
          """, arguments: [space.number])
      for name in leftovers { note("there are pieces of \(name), which is neither an entry nor an upload") }
    }

    /// Mends what can be mended, in the transaction in which it was found.
    func mend(_ db: Database, _ time: Int64) throws {
      guard findings.contains(where: \.isMendable) else { return }
      for name in uploads {
        try db.execute(sql: "DELETE FROM upload WHERE space = ? AND name = ?", arguments: [space.number, name])
      }
      var (head, chain) = (space.head, space.chain)
      for name in incomplete {
        (head, chain) = (head + 1, RelayChain.next(chain, removal: name))
        try remove(db, name, at: head, chain, time)
      }
      try removeContent(db, leftovers + uploads + incomplete)
      try db.execute(
        sql: "UPDATE space SET head = ?, chain = ? WHERE number = ?", arguments: [head, Data(chain), space.number])
      try db.execute(
        sql: """
          UPDATE space SET
            entries = (SELECT COUNT(*) FROM entry WHERE space = ?1 AND kind = 1),
            bytes = (SELECT COALESCE(SUM(size), 0) FROM entry WHERE space = ?1 AND kind = 1)
              + (SELECT COALESCE(SUM(received), 0) FROM upload WHERE space = ?1) + ?2 * head
          WHERE number = ?1
          """, arguments: [space.number, RelayStore.overhead])
    }

    /// Removes content: as much as one transaction may, and the rest is left to the sweeper of the relay that serves.
    private func removeContent(_ db: Database, _ names: [String]) throws {
      var slice = RemovalSlice()
      for name in names {
        try slice.remove(db, from: .content, of: space.number, named: name)
        if slice.isFull { try RelayStore.leaveContent(db, name, space.number) }
      }
    }

    /// Removes an entry as a request would, but for its content: its place stays, and the log says that it has gone.
    private func remove(_ db: Database, _ name: String, at position: Int64, _ chain: [UInt8], _ time: Int64) throws {
      try db.execute(
        sql: """
          UPDATE entry SET kind = ?, body = NULL, size = MIN(MAX(size, 0), \(RelayLimits.entryBytes))
          WHERE space = ? AND name = ? AND kind = ?
          """, arguments: [EntryKind.stub, space.number, name, EntryKind.entry])
      try db.execute(
        sql: "INSERT INTO entry(space, position, kind, name, chain, size, at) VALUES(?, ?, ?, ?, ?, 0, ?)",
        arguments: [space.number, position, EntryKind.removal, name, Data(chain), time])
    }
  }

  extension Int64 {
    /// The sum, or the nearest number that there is.
    fileprivate func plus(_ other: Int64) -> Int64 {
      let (sum, isBeyond) = addingReportingOverflow(other)
      return isBeyond ? (other > 0 ? .max : .min) : sum
    }
  }
#endif
