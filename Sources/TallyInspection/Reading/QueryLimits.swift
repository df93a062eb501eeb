import GRDBSQLite
import TallyStore

/// How long the values are that a person's query may make and read, so that it can be ended in time.
///
/// SQLite looks at the clock between its own instructions, and a function is part of one. Most functions take time as
/// their operands are long; instr, replace, trim and others as the product of two operands, which is hours for some
/// megabytes. Those have short operands, and so have functions that are not known here, such as an app's own.
enum QueryLimits {
  /// The most bytes of a value. SQLite's own limit is a billion, and it has the value in memory twice.
  /// https://sqlite.org/c3ref/limit.html
  static let longest: Int32 = 16 << 20
  /// The most bytes of a value in a query that calls a function outside `linear`.
  static let shortest: Int32 = 32 << 10
  /// The most bytes of a pattern of LIKE, which takes as long as pattern and text multiplied.
  static let pattern: Int32 = 64
  /// The instructions between two looks at the clock: each of them may be a function of a long value.
  static let instructions: Int32 = 16

  /// The functions whose time grows with the length of their operands and no faster.
  private static let linear: Set<String> = [
    "abs", "avg", "ceil", "ceiling", "changes", "coalesce", "concat", "concat_ws", "count", "cume_dist", "date",
    "datetime", "dense_rank", "exp", "first_value", "floor", "format", "group_concat", "hex", "ifnull", "iif",
    "julianday", "lag", "last_value", "lead", "length", "like", "ln", "log", "lower", "max", "min", "mod", "nth_value",
    "ntile", "nullif", "octet_length", "percent_rank", "pow", "power", "printf", "quote", "random", "randomblob",
    "rank", "round", "row_number", "sign", "sqrt", "strftime", "string_agg", "substr", "substring", "sum", "time",
    "total", "trunc", "typeof", "unicode", "unixepoch", "upper", "zeroblob",
  ]

  /// Runs a query of a person's under these limits. The connection has its own again afterwards.
  static func within<T>(_ connection: Connection, of sql: String, _ body: () throws -> T) throws -> T {
    let length = try isLinear(sql, connection) ? longest : shortest
    let limits = [(SQLITE_LIMIT_LENGTH, length), (SQLITE_LIMIT_LIKE_PATTERN_LENGTH, pattern)]
    let before = limits.map { ($0.0, sqlite3_limit(connection.handle, $0.0, $0.1)) }
    defer { for (kind, limit) in before { sqlite3_limit(connection.handle, kind, limit) } }
    return try body()
  }

  /// Whether the query calls nothing but functions that are known to be quick.
  ///
  /// The program into which SQLite compiles the query names each function that is called, operators such as LIKE and ->
  /// included. https://sqlite.org/opcode.html
  private static func isLinear(_ sql: String, _ connection: Connection) throws -> Bool {
    let query = try SQLStatement(connection.handle, sql)
    // EXPLAIN lists the program and runs nothing of it.
    guard sqlite3_stmt_isexplain(query.handle) == 0 else { return true }
    let program = try SQLStatement(connection.handle, "EXPLAIN " + sql)
    while try program.step() {
      let (opcode, operand) = (program.text(1) ?? "", program.text(5) ?? "")
      guard opcode.contains("Func") || opcode.hasPrefix("Agg") else { continue }
      // name(number of operands)
      guard linear.contains(operand.prefix { $0 != "(" }.lowercased()) else { return false }
    }
    return true
  }
}
