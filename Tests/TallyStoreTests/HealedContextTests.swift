import Foundation
import GRDB
import Tally
import TallyStore
import Testing

/// A store gives up its claim to have seen what is lost and what the peer that heals it lacks as well. So do its
/// deletes.
@Suite struct HealedContextTests {
  private static let schema = Schema([EntitySchema("P", .text("name"))])

  /// Devices a and b have met, and a and c; a has deleted a record since, having seen what c had written.
  @Test(arguments: ["DELETE FROM tally_hidden WHERE key = 'P|~|1'", "DROP TABLE tally_hidden"])
  func aDeleteOfTheLostIsSeenNoMore(_ damage: String) throws {
    let scratch = try Scratch()
    let stores = try ["a", "b", "c"].map { try scratch.store($0, schema: Self.schema, options: Lab.options(.hook)) }
    let (b, c) = (stores[1], stores[2])
    var a = stores[0]
    try a.run("INSERT INTO P(id, name) VALUES('P|~|2', 'y'), ('P|~|3', 'z')")
    try a.sync(with: b)
    try c.run("INSERT INTO P(id, name) VALUES('P|~|1', 'from c')")
    try c.run("DELETE FROM P")
    try c.sync(with: a)
    try a.run("DELETE FROM P WHERE id = 'P|~|3'")
    try a.close()
    let queue = try DatabaseQueue(path: scratch.path("a"))
    try queue.write { try $0.execute(sql: damage) }
    try queue.close()
    a = try scratch.store("a", schema: Self.schema, options: Lab.options(.hook))
    try a.run("DELETE FROM P WHERE id = 'P|~|2'")
    // Heals, and is heard by whoever has not what was lost.
    try a.sync(with: b)
    #expect(try b.verify().problems == [])
    try b.apply(try a.delta(since: try b.vector))
    // And gets it back from whoever has.
    for _ in 0..<2 {
      try a.sync(with: c)
      try a.sync(with: b)
    }
    for store in [a, b, c] { #expect(try store.verify().problems == []) }
    #expect(try a.summary().fingerprint == c.summary().fingerprint)
    #expect(try a.summary().fingerprint == b.summary().fingerprint)
    #expect(try a.recentlyDeletedNames().contains("P|~|1"))
  }

  /// A delete that the disk lets claim more than its device has ever seen is taken by nobody. Who rebuilds takes it as
  /// it is, and lets it claim what can be.
  @Test func aDeleteThatClaimsTooMuchIsLoweredByARebuild() throws {
    let scratch = try Scratch()
    var a = try scratch.store("a", schema: Self.schema, options: Lab.options(.hook))
    let b = try scratch.store("b", schema: Self.schema, options: Lab.options(.hook))
    try a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'x'), ('P|~|2', 'y')")
    try a.sync(with: b)
    try a.run("DELETE FROM P WHERE id = 'P|~|1'")
    try a.close()
    let queue = try DatabaseQueue(path: scratch.path("a"))
    try queue.write { db in
      var vector = try #require(try Data.fetchOne(db, sql: "SELECT vector FROM tally_context"))
      vector[vector.endIndex - 1] = 100
      try db.execute(sql: "UPDATE tally_context SET vector = ?", arguments: [vector])
    }
    try queue.close()
    a = try scratch.store("a", schema: Self.schema, options: Lab.options(.hook))
    #expect(try !a.rebuild().losses.isEmpty)
    try a.run("UPDATE P SET name = 'z'")
    try b.apply(try a.delta(since: try b.vector))
    #expect(try b.read { try String.fetchAll($0, sql: "SELECT name FROM P") } == ["z"])
    for store in [a, b] { #expect(try store.verify().problems == []) }
    #expect(try a.summary().fingerprint == b.summary().fingerprint)
  }

  /// A trigger with the name of a table of the store's is not that table.
  @Test(arguments: ["tally_wait", "tally_log", "tally_conflict", "tally_pending"])
  func aTriggerIsNoTable(_ table: String) throws {
    let scratch = try Scratch()
    let store = try scratch.store("a", schema: Self.schema, options: Lab.options(.hook))
    try store.run("INSERT INTO P(id, name) VALUES('P|~|1', 'x')")
    try store.close()
    let queue = try DatabaseQueue(path: scratch.path("a"))
    try queue.write { db in
      try db.execute(sql: "DROP TABLE \(table)")
      try db.execute(sql: "CREATE TRIGGER \(table) AFTER INSERT ON P WHEN 0 BEGIN SELECT 1; END")
    }
    try queue.close()
    let again = try scratch.store("a", schema: Self.schema, options: Lab.options(.hook))
    try again.run("INSERT INTO P(id, name) VALUES('P|~|2', 'y')")
    #expect(try again.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") } != nil)
  }
}

extension Store {
  /// The names of what is hidden in the file.
  fileprivate func recentlyDeletedNames() throws -> [String] {
    try read { try String.fetchAll($0, sql: "SELECT key FROM tally_hidden") }
  }
}
