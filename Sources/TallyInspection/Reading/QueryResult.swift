import GRDB
import GRDBSQLite
import TallyCRDT
import TallyStore

/// What a person's own query gave.
package struct QueryResult: Sendable, Codable {
  /// The names of the columns.
  package var columns: [String]
  /// The first rows.
  package var rows: [[ValuePreview]]
  /// Whether there are more rows than were read.
  package var hasMore: Bool
}

/// Why a person's query was not run.
package enum QueryRefusal: String, Error, Sendable, Codable {
  /// It is no query: it would change something, or attach another file.
  case notAQuery
  /// It is more than one statement.
  case severalStatements
  /// It took too long.
  case tookTooLong
  /// It made or read a value that is too long for it.
  case tooLong
  /// It needs too much memory.
  case tooLarge
  /// It has parameters, which nothing fills, or a character that ends it for SQLite and not for who reads it.
  case incomplete
  /// It has a pattern of LIKE or GLOB that is too long.
  case patternTooLong
}

extension Store {
  /// Runs one query that reads, and nothing else: SELECT, VALUES, WITH or EXPLAIN, on a connection that cannot write.
  ///
  /// SQLite does not look at `isOver` while it compiles the query, nor within a single call of a function; how long the
  /// slowest that we know take is measured in Docs/Inspector.md. A process that runs a query alone can be ended at any
  /// moment, and has no need of limits.
  /// - Parameters:
  ///   - sql: the query, alone.
  ///   - limit: the most rows to read.
  ///   - isLimited: whether it makes and reads no value above 16 MiB, and none above 32 KiB if it calls a function
  ///     whose time may grow faster than its operands, as instr, replace, trim, GLOB and those of JSON, and patterns
  ///     of LIKE and GLOB have 64 bytes at most.
  ///   - isOver: asked again and again; the query ends once it is true.
  /// - Returns: the first rows.
  /// - Throws: `QueryRefusal`; GRDB's `DatabaseError` for SQL that SQLite does not understand; `StoreError.newerFormat`
  ///   and `olderFormat` if another program has changed the file's format.
  package func query(
    _ sql: String, limit: Int, isLimited: Bool = true, until isOver: @escaping () -> Bool
  ) throws -> QueryResult {
    guard !sql.utf8.contains(0) else { throw QueryRefusal.incomplete }
    do {
      return try read { db in
        let statements = try db.allStatements(sql: sql)
        guard let statement = try statements.next() else { throw QueryRefusal.notAQuery }
        // SQLite counts ATTACH, BEGIN and some PRAGMAs as reading: https://sqlite.org/c3ref/stmt_readonly.html
        guard statement.isReadonly, Self.isQuery(sql) else { throw QueryRefusal.notAQuery }
        guard try statements.next() == nil else { throw QueryRefusal.severalStatements }
        let connection = Connection(try db.handle())
        try StoreFile.checkFormat(connection, of: path)
        let sql = String(statement.sql.drop { $0.isWhitespace || $0 == ";" || $0 == "\u{FEFF}" })
        let run = {
          try connection.interrupting(when: isOver, every: QueryLimits.instructions) {
            try Self.rows(statement.columnNames, sql, connection, limit)
          }
        }
        return try isLimited ? QueryLimits.within(connection, of: sql, run) : run()
      }
    } catch is SQLInterruption {
      throw QueryRefusal.tookTooLong
    } catch let error as DatabaseError where error.resultCode == .SQLITE_TOOBIG {
      throw QueryRefusal.tooLong
    } catch let error as DatabaseError where error.message == "LIKE or GLOB pattern too complex" {
      throw QueryRefusal.patternTooLong
    }
  }

  private static func rows(
    _ columns: [String], _ sql: String, _ connection: Connection, _ limit: Int
  ) throws -> QueryResult {
    var result = QueryResult(columns: columns, rows: [], hasMore: false)
    let query = try SQLStatement(connection.handle, sql)
    guard sqlite3_bind_parameter_count(query.handle) == 0 else { throw QueryRefusal.incomplete }
    while try query.step() {
      if result.rows.count == limit {
        result.hasMore = true
        break
      }
      result.rows.append((0..<query.columnCount).map { query.preview($0) })
    }
    return result
  }

  /// Whether the first word, comments aside, is that of a query.
  private static func isQuery(_ sql: String) -> Bool {
    var rest = sql[...]
    // SQLite passes over the mark with which some editors begin a text.
    if rest.first == "\u{FEFF}" { rest.removeFirst() }
    while true {
      rest = rest.drop { $0.isWhitespace || $0 == ";" || $0 == "(" }
      if rest.hasPrefix("--") {
        rest = rest.drop { $0 != "\n" }
      } else if rest.hasPrefix("/*") {
        guard let end = rest.firstRange(of: "*/") else { return false }
        rest = rest[end.upperBound...]
      } else {
        break
      }
    }
    return ["select", "values", "with", "explain"].contains(rest.prefix { $0.isLetter }.lowercased())
  }
}
