import Foundation
import GRDB
import Synchronization
import Tally
import Testing

/// What an app builds on its tables goes on working: triggers, full-text search, observation, its own tables.
@Suite struct AppTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func counted(_ name: String) throws -> Store {
    let store = try scratch.store(name)
    try store.write { db in
      try db.execute(
        sql: """
          CREATE TABLE calls(what TEXT);
          CREATE TRIGGER on_insert AFTER INSERT ON SBGame BEGIN INSERT INTO calls VALUES('insert'); END;
          CREATE TRIGGER on_update AFTER UPDATE ON SBGame BEGIN INSERT INTO calls VALUES('update'); END;
          CREATE TRIGGER on_delete AFTER DELETE ON SBGame BEGIN INSERT INTO calls VALUES('delete'); END;
          """)
    }
    return store
  }

  private func calls(_ store: Store) throws -> [String] {
    try store.write { db in
      defer { try? db.execute(sql: "DELETE FROM calls") }
      return try String.fetchAll(db, sql: "SELECT what FROM calls ORDER BY rowid")
    }
  }

  @Test func theAppsTriggersFireOnceForLocalWritesAndForAppliedDeltas() throws {
    let (here, there) = (try counted("here"), try counted("there"))
    var game = Game(name: "Chess")
    try here.write { try game.insert($0) }
    #expect(try calls(here) == ["insert"])
    try here.sync(with: there)
    #expect(try calls(there) == ["insert"])
    game.name = "Go"
    try here.write { try game.update($0) }
    #expect(try calls(here) == ["update"])
    try here.sync(with: there)
    #expect(try calls(there) == ["update"])
    #expect(try calls(here) == [])
    try here.write { _ = try game.delete($0) }
    #expect(try calls(here) == ["delete"])
    try here.sync(with: there)
    #expect(try calls(there) == ["delete"])
  }

  @Test func fullTextSearchFollowsAppliedDeltas() throws {
    let (here, there) = (try scratch.store("here"), try scratch.store("there"))
    try there.write { db in
      try db.create(virtualTable: "gameSearch", using: FTS5()) { table in
        table.synchronize(withTable: "SBGame")
        table.column("name")
      }
    }
    let game = Game(name: "Chess for beginners")
    try here.write { try game.insert($0) }
    try here.sync(with: there)
    func found(_ word: String) throws -> Int {
      try there.read {
        try Int.fetchOne($0, sql: "SELECT count(*) FROM gameSearch WHERE gameSearch MATCH ?", arguments: [word]) ?? 0
      }
    }
    #expect(try found("beginners") == 1)
    try here.write { try $0.execute(sql: "UPDATE SBGame SET name = 'Chess for masters'") }
    try here.sync(with: there)
    #expect(try found("beginners") == 0)
    #expect(try found("masters") == 1)
    try here.write { _ = try game.delete($0) }
    try here.sync(with: there)
    #expect(try found("masters") == 0)
    try expectConverged(here, there)
  }

  @Test func valueObservationSeesAppliedDeltasAndCascades() async throws {
    let (here, there) = (try scratch.store("here"), try scratch.store("there"))
    let game = Game(name: "Chess")
    try await here.write { db in
      try game.insert(db)
      try Match(place: "Home", game: game.id).insert(db)
    }
    var counts = ValueObservation.tracking { try Match.fetchCount($0) }.removeDuplicates()
      .values(in: there).makeAsyncIterator()
    #expect(try await counts.next() == 0)
    try await here.sync(with: there)
    #expect(try await counts.next() == 1)
    try await there.write { try $0.execute(sql: "DELETE FROM SBGame") }
    #expect(try await counts.next() == 0)
  }

  @Test func anAppsTriggerThatWritesToAnEntityIsAWriteOfItsOwn() throws {
    let store = try scratch.store()
    try store.write { db in
      try db.execute(
        sql: """
          CREATE TRIGGER stamp AFTER INSERT ON SBMatch BEGIN
            UPDATE SBMatch SET place = 'Home' WHERE id = NEW.id AND place IS NULL;
          END;
          """)
      try Match().insert(db)
    }
    #expect(try store.read { try Match.fetchOne($0)?.place } == "Home")
    let other = try scratch.store("other")
    try store.sync(with: other)
    #expect(try other.read { try Match.fetchOne($0)?.place } == "Home")
    try expectConverged(store, other)
  }

  @Test func theAppsOwnTablesStayItsOwn() throws {
    let store = try scratch.store()
    try store.write { try $0.execute(sql: "CREATE TABLE settings(key TEXT PRIMARY KEY, value TEXT)") }
    #expect(try store.commit { try $0.execute(sql: "INSERT INTO settings VALUES('a', 'b')") }.dot == nil)
  }
}
