import Foundation
import GRDB
import Tally
import TallyStore
import Testing

/// A file that was copied or put back, and that plain SQL has written to before any store opened it: what was written
/// there is the copy's, and under no number that the original has given to something else.
@Suite struct CopiedWriteTests {
  static let schema = Schema([
    EntitySchema("Board", .text("name"), .toMany("tiles", to: "Tile"), .toMany("queue", to: "Tile", ordered: true)),
    EntitySchema("Tile", .text("name"), .counter("score"), .integer("best", keep: .greatest)),
  ])
  private static let types = ["Board", "Tile", "Board_tiles", "Board_queue"]

  private func lab(_ path: CapturePath) throws -> Lab {
    let lab = try Lab(path, Self.schema)
    try lab.a.run(
      "INSERT INTO Board(id, name) VALUES('Board|~|1', 'one')",
      "INSERT INTO Tile(id, name, score) VALUES('Tile|~|1', 'x', 7), ('Tile|~|2', 'y', 1)")
    try lab.sync()
    return lab
  }

  private func copy(_ lab: Lab, _ name: String, to other: String) throws {
    for suffix in ["", "-wal", "-shm"] {
      let (from, to) = (lab.scratch.path(name) + suffix, lab.scratch.path(other) + suffix)
      try? FileManager.default.removeItem(atPath: to)
      if FileManager.default.fileExists(atPath: from) { try FileManager.default.copyItem(atPath: from, toPath: to) }
    }
  }

  /// What a program without Tally writes, and a query that shows whether both that and the original's write are there.
  private static let writes: [(copy: String, original: String, query: String, all: String)] = [
    (
      "UPDATE Tile SET score = score + 1 WHERE id = 'Tile|~|1'",
      "UPDATE Tile SET score = score + 2 WHERE id = 'Tile|~|1'",
      "SELECT score FROM Tile WHERE id = 'Tile|~|1'", "10"
    ),
    (
      "UPDATE Tile SET name = 'copy' WHERE id = 'Tile|~|1'", "UPDATE Tile SET name = 'original' WHERE id = 'Tile|~|2'",
      "SELECT group_concat(name) FROM (SELECT name FROM Tile ORDER BY id)", "copy,original"
    ),
    (
      "INSERT INTO Board_tiles(source, target) VALUES('Board|~|1', 'Tile|~|1')",
      "INSERT INTO Board_tiles(source, target) VALUES('Board|~|1', 'Tile|~|2')",
      "SELECT group_concat(target) FROM (SELECT target FROM Board_tiles ORDER BY target)", "Tile|~|1,Tile|~|2"
    ),
    (
      "INSERT INTO Board_queue(source, target) VALUES('Board|~|1', 'Tile|~|1')",
      "INSERT INTO Board_queue(source, target) VALUES('Board|~|1', 'Tile|~|2')",
      "SELECT count(*) || sum(position > x'') FROM Board_queue", "22"
    ),
    (
      "UPDATE Tile SET best = 5 WHERE id = 'Tile|~|1'", "UPDATE Tile SET best = 3 WHERE id = 'Tile|~|1'",
      "SELECT best FROM Tile WHERE id = 'Tile|~|1'", "5"
    ),
    (
      "INSERT INTO Tile(id, score) VALUES('Tile|~|3', 3)", "INSERT INTO Tile(id, score) VALUES('Tile|~|4', 4)",
      "SELECT sum(score) FROM Tile", "15"
    ),
    (
      "DELETE FROM Tile WHERE id = 'Tile|~|2'", "UPDATE Tile SET score = score + 5 WHERE id = 'Tile|~|1'",
      "SELECT sum(score) FROM Tile", "12"
    ),
  ]

