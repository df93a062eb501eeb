import GRDB
import Tally
import TallyCRDT
import TallyStore
import TallyTesting
import TestEffort
import Testing

/// What tools do to tables, crossed with what apps write: any rebuild (create, copy, drop, rename) that SQLite takes,
/// with any change of what is copied, by the app or by another program; then local writes of every sort; then a merge.
///
/// The law: opening names what cannot be a store's table. Otherwise each write goes through or throws, both devices end
/// equal, and what the app saw before the merge it sees after it. Two things may differ. What a unique index of this
/// device's does not take is set aside here. And a row that a rebuild left out took its values along: where it is
/// restored, defaults show until a peer that has the values is met, and its owner among them.
@Suite struct RebuildFamilyTests {
  /// A change of a table's SQL, each of which an app, an ORM or a tool makes.
  private static let shapes: [(old: String, new: String)] = [
    ("", ""),
    (") STRICT", ")"),
    (" DEFERRABLE INITIALLY DEFERRED", ""),
    (" DEFERRABLE INITIALLY DEFERRED", " NOT DEFERRABLE"),
    ("tally_clock BLOB NOT NULL DEFAULT", "tally_clock BLOB DEFAULT"),
    ("tally_clock BLOB NOT NULL DEFAULT x'000000000000000000000000000000'", "tally_clock BLOB"),
    ("tally_clock BLOB NOT NULL DEFAULT x'000000000000000000000000000000'", "tally_clock BLOB NOT NULL"),
    ("tally_clock BLOB NOT NULL DEFAULT x'000000000000000000000000000000'", "tally_clock BLOB NOT NULL DEFAULT 'x'"),
    ("tally_clock BLOB NOT NULL DEFAULT x'000000000000000000000000000000'", "tally_clock BLOB NOT NULL DEFAULT x'00'"),
    (", \"name\" TEXT", ", \"name\" TEXT COLLATE NOCASE"),
    (", \"name\" TEXT", ", \"name\" TEXT CHECK(length(name) < 40)"),
    (", \"name\" TEXT", ", extra TEXT NOT NULL DEFAULT 'x', \"name\" TEXT"),
    (", \"name\" TEXT", ", extra TEXT AS (id || 'x') STORED, \"name\" TEXT"),
    (", \"name\" TEXT", ", extra TEXT AS (id || 'x') VIRTUAL, \"name\" TEXT"),
    (", \"name\" TEXT", ", \"name\" TEXT UNIQUE"),
    (", \"name\" TEXT, \"pos\" INTEGER", ", \"pos\" INTEGER, \"name\" TEXT"),
    ("id TEXT NOT NULL PRIMARY KEY", "id TEXT NOT NULL UNIQUE"),
    ("PRIMARY KEY(source, target)", "UNIQUE(target, source)"),
  ]

  /// What becomes of a column of text while it is copied.
  private static let copies = [
    "name", "name", "upper(name)", "CASE WHEN rowid % 2 THEN name || '!' ELSE name END", "NULL",
    "CASE id WHEN 'P|~|2' THEN 'new' ELSE name END",
  ]

  private static let keeps = ["1", "1", "1", "rowid % 3 <> 1"]

  private static let writes = [
    "INSERT INTO P(id, name) VALUES('P|~|9', 'nine')", "INSERT INTO P(id) VALUES('P|~|8')",
    "UPDATE P SET name = 'said' WHERE id = 'P|~|2'", "UPDATE P SET pos = 7", "DELETE FROM P WHERE id = 'P|~|3'",
    "INSERT INTO P(id, name) VALUES('P|~|1', 'up') ON CONFLICT(id) DO UPDATE SET name = excluded.name",
    "REPLACE INTO P(id, name) VALUES('P|~|1', 'replaced')", "UPDATE G SET owner = 'P|~|1'",
    "UPDATE G SET friend = NULL, name = 'x'", "DELETE FROM G WHERE id = 'G|~|1'",
    "INSERT INTO G(id, owner, friend) VALUES('G|~|7', 'P|~|1', 'P|~|2')",
    "INSERT INTO G_players(source, target) VALUES('G|~|2', 'P|~|2')", "DELETE FROM G_players WHERE target = 'P|~|1'",
    "UPDATE P SET id = 'P|~|5' WHERE id = 'P|~|3'",
    "INSERT OR IGNORE INTO G_players(source, target) VALUES('G|~|1', 'P|~|2')",
    "DELETE FROM P WHERE id = 'P|~|1'",
  ]

