import Foundation
import GRDB
import Testing

/// One judge for each text: what a store takes from an app's SQL, its dump gives back byte for byte, and taking that in
/// changes nothing.
@Suite struct ValueBytesTests {
  /// Columns of the test schema, and SQL of values that a store takes.
  private static let values: [(column: String, sql: [String])] = [
    (
      "rules",
      [
        #"'{"a":1,"a":2}'"#, "'[1 , 2]'", "' null '", "'\"\\ud800\"'", "'1E5'", "'-0.0'", "'{\"b\":{\"a\":[]}}'",
        "'\"text\"'",
        "'null'", "'{\"real\":\"1\"}'",
        "'' || replace(hex(zeroblob(150)), '00', '[') || replace(hex(zeroblob(150)), '00', ']')",
        "'' || replace(hex(zeroblob(198)), '00', '[') || replace(hex(zeroblob(198)), '00', ']')",
        "'' || replace(hex(zeroblob(400)), '00', '[') || replace(hex(zeroblob(400)), '00', ']')",
      ]
    ),
    (
      "since",
      [
        "'2020-01-01'", "'2020-02-30'", "'2020-01-01 10:00'", "'2020-01-01 10:00:00'", "'2020-01-01T10:00:00.000Z'",
        "'2020-01-01 10:00:00.000'", "'2020-01-01 10:00:00.5'", "'2020-01-01T10:00+02:00'",
        "'2020-01-01 10:00:00.1234567'",
        "'0000-01-01'", "'9999-12-31 23:59:59.999'", "'2020-02-30 10:00:00.000'",
      ]
    ),
    ("rating", ["1.5", "-0.0", "1e308", "9e999", "-9e999", "5e-324", "1e23", "0.1"]),
    ("plays", ["0", "9223372036854775807", "-9223372036854775808"]), ("isTeam", ["0", "1"]),
    (
      "name",
      [
        "''", "'null'", "'a' || char(0) || 'b'", "'{\"a\":1}'", "char(10, 13, 8232)", "'2020-01-01'",
        "char(65279) || 'x'",
      ]
    ),
    ("icon", ["x''", "x'00ff'", "zeroblob(300)", "CAST('text' AS BLOB)"]),
    ("code", ["x'00112233445566778899aabbccddeeff'", "zeroblob(16)"]),
  ]

  @Test func whatAnAppWritesIsDumpedAndTakenInAsItStands() throws {
    let bench = try Bench("a", "b")
    let queue = try DatabaseQueue(path: bench.path("a"))
    var count = 0
    for (column, values) in Self.values {
      for sql in values {
        count += 1
        try queue.write {
          try $0.execute(sql: "INSERT INTO SBGame(id, \"\(column)\") VALUES('SBGame|~|\(count)', \(sql))")
        }
      }
    }
    try queue.close()
    // Nothing of it is refused.
    #expect(try bench.done("verify", "a").hasPrefix("ok "))
    let vector = try bench.done("vector", "a")
    let dump = try bench.done("dump", "a", "--view")
    #expect(try bench.done("import", "a", "-", input: dump) == "imported \(count) lines\n")
    #expect(try bench.done("vector", "a") == vector)
    try bench.done("import", "b", "-", input: dump)
    #expect(try bench.done("dump", "b", "--view") == dump)
    #expect(try rows(bench, "b") == rows(bench, "a"))
    // By name.
    let lines = try (1...count).map { try bench.done("get", "a", "SBGame|~|\($0)", "--json") }
    try bench.done("put", "a", "-", input: lines.joined())
    #expect(try bench.done("vector", "a") == vector)
  }

  /// What a person types is looked at as a calendar would; as the text that it is, it is taken.
  @Test func aDayThatNoCalendarHasIsTakenOnlyAsAText() throws {
    let bench = try Bench("a")
    let name = "SBGame|~|1"
    try bench.refused(65, ["put", "a", name, "since=2020-02-30"], saying: "'2020-02-30' is not a date")
    try bench.done("put", "a", name, #"since:={"text":"2020-02-30"}"#)
    #expect(try bench.done("get", "a", name).contains("2020-02-30"))
    // JSON with a key twice is what SQLite takes for JSON.
    try bench.done("put", "a", name, #"rules={"a":1,"a":2}"#)
    #expect(try rows(bench, "a").first?.contains("7B2261223A312C2261223A327D") == true)
    #expect(try bench.done("verify", "a") == "ok 1 checked\n")
  }

  private func rows(_ bench: Bench, _ store: String) throws -> [String] {
    let queue = try DatabaseQueue(path: bench.path(store))
    defer { try? queue.close() }
    return try queue.read { db in
      let columns = try db.columns(in: "SBGame").map(\.name).filter { $0 != "tally_clock" }
      return try String.fetchAll(
        db,
        sql:
          "SELECT \(columns.map { "hex(\"\($0)\") || typeof(\"\($0)\")" }.joined(separator: " || ',' || ")) FROM SBGame ORDER BY id"
      )
    }
  }

  /// What SQLite's own functions cannot read is no JSON, whoever writes it.
  @Test(arguments: [#"{"a":1,}"#, "[1,]", #"{"a":[1,]}"#, "{a:1}", "[1] x", "01", "\"\u{1}\"", "'a'"])
  func whatSQLiteDoesNotReadIsNoJSON(_ text: String) throws {
    let bench = try Bench("a")
    try bench.refused(65, ["put", "a", "SBGame|~|1", "rules=\(text)"])
    let queue = try DatabaseQueue(path: bench.path("a"))
    try queue.write {
      try $0.execute(sql: "INSERT INTO SBGame(id, name, rules) VALUES('SBGame|~|2', 'two', ?)", arguments: [text])
    }
    try queue.close()
    #expect(try bench.tally("dump", "a").output.contains("two"))
    #expect(try !bench.tally("dump", "a").output.contains(#""rules":"#))
  }
}
