#if Relay
  import Foundation
  import GRDB
  @testable import TallyRelayServer

  /// What stands in a relay's tables, row by row.
  enum RelayTables {
    static let names = ["space", "entry", "chunk", "upload", "token"]

    /// All rows of a table as text, bytes included; or only those of the space with this number.
    static func rows(_ table: String, of space: Int64? = nil, _ store: any RelayStorage, _ place: StoragePlace)
      async throws -> [String]
    {
      let condition = space.map { "WHERE \(table == "space" ? "number" : "space") = \($0)" } ?? ""
      if let file = store as? RelayStore {
        return try await file.pool.read { db in
          try Row.fetchAll(db, sql: "SELECT * FROM \(table) \(condition)").map { row in
            row.databaseValues.map { text($0) }.joined(separator: "|")
          }.sorted()
        }
      }
      let sql = "SELECT row::text FROM tally_relay.\(table) AS row \(condition) ORDER BY 1"
      return try await PostgresCluster.sql(sql, in: place.database ?? "").split(separator: "\n").map(String.init)
    }

    private static func text(_ value: DatabaseValue) -> String {
      guard case .blob(let data) = value.storage else { return "\(value)" }
      return data.base64EncodedString()
    }

    /// How many rows each table has.
    static func counts(of space: Int64? = nil, _ store: any RelayStorage, _ place: StoragePlace) async throws
      -> [String: Int]
    {
      var counts: [String: Int] = [:]
      for table in names { counts[table] = try await rows(table, of: space, store, place).count }
      return counts
    }

    /// Everything in all tables.
    static func all(of space: Int64? = nil, _ store: any RelayStorage, _ place: StoragePlace) async throws
      -> [String: [String]]
    {
      var all: [String: [String]] = [:]
      for table in names { all[table] = try await rows(table, of: space, store, place) }
      return all
    }
  }
#endif
