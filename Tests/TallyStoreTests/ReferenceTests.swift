import GRDB
import Tally
import Testing

/// A reference that a transaction writes names a record that is there, or the transaction fails: also where settling
/// the view would have put null in its place first.
@Suite struct ReferenceTests {
  let store: Store
  private let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    store = try scratch.store()
    try run("INSERT INTO SBMatch(id, place) VALUES('SBMatch|~|x', 'Home')")
    try run("DELETE FROM SBMatch WHERE id = 'SBMatch|~|x'")
  }

  private func run(_ sql: String...) throws {
    try store.write { db in for statement in sql { try db.execute(sql: statement) } }
  }

  private func refused(_ sql: String...) throws {
    let before = try store.summary()
    let error = #expect(throws: StoreError.self) {
      try store.write { db in for statement in sql { try db.execute(sql: statement) } }
    }
    #expect(error?.code == .danglingReference)
    #expect(try store.summary() == before)
    try expectConverged(store)
  }

  private func matches() throws -> [String] {
    try store.read { try String.fetchAll($0, sql: "SELECT id FROM SBMatch ORDER BY id") }
  }

  @Test func aNewLifeOwnedByNothingIsRefused() throws {
    try refused("INSERT INTO SBMatch(id, game) VALUES('SBMatch|~|x', 'SBGame|~|none')")
    try refused("INSERT INTO SBMatch(id, parent) VALUES('SBMatch|~|x', 'SBMatch|~|none')")
    #expect(try matches() == [])
  }

  @Test func aRecordWithALifeBehindItKeepsItsReferencesChecked() throws {
    try run("INSERT INTO SBMatch(id) VALUES('SBMatch|~|x')")
    try refused("UPDATE SBMatch SET game = 'SBGame|~|none'")
    try run("INSERT INTO SBGame(id) VALUES('SBGame|~|gone')", "UPDATE SBMatch SET game = 'SBGame|~|gone'")
    try run("UPDATE SBMatch SET game = NULL", "DELETE FROM SBGame")
    try refused("UPDATE SBMatch SET place = 'Away', game = 'SBGame|~|gone'")
    #expect(try matches() == ["SBMatch|~|x"])
  }

  /// What the same transaction deletes reads as its rule says: there is no order in a transaction.
  @Test func aReferenceToWhatTheTransactionDeletesFollowsItsRule() throws {
    try run("INSERT INTO SBPerson(id) VALUES('SBPerson|~|ann')", "INSERT INTO SBGame(id) VALUES('SBGame|~|go')")
    try run("UPDATE SBGame SET author = 'SBPerson|~|ann'", "DELETE FROM SBPerson")
    #expect(try store.read { try String.fetchOne($0, sql: "SELECT author FROM SBGame") } == nil)
    #expect(try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM SBGame") } == 1)
    try expectConverged(store)
  }

  /// A concurrent link revives the record that has the relationship; one that saw the delete must not.
  @Test func aLinkOfADeletedRecordIsRefused() throws {
    try run("INSERT INTO SBPerson(id) VALUES('SBPerson|~|ann')", "INSERT INTO SBGame(id) VALUES('SBGame|~|go')")
    try run("DELETE FROM SBGame")
    try refused("INSERT INTO SBGame_players(source, target) VALUES('SBGame|~|go', 'SBPerson|~|ann')")
    #expect(try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM SBGame") } == 0)
    try run("INSERT INTO SBGame(id) VALUES('SBGame|~|go')", "DELETE FROM SBPerson")
    try refused("INSERT INTO SBGame_players(source, target) VALUES('SBGame|~|go', 'SBPerson|~|ann')")
  }

  @Test func theTargetMayComeLaterInTheTransaction() throws {
    try run(
      "INSERT INTO SBMatch(id, game) VALUES('SBMatch|~|x', 'SBGame|~|go')",
      "INSERT INTO SBGame(id) VALUES('SBGame|~|go')")
    #expect(try matches() == ["SBMatch|~|x"])
    try expectConverged(store)
  }
}
