import Foundation
import GRDB
import Tally
import TallyStore
import TestEffort
import Testing

/// The disk changes a number or a name that all of the file uses: which replica, type or field is meant.
@Suite(.timeLimit(.minutes(5))) struct NumberedRowTests {
  private let files: SharedFolder

  init() throws { files = try SharedFolder() }

  /// Three stores. b holds what a wrote, but for a note that b has deleted, which c still shows; and it has a note and
  /// an edit of its own.
  private func trio() throws -> (a: Store, b: Store, c: Store) {
    let (a, b, c) = (try files.store("a"), try files.store("b"), try files.store("c"))
    try World.insert(4, "old", a)
    try b.sync(with: a)
    try c.sync(with: a)
    try b.write { try $0.execute(sql: "DELETE FROM Note WHERE text = 'old 1'") }
    try a.sync(with: b)
    try World.insert(1, "own", b)
    try b.write { try $0.execute(sql: "UPDATE Note SET stars = 9 WHERE text = 'old 2'") }
    return (a, b, c)
  }

  private static let damages = [
    "UPDATE tally_replica SET id = x'0123456789ABCDEF0123456789ABCDEF' WHERE n = (SELECT min(n) FROM tally_replica)",
    "UPDATE tally_replica SET id = x'0123456789ABCDEF0123456789ABCDEF' WHERE n = (SELECT max(n) FROM tally_replica)",
    "UPDATE tally_replica SET n = n + 71", "UPDATE tally_replica SET n = -n; UPDATE tally_replica SET n = 3 + n",
    "UPDATE tally_kind SET n = n + 71", "UPDATE tally_kind SET source = 'Mote2'",
    "UPDATE tally_kind SET relationship = 'notes', target = 'Note'",
    "UPDATE tally_field SET n = n + 71", "UPDATE tally_field SET n = -n; UPDATE tally_field SET n = 3 + n",
    "UPDATE tally_field SET kind = kind + 5", "UPDATE tally_field SET name = name || 'xy'",
    "UPDATE tally_field SET sum = sum + 7", "UPDATE tally_kind SET sum = 0", "UPDATE tally_replica SET sum = 5",
    "UPDATE tally_zone SET n = 64", "UPDATE tally_zone SET n = 5, id = x'01'",
  ]

  /// No other device shows anything that nobody wrote, or shows again what was deleted; and all end equal and sound
  /// without anybody's help.
  @Test(arguments: Effort.sample(damages, 5), [["a", "c"], ["c", "a"]])
  func aChangedNumberOrNameHeals(_ sql: String, _ order: [String]) throws {
    let (a, before, c) = try trio()
    let b = try files.tamper("b", before, sql)
    let others = ["a": a, "c": c]
    for _ in 0..<3 {
      for name in order {
        let other = try #require(others[name])
        try b.sync(with: other)
        for store in [a, c] { #expect(try Self.texts(store).isSubset(of: Self.texts(a).union(["own 0", "old 1"]))) }
      }
      try a.sync(with: c)
    }
    for store in [a, b, c] {
      #expect(try Self.texts(store) == ["old 0", "old 2", "old 3", "own 0"], "\(sql)")
      #expect(try store.verify().problems == [], "\(sql)")
    }
    #expect(try World.dump(a) == World.dump(b) && World.dump(a) == World.dump(c))
    #expect(try a.summary().fingerprint == b.summary().fingerprint)
    #expect(try a.summary().vector == b.summary().vector)
  }

  /// One bit is put right, and nothing is in doubt.
  @Test(arguments: [
    "UPDATE tally_replica SET n = n | 64 WHERE n = 1", "UPDATE tally_replica SET sum = sum - (sum & 1) + (~sum & 1)",
    "UPDATE tally_kind SET source = 'Nnte'", "UPDATE tally_field SET kind = kind | 32",
    "UPDATE tally_field SET name = 'texu' WHERE name = 'text'", "UPDATE tally_zone SET n = 64",
  ]) func oneBitOfANumberOrNameIsPutRight(_ sql: String) throws {
    let (a, before, _) = try trio()
    let summary = try before.summary()
    let b = try files.tamper("b", before, sql)
    #expect(try b.doubt() == nil)
    #expect(try b.verify().problems == [])
    #expect(try b.summary().fingerprint == summary.fingerprint && b.summary().vector == summary.vector)
    try a.sync(with: b)
    #expect(try Self.texts(a) == ["old 0", "old 2", "old 3", "own 0"])
  }

  /// The number of a lost row is given to nothing else: what was written with it would stand under another name.
  @Test(arguments: [
    "DELETE FROM tally_field WHERE n = (SELECT max(n) FROM tally_field)",
    "DELETE FROM tally_kind WHERE n = (SELECT max(n) FROM tally_kind)", "DELETE FROM tally_field WHERE n = 3",
    "DELETE FROM tally_meta WHERE key = 'numbers field'",
    "UPDATE tally_meta SET value = '99 4' WHERE key = 'numbers field'",
  ]) func aNumberThatIsLostIsNotGivenAgain(_ sql: String) throws {
    // Devices with a newer app bring fields, a type and a relationship that b does not know.
    func newer(_ name: String, _ field: String, _ value: String) throws -> Store {
      let store = try Store(
        inMemory: Schema([
          EntitySchema(
            "Note", .text("text"), .integer("stars"), .text(field), .toMany(field + "s", to: "Note"))
        ]))
      try store.write {
        try $0.execute(
          sql: "INSERT INTO Note(id, text, stars, \(field)) VALUES('Note|~|\(name)', '\(name)', 0, '\(value)')")
        try $0.execute(
          sql: "INSERT INTO Note_\(field)s(source, target) VALUES('Note|~|\(name)', 'Note|~|\(name)')")
      }
      return store
    }
    let (one, two) = (try newer("one", "motto", "M"), try newer("two", "zodiac", "Z"))
    let (a, before) = (try files.store("a"), try files.store("b"))
    for store in [before, a] { try store.sync(with: one) }
    let b = try files.tamper("b", before, sql)
    try b.write { try $0.execute(sql: "UPDATE Note SET stars = 5 WHERE text = 'one'") }
    try b.sync(with: two)
    for _ in 0..<2 { for store in [a, one, two] { try b.sync(with: store) } }
    let columns = { (store: Store, field: String) in
      try store.read { try Row.fetchAll($0, sql: "SELECT text, stars, \(field) FROM Note ORDER BY text") }
        .map { "\($0[0] as String) \($0[1] as Int) \(($0[2] as String?) ?? "")" }
    }
    #expect(try columns(one, "motto") == ["one 5 M", "two 0 "], "\(sql)")
    #expect(try columns(two, "zodiac") == ["one 5 ", "two 0 Z"], "\(sql)")
    let links = { (store: Store, field: String) in
      try store.read { try String.fetchAll($0, sql: "SELECT source FROM Note_\(field)s") }
    }
    #expect(try links(one, "motto") == ["Note|~|one"] && links(two, "zodiac") == ["Note|~|two"], "\(sql)")
    for store in [a, b, one, two] { #expect(try store.verify().problems == [], "\(sql)") }
    #expect(try World.dump(a) == World.dump(b) && World.dump(a) == World.dump(one), "\(sql)")
  }

  /// A file from before sums, with numbers that cannot be: refused or put aside, and never a trap.
  @Test(arguments: [
    "UPDATE tally_replica SET n = 9223372036854775807 WHERE n = 1", "UPDATE tally_kind SET n = -1 WHERE n = 1",
    "UPDATE tally_kind SET n = 9223372036854775807 WHERE n = 1", "UPDATE tally_field SET n = 0 WHERE n = 1",
    "UPDATE tally_replica SET n = -1 WHERE n = 2",
  ]) func anOlderFileWithNumbersThatCannotBeHeals(_ sql: String) throws {
    let (a, before, c) = try trio()
    let b = try files.tamper(
      "b", before,
      """
      ALTER TABLE tally_replica DROP COLUMN sum; ALTER TABLE tally_kind DROP COLUMN sum;
      ALTER TABLE tally_field DROP COLUMN sum; DELETE FROM tally_meta WHERE key GLOB 'numbers *'; \(sql)
      """)
    for _ in 0..<2 { for other in [a, c] { try b.sync(with: other) } }
    for store in [a, b, c] {
      #expect(try Self.texts(store) == ["old 0", "old 2", "old 3", "own 0"], "\(sql)")
      #expect(try store.verify().problems == [], "\(sql)")
    }
  }

  /// A store that only reads cannot put anything right, and gives nothing away that may be another's.
  @Test func aReaderRefusesAChangedName() throws {
    let (_, before, _) = try trio()
    try before.close()
    let path = files.root.appendingPathComponent("b").path
    let queue = try DatabaseQueue(path: path)
    try queue.write { try $0.execute(sql: "UPDATE tally_field SET name = 'other'|| n") }
    try queue.close()
    var options = StoreOptions()
    options.isReadOnly = true
    let error = #expect(throws: StoreError.self) {
      let store = try Store(existing: path, options: options)
      _ = try store.delta()
    }
    #expect(error?.code == .damaged && error?.message.contains("tally_field") == true, "\(String(describing: error))")
  }

  /// A file from before rows had sums gets them.
  @Test func anOlderFileGetsItsSums() throws {
    let (a, before, _) = try trio()
    let b = try files.tamper(
      "b", before,
      """
      ALTER TABLE tally_replica DROP COLUMN sum; ALTER TABLE tally_kind DROP COLUMN sum;
      ALTER TABLE tally_field DROP COLUMN sum
      """)
    #expect(try b.doubt() == nil && b.verify().problems == [])
    try a.sync(with: b)
    let c = try files.tamper("b", b, "UPDATE tally_field SET name = name || 'xy'")
    #expect(try c.doubt()?.level == .damaged)
  }

  private static func texts(_ store: Store) throws -> Set<String> {
    try store.read { try Set(String.fetchAll($0, sql: "SELECT text FROM Note")) }
  }
}
