#if Relay
  import Foundation
  import GRDB
  import TallyRelayProtocol

  /// What one transaction may remove: others wait for it, and no longer than for a group of puts.
  struct RemovalSlice {
    /// The most bytes, but for one row, of a write that removes or replaces.
    static let mostBytes = GroupLimits.groupBytes
    /// The same for the sweeper. Puts wait for each of its slices, one after the other, and SQLite may overwrite what
    /// it frees, so that a slice takes much longer than a put.
    static let sweptBytes = mostBytes / 4
    /// The most bytes of this one.
    let limit: Int
    private(set) var rows = 0
    private(set) var bytes = 0

    var rest: Int { max(0, RelayStore.sliceRows - rows) }
    var isFull: Bool { rest == 0 || bytes >= limit }

    /// An empty slice of at most so many bytes, but for one row.
    init(upTo limit: Int = Self.mostBytes) { self.limit = limit }

    mutating func add(rows: Int = 1, bytes: Int) {
      self.rows += rows
      self.bytes += bytes
    }

    /// A table from which rows are removed in the order of a key.
    struct Table: Sendable {
      let name: String
      let key: String
      /// The bytes of a row, as SQL; looking at them reads no content.
      let size: String
      let postgresSize: String

      static let entries = Table(
        name: "entry", key: "position", size: "COALESCE(length(body), 0)",
        postgresSize: "COALESCE(octet_length(body), 0)"
      )
      static let chunks = Table(
        name: "chunk", key: "name, start", size: "length(bytes)", postgresSize: "octet_length(bytes)")
      /// Those of one name.
      static let content = Table(
        name: "chunk", key: "start", size: "length(bytes)", postgresSize: "octet_length(bytes)")
      /// All that a space has. Tokens come late: until then whoever has one is told that there is no such space.
      static let all = [
        entries, chunks, Table("upload", "name"), Table("removed", "name"), Table("token", "hash"),
      ]

      private init(name: String, key: String, size: String, postgresSize: String) {
        (self.name, self.key, self.size, self.postgresSize) = (name, key, size, postgresSize)
      }

      private init(_ name: String, _ key: String) { self.init(name: name, key: key, size: "0", postgresSize: "0") }
    }

    /// Removes rows of a space, or of one name in it, from a file, as far as there is room in the slice.
    mutating func remove(_ db: Database, from table: Table, of space: Int64, named name: String? = nil) throws {
      guard !isFull else { return }
      let condition = name == nil ? "space = ?" : "space = ? AND name = ?"
      let values: [(any DatabaseValueConvertible)?] = name == nil ? [space] : [space, name]
      let found = try db.cachedStatement(
        sql: "SELECT \(table.size), \(table.key) FROM \(table.name) WHERE \(condition) ORDER BY \(table.key) LIMIT ?")
      var last: Row?
      for row in try Row.fetchAll(found, arguments: StatementArguments(values + [rest])) where !isFull {
        add(bytes: row[0])
        last = row
      }
      guard let last else { return }
      let key = last.databaseValues.dropFirst()
      let marks = key.map { _ in "?" }.joined(separator: ", ")
      try db.cachedStatement(sql: "DELETE FROM \(table.name) WHERE \(condition) AND (\(table.key)) <= (\(marks))")
        .execute(arguments: StatementArguments(values + Array(key)))
    }
  }

  extension RelayStore {
    /// Removes the content of a name: as much as one transaction may, and the rest is left to the sweeper.
    static func removeContent(_ db: Database, _ name: String, _ space: Int64) throws {
      if try !removeChunks(db, name, space) { try leaveContent(db, name, space) }
    }

    /// Leaves the content of a name to the sweeper.
    static func leaveContent(_ db: Database, _ name: String, _ space: Int64) throws {
      try db.execute(
        sql: "INSERT INTO removed(space, name) VALUES(?, ?) ON CONFLICT DO NOTHING", arguments: [space, name])
    }

    /// Removes what is left of a removed content of that name, so that another can stand there. If there is more than
    /// one transaction may remove, that is begun.
    /// - Throws: `RelayProblem` if something is left.
    static func clearPlace(_ db: Database, _ name: String, _ space: Int64) throws {
      let left = try db.cachedStatement(sql: "SELECT 1 FROM removed WHERE space = ? AND name = ?")
      guard try Int.fetchOne(left, arguments: [space, name]) != nil else { return }
      guard try removeChunks(db, name, space) else { throw stillThere }
      try forgetContent(db, name, space)
    }

    static var stillThere: RelayProblem {
      RelayProblem(.busy, "what that name stood for before is still being removed", retryAfter: 1)
    }

    private static func forgetContent(_ db: Database, _ name: String, _ space: Int64) throws {
      try db.execute(sql: "DELETE FROM removed WHERE space = ? AND name = ?", arguments: [space, name])
    }

    /// - Returns: whether nothing is left.
    private static func removeChunks(
      _ db: Database, _ name: String, _ space: Int64, upTo limit: Int = RemovalSlice.mostBytes
    ) throws -> Bool {
      var slice = RemovalSlice(upTo: limit)
      try slice.remove(db, from: .content, of: space, named: name)
      guard slice.isFull else { return true }
      let rest = try db.cachedStatement(sql: "SELECT 1 FROM chunk WHERE space = ? AND name = ? LIMIT 1")
      return try Int.fetchOne(rest, arguments: [space, name]) == nil
    }

    /// Removes a slice of what was left to the sweeper.
    /// - Returns: whether there was anything.
    static func removeLeftContent(_ db: Database) throws -> Bool {
      guard let row = try Row.fetchOne(db, sql: "SELECT space, name FROM removed LIMIT 1") else { return false }
      let (space, name) = (row[0] as Int64, row[1] as String)
      if try removeChunks(db, name, space, upTo: RemovalSlice.sweptBytes) { try forgetContent(db, name, space) }
      return true
    }
  }
#endif