  /// Indexes of the app's that come and go.
  private static let indexes = [
    "CREATE UNIQUE INDEX IF NOT EXISTS byName ON P(name)",
    "CREATE UNIQUE INDEX IF NOT EXISTS byPlace ON P(pos) WHERE pos > 2",
    "CREATE UNIQUE INDEX IF NOT EXISTS oneOwner ON G(owner)",
    "CREATE UNIQUE INDEX IF NOT EXISTS onePlayer ON G_players(source)", "DROP INDEX IF EXISTS byName",
    "DROP INDEX IF EXISTS oneOwner",
  ]

  /// Writes that go through the library, by what the story calls them.
  private static let calls: [(story: String, call: @Sendable (Store) throws -> Void)] = [
    ("restore P 3", { try $0.restore(AnyRecordName("P|~|3")) }),
    ("restore G 1", { try $0.restore(AnyRecordName("G|~|1")) }),
    ("link G 2 to P 3", { try link($0, "G|~|2", "P|~|3") }), ("link G 1 to P 2", { try link($0, "G|~|1", "P|~|2") }),
    (
      "unlink G 1 from P 1",
      { store in
        try store.write {
          try Lab.schema.unlink($0, AnyRecordName("G|~|1"), "players", from: AnyRecordName("P|~|1"))
        }
      }
    ), ("purge P 3", { try $0.purge(AnyRecordName("P|~|3")) }),
  ]

  private static func link(_ store: Store, _ source: String, _ target: String) throws {
    try store.write { try Lab.schema.link($0, AnyRecordName(source), "players", to: AnyRecordName(target)) }
  }

