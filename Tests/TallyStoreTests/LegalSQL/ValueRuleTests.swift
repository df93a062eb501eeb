import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyStore
import TallyWire
import Testing

/// What is no value of its field is refused where it is written, before it reaches everybody.
@Suite struct ValueRuleTests {
  private struct Thing: Entity {
    static let schema = EntitySchema("Thing", .text("name"))
    var id = RecordName<Thing>()
  }

  @Test(arguments: CapturePath.allCases) func datesAndJSONAreChecked(_ path: CapturePath) throws {
    let lab = try Lab(path)
    for value in ["2026-11-22", "2026-11-22 10:00", "2026-11-22T10:00:00.123Z", "2026-11-22 10:00:00+01:00"] {
      try lab.a.run("INSERT OR REPLACE INTO P(id, at) VALUES('P|~|1', '\(value)')")
    }
    for value in ["{}", "[1, \"a\"]", "null", "\"text\"", "1.5e3"] {
      try lab.a.run("UPDATE P SET settings = '\(value)'")
    }
    for value in ["not a date", "2026-13-01", "1.5", "2026-11-22 25:00", "2026-11-22 10:00:00 ", ""] {
      #expect(throws: StoreError.self) { try lab.a.run("UPDATE P SET at = '\(value)'") }
    }
    for value in ["nonsense", "{", "{\"a\":}", ""] {
      #expect(throws: StoreError.self) { try lab.a.run("UPDATE P SET settings = '\(value)'") }
    }
    try lab.shell("a", "UPDATE P SET at = 'not a date', name = 'kept'")
    try lab.sync()
    #expect(try Lab.text(lab.b, "SELECT name FROM P") == "kept")
    #expect(try Lab.text(lab.b, "SELECT at FROM P") == "2026-11-22 10:00:00+01:00")
  }

  @Test func aDecisionForNullIsRefusedWhereAFieldCannotBeNull() throws {
    let lab = try Lab(.hook)
    let name = try AnyRecordName("F|~|1")
    #expect {
      try lab.a.write { db in try Lab.schema.put(db, name, ["fav": .null]) }
    } throws: {
      ($0 as? StoreError)?.code == .typeMismatch && "\($0)".contains("F|~|1.fav cannot be null")
    }
    #expect(try Lab.text(lab.a, "SELECT id FROM F") == nil)
  }

  @Test func aUUIDInCapitalsIsTheSameName() throws {
    let uuid = UUID()
    #expect(try RecordName<Thing>(key: uuid.uuidString) == RecordName<Thing>(uuid: uuid))
    #expect(try RecordName<Thing>(key: "Chess").name.key == "Chess")
  }

  @Test func aRankThatOnlyANewerVersionKnowsIsRefused() throws {
    let store = try Store(inMemory: Lab.schema)
    let stamp = Stamp(
      rank: Rank(rawValue: 3), time: HybridTime(milliseconds: 1),
      dot: Dot(replica: ReplicaID(high: 1, low: 1), sequence: 1))
    var target = StateVector()
    target.include(stamp.dot)
    let item = DeltaBlock.Record(name: try AnyRecordName("P|~|x"), state: RecordState(inserted: stamp, fields: []))
    let block = DeltaBlock(records: [.init(type: "P", fields: [], items: [item])], links: [])
    let error = #expect(throws: StoreError.self) {
      try store.apply(DeltaHeader(base: StateVector(), target: target), [block])
    }
    #expect(error?.code == .unknownRank)
    #expect(try store.vector.isEmpty)
  }

  @Test func aStoreThatIsClosedSaysSo() throws {
    let lab = try Lab(.hook)
    try lab.a.close()
    for attempt in [{ _ = try lab.a.read { _ in } }, { try lab.a.run("DELETE FROM P") }, { _ = try lab.a.summary() }] {
      #expect(try #require(throws: StoreError.self) { try attempt() }.code == .closed)
    }
  }

  @Test func aStoreIsTheSameThroughASymbolicLink() throws {
    let lab = try Lab(.hook)
    try lab.a.run("INSERT INTO P(id) VALUES('P|~|1')")
    let replica = try lab.a.summary().replica
    try lab.a.close()
    try FileManager.default.createSymbolicLink(
      atPath: lab.scratch.path("link"), withDestinationPath: lab.scratch.path("a"))
    for name in ["link", "a", "link"] {
      let store = try lab.reopened(name)
      #expect(try store.summary().replica == replica)
      try store.close()
    }
  }

  @Test func theAppIsAskedBeforeColumnsChangeTheirNames() throws {
    let lab = try Lab(.hook, Schema([EntitySchema("P", .text("name"))]))
    try lab.a.run(
      "CREATE VIRTUAL TABLE fts USING fts5(name, content='P')",
      "CREATE TRIGGER fts_i AFTER INSERT ON P BEGIN INSERT INTO fts(rowid, name) VALUES(NEW.rowid, NEW.name); END",
      "INSERT INTO P(id, name) VALUES('P|~|1', 'needle')")
    try lab.a.close()
    var options = Lab.options(.hook)
    options.willChangeSchema = { db, old, new in
      #expect(old["P"]?.fields.first?.name == "name" && new["P"]?.fields.first?.name == "title")
      try db.execute(sql: "DROP TRIGGER fts_i; DROP TABLE fts")
    }
    let a = try lab.scratch.store(
      "a", schema: Schema([EntitySchema("P", .text("title", renamedFrom: "name"))]), options: options)
    #expect(try Lab.text(a, "SELECT title FROM P") == "needle")
  }

  @Test func triggersThatAnswerEveryChangeAreReported() throws {
    let lab = try Lab(.hook)
    for store in [lab.a, lab.b] {
      try store.run("CREATE TRIGGER loop AFTER UPDATE OF name ON P BEGIN UPDATE P SET pos = coalesce(pos, 0) + 1; END")
      try store.run(
        "CREATE TRIGGER back AFTER UPDATE OF pos ON P WHEN tally_applying() BEGIN UPDATE P SET name = name || '.'; END")
    }
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one')")
    for _ in 0..<20 {
      try lab.a.run("UPDATE P SET name = 'again'")
      try lab.b.apply(try lab.a.delta(since: try lab.b.vector))
      #expect(try lab.b.verify().problems == [])
      try lab.a.apply(try lab.b.delta(since: try lab.a.vector))
    }
    #expect(try lab.b.status().hasTriggerLoop)
    try lab.b.run("DROP TRIGGER loop", "DROP TRIGGER back")
    try lab.a.run("UPDATE P SET name = 'quiet'")
    try lab.b.apply(try lab.a.delta(since: try lab.b.vector))
    #expect(try !lab.b.status().hasTriggerLoop)
  }
}
