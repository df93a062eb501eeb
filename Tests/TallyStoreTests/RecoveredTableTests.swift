import Foundation
import GRDB
import Tally
import TallyRecovery
import TallyStore
import Testing

/// The definition of an entity's table is damaged or lost. The schema in the file does not tell in which order the
/// columns stand.
@Suite(.timeLimit(.minutes(30))) struct RecoveredTableTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private static let first = Schema([
    EntitySchema("Song", .text("title"), .text("album"), .text("a2"), .text("a1"), .integer("plays"))
  ])
  /// A later version, whose columns stand behind the clock.
  private static let second = Schema([
    EntitySchema(
      "Song", .text("title"), .text("album"), .text("a2"), .text("a1"), .integer("plays"), .text("zone"), .text("bonus")
    )
  ])

  /// A closed file with thirty songs, some of them written again, and others with the second schema if it has grown.
  private func file(hasGrown: Bool) throws -> [UInt8] {
    let path = scratch.path("songs")
    var store = try Store(path: path, schema: Self.first)
    func insert(_ range: Range<Int>, _ columns: String, _ values: String) throws {
      try store.write { db in
        for number in range {
          try db.execute(
            sql: "INSERT INTO Song(id, title, album, a2, a1, plays\(columns)) VALUES(?, ?, ?, ?, ?, ?\(values))",
            arguments: ["Song|~|s\(number)", "title \(number)", "album \(number)", "two", "one", number])
        }
      }
    }
    try insert(0..<20, "", "")
    if hasGrown {
      try store.close()
      store = try Store(path: path, schema: Self.second)
      try insert(20..<30, ", zone, bonus", ", 'zone', 'bonus'")
      try store.write { try $0.execute(sql: "UPDATE Song SET bonus = 'more' WHERE plays < 5") }
    } else {
      try insert(20..<30, "", "")
    }
    try store.write { try $0.execute(sql: "UPDATE Song SET title = 'again' WHERE plays > 25") }
    try store.close()
    return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
  }

  private static func rows(_ store: Store) throws -> [Row] {
    try store.read { try Row.fetchAll($0, sql: "SELECT * FROM Song ORDER BY id") }
  }

  /// The content of the file, and that of a store that was recovered from it after damage.
  private func expectRecovered(_ bytes: [UInt8], hasGrown: Bool, _ damage: (inout [UInt8]) throws -> Void) throws {
    var damaged = bytes
    try damage(&damaged)
    #expect(damaged != bytes)
    try Data(damaged).write(to: URL(fileURLWithPath: scratch.path("damaged")))
    let schema = hasGrown ? Self.second : Self.first
    _ = try Store.recover(scratch.path("damaged"), to: scratch.path("recovered"), schema: schema)
    let (original, recovered) = (
      try Store(existing: scratch.path("songs")), try Store(existing: scratch.path("recovered"))
    )
    let columns = schema.entities[0].fields.map(\.name) + ["id"]
    func shown(_ store: Store) throws -> [[DatabaseValue]] {
      try Self.rows(store).map { row in columns.map { row[$0] as DatabaseValue } }
    }
    #expect(try shown(recovered) == shown(original))
    #expect(try recovered.verify().problems == [])
    for store in [original, recovered] { try store.close() }
  }

  /// A changed column name is put right where it stands, also if it is now as far from another column's.
  @Test(arguments: ["album", "title", "a2", "a1", "plays"], [false, true])
  func aColumnKeepsItsPlace(_ column: String, _ hasGrown: Bool) throws {
    try expectRecovered(try file(hasGrown: hasGrown), hasGrown: hasGrown) { bytes in
      let definition = Array("\"\(column)\" ".utf8)
      let create = try #require(bytes.firstRange(of: Array("CREATE TABLE \"Song\"(".utf8)))
      let place = try #require(bytes[create.upperBound...].firstRange(of: definition))
      bytes[place.upperBound - 3] ^= 1
    }
  }

  /// Without any definition the numbers of the columns tell their order, and the rows where the clock stands.
  @Test(arguments: [false, true]) func aTableWithoutItsDefinitionIsReadInItsOwnOrder(_ hasGrown: Bool) throws {
    try expectRecovered(try file(hasGrown: hasGrown), hasGrown: hasGrown) { bytes in
      let create = try #require(bytes.firstRange(of: Array("CREATE TABLE \"Song\"(".utf8)))
      let page = create.lowerBound / 4096
      #expect(page > 0)
      for place in page * 4096..<(page + 1) * 4096 { bytes[place] = 0 }
    }
  }

  /// The vector's table looks like a part of the contexts' table, and is found with all entries lost.
  @Test func theStoresOwnTablesAreFoundWithoutAnyEntry() throws {
    let store = try scratch.store("deletes")
    let ann = Person(name: "Ann")
    try store.write { try ann.insert($0) }
    try store.write { _ = try ann.delete($0) }
    try store.write { try Person(name: "Bob").insert($0) }
    let vector = try store.vector
    try store.flushTail()
    try store.close()
    var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: scratch.path("deletes"))))
    let pages = Set((1..<bytes.count / 4096).filter { bytes[$0 * 4096] == 0x0D }).filter { page in
      String(decoding: bytes[page * 4096..<(page + 1) * 4096], as: UTF8.self).contains("CREATE ")
    }
    #expect(!pages.isEmpty)
    for page in pages { for place in page * 4096..<(page + 1) * 4096 { bytes[place] = 0 } }
    try Data(bytes).write(to: URL(fileURLWithPath: scratch.path("damaged")))
    let report = try Store.recover(
      scratch.path("damaged"), to: scratch.path("recovered"), schema: Schema(Person.self, Game.self, Match.self))
    #expect(!report.losses.contains { $0.contains("tally_vector") }, "\(report.losses)")
    let recovered = try Store(existing: scratch.path("recovered"))
    #expect(try recovered.vector.covers(vector))
    let names = try recovered.read { try String.fetchAll($0, sql: "SELECT name FROM \(Person.databaseTableName)") }
    #expect(names == ["Bob"])
    try recovered.close()
  }
}
