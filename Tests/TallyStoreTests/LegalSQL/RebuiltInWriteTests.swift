import GRDB
import Tally
import TallyCRDT
import TallyStore
import TestEffort
import Testing

/// An app writes to a table and makes it again, in one transaction and with other row numbers: it has written what it
/// would have written without that, and no row is taken for the one that had its number.
@Suite struct RebuiltInWriteTests {
  private static let tile = EntitySchema("Tile", .text("name"), .integer("x"), .counter("n", default: 5), .counter("m"))
  private static let schema = Schema([tile])
  /// SQLite deletes the rows of a table one by one, with notes, when it drops one that another refers to.
  private static let referring = Schema([tile, EntitySchema("Pin", .reference("tile", to: "Tile"))])

  enum Form: CaseIterable {
    /// Create, copy, drop, rename.
    case renamingLast
    case renamingLastOfReferenced
    /// Rename, create, copy, drop.
    case renamingFirst
    /// Copy, drop, create, copy back.
    case byBackup
    case byBackupOfReferenced

    var schema: Schema {
      switch self {
      case .renamingLastOfReferenced, .byBackupOfReferenced: RebuiltInWriteTests.referring
      default: RebuiltInWriteTests.schema
      }
    }
  }

  /// Two devices with four tiles, of which two have been written by both. The other one has edited and counted all of
  /// them since.
  private func lab(_ path: CapturePath, _ form: Form) throws -> Lab {
    let lab = try Lab(path, form.schema)
    try lab.a.run("INSERT INTO Tile(id) VALUES('Tile|~|0')")
    try lab.a.run("INSERT INTO Tile(id, name, n) VALUES('Tile|~|1', 'one', 1), ('Tile|~|2', 'two', 2)")
    try lab.a.run("INSERT INTO Tile(id, name, x) VALUES('Tile|~|3', 'three', 3), ('Tile|~|4', 'four', 4)")
    // A copy leaves out the number of a row that is gone.
    try lab.a.run("DELETE FROM Tile WHERE id = 'Tile|~|0'")
    try lab.sync()
    try lab.a.run("UPDATE Tile SET m = m + 10, x = 7 WHERE id >= 'Tile|~|3'")
    try lab.b.run("UPDATE Tile SET m = m + 20, n = n - 2 WHERE id >= 'Tile|~|3'")
    try lab.sync()
    try lab.b.run("UPDATE Tile SET name = 'theirs', n = n + 100, m = m + 1000")
    return lab
  }

  /// The statements that make the table again, its rows in this order.
  private func rebuild(_ store: Store, _ form: Form, _ order: String, id: String = "id") throws -> [String] {
    let sql = try #require(try Lab.text(store, "SELECT sql FROM sqlite_master WHERE name = 'Tile'"))
    let columns = try store.read { try $0.columns(in: "Tile").map(\.name) }
    let values = columns.map { $0 == "id" ? id : "\"\($0)\"" }.joined(separator: ", ")
    func copy(_ from: String, _ to: String) -> String {
      "INSERT INTO \(to) SELECT \(values) FROM \(from) ORDER BY rowid \(order)"
    }
    return switch form {
    case .renamingLast, .renamingLastOfReferenced:
      [
        sql.replacing("\"Tile\"", with: "rebuilt"), copy("Tile", "rebuilt"), "DROP TABLE Tile",
        "ALTER TABLE rebuilt RENAME TO Tile",
      ]
    case .renamingFirst: ["ALTER TABLE Tile RENAME TO old", sql, copy("old", "Tile"), "DROP TABLE old"]
    case .byBackup, .byBackupOfReferenced:
      [
        "CREATE TEMP TABLE backup AS SELECT * FROM Tile ORDER BY rowid", "DROP TABLE Tile", sql,
        copy("temp.backup", "Tile"), "DROP TABLE temp.backup",
      ]
    }
  }

