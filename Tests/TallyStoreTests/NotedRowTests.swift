import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyStore
import TallyTesting
import TestEffort
import Testing

/// The hook notes a small row as a whole and of a larger one what changes, and a transaction of many rows goes from one
/// to the other. Whichever it is, an edit captures what differs in the end and nothing else, as triggers do.
@Suite struct NotedRowTests {
  private static let schema = Schema([
    EntitySchema("P", .text("name")),
    EntitySchema(
      "R", .text("text"), .blob("bytes"), .integer("number"), .real("part"), .bool("flag", default: true),
      .text("kind", default: "plain"), .reference("owner", to: "P")),
  ])

  /// The same statements on a store with the hook and on one with triggers, which must capture the same cells.
  private func expectSame(_ transactions: [[String]], sourceLocation: SourceLocation = #_sourceLocation) throws {
    let scratch = try Scratch()
    var states: [[String]] = []
    for path in CapturePath.allCases {
      var options = Lab.options(path)
      options.now = { Date(timeIntervalSince1970: 1_700_000_000) }
      options.mintReplica = { ReplicaID(high: 1, low: 2) }
      let store = try scratch.store("\(path)", schema: Self.schema, options: options)
      for statements in transactions {
        try store.write { db in for sql in statements { try db.execute(sql: sql) } }
      }
      #expect(try store.verify().problems == [], sourceLocation: sourceLocation)
      let peer = try scratch.store("peer of \(path)", schema: Self.schema, options: Lab.options(path))
      try store.sync(with: peer)
      for table in ["P", "R"] {
        #expect(try Lab.rows(store, table) == Lab.rows(peer, table), sourceLocation: sourceLocation)
      }
      var lines: [String] = []
      try store.dump(.canonical) { lines.append($0) }
      states.append(lines)
    }
    #expect(states[0] == states[1], sourceLocation: sourceLocation)
  }

  /// A row grows and shrinks across the size up to which all of it is noted.
  @Test func sizesAroundTheLimit() throws {
    var transactions = [["INSERT INTO R(id, text, number) VALUES('R|~|1', '', 0)"]]
    for size in [0, 1, 250, 1900] + Array(1930...2000) + [2500, 5000, 1990, 10] {
      transactions.append(["UPDATE R SET text = '\(String(repeating: "x", count: size))'"])
      transactions.append(["UPDATE R SET number = number + 1, part = \(size).5"])
      transactions.append(["UPDATE R SET bytes = zeroblob(\(size % 7)), number = number"])
    }
    try expectSame(transactions)
  }

  /// More than the memory for whole rows holds, in one transaction, with every row written twice.
  @Test(.enabled(if: Effort.isLong, "a long test")) func moreThanAreNotedWhole() throws {
    let many = """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
      INSERT INTO R(id, text, number, bytes) SELECT 'R|~|' || i, printf('%0300d', i), i, x'00' FROM n
      """
    try expectSame([
      [many], ["UPDATE R SET number = number + 1", "UPDATE R SET part = number / 2.0 WHERE number % 3 = 0"],
      ["UPDATE R SET number = number", "UPDATE R SET text = 'short' WHERE number > 29000"],
    ])
  }

  /// Statements that write what is there, put back what was there, or fail half-way, in any order.
  @Test(arguments: Effort.seeds(8))
  func whatDiffersInTheEnd(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let values = [
      "text": [
        "NULL", "''", "'a'", "'ä' || char(0) || 'b'", "printf('%0350d', 1)", "text || 'z'", "text",
      ],
      "bytes": ["NULL", "x''", "x'00ff'", "zeroblob(300)", "bytes"],
      "number": ["NULL", "0", "1", "-9223372036854775808", "number + 1", "number"],
      "part": ["NULL", "0.0", "-0.0", "1", "1.5", "9e999", "part"],
      "flag": ["0", "1", "1 - flag", "flag"],
      "kind": ["'plain'", "''", "'other'", "kind"],
      "owner": ["NULL", "'P|~|1'", "'P|~|2'", "owner"],
    ]
    func statement() -> String {
      let row = "'R|~|\(Int.random(in: 1...4, using: &random))'"
      let columns = values.keys.sorted().shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random))
      let sets = columns.map { "\($0) = \(values[$0]?.randomElement(using: &random) ?? "NULL")" }
        .joined(separator: ", ")
      switch Int.random(in: 0...11, using: &random) {
      case 0: return "DELETE FROM R WHERE id = \(row)"
      case 1: return "INSERT OR IGNORE INTO R(id, text) VALUES(\(row), 'new')"
      case 2: return "REPLACE INTO R(id, text, number) VALUES(\(row), 'replaced', 7)"
      case 3: return "INSERT INTO R(id) VALUES(\(row)) ON CONFLICT(id) DO UPDATE SET number = coalesce(number, 0) + 1"
      case 4: return "UPDATE OR REPLACE R SET rowid = \(Int.random(in: 1...6, using: &random)) WHERE id = \(row)"
      case 5: return "UPDATE OR IGNORE R SET id = 'R|~|\(Int.random(in: 1...4, using: &random))' WHERE id = \(row)"
      case 6: return "SAVEPOINT s"
      case 7: return "ROLLBACK TO s"
      default: return "UPDATE R SET \(sets) WHERE id = \(row)"
      }
    }
    var transactions = [["INSERT INTO P(id, name) VALUES('P|~|1', 'one'), ('P|~|2', 'two')"]]
    for _ in 0..<12 {
      var statements: [String] = []
      var isInSavepoint = false
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let next = statement()
        if next == "SAVEPOINT s" {
          guard !isInSavepoint else { continue }
          isInSavepoint = true
        } else if next == "ROLLBACK TO s", !isInSavepoint {
          continue
        }
        statements.append(next)
      }
      if isInSavepoint { statements.append("RELEASE s") }
      transactions.append(statements)
    }
    try expectSame(transactions)
  }
}
