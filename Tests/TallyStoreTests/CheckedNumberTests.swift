import Foundation
import GRDB
import Tally
import TallyStore
import Testing

/// Calls that set a number, or order a list, in tables with checks and triggers of the app's: these have their say as
/// with any statement, and what they refuse changes nothing.
@Suite struct CheckedNumberTests {
  struct Tile: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema(
      "Tile", .text("name"), .counter("score"), .integer("best", keep: .greatest),
      .toMany("next", to: "Tile", ordered: true))
    static let score = Counter<Tile>("score")
    static let best = KeptField<Tile>("best")
    static let next = Relationship<Tile, Tile>("next")
    var id = RecordName<Tile>()
    var name: String?
  }

  private func lab(_ path: CapturePath, _ triggers: String...) throws -> (Lab, RecordName<Tile>) {
    let lab = try Lab(path, Schema(Tile.self))
    try lab.a.run("INSERT INTO Tile(id, score, best) VALUES('Tile|~|1', 7, 7), ('Tile|~|2', 1, 1)")
    try lab.a.run("INSERT INTO Tile_next(source, target) VALUES('Tile|~|1', 'Tile|~|1'), ('Tile|~|1', 'Tile|~|2')")
    try lab.sync()
    for trigger in triggers { try lab.a.run(trigger) }
    return (lab, try RecordName(key: "1"))
  }

  private func shown(_ store: Store) throws -> String? {
    try Lab.text(store, "SELECT score || ' ' || best || ' ' || ifnull(name, '-') FROM Tile WHERE id = 'Tile|~|1'")
  }

  /// Guarded, as the page on triggers says, so that it checks what people enter here.
  private static let check = """
    CREATE TRIGGER low BEFORE UPDATE ON Tile WHEN NOT tally_applying() AND (NEW.score < 0 OR NEW.best < 0)
    BEGIN SELECT RAISE(ABORT, 'too low'); END
    """

  @Test(arguments: CapturePath.allCases) func aTriggerRefusesASetAsAnyStatement(_ path: CapturePath) throws {
    let (lab, id) = try lab(path, Self.check)
    let summary = try lab.a.summary()
    for call in [
      { (db: Database) in try Tile.score.set(-1, of: id, in: db) }, { db in try Tile.best.set(-1, of: id, in: db) },
      { db in try Tile.score.add(-10, to: id, in: db) },
      { db in try Schema(Tile.self).set(db, id.name, "score", to: .integer(-1)) },
    ] {
      let error = #expect(throws: DatabaseError.self) { try lab.a.write(call) }
      #expect(error?.resultCode == .SQLITE_CONSTRAINT && error?.message == "too low")
      #expect(try lab.a.summary() == summary)
      #expect(try shown(lab.a) == "7 7 -")
      #expect(try lab.a.status().setAside.isEmpty)
    }
    // Who catches it goes on.
    try lab.a.write { db in
      try db.execute(sql: "UPDATE Tile SET name = 'x', score = score + 1 WHERE id = ?", arguments: [id])
      #expect(throws: DatabaseError.self) { try Tile.score.set(-1, of: id, in: db) }
      try Tile.best.set(3, of: id, in: db)
    }
    try lab.sync()
    for store in [lab.a, lab.b] { #expect(try shown(store) == "8 3 x") }
    try expectConverged(lab.a, lab.b)
  }

  @Test(arguments: CapturePath.allCases) func aCheckOfTheTableRefusesASet(_ path: CapturePath) throws {
    let (lab, id) = try lab(path)
    try lab.a.close()
    for column in ["score", "best"] {
      try lab.rebuild("a", "Tile", defining: [("\"\(column)\" INTEGER", "\"\(column)\" INTEGER CHECK(\(column) > 0)")])
    }
    let a = try lab.reopened("a", Schema(Tile.self))
    let summary = try a.summary()
    for call in [
      { (db: Database) in try Tile.score.set(-1, of: id, in: db) }, { db in try Tile.best.set(-1, of: id, in: db) },
    ] {
      let error = #expect(throws: DatabaseError.self) { try a.write(call) }
      #expect(error?.extendedResultCode == .SQLITE_CONSTRAINT_CHECK)
    }
    #expect(try a.summary() == summary && shown(a) == "7 7 -" && a.status().setAside.isEmpty)
    try a.write { db in try Tile.score.set(2, of: id, in: db) }
    try a.sync(with: lab.b)
    for store in [a, lab.b] { #expect(try shown(store) == "2 7 -") }
    try expectConverged(a, lab.b)
  }

  @Test(arguments: CapturePath.allCases) func aSetThatATriggerIgnoresIsAnError(_ path: CapturePath) throws {
    let (lab, id) = try lab(
      path, "CREATE TRIGGER low BEFORE UPDATE ON Tile WHEN NEW.score < 0 BEGIN SELECT RAISE(IGNORE); END")
    let summary = try lab.a.summary()
    let error = #expect(throws: StoreError.self) { try lab.a.write { try Tile.score.set(-1, of: id, in: $0) } }
    #expect(error?.code == .writeIgnored)
    #expect(try lab.a.summary() == summary)
    #expect(try shown(lab.a) == "7 7 -")
  }

  /// A trigger answers a set, and may make another number of it: that is what was set.
  @Test(arguments: CapturePath.allCases) func aTriggerAnswersASet(_ path: CapturePath) throws {
    let (lab, id) = try lab(
      path,
      """
      CREATE TRIGGER least AFTER UPDATE OF score ON Tile WHEN NEW.score < 0
      BEGIN UPDATE Tile SET score = 0, name = 'least' WHERE id = NEW.id; END
      """)
    try lab.a.write { try Tile.score.set(-5, of: id, in: $0) }
    try lab.b.write { try Tile.score.add(2, to: id, in: $0) }
    try lab.sync()
    for store in [lab.a, lab.b] { #expect(try shown(store) == "2 7 least") }
    try lab.b.write { try Tile.score.set(100, of: id, in: $0) }
    try lab.sync()
    // Of two sets the later counts, and nothing of the one before is left in it.
    for store in [lab.a, lab.b] { #expect(try shown(store) == "100 7 least") }
    try expectConverged(lab.a, lab.b)
  }

  @Test(arguments: CapturePath.allCases) func anOrderThatIsRefusedInPartMovesNothing(_ path: CapturePath) throws {
    let (lab, id) = try lab(path)
    try lab.a.run(
      "INSERT INTO Tile(id) VALUES('Tile|~|3')", "INSERT INTO Tile_next(source, target) VALUES('Tile|~|1', 'Tile|~|3')")
    try lab.a.run(
      """
      CREATE TRIGGER stay BEFORE UPDATE OF position ON Tile_next WHEN NEW.target = 'Tile|~|2'
      BEGIN SELECT RAISE(ABORT, 'it stays'); END
      """)
    let summary = try lab.a.summary()
    let names = try ["3", "2", "1"].map { try RecordName<Tile>(key: $0) }
    try lab.a.write { db in
      #expect(throws: DatabaseError.self) { try Tile.next.setOrder(db, names, of: id) }
    }
    #expect(try lab.a.read { try Tile.next.ordered($0, of: id).map { "\($0.name.key)" } } == ["1", "2", "3"])
    #expect(try lab.a.summary() == summary)
    #expect(try lab.a.verify().problems == [])
  }
}
