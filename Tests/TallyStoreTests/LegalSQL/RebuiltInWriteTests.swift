import GRDB
import Tally
import TallyCRDT
import TallyStore
import Testing

/// An app writes to a table and makes it again, in one transaction and with other row numbers: it has written what it
/// would have written without that, and no row is taken for the one that had its number.
@Suite struct RebuiltInWriteTests {
  private static let schema = Schema([
    EntitySchema("Tile", .text("name"), .integer("x"), .counter("n", default: 5), .counter("m"))
  ])

  enum Form: CaseIterable {
    /// Create, copy, drop, rename.
    case renamingLast
    /// Rename, create, copy, drop.
    case renamingFirst
  }

  /// Two devices with four tiles, of which two have been written by both. The other one has edited and counted all of
  /// them since.
  private func lab(_ path: CapturePath) throws -> Lab {
    let lab = try Lab(path, Self.schema)
    try lab.a.run("INSERT INTO Tile(id, name, n) VALUES('Tile|~|1', 'one', 1), ('Tile|~|2', 'two', 2)")
    try lab.a.run("INSERT INTO Tile(id, name, x) VALUES('Tile|~|3', 'three', 3), ('Tile|~|4', 'four', 4)")
    try lab.sync()
    try lab.a.run("UPDATE Tile SET m = m + 10, x = 7 WHERE id >= 'Tile|~|3'")
    try lab.b.run("UPDATE Tile SET m = m + 20, n = n - 2 WHERE id >= 'Tile|~|3'")
    try lab.sync()
    try lab.b.run("UPDATE Tile SET name = 'theirs', n = n + 100, m = m + 1000")
    return lab
  }

  /// Runs statements, and has the table made again between those before the given place and the others, its rows in
  /// the reverse order; nil for not at all.
  private func write(_ statements: [String], to store: Store, _ form: Form?, at place: Int) throws {
    let sql = try #require(try Lab.text(store, "SELECT sql FROM sqlite_master WHERE name = 'Tile'"))
    let copy = "INSERT INTO rebuilt SELECT * FROM Tile ORDER BY rowid DESC"
    let rebuild: [String] =
      switch form {
      case nil: []
      case .renamingLast:
        [sql.replacing("\"Tile\"", with: "rebuilt"), copy, "DROP TABLE Tile", "ALTER TABLE rebuilt RENAME TO Tile"]
      case .renamingFirst:
        [
          "ALTER TABLE Tile RENAME TO old", sql,
          copy.replacing("Tile", with: "old").replacing("rebuilt", with: "Tile"), "DROP TABLE old",
        ]
      }
    try store.write { db in
      for sql in statements[..<place] + rebuild + statements[place...] { try db.execute(sql: sql) }
    }
  }

  private static let writes = [
    ["UPDATE Tile SET n = n + 4 WHERE id = 'Tile|~|1'"], ["UPDATE Tile SET n = n + 4 WHERE id = 'Tile|~|3'"],
    ["UPDATE Tile SET x = 8, m = m - 1"], ["UPDATE Tile SET x = 9 WHERE id = 'Tile|~|4'"],
    ["DELETE FROM Tile WHERE id = 'Tile|~|1'", "INSERT INTO Tile(id, n) VALUES('Tile|~|9', 1)"],
    ["DELETE FROM Tile WHERE id = 'Tile|~|3'", "UPDATE Tile SET n = n + 4 WHERE id = 'Tile|~|2'"],
    ["REPLACE INTO Tile(id, m) SELECT id, n + 1 FROM Tile WHERE id = 'Tile|~|3'"],
    ["UPDATE Tile SET id = 'Tile|~|9' WHERE id = 'Tile|~|3'"],
    ["INSERT INTO Tile(id, n) VALUES('Tile|~|8', 1), ('Tile|~|9', 2)"],
  ]

  @Test(arguments: CapturePath.allCases, Form.allCases)
  func whatWasWrittenBeforeIsWhatItWouldBeWithoutThat(_ path: CapturePath, _ form: Form) throws {
    for statements in Self.writes {
      let (plain, rebuilt) = (try lab(path), try lab(path))
      let (replica, vector) = (try rebuilt.a.summary().replica, try rebuilt.a.vector)
      try write(statements, to: plain.a, nil, at: statements.count)
      try write(statements, to: rebuilt.a, form, at: statements.count)
      try rebuilt.a.captureChanges()
      #expect(try rebuilt.a.summary().replica == replica, "\(statements)")
      #expect(try Lab.rows(rebuilt.a, "Tile") == Lab.rows(plain.a, "Tile"), "\(statements)")
      if statements.allSatisfy({ $0.hasPrefix("UPDATE Tile SET") && !$0.contains("SET id") }) {
        // The next look has found nothing more to write.
        let own = try #require(replica)
        #expect(try rebuilt.a.vector[own] == vector[own] + 1, "\(statements)")
      }
      for lab in [plain, rebuilt] { try lab.sync() }
      for store in [rebuilt.a, rebuilt.b] {
        #expect(try Lab.rows(store, "Tile") == Lab.rows(plain.b, "Tile"), "\(statements)")
        #expect(try store.verify().problems == [], "\(statements)")
      }
      try expectConverged(rebuilt.a, rebuilt.b)
    }
  }

  /// The hook alone hears of what is written afterwards. A number is that of one row before, and of another after.
  @Test(arguments: Form.allCases) func rowsThatHadOneNumberAreTwo(_ form: Form) throws {
    let large = String(repeating: "x", count: 3000)
    for (before, after) in [("1", "4"), ("3", "2"), ("2", "2")] {
      let lab = try lab(.hook)
      try lab.a.run("UPDATE Tile SET name = '\(large)'")
      let replica = try lab.a.summary().replica
      let add = [
        "UPDATE Tile SET n = n + 4 WHERE id = 'Tile|~|\(before)'",
        "UPDATE Tile SET m = m + 7 WHERE id = 'Tile|~|\(after)'",
      ]
      try write(add, to: lab.a, form, at: 1)
      try lab.a.captureChanges()
      #expect(try lab.a.summary().replica == replica)
      try lab.sync()
      var expected = [("1", 101, 1000), ("2", 102, 1000), ("3", 103, 1030), ("4", 103, 1030)]
      for place in expected.indices {
        if expected[place].0 == before { expected[place].1 += 4 }
        if expected[place].0 == after { expected[place].2 += 7 }
      }
      for store in [lab.a, lab.b] {
        let all = "substr(id, 8) || ':' || n || ':' || m, ' ') FROM (SELECT * FROM Tile ORDER BY id)"
        let numbers = try Lab.text(store, "SELECT group_concat(\(all)")
        #expect(numbers == expected.map { "\($0):\($1):\($2)" }.joined(separator: " "), "\(before) \(after)")
        #expect(try store.verify().problems == [])
      }
      try expectConverged(lab.a, lab.b)
    }
  }
}
