import Foundation
import GRDB
import TestEffort
import Testing

/// `tally recover` on files in which the store's own tables are damaged: it reads whatever can be read and lists the
/// rest.
@Suite(.timeLimit(.minutes(10))) struct RecoverTests {
  let bench: Bench
  private let pages: [String: Int]

  /// Persons and games with one stamp each, one with several, one deleted.
  init() throws {
    bench = try Bench("a")
    let persons = (1...40).map { "SBPerson|~|p\($0) name=P\($0)\n" }.joined()
    let games = (1...10).map { "SBGame|~|g\($0) name=G\($0) owner=SBPerson|~|p\($0)\n" }.joined()
    try bench.done("put", "a", "-", input: persons + games)
    try bench.done("put", "a", "SBGame|~|g1", "rating=3.5")
    try bench.done("delete", "a", "SBPerson|~|p40")
    let queue = try DatabaseQueue(path: bench.path("a"))
    try queue.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
    pages = try queue.read { db in
      let rows = try Row.fetchAll(db, sql: "SELECT name, rootpage FROM sqlite_master WHERE rootpage > 0")
      return Dictionary(uniqueKeysWithValues: rows.map { ($0["name"] as String, $0["rootpage"] as Int) })
    }
    try queue.close()
  }

  private struct Result {
    var outcome: Outcome
    /// What the new store shows, a line a record; nil if there is none.
    var lines: [String]?
  }

  private func recover(_ bytes: [UInt8]) throws -> Result {
    try bench.write(bytes, to: "damaged")
    let outcome = try bench.tally("recover", "damaged", "-o", "new")
    let hasNew = try bench.contents().contains("new")
    let lines = hasNew ? try bench.tally("dump", "new", "--view").lines : nil
    for name in try bench.contents() where name.hasPrefix("new") { try bench.remove(name) }
    return Result(outcome: outcome, lines: lines)
  }

  private func zeroed(_ page: Int) throws -> [UInt8] {
    var bytes = try bench.bytes("a")
    bytes.replaceSubrange((page - 1) * 4096..<page * 4096, with: [UInt8](repeating: 0, count: 4096))
    return bytes
  }

  /// What is lost with each table: nothing that the app sees, or the record that needed it.
  @Test(
    arguments: Effort.sample(
      [
        ("tally_context", []), ("tally_extra", ["SBGame|~|g1"]), ("tally_field", []), ("tally_kind", []),
        ("tally_hidden", []), ("tally_wait", []), ("tally_log", []), ("tally_pending", []), ("tally_vector", []),
        ("tally_zone", []), ("tally_aside", []), ("tally_note", []), ("tally_stub", []), ("tally_cut", []),
      ] as [(String, [String])], 2))
  func aDamagedRootPageCostsWhatStoodThere(table: String, lost: [String]) throws {
    let all = try bench.done("dump", "a", "--view").split(separator: "\n").map(String.init)
    let result = try recover(try zeroed(try #require(pages[table])))
    #expect([0, 65].contains(result.outcome.status), "\(result.outcome.errors)")
    let expected = all.filter { line in !lost.contains { line.contains("\"\($0)\"") } }
    #expect(result.lines == expected, "\(result.outcome.output) \(result.outcome.errors)")
    for name in lost { #expect(result.outcome.output.contains(name)) }
    if !lost.isEmpty || ["tally_context", "tally_field", "tally_kind", "tally_hidden"].contains(table) {
      #expect(result.outcome.status == 65 && result.outcome.output.contains("lost: "))
    }
  }

  /// Without the schema there is nothing to go by; with it there is.
  @Test func aLostSchemaIsAskedFor() throws {
    try bench.write(try zeroed(try #require(pages["tally_meta"])), to: "damaged")
    try bench.refused(65, ["recover", "damaged", "-o", "new"], saying: "give one")
    let outcome = try bench.tally("recover", "damaged", "-o", "new", "--schema", "schema.json")
    #expect(outcome.output.contains("recovered 50 records"), "\(outcome.output) \(outcome.errors)")
  }

  @Test(
    arguments: Effort.sample(
      [
        "UPDATE tally_kind SET source = 'SBPersoo' WHERE source = 'SBPerson'", "DELETE FROM tally_kind WHERE n = 1",
        "UPDATE tally_field SET name = 'namd' WHERE n = 1", "DELETE FROM tally_field WHERE n = 1",
        "DELETE FROM tally_kind", "DELETE FROM tally_field",
      ], 2)
  ) func lostNamesAreTakenFromTheSchema(sql: String) throws {
    let all = try bench.done("dump", "a").split(separator: "\n").map(String.init)
    let queue = try DatabaseQueue(path: bench.path("a"))
    try queue.writeWithoutTransaction { db in
      try db.execute(sql: sql)
      try db.checkpoint(.truncate)
    }
    try queue.close()
    let outcome = try bench.tally("recover", "a", "-o", "new")
    #expect([0, 65].contains(outcome.status), "\(outcome.errors)")
    #expect(try bench.done("dump", "new").split(separator: "\n").map(String.init).dropFirst() == all.dropFirst())
  }

  /// One bit anywhere in the list of tables, on the page that it begins on and on those that it goes on on. At worst it
  /// costs the table whose entry it is in, and that is said.
  @Test func oneBitOfTheListOfTablesCostsATableAtMost() throws {
    var losses = 0
    let all = try bench.done("dump", "a", "--view").split(separator: "\n").map(String.init)
    let bytes = try bench.bytes("a")
    let list = listPages(bytes)
    for page in list {
      let start = (page - 1) * 4096 + (page == 1 ? 100 : 0)
      // What the page says of itself, where its cells are, and some of what is in them.
      let used = (start..<page * 4096).filter { bytes[$0] != 0 }
      let places = used.prefix(12) + stride(from: 12, to: used.count, by: 193).map({ used[$0] })
      for place in Effort.sample(Array(places), 2) {
        var damaged = bytes
        damaged[place] ^= 1 << UInt8(place % 8)
        let result = try recover(damaged)
        #expect(result.lines != nil, "byte \(place) of page \(page): \(result.outcome.errors)")
        if result.lines != all {
          losses += 1
          #expect(result.outcome.status == 65 && result.outcome.output.contains("lost: "), "byte \(place)")
        }
        #expect([0, 65].contains(result.outcome.status))
      }
    }
    #expect(losses <= 3)
  }

  /// The pages of the list of tables.
  private func listPages(_ bytes: [UInt8]) -> [Int] {
    let others = Set(pages.values)
    let list = (1...bytes.count / 4096).filter { page in
      page == 1
        || !others.contains(page) && bytes[(page - 1) * 4096] == 0x0D
          && String(decoding: bytes[(page - 1) * 4096..<page * 4096], as: UTF8.self).contains("CREATE ")
    }
    #expect(list.count > 1)
    return list
  }

  /// Its entries are gone, and the tables are found by what is in them. Only of links nothing says which relationship
  /// they are of.
  @Test func aPageOfTheListOfTablesCostsNoRecord() throws {
    let all = try bench.done("dump", "a", "--view").split(separator: "\n").map(String.init)
    let bytes = try bench.bytes("a")
    for page in listPages(bytes).dropFirst() {
      for noise in [false, true] {
        var damaged = bytes
        for place in (page - 1) * 4096..<page * 4096 { damaged[place] = noise ? UInt8(place * 7 % 251) : 0 }
        let result = try recover(damaged)
        let lines = try #require(result.lines, "page \(page): \(result.outcome.errors)")
        let lost = all.filter { !lines.contains($0) }
        #expect(lost.allSatisfy { $0.contains("players") }, "page \(page): \(lost)\n\(result.outcome.output)")
        #expect(result.outcome.status == 65 && result.outcome.output.contains("lost: "), "page \(page)")
      }
    }
  }
}
