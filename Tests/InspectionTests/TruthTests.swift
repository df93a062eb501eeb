import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyStore
import Testing

@testable import TallyInspection

/// What the inspector says of removals, members, default data, times and counts holds.
@Suite struct TruthTests {
  @Test func whatWasPurgedWithItsOwnerCannotBeRestored() throws {
    let shelf = try Shelf()
    try shelf.phone.run(
      "INSERT INTO Shelf(id, name) VALUES('Shelf|~|s', 'Novels')",
      "INSERT INTO Book(id, title, shelf) VALUES('Book|~|a', 'Emma', 'Shelf|~|s')")
    try shelf.phone.run("DELETE FROM Shelf")
    #expect(try shelf.phone.purge(AnyRecordName("Shelf|~|s")).emptied == 2)
    let presence = try shelf.presence("Book|~|a", shelf.phone)
    #expect(presence.code == .emptied && presence.owners == ["Shelf|~|s"] && presence.emptying != nil)
    #expect(presence.sentence.hasPrefix("Its content was removed for good by phone #3"))
    #expect(presence.sentence.hasSuffix("with that of Shelf|~|s, which owned it. It cannot be restored."))
    let refusal = #expect(throws: StoreError.self) { try shelf.phone.restore(AnyRecordName("Book|~|a")) }
    #expect(refusal?.code == .purged)
  }

  /// A member and a removal of content are as much of a record as a field.
  @Test func aStoreLacksMembersAndRemovals() throws {
    let shelf = try Shelf()
    try shelf.phone.run(
      "INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma')",
      "INSERT INTO Book(id, title) VALUES('Book|~|b', 'Lady')",
      "INSERT INTO Reader(id, name) VALUES('Reader|~|r', 'Ann')")
    try shelf.phone.run("DELETE FROM Book WHERE id = 'Book|~|b'")
    try shelf.tablet.run("INSERT INTO Room(id, name) VALUES('Room|~|r', 'Attic')")
    try shelf.sync()
    try shelf.phone.run("INSERT INTO Book_readers(source, target) VALUES('Book|~|a', 'Reader|~|r')")
    try shelf.phone.purge(AnyRecordName("Book|~|b"))
    func lacking(isHidden: Bool) throws -> [[Int]] {
      let query = RowQuery("Book", columns: 0..<3, limit: 10)
      return try RowReport(
        of: shelf.phone, query, isHidden: isHidden, shelf.directory, besides: [1: shelf.tablet.vector], until: { false }
      ).rows.map(\.lackedBy)
    }
    #expect(try lacking(isHidden: false) == [[1]] && lacking(isHidden: true) == [[1]])
    try shelf.sync()
    #expect(try lacking(isHidden: false) == [[]] && lacking(isHidden: true) == [[]])
  }

  @Test func theTimelineKnowsRemovalsAndDefaultData() throws {
    let shelf = try Shelf()
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma')")
    try shelf.phone.run("DELETE FROM Book")
    try shelf.phone.purge(AnyRecordName("Book|~|a"))
    let schema = Shelf.schema
    let last = try #require(try shelf.phone.transactions(limit: 1).first.map { TimelineReport($0, schema) })
    #expect(last.items.map(\.changes) == [["content removed for good"]] && last.at != nil)

    let guide = SeedRecord("guide", type: "Book", ["title": "Guide"])
    try shelf.tablet.seed(SeedSet("books", version: 3, records: [guide]))
    let reports = try shelf.tablet.transactions(limit: 10).map { TimelineReport($0, schema) }
    #expect(reports.flatMap(\.items).map(\.changes) == [["default data, version 3"]])
    // The same in a store that has it not says where it comes from.
    let name = try #require(reports.flatMap(\.items).first?.name)
    var presence = try shelf.presence(name, shelf.phone)
    try presence.explain(
      lackIn: shelf.phone, of: AnyRecordName(name), besides: [("tablet", shelf.tablet)], shelf.directory)
    #expect(presence.sentence.hasPrefix("It has not arrived here: tablet has it"))
  }