  @Test(arguments: Effort.seeds(16)) func whateverIsRebuiltNoWriteIsLost(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let path: CapturePath = Bool.random(using: &random) ? .hook : .triggers
    let lab = try Lab(path)
    try lab.a.run(
      "INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1), ('P|~|2', 'two', 2), ('P|~|3', 'three', 3), ('P|~|4', 'four', 4)",
      "INSERT INTO G(id, name, owner, friend) VALUES('G|~|1', 'go', 'P|~|1', 'P|~|2'), ('G|~|2', 'chess', NULL, 'P|~|3')",
      "INSERT INTO G_players(source, target) VALUES('G|~|1', 'P|~|1'), ('G|~|1', 'P|~|3')")
    if Bool.random(using: &random) { try lab.a.run("UPDATE P SET pos = 5, name = name || '.' WHERE id = 'P|~|2'") }
    try lab.sync()
    var story: [String] = ["seed \(seed), \(path)"]
    var store = lab.a
    var restored: Set<String> = []
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let table = ["P", "P", "G", "G_players"].randomElement(using: &random) ?? "P"
      var statements = try rebuild(table, of: store, &random)
      if Int.random(in: 0..<4, using: &random) == 0 {
        statements.append(Self.indexes.randomElement(using: &random) ?? "")
      }
      story += statements
      do {
        try carryOut(statements, of: lab, &store, &random)
      } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
        // Rows that others refer to were left out.
        story.append("(\(error.resultCode))")
      } catch let error as StoreError where [.danglingReference, .deleteDenied].contains(error.code) {
        story.append("(\(error.code))")
      } catch let error as StoreError where error.code == .incompatibleTable {
        #expect(error.message.contains("the table ") && error.message.contains("rebuild it"), "\(story)")
        return
      }
      for _ in 0..<Int.random(in: 0...4, using: &random) {
        do {
          if Int.random(in: 0..<4, using: &random) == 0, let call = Self.calls.randomElement(using: &random) {
            story.append(call.story)
            let before = try Shown(store).rows
            try call.call(store)
            restored.formUnion(try Shown(store).rows.keys.filter { before[$0] == nil })
          } else {
            let sql = Self.writes.randomElement(using: &random) ?? ""
            story.append(sql)
            try store.run(sql)
          }
        } catch let error as DatabaseError {
          story.append("(\(error.resultCode))")
          // What a constraint refuses, and nothing else.
          #expect(error.resultCode == .SQLITE_CONSTRAINT, "\(error) in \(story)")
        } catch let error as StoreError {
          story.append("(\(error.code))")
          let codes: [StoreError.Code] = [
            .danglingReference, .deleteDenied, .noSuchRecord, .notDeleted, .purged,
          ]
          #expect(codes.contains(error.code), "\(error) in \(story)")
        }
        if Int.random(in: 0..<4, using: &random) == 0 { _ = try store.summary() }
        #expect(try store.doubt() == nil, "\(story)")
      }
    }
    try store.captureChanges()
    let (seen, known) = (try Shown(store), try Shown(lab.b))
    do {
      try store.sync(with: lab.b)
    } catch {
      Issue.record("\(error) in \(story)")
      return
    }
    let (after, other) = (try Shown(store), try Shown(lab.b))
    let aside = try store.status().setAside
    #expect(aside.allSatisfy { $0.reason.contains("constraint failed") }, "\(aside) in \(story)")
    // An owner that a restored row has lost takes it along if it has gone, and comes along if it may.
    let moved = Set(
      restored.filter { seen.rows[$0]?["owner"] == "NULL" }.compactMap { key in
        known.owner(of: key).flatMap { after.rows[$0] == nil ? key : seen.rows[$0] == nil ? $0 : nil }
      })
    let hidden = [seen, known].reduce(into: other.hidden(with: Set(aside.map(\.row)))) {
      $0.formUnion($1.hidden(with: moved))
    }
    let differences = seen.differences(from: after, hidden, restored: restored, known: known)
    #expect(differences == [], "\(seen) \(after) \(story)")
    #expect(after.differences(from: other, hidden) == [], "\(after) \(other) \(story)")
    #expect(try store.verify().problems == [] && store.doubt() == nil, "\(story)")
    #expect(try store.summary().fingerprint == lab.b.summary().fingerprint, "\(story)")
    try store.close()
  }

  /// What an app sees: the columns of each row, by the name of the record, or of the link's two records.
  private struct Shown {
    private(set) var rows: [String: [String: String]] = [:]

    init(_ store: Store) throws {
      try store.read { db in
        for (table, key) in [("P", "id"), ("G", "id"), ("G_players", "source || ' ' || target")] {
          // What a tool has added is this device's own.
          let columns = try db.columns(in: table).map(\.name).filter { $0 != "tally_clock" && $0 != "extra" }
          let list = columns.map { "quote(\"\($0)\") AS \"\($0)\"" }.joined(separator: ", ")
          for row in try Row.fetchAll(db, sql: "SELECT \(key) AS key, \(list) FROM \"\(table)\"") {
            rows[row["key"]] = Dictionary(uniqueKeysWithValues: columns.map { ($0, row[$0]) })
          }
        }
      }
    }

    func owner(of key: String) -> String? {
      rows[key]?["owner"].flatMap { $0 == "NULL" ? nil : $0.replacing("'", with: "") }
    }

    /// The rows that `other` shows in another way, or does not show, or alone shows. What is hidden on one side does
    /// not count, and what refers to it shows null there. In a restored row a null may be what only `known` knows.
    func differences(
      from other: Shown, _ hidden: Set<String>, restored: Set<String> = [], known: Shown? = nil
    ) -> Set<String> {
      Set(rows.keys).union(other.rows.keys).subtracting(hidden).filter { key in
        guard let row = rows[key], let second = other.rows[key] else { return true }
        return row.contains { column, value in
          let pair = [value, second[column] ?? ""]
          guard pair[0] != pair[1] else { return false }
          let refersToHidden = pair.contains { hidden.contains($0.replacing("'", with: "")) }
          if pair.contains("NULL"), refersToHidden { return false }
          return !(restored.contains(key) && value == "NULL" && pair[1] == known?.rows[key]?[column])
        }
      }
    }

    /// The rows that do not show where these do not: they, what they own, and links of either.
    func hidden(with names: Set<String>) -> Set<String> {
      var hidden = Set(names.map { $0.replacing("\n", with: " ") })
      hidden.formUnion(rows.keys.filter { owner(of: $0).map(hidden.contains) == true })
      hidden.formUnion(
        rows.keys.filter { $0.split(separator: " ").contains { hidden.contains(String($0)) } })
      return hidden
    }
  }

  private func rebuild(_ table: String, of store: Store, _ random: inout SplitMix64) throws -> [String] {
    let sql = try #require(try Lab.text(store, "SELECT sql FROM sqlite_master WHERE name = '\(table)'"))
    let chosen = Self.shapes.randomElement(using: &random) ?? ("", "")
    let shape: (old: String, new: String) = chosen.new.contains("extra") && sql.contains("extra") ? ("", "") : chosen
    // As many tools write it.
    let head = sql.firstIndex(of: "(").map { sql[$0...] } ?? ""
    let body = String(head)
    let rebuilt = "CREATE TABLE rebuilt" + (shape.old.isEmpty ? body : body.replacing(shape.old, with: shape.new))
    let columns = try store.read { db in try db.columns(in: table).map(\.name).filter { $0 != "extra" } }
    let copy = Self.copies.randomElement(using: &random) ?? "name"
    let list = columns.map { $0 == "name" && table != "G_players" ? copy : "\"\($0)\"" }
    let keep = Self.keeps.randomElement(using: &random) ?? "1"
    return [
      rebuilt,
      "INSERT INTO rebuilt(\(columns.map { "\"\($0)\"" }.joined(separator: ", "))) SELECT \(list.joined(separator: ", ")) "
        + "FROM \"\(table)\" WHERE \(keep)", "DROP TABLE \"\(table)\"", "ALTER TABLE rebuilt RENAME TO \"\(table)\"",
    ]
  }

  /// By the app in one of its own writes, by another program beside it, or while the store is closed.
  private func carryOut(
    _ statements: [String], of lab: Lab, _ store: inout Store, _ random: inout SplitMix64
  ) throws {
    switch Int.random(in: 0..<4, using: &random) {
    case 3:
      var migrator = DatabaseMigrator()
      migrator.registerMigration("\(random.next())", foreignKeyChecks: .immediate) { db in
        for statement in ["PRAGMA defer_foreign_keys = ON"] + statements { try db.execute(sql: statement) }
      }
      try migrator.migrate(store)
    case 0:
      let sql = ["PRAGMA defer_foreign_keys = ON", "PRAGMA legacy_alter_table = ON"] + statements
      try store.write { db in for statement in sql { try db.execute(sql: statement) } }
    case 1: try shell(lab, statements)
    default:
      try store.close()
      let outcome = Result { try shell(lab, statements) }
      store = try lab.reopened("a")
      try outcome.get()
    }
  }

  private func shell(_ lab: Lab, _ statements: [String]) throws {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA legacy_alter_table = ON") }
    let queue = try DatabaseQueue(path: lab.scratch.path("a"), configuration: configuration)
    try queue.write { db in for statement in statements { try db.execute(sql: statement) } }
    try queue.close()
  }
}
