import TallyStore
import Testing

@testable import TallyInspection

/// What SQLite would put into each other's place until nobody has memory left is refused, and nothing else is.
@Suite struct QueryExpansionTests {
  /// What SQLite would write into each other's place until nobody has memory left is not begun.
  @Test func tablesThatMultiplyAreRefused() throws {
    func doubling(_ count: Int, _ first: String = "SELECT 1 AS v") -> String {
      let tables = (1...count).map { "t\($0)(v) AS MATERIALIZED (SELECT x.v FROM t\($0 - 1) x, \"T\($0 - 1)\" y)" }
      return "WITH t0 AS (\(first)), \(tables.joined(separator: ", ")) SELECT count(*) FROM t\(count)"
    }
    let shelf = try Shelf()
    #expect(throws: QueryRefusal.tooLarge) { try shelf.phone.query(doubling(40), limit: 1) { false } }
    let joins = Array(repeating: "t1", count: 60).enumerated().map { "\($1) AS a\($0)" }.joined(separator: ", ")
    #expect(throws: QueryRefusal.tooLarge) {
      try shelf.phone.query(
        "WITH t1 AS (SELECT 1), t2 AS (SELECT 1 FROM \(joins)), t3 AS (SELECT 1 FROM \(joins.replacing("t1", with: "t2"))),"
          + " t4 AS (SELECT 1 FROM \(joins.replacing("t1", with: "t3"))) SELECT 1 FROM t4", limit: 1
      ) { false }
    }
    #expect(try shelf.phone.query(doubling(8), limit: 1) { false }.rows.first?.first?.text == "1")
    // Columns named as tables, words in texts and comments, and recursion are nothing of the kind.
    let harmless = """
      WITH RECURSIVE v(v) AS (SELECT 1 UNION ALL SELECT v + v.v FROM v WHERE v < 99 /* FROM v, v */),
      w AS (SELECT v, v AS w, 'from v, v' FROM v), x AS (SELECT w, w AS x FROM w) SELECT x, x, x FROM x LIMIT 1 -- , v
      """
    #expect(try shelf.phone.query(harmless, limit: 1) { false }.rows.count == 1)
    var once = QueryExpansion(harmless)
    #expect(once.count() < 1_000)
  }

  private static func isTooLarge(_ sql: String) -> Bool {
    var expansion = QueryExpansion(sql)
    return expansion.count() > QueryExpansion.limit
  }

  /// Tables of WITH, each of which has the one before it for its query.
  private static func chain(_ count: Int, _ first: String, _ next: (Int) -> String) -> String {
    let tables = (1...count).map { "t\($0) AS (SELECT \(next($0 - 1)))" }
    return "WITH t0 AS (SELECT \(first)), \(tables.joined(separator: ", ")) SELECT v FROM t\(count)"
  }

  /// SQLite has a copy of an inner column's expression for each mention of it.
  @Test func expressionsThatMultiplyAreRefused() {
    for next in [
      "v + v AS v FROM t", "coalesce(v, v) v FROM t", "(SELECT v + v) AS v FROM t", "max(t.v, \"V\") AS 'v' FROM t",
      "* FROM (SELECT v + v AS v FROM t", "v + v AS v FROM t0 UNION ALL SELECT v + v FROM t",
    ] {
      let closing = next.hasPrefix("*") ? ")" : ""
      func query(_ count: Int) -> String {
        Self.chain(count, "rating AS v FROM Game") { "\(next)\($0)\(closing)".replacing("t.v", with: "t\($0).v") }
      }
      #expect(Self.isTooLarge(query(30)) && !Self.isTooLarge(query(5)), "\(next)")
    }
    let named = (1...30).map { "t\($0)(v) AS (SELECT v + v FROM t\($0 - 1))" }.joined(separator: ", ")
    #expect(Self.isTooLarge("WITH t0 AS (SELECT 1 AS v), \(named) SELECT v FROM t30"))
    let hundred = Array(repeating: "v", count: 100).joined(separator: " + ")
    let nested = "SELECT \(hundred) AS v FROM (SELECT \(hundred) AS v FROM (SELECT \(hundred) AS v FROM Game))"
    #expect(Self.isTooLarge(nested) && !Self.isTooLarge("SELECT \(hundred) AS v FROM (SELECT rating AS v FROM Game)"))
  }

  /// A column that is handed on is no larger for that, however often.
  @Test func whatPeopleAskIsTaken() {
    let handedOn = "id, x.v AS v, max(x.v, 1) n FROM t0 x WHERE x.v > 3 AND x.v < 9 AND id IN (SELECT id FROM Game)"
    #expect(!Self.isTooLarge(Self.chain(12, "id, rating AS v FROM Game") { handedOn.replacing("t0", with: "t\($0)") }))
    let report = """
      WITH m AS (SELECT g.id AS game, sum(CASE WHEN s.points > 10 THEN s.points ELSE 0 END) AS points, count(*) AS n
      FROM Game g JOIN Player p ON p.game = g.id LEFT JOIN Score s ON s.player = p.id GROUP BY g.id, p.name),
      r AS (SELECT *, rank() OVER (PARTITION BY game ORDER BY points DESC) AS rank, points * 1.0 / max(n, 1) AS mean
      FROM m), b AS (SELECT game, max(points) AS best, avg(points) AS points FROM r GROUP BY game)
      SELECT r.*, b.best, r.points - b.points AS above FROM r JOIN b USING (game) WHERE rank <= 3 ORDER BY above DESC
      """
    #expect(!Self.isTooLarge(report))
  }

  /// Names are the same with quotes around them or without, and quotes are doubled inside of quotes.
  @Test(arguments: ["\"a\"\"#\"", "[a\"#]", "`a``#`", "'a''#'", "ä#", "\"A.#\""]) func namesAreRead(_ name: String) {
    func table(_ number: Int) -> String { name.replacing("#", with: "\(number)") }
    let tables = (1...30).map { number in
      "\(table(number))/* a */AS(SELECT x.v FROM \(table(number - 1)) x JOIN -- a\n\(table(number - 1)) y)"
    }
    #expect(
      Self.isTooLarge(
        "WITH \(table(0)) AS (SELECT 1 AS v), \(tables.joined(separator: ", ")) SELECT 1 FROM \(table(30))"))
  }

  /// The count itself takes no time and no room that a text could make large.
  @Test func textsThatAreNoQueriesAreCounted() throws {
    for text in [
      "(select ", "x as (", "(", ")", "as (", "x(y) as (", "'", "\"", "/*", "--", "[", "select *,", "é", "\0",
    ] {
      _ = Self.isTooLarge(String(repeating: text, count: QueryExpansion.longest / text.utf8.count))
    }
    #expect(!Self.isTooLarge("") && Self.isTooLarge(String(repeating: "(", count: 1_000)))
    let long = (1...4_000).map { "t\($0) AS (SELECT 1 FROM t\($0 - 1))" }.joined(separator: ",")
    #expect(Self.isTooLarge("WITH t0 AS (SELECT 1),\(long) SELECT 1 FROM t4000"))
    let shelf = try Shelf()
    let longest = "SELECT 1 -- \(String(repeating: "x", count: QueryExpansion.longest))"
    #expect(throws: QueryRefusal.textTooLong) { try shelf.phone.query(longest, limit: 1) { false } }
  }
}
