import Foundation
import GRDB
import Synchronization
import Tally
import TallyCRDT
import TallyStore
import TestEffort
import Testing

/// A store writes down in the file what it has found of tables, indexes and triggers, so that the next one need not
/// look again. As soon as any of them changes, that counts for nothing.
@Suite struct KnownShapeTests {
  private static let schema = Schema([
    EntitySchema("P", .text("name"), .integer("age", default: 3), .reference("friend", to: "P")),
    EntitySchema("G", .text("name"), .toMany("players", to: "P")),
  ])

  private let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    let store = try open()
    try store.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one')")
    try store.close()
  }

  private func open() throws -> Store {
    try scratch.store("a", schema: Self.schema, options: Lab.options(.hook))
  }

  /// Statements of another program, while no store has the file open or one has.
  private func outside(_ sql: String...) throws {
    let queue = try DatabaseQueue(path: scratch.path("a"))
    for sql in sql { try queue.inDatabase { try $0.execute(sql: sql) } }
    try queue.close()
  }

  private var shape: Data? {
    get throws {
      let queue = try DatabaseQueue(path: scratch.path("a"))
      defer { try? queue.close() }
      return try queue.read { try Data.fetchOne($0, sql: "SELECT value FROM tally_meta WHERE key = 'shape'") }
    }
  }

  /// The statements that opening the file runs.
  private func statementsOfOpening() throws -> [String] {
    let statements = Statements()
    var options = Lab.options(.hook)
    options.prepareDatabase = { db in db.trace(options: .statement) { statements.append("\($0)") } }
    try scratch.store("a", schema: Self.schema, options: options).close()
    return statements.all
  }

  private final class Statements: Sendable {
    private let list = Mutex<[String]>([])
    var all: [String] { list.withLock { $0 } }
    func append(_ sql: String) { list.withLock { $0.append(sql) } }
  }

  @Test func tablesAreLookedAtOnce() throws {
    func looks(_ statements: [String]) -> Int { statements.count { $0.contains("index_list") } }
    #expect(looks(try statementsOfOpening()) == 0)
    try outside("CREATE INDEX by_age ON P(age)")
    #expect(looks(try statementsOfOpening()) > 0)
    #expect(looks(try statementsOfOpening()) == 0)
    try outside("DELETE FROM tally_meta WHERE key = 'shape'")
    #expect(looks(try statementsOfOpening()) > 0)
    #expect(looks(try statementsOfOpening()) == 0)
  }

  /// An index, a trigger or a table that is another in the meantime is what the store goes by.
  @Test func whatHasChangedOutsideIsFound() throws {
    try outside("CREATE UNIQUE INDEX one_name ON P(name)", "DROP TRIGGER tally_P_insert")
    try outside("INSERT INTO P(id, name) VALUES('P|~|2', 'two')")
    let store = try open()
    #expect(try store.verify().problems == [])
    #expect(try store.summary().vector.entries.map(\.sequence) == [2])
    // By the index only one of two equal names is shown.
    let other = try scratch.store("b", schema: Self.schema, options: Lab.options(.hook))
    try other.run("INSERT INTO P(id, name) VALUES('P|~|3', 'one')")
    try store.sync(with: other)
    #expect(try Lab.rows(store, "P").count == 2)
    #expect(try Lab.rows(other, "P").count == 3)
    try store.close()
    try outside("CREATE TABLE Q AS SELECT * FROM P", "DROP TABLE P", "ALTER TABLE Q RENAME TO P")
    #expect(throws: StoreError.self) { try open() }
  }

  /// A store that has the file open while another program changes the schema does not vouch for it: the next opening
  /// checks.
  @Test func anOpenStoreVouchesForNothingThatItHasNotLookedAt() throws {
    func names() throws -> [String] {
      let queue = try DatabaseQueue(path: scratch.path("a"))
      defer { try? queue.close() }
      return try queue.read { try String.fetchAll($0, sql: "SELECT name FROM sqlite_master ORDER BY name") }
    }
    let made = try names()
    for (number, part) in ["TABLE tally_seeded", "INDEX tally_log_dot", "TABLE tally_note", "TABLE tally_stub"]
      .enumerated()
    {
      let store = try open()
      try outside("DROP \(part)")
      try store.run("INSERT INTO G(id, name) VALUES('G|~|\(number)', 'game')")
      try store.close()
      let next = try open()
      #expect(try next.verify().problems == [], "\(part)")
      try next.close()
      #expect(try names() == made, "\(part)")
    }
    let store = try open()
    let sql = try #require(try Lab.text(store, "SELECT sql FROM sqlite_master WHERE name = 'P'"))
    let folded = sql.replacingOccurrences(of: "CREATE TABLE \"P\"", with: "CREATE TABLE Q")
      .replacingOccurrences(of: "id TEXT NOT NULL", with: "id TEXT NOT NULL COLLATE NOCASE")
    #expect(folded.contains("NOCASE"))
    try outside(folded, "INSERT INTO Q SELECT * FROM P", "DROP TABLE P", "ALTER TABLE Q RENAME TO P")
    try store.run("INSERT INTO G(id, name) VALUES('G|~|last', 'game')")
    try store.close()
    #expect(throws: StoreError.self) { try open() }
  }

  /// Whatever a disk makes of it: it is not believed, or says what it said.
  @Test func anyBitOfItMayFlip() throws {
    let sound = try #require(try shape)
    for bit in stride(from: 0, to: 8 * sound.count, by: Effort.isLong ? 1 : 23) {
      var bad = sound
      bad[bit / 8] ^= 1 << UInt8(bit % 8)
      let digits = bad.map { String(format: "%02x", $0) }.joined()
      try outside("UPDATE tally_meta SET value = x'\(digits)' WHERE key = 'shape'")
      let store = try open()
      try store.run("UPDATE P SET age = \(bit + 10)")
      try store.close()
      #expect(try shape == sound, "bit \(bit)")
    }
    let store = try open()
    #expect(try store.verify().problems == [])
  }

  /// Earlier versions have made an index that another one makes needless.
  @Test(arguments: [false, true]) func anIndexThatNobodyNeedsMayBeDamaged(isDamaged: Bool) throws {
    try outside("CREATE INDEX tally_conflict_name ON tally_conflict(name, field)")
    let root = "SELECT rootpage FROM sqlite_master WHERE name = 'tally_conflict_name'"
    let queue = try DatabaseQueue(path: scratch.path("a"))
    let page = try #require(try queue.read { try UInt64.fetchOne($0, sql: root) })
    try queue.close()
    if isDamaged {
      let file = try FileHandle(forUpdating: URL(fileURLWithPath: scratch.path("a")))
      try file.seek(toOffset: (page - 1) * 4096)
      try file.write(contentsOf: Data(repeating: 0x5A, count: 4096))
      try file.close()
    }
    let store = try open()
    try store.run("UPDATE P SET age = 4")
    #expect(try store.read { try UInt64.fetchOne($0, sql: root) } == page)
    #expect(try store.delta().count > 0)
  }

  /// A version of the library that makes other tables or triggers must not believe what an earlier one has found. Where
  /// this fails, raise `KnownShape.version` and write down its hash here.
  @Test func whatAStoreMakesHasAVersion() throws {
    let known: [UInt8: UInt64] = [7: 9_258_337_126_451_125_582]
    let queue = try DatabaseQueue(path: scratch.path("a"))
    let made = try queue.read {
      try String.fetchAll($0, sql: "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
    }
    try queue.close()
    let version = try #require(try shape?.first)
    #expect(known[version] == SipHash13.hash(made.joined(separator: "\n")))
  }
}
