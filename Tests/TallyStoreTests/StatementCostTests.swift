import GRDB
import GRDBSQLite
import TallyCRDT
import TallyStore
import Testing

/// What one change costs does not grow with the store: its records, its conflict journal, its log. Counted in steps of
/// SQLite's virtual machine on the writing connection, which repeat.
@Suite struct StatementCostTests {
  private static let schema = Schema([
    EntitySchema("Tag", .text("name", default: "")),
    EntitySchema(
      "Item", .text("title", default: ""), .integer("number", default: 0),
      .reference("parent", to: "Item"), .toMany("tags", to: "Tag")),
  ])

  private struct Pair {
    let scratch: Scratch
    let phone: Store
    let tablet: Store
    let meter: StepMeter

    /// Two stores with so many records, a fifth of them with an entry in both journals.
    init(records: Int) throws {
      scratch = try Scratch()
      phone = try scratch.store("phone", schema: StatementCostTests.schema)
      tablet = try scratch.store("tablet", schema: StatementCostTests.schema)
      try phone.write { db in
        try db.execute(sql: "INSERT INTO Tag(id, name) VALUES('Tag|~|t', 'dairy')")
        for index in 0..<records {
          try db.execute(sql: "INSERT INTO Item(id, title) VALUES(?, 'as it was')", arguments: ["Item|~|\(index)"])
        }
      }
      try phone.sync(with: tablet)
      for (store, title) in [(phone, "from the phone"), (tablet, "from the tablet")] {
        try store.write { db in
          try db.execute(
            sql: "UPDATE Item SET title = ? WHERE CAST(substr(id, 8) AS INTEGER) % 5 = 0", arguments: [title])
        }
      }
      try phone.sync(with: tablet)
      let journals = try [phone, tablet].map { try $0.read { try ConflictRow.fetchCount($0) } }
      try #require(journals.reduce(0, +) >= records / 5)
      meter = StepMeter()
      try phone.write { db in meter.listen(to: db) }
    }

    /// The steps of the phone's writing connection for each of the changes.
    func steps() throws -> [(change: String, steps: Int)] {
      func write(_ sql: String) -> () throws -> Void { { try phone.write { db in try db.execute(sql: sql) } } }
      func merge(_ sql: String) throws -> () throws -> Void {
        try phone.sync(with: tablet)
        let known = try phone.vector
        try tablet.write { db in try db.execute(sql: sql) }
        let delta = try tablet.delta(since: known)
        return { try phone.apply(delta) }
      }
      var result: [(String, Int)] = []
      func measure(_ change: String, _ body: () throws -> Void) throws {
        meter.reset()
        try body()
        result.append((change, meter.steps))
      }
      // The first of each kind prepares its statements.
      for round in 0..<2 {
        if round == 1 { result = [] }
        try measure("an update", write("UPDATE Item SET number = number + 1 WHERE id = 'Item|~|5'"))
        try measure(
          "an update of text", write("UPDATE Item SET title = title || '.' WHERE id = 'Item|~|\(10 + round)'"))
        try measure("an insert", write("INSERT INTO Item(id, title) VALUES('Item|~|new\(round)', 'new')"))
        try measure(
          "a member", write("INSERT INTO Item_tags(source, target) VALUES('Item|~|\(20 + round)', 'Tag|~|t')"))
        try measure("a reference", write("UPDATE Item SET parent = 'Item|~|7' WHERE id = 'Item|~|\(30 + round)'"))
        try measure("a delete", write("DELETE FROM Item WHERE id = 'Item|~|\(40 + round)'"))
        try measure(
          "an update that comes", merge("UPDATE Item SET number = number + 1 WHERE id = 'Item|~|\(50 + round)'"))
        try measure("an insert that comes", merge("INSERT INTO Item(id, title) VALUES('Item|~|tab\(round)', 'new')"))
        try measure("a delete that comes", merge("DELETE FROM Item WHERE id = 'Item|~|\(60 + round)'"))
      }
      return result
    }
  }

  @Test func oneChangeCostsTheSameInALargeStore() throws {
    let small = try Pair(records: 200)
    let large = try Pair(records: 4_000)
    for (little, much) in zip(try small.steps(), try large.steps()) {
      // The trees of a larger file are a level deeper.
      #expect(
        much.steps <= little.steps * 3 / 2 + 200,
        "\(little.change): \(little.steps) steps with 200 records, \(much.steps) with 4,000")
    }
  }
}

/// Counts the steps of a connection's statements.
final class StepMeter {
  private(set) var steps = 0

  func reset() { steps = 0 }

  /// From now on; the meter has to outlive the connection's last statement.
  func listen(to db: Database) {
    // What statements have counted before is not asked for.
    var known = sqlite3_next_stmt(db.sqliteConnection, nil)
    while let statement = known {
      _ = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1)
      known = sqlite3_next_stmt(db.sqliteConnection, statement)
    }
    // https://sqlite.org/c3ref/trace_v2.html
    sqlite3_trace_v2(
      db.sqliteConnection, UInt32(SQLITE_TRACE_PROFILE),
      { _, context, statement, _ in
        guard let context, let statement else { return 0 }
        let meter = Unmanaged<StepMeter>.fromOpaque(context).takeUnretainedValue()
        meter.steps += Int(sqlite3_stmt_status(OpaquePointer(statement), SQLITE_STMTSTATUS_VM_STEP, 1))
        return 0
      }, Unmanaged.passUnretained(self).toOpaque())
  }
}