  /// Runs statements, and others between those before the given place and the rest.
  private func write(_ statements: [String], to store: Store, with others: [String], at place: Int) throws {
    try store.write { db in
      for sql in statements[..<place] + others + statements[place...] { try db.execute(sql: sql) }
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
    ["UPDATE Tile SET x = 8 WHERE id = 'Tile|~|3'", "UPDATE Tile SET name = 'new'"],
    ["UPDATE Tile SET x = 9, n = n + 3 WHERE id >= 'Tile|~|2'", "UPDATE Tile SET m = m + 1, n = n + 1"],
    ["UPDATE Tile SET x = 9 WHERE id = 'Tile|~|3'", "DELETE FROM Tile WHERE id = 'Tile|~|3'"],
    ["DELETE FROM Tile WHERE id >= 'Tile|~|3'"],
    ["UPDATE Tile SET id = 'Tile|~|9' WHERE id = 'Tile|~|3'", "UPDATE Tile SET x = 1 WHERE id = 'Tile|~|9'"],
    [
      "UPDATE Tile SET id = 'Tile|~|9' WHERE id = 'Tile|~|3'", "UPDATE Tile SET id = 'Tile|~|3' WHERE id = 'Tile|~|9'",
    ],
    [
      "UPDATE Tile SET id = 'Tile|~|9' WHERE id = 'Tile|~|1'", "UPDATE Tile SET id = 'Tile|~|1' WHERE id = 'Tile|~|3'",
      "UPDATE Tile SET id = 'Tile|~|3' WHERE id = 'Tile|~|9'",
    ],
  ]

  /// The writes, each with the place at which something else comes between, and an order: some of them, others for each
  /// form, and all in a long run.
  private static func cases(_ form: Form, _ orders: [String]) -> [(statements: [String], place: Int, order: String)] {
    let all = writes.flatMap { statements in
      (0...statements.count).flatMap { place in orders.map { (statements, place, $0) } }
    }
    let first = Form.allCases.firstIndex(of: form) ?? 0
    return Effort.isLong ? all : stride(from: first, to: all.count, by: 7).map { all[$0] }
  }

  /// Whether statements change values and nothing else.
  private static func areEdits(_ statements: [String]) -> Bool {
    statements.allSatisfy { $0.hasPrefix("UPDATE Tile SET") && !$0.contains("SET id") }
  }

  /// Writes to one of two labs with others between, and expects both to be as if there were no others.
  private func expectSame(
    _ statements: [String], at place: Int, _ path: CapturePath, _ form: Form, _ note: String,
    with others: (Store) throws -> [String]
  ) throws {
    let note: Comment = "\(statements) at \(place), \(note)"
    let (plain, rebuilt) = (try lab(path, form), try lab(path, form))
    let (replica, vector) = (try rebuilt.a.summary().replica, try rebuilt.a.vector)
    try write(statements, to: plain.a, with: [], at: place)
    try write(statements, to: rebuilt.a, with: try others(rebuilt.a), at: place)
    try rebuilt.a.captureChanges()
    #expect(try rebuilt.a.summary().replica == replica, note)
    #expect(try Lab.rows(rebuilt.a, "Tile") == Lab.rows(plain.a, "Tile"), note)
    if Self.areEdits(statements) {
      // The next look has found nothing more to write.
      let own = try #require(replica)
      #expect(try rebuilt.a.vector[own] == vector[own] + 1, note)
    }
    for lab in [plain, rebuilt] { try lab.sync() }
    for store in [rebuilt.a, rebuilt.b] {
      #expect(try Lab.rows(store, "Tile") == Lab.rows(plain.b, "Tile"), note)
      #expect(try store.verify().problems == [], note)
    }
    try expectConverged(rebuilt.a, rebuilt.b)
  }

  /// Of what is written afterwards only the hook hears: the new table has no triggers.
  @Test(arguments: CapturePath.allCases, Form.allCases)
  func whatIsWrittenIsWhatItWouldBeWithoutThat(_ path: CapturePath, _ form: Form) throws {
    for (statements, place, order) in Self.cases(form, ["ASC", "DESC"]) where path == .hook || place == statements.count
    {
      try expectSame(statements, at: place, path, form, order) { try rebuild($0, form, order) }
    }
  }

  /// An app tries a new form of its table, and has it undone in the same write.
  @Test(arguments: CapturePath.allCases, Form.allCases)
  func aTableThatIsMadeAgainForAWhileIsAsItWas(_ path: CapturePath, _ form: Form) throws {
    for statements in Self.writes {
      for place in 0...statements.count {
        try expectSame(statements, at: place, path, form, "undone") { store in
          let writes = ["UPDATE Tile SET x = x + 5, n = n + 9", "DELETE FROM Tile WHERE id = 'Tile|~|2'"]
          return try ["SAVEPOINT trial"] + rebuild(store, form, "DESC") + writes + [
            "ROLLBACK TO trial", "RELEASE trial",
          ]
        }
      }
    }
  }

  /// The same by hand: the old table gets its name back.
  @Test(arguments: CapturePath.allCases) func aTableThatGetsItsNameBackIsAsItWas(_ path: CapturePath) throws {
    for (statements, place, order) in Self.cases(.renamingFirst, ["DESC"]) {
      try expectSame(statements, at: place, path, .renamingFirst, "renamed back") { store in
        let steps = try rebuild(store, .renamingFirst, order).dropLast()
        return steps + ["DROP TABLE Tile", "ALTER TABLE old RENAME TO Tile"]
      }
    }
  }

  /// The copy gives a record another name.
  @Test(arguments: CapturePath.allCases, Form.allCases)
  func aRowThatTheCopyRenamesIsAnotherRecord(_ path: CapturePath, _ form: Form) throws {
    for add in [[], ["UPDATE Tile SET n = n + 4 WHERE id = 'Tile|~|4'"]] {
      let lab = try lab(path, form)
      let id = "CASE id WHEN 'Tile|~|3' THEN 'Tile|~|9' ELSE id END"
      try write(add, to: lab.a, with: try rebuild(lab.a, form, "DESC", id: id), at: add.count)
      try lab.a.captureChanges()
      #expect(try lab.a.doubt() == nil)
      try lab.sync()
      for store in [lab.a, lab.b] {
        #expect(try store.verify().problems == [])
        let names = try Lab.text(store, "SELECT group_concat(substr(id, 8), '') FROM (SELECT id FROM Tile ORDER BY id)")
        #expect(names == "12349" || names == "1249")
        #expect(try Lab.text(store, "SELECT n FROM Tile WHERE id = 'Tile|~|4'") == (add.isEmpty ? "103" : "107"))
      }
      try expectConverged(lab.a, lab.b)
    }
  }

  /// The hook alone hears of what is written afterwards. A number is that of one row before, and of another after.
  @Test(arguments: Form.allCases) func rowsThatHadOneNumberAreTwo(_ form: Form) throws {
    let large = String(repeating: "x", count: 3000)
    for (before, after) in [("1", "4"), ("3", "2"), ("2", "2")] {
      let lab = try lab(.hook, form)
      try lab.a.run("UPDATE Tile SET name = '\(large)'")
      let replica = try lab.a.summary().replica
      let add = [
        "UPDATE Tile SET n = n + 4 WHERE id = 'Tile|~|\(before)'",
        "UPDATE Tile SET m = m + 7 WHERE id = 'Tile|~|\(after)'",
      ]
      try write(add, to: lab.a, with: try rebuild(lab.a, form, "DESC"), at: 1)
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
