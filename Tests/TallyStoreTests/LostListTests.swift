import Foundation
import GRDB
import Tally
import TallyStore
import Testing

/// Lists that follow from the states are made again where their tables are gone: nothing else would notice that they
/// are empty.
@Suite struct LostListTests {
  private static let schema = Schema([
    EntitySchema("P", .text("name")),
    EntitySchema("G", .text("name"), .reference("friend", to: "P"), .toMany("players", to: "P")),
  ])

  @Test(arguments: ["tally_wait", "tally_log", "tally_seeded", "tally_aside"])
  func aListThatIsGoneIsMadeAgain(_ table: String) throws {
    let scratch = try Scratch()
    func open(_ name: String) throws -> Store {
      try scratch.store(name, schema: Self.schema, options: Lab.options(.hook))
    }
    var a = try open("a")
    let (b, c) = (try open("b"), try open("c"))
    let set = #"{"name":"people","version":1,"records":[{"key":"host","type":"P","fields":{"name":"Host"}}]}"#
    try a.seed(SeedSet(json: Data(set.utf8)))
    try a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one'), ('P|~|2', 'two')")
    try a.run("INSERT INTO G(id, name, friend) VALUES('G|~|1', 'game', 'P|~|2')")
    try a.run("INSERT INTO G_players(source, target) VALUES('G|~|1', 'P|~|1'), ('G|~|1', 'P|~|2')")
    try a.sync(with: c)
    try a.run("DELETE FROM P WHERE id = 'P|~|2'")
    // Of two equal names the older claim shows.
    try a.run("CREATE UNIQUE INDEX one_name ON P(name)")
    try b.run("INSERT INTO P(id, name) VALUES('P|~|9', 'one')")
    try a.sync(with: b)
    let shown = try Lab.rows(a, "P")
    let before = try a.summary()
    try a.close()
    let queue = try DatabaseQueue(path: scratch.path("a"))
    try queue.write { try $0.execute(sql: "DROP TABLE \(table)") }
    try queue.close()

    a = try open("a")
    #expect(try a.verify().problems == [])
    #expect(try a.summary() == before)
    #expect(try Lab.rows(a, "P") == shown)
    // What waited, and what was set aside, shows when it can.
    try a.run("DROP INDEX one_name")
    try a.restore(AnyRecordName("P|~|2"))
    #expect(try Lab.rows(a, "G") == ["'G|~|1','game','P|~|2'"])
    #expect(try Lab.rows(a, "G_players").count == 2)
    #expect(try Lab.rows(a, "P").count == 4)
    // A delta of what is new to another device is complete.
    try c.apply(try a.delta(since: try c.vector))
    try expectConverged(a, c)
  }
}
