import Foundation
import GRDB
import Tally
import TallyStore
import Testing

/// Tables that another program has made again with changed values in columns that do not show what the state holds:
/// what it changed there is an edit.
@Suite struct RebuiltNumberTests {
  static let schema = Schema([
    EntitySchema("Board", .text("name")),
    EntitySchema(
      "Tile", unique: [.on("name", .rename), .on("code")], .text("name"), .integer("code"), .counter("score"),
      .counter("lives", default: 3), .text("note"), .reference("board", to: "Board")),
  ])
  private static let types = ["Board", "Tile", "tally_unique"]

  private func expectSound(
    _ lab: Lab, _ a: Store, _ query: String, _ expected: String,
    sourceLocation: Testing.SourceLocation = #_sourceLocation
  ) throws {
    #expect(try Lab.text(a, query) == expected, sourceLocation: sourceLocation)
    #expect(try a.status().doubt == nil, sourceLocation: sourceLocation)
    #expect(try a.verify().problems == [], sourceLocation: sourceLocation)
    try a.sync(with: lab.b)
    for table in Self.types {
      #expect(try Lab.rows(a, table) == Lab.rows(lab.b, table), sourceLocation: sourceLocation)
    }
    try expectConverged(a, lab.b, sourceLocation: sourceLocation)
  }

  @Test(arguments: CapturePath.allCases) func aChangedNumberIsADifference(_ path: CapturePath) throws {
    let lab = try Lab(path, Self.schema)
    try lab.a.run("INSERT INTO Tile(id, score) VALUES('Tile|~|1', 7), ('Tile|~|2', 0)")
    try lab.sync()
    try lab.a.run("UPDATE Tile SET score = score + 1")
    try lab.b.run("UPDATE Tile SET score = score + 2")
    try lab.sync()
    try lab.a.close()
    try lab.rebuild("a", "Tile", copying: ["score": "score + 5"])
    try lab.b.run("UPDATE Tile SET score = score + 100")
    let a = try lab.reopened("a", Self.schema)
    let query = "SELECT group_concat(score) FROM (SELECT score FROM Tile ORDER BY id)"
    #expect(try Lab.text(a, query) == "15,8")
    try expectSound(lab, a, query, "15,8")
    #expect(try Lab.text(lab.b, query) == "115,108")
  }

  /// However many columns there are: more than a number has bits.
  @Test(arguments: CapturePath.allCases) func aChangeInEachOfManyColumnsCounts(_ path: CapturePath) throws {
    let names = (0..<70).map { "n\($0)" }
    let fields = names.map { FieldSchema($0, .counter, default: .integer(0)) }
    let schema = Schema([EntitySchema(type: "Wide", fields: fields)])
    func add(_ number: Int) -> String {
      "UPDATE Wide SET " + names.map { "\($0) = \($0) + \(number)" }.joined(separator: ", ")
    }
    let lab = try Lab(path, schema)
    try lab.a.run("INSERT INTO Wide(id) VALUES('Wide|~|1')")
    try lab.sync()
    try lab.a.run(add(1))
    try lab.b.run(add(2))
    try lab.sync()
    try lab.a.close()
    try lab.rebuild("a", "Wide", copying: Dictionary(uniqueKeysWithValues: names.map { ($0, "\($0) + 5") }))
    let a = try lab.reopened("a", schema)
    try a.sync(with: lab.b)
    let all = "SELECT " + names.joined(separator: " || ',' || ") + " FROM Wide"
    for store in [a, lab.b] {
      #expect(try Lab.text(store, all) == names.map { _ in "8" }.joined(separator: ","))
      #expect(try store.verify().problems == [])
    }
    try expectConverged(a, lab.b)
  }

  /// Nothing else of the row is written, and nothing where nothing has changed.
  @Test(arguments: CapturePath.allCases) func whatWasCopiedAsItWasWritesNothing(_ path: CapturePath) throws {
    let lab = try Lab(path, Self.schema)
    try lab.a.run("INSERT INTO Board(id) VALUES('Board|~|1')")
    try lab.a.run(
      "INSERT INTO Tile(id, score, name, board) VALUES('Tile|~|1', 7, 'x', 'Board|~|1'), ('Tile|~|2', 0, 'y', NULL)")
    try lab.b.run("INSERT INTO Tile(id, score, name) VALUES('Tile|~|3', 7, 'x')")
    try lab.sync()
    try lab.b.run("UPDATE Tile SET score = score + 2", "DELETE FROM Board")
    try lab.a.run("UPDATE Tile SET note = 'n', score = score - 1 WHERE id = 'Tile|~|1'")
    try lab.sync()
    let vector = try lab.a.vector
    try lab.a.close()
    try lab.rebuild("a", "Tile")
    var a = try lab.reopened("a", Self.schema)
    #expect(try a.vector == vector)
    #expect(try a.verify().problems == [])
    try a.close()
    try lab.b.run("UPDATE Tile SET note = 'later' WHERE id = 'Tile|~|1'")
    try lab.rebuild("a", "Tile", copying: ["score": "score + (id = 'Tile|~|1')"])
    a = try lab.reopened("a", Self.schema)
    try expectSound(lab, a, "SELECT group_concat(score) FROM (SELECT score FROM Tile ORDER BY id)", "9,2,9")
    #expect(try Lab.text(a, "SELECT note FROM Tile WHERE id = 'Tile|~|1'") == "later")
  }

  /// What a record shows in the place of a value that another one has, and what stands for a record that is gone.
  @Test(arguments: CapturePath.allCases) func changedValuesThatStandForOthersAreEdits(_ path: CapturePath) throws {
    let lab = try Lab(path, Self.schema)
    try lab.a.run("INSERT INTO Board(id) VALUES('Board|~|1'), ('Board|~|2')")
    try lab.a.run("INSERT INTO Tile(id, name, code, board) VALUES('Tile|~|1', 'x', 1, 'Board|~|1')")
    try lab.b.run("INSERT INTO Tile(id, name, code) VALUES('Tile|~|2', 'x', 1)")
    try lab.sync()
    try lab.b.run("DELETE FROM Board WHERE id = 'Board|~|1'")
    try lab.sync()
    try lab.a.close()
    try lab.rebuild(
      "a", "Tile",
      copying: [
        "name": "CASE id WHEN 'Tile|~|2' THEN 'z' ELSE name END",
        "code": "CASE id WHEN 'Tile|~|2' THEN 2 ELSE code END",
        "board": "CASE id WHEN 'Tile|~|1' THEN 'Board|~|2' END",
      ])
    let a = try lab.reopened("a", Self.schema)
    let query = "SELECT group_concat(name || code || ifnull(board, '-')) FROM (SELECT * FROM Tile ORDER BY id)"
    try expectSound(lab, a, query, "x1Board|~|2,z2-")
    #expect(try lab.b.read { try ContestedValue.fetchCount($0) } == 0)
  }
}