  @Test(arguments: CapturePath.allCases) func whatOthersWroteToACopyIsTheCopys(_ path: CapturePath) throws {
    for (index, write) in Self.writes.enumerated() {
      let lab = try lab(path)
      let replica = try lab.a.summary().replica
      try lab.a.close()
      try copy(lab, "a", to: "c")
      try lab.shell("c", write.copy)
      let a = try lab.reopened("a", Self.schema)
      try a.run(write.original)
      // Both doors: a schema of the app's, and the one in the file.
      let c =
        index % 2 == 0
        ? try lab.reopened("c", Self.schema) : try Store(existing: lab.scratch.path("c"), options: Lab.options(path))
      #expect(try a.summary().replica == replica)
      #expect(try c.lastRenewal() != nil)
      #expect(try c.summary().vector[#require(replica)] < a.summary().vector[#require(replica)], "\(write.copy)")
      try c.sync(with: lab.b)
      try a.sync(with: lab.b)
      try c.sync(with: a)
      for store in [a, lab.b, c] {
        #expect(try Lab.text(store, "SELECT CAST((\(write.query)) AS TEXT)") == write.all, "\(write.copy)")
      }
      for table in Self.types { #expect(try Lab.rows(a, table) == Lab.rows(c, table), "\(write.copy)") }
      try expectConverged(a, lab.b, c)
    }
  }

  @Test(arguments: CapturePath.allCases) func whatOthersWroteToABackupThatWasPutBackIsANewReplicas(
    _ path: CapturePath
  ) throws {
    let lab = try lab(path)
    try lab.a.close()
    try copy(lab, "a", to: "backup")
    var a = try lab.reopened("a", Self.schema)
    try a.run("UPDATE Tile SET score = score + 5 WHERE id = 'Tile|~|1'")
    try a.sync(with: lab.b)
    try a.close()
    try copy(lab, "backup", to: "a")
    try lab.shell("a", "UPDATE Tile SET score = score + 1, name = 'z' WHERE id = 'Tile|~|1'")
    a = try lab.reopened("a", Self.schema)
    try a.sync(with: lab.b)
    for store in [a, lab.b] {
      #expect(try Lab.text(store, "SELECT score || name FROM Tile WHERE id = 'Tile|~|1'") == "13z")
    }
    try expectConverged(a, lab.b)
  }

  /// A limit: what triggers have noted, and no store has captured when the file is copied, is written by both.
  @Test(arguments: CapturePath.allCases) func anAdditionThatIsNotedWhenTheFileIsCopiedIsTwo(_ path: CapturePath) throws
  {
    for isOpenedBefore in [true, false] {
      let lab = try lab(path)
      try lab.a.close()
      try lab.shell("a", "UPDATE Tile SET score = score + 1, name = 'z' WHERE id = 'Tile|~|1'")
      if isOpenedBefore { try lab.reopened("a", Self.schema).close() }
      try copy(lab, "a", to: "c")
      let (a, c) = (try lab.reopened("a", Self.schema), try lab.reopened("c", Self.schema))
      try a.sync(with: lab.b)
      try c.sync(with: lab.b)
      try c.sync(with: a)
      for store in [a, lab.b, c] {
        let text = try Lab.text(store, "SELECT score || name FROM Tile WHERE id = 'Tile|~|1'")
        #expect(text == (isOpenedBefore ? "8z" : "9z"))
      }
      try expectConverged(a, lab.b, c)
    }
  }

  /// What no trigger has noted: the tables of the copy were made again.
  @Test(arguments: CapturePath.allCases) func whatIsFoundInACopyWithoutTriggersIsTheCopys(_ path: CapturePath) throws {
    let lab = try lab(path)
    try lab.a.close()
    try copy(lab, "a", to: "c")
    try lab.shell(
      "c", "CREATE TABLE new AS SELECT * FROM Board_tiles", "DROP TABLE Board_tiles",
      """
      CREATE TABLE Board_tiles(source TEXT NOT NULL REFERENCES Board(id) DEFERRABLE INITIALLY DEFERRED,
        target TEXT NOT NULL REFERENCES Tile(id) DEFERRABLE INITIALLY DEFERRED,
        tally_clock BLOB NOT NULL DEFAULT x'000000000000000000000000000000', PRIMARY KEY(source, target))
      """, "DROP TABLE new", "INSERT INTO Board_tiles(source, target) VALUES('Board|~|1', 'Tile|~|1')")
    let a = try lab.reopened("a", Self.schema)
    try a.run("INSERT INTO Board_tiles(source, target) VALUES('Board|~|1', 'Tile|~|2')")
    let c = try lab.reopened("c", Self.schema)
    let replica = try #require(try a.summary().replica)
    #expect(try c.summary().vector[replica] < a.summary().vector[replica])
    try c.sync(with: lab.b)
    try a.sync(with: lab.b)
    try c.sync(with: a)
    for store in [a, lab.b, c] {
      let text = try Lab.text(
        store, "SELECT group_concat(target) FROM (SELECT target FROM Board_tiles ORDER BY target)")
      #expect(text == "Tile|~|1,Tile|~|2")
    }
    try expectConverged(a, lab.b, c)
  }
}