  @Test(arguments: [1_700_000_000_001, 1_700_000_000_999, 1_795_634_711_010, 0, 1] as [UInt64])
  func timesAreExactToTheMillisecond(_ milliseconds: UInt64) throws {
    let text = StampReport.text(HybridTime(milliseconds: milliseconds))
    #expect(text.hasSuffix(String(format: ".%03dZ", milliseconds % 1000)) && text.count == 24)
    #expect(text == StampReport.text(Date(timeIntervalSince1970: Double(milliseconds) / 1000)))
  }

  @Test func countsOfHiddenRecordsSayWhereTheyEnd() throws {
    let shelf = try Shelf()
    try shelf.phone.write { db in
      for number in 0..<10_002 {
        try db.execute(sql: "INSERT INTO Reader(id, name) VALUES('Reader|~|' || ?, 'r')", arguments: [number])
      }
    }
    try shelf.phone.run("DELETE FROM Reader WHERE id <> 'Reader|~|0'")
    let readers = try #require(try shelf.phone.sizes().tables.first { $0.type == "Reader" })
    #expect(readers.rows == 1 && readers.isExact && readers.hidden == 10_000 && !readers.isHiddenExact)
  }

  @Test(arguments: [Int64.min, -1, 0, .max]) func aPlaceOutsideOfAllIsTheEnd(_ place: Int64) throws {
    let shelf = try Shelf()
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma')")
    try shelf.phone.run("DELETE FROM Book")
    try shelf.phone.purge(AnyRecordName("Book|~|a"))
    var query = RowQuery("Book", columns: 0..<1, limit: 10)
    query.after = place
    #expect(try shelf.phone.hiddenRows(query) { false }.rows.count == (place < 0 ? 0 : 1))
    query.text = "zz"
    #expect(try shelf.phone.hiddenRows(query) { false }.rows.isEmpty)
  }

  /// What SQLite would write into each other's place until nobody has memory left is not begun.
  @Test func tablesThatMultiplyAreRefused() throws {
    func doubling(_ count: Int, _ first: String = "SELECT 1 AS v") -> String {
      let tables = (1...count).map { "t\($0)(v) AS MATERIALIZED (SELECT x.v FROM t\($0 - 1) x, \"T\($0 - 1)\" y)" }
      return "WITH t0 AS (\(first)), \(tables.joined(separator: ", ")) SELECT count(*) FROM t\(count)"
    }
    let shelf = try Shelf()
    #expect(throws: QueryRefusal.tooManyTables) { try shelf.phone.query(doubling(40), limit: 1) { false } }
    let joins = Array(repeating: "t1", count: 60).enumerated().map { "\($1) AS a\($0)" }.joined(separator: ", ")
    #expect(throws: QueryRefusal.tooManyTables) {
      try shelf.phone.query(
        "WITH t1 AS (SELECT 1), t2 AS (SELECT 1 FROM \(joins)), t3 AS (SELECT 1 FROM \(joins.replacing("t1", with: "t2"))),"
          + " t4 AS (SELECT 1 FROM \(joins.replacing("t1", with: "t3"))) SELECT 1 FROM t4", limit: 1
      ) { false }
    }
    #expect(try shelf.phone.query(doubling(8), limit: 1) { false }.rows.first?.first?.text == "1")
    // Columns named as tables, words in texts and comments, and recursion are nothing of the kind.
    let harmless = """
      WITH RECURSIVE v(v) AS (SELECT 1 UNION ALL SELECT v + v.v FROM v WHERE v < 99 /* FROM v, v */),
      w AS (SELECT v, v AS w, 'from v, v' FROM v), x AS (SELECT w, w AS x FROM w) SELECT x, x, x FROM x LIMIT 1 -- , v
      """
    #expect(try shelf.phone.query(harmless, limit: 1) { false }.rows.count == 1)
    var once = QueryExpansion(harmless)
    #expect(once.count() < 100)
  }
}
