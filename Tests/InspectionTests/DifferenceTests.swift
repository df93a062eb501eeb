import Foundation
import Tally
import TallyCRDT
import TallyInspection
import TallyStore
import Testing

/// What one store has and the other lacks.
@Suite struct DifferenceTests {
  /// Whoever goes on after a sync is told of what differs now.
  @Test func aPlaceFromBeforeASyncNamesNothingThatIsEqualSince() throws {
    let shelf = try Shelf()
    for number in 0..<6 { try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|\(number)', 'Emma')") }
    let page = try shelf.difference(limit: 2)
    #expect(page.records.count == 2 && page.next != nil)
    try shelf.sync()
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|new', 'Emma')")
    let next = try shelf.difference(from: page.next, limit: 50)
    #expect(next.records.map(\.name) == ["Book|~|new"])
  }

  @Test func equalStoresSaySo() throws {
    let shelf = try Shelf()
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma')")
    try shelf.sync()
    let difference = try shelf.difference()
    #expect(difference.isSameVector && difference.isSameContent && difference.records.isEmpty)
    #expect(difference.sentence == "Both have seen the same and hold the same.")
  }

  @Test func recordsAreListedOnceWithWhatDiffers() throws {
    let shelf = try Shelf()
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma'), ('Book|~|b', 'Lolita')")
    try shelf.sync()
    try shelf.phone.run("UPDATE Book SET title = 'Emma, again' WHERE id = 'Book|~|a'")
    try shelf.tablet.run("UPDATE Book SET pages = 400 WHERE id = 'Book|~|a'")
    try shelf.tablet.run("DELETE FROM Book WHERE id = 'Book|~|b'")
    try shelf.tablet.run("INSERT INTO Book(id, title) VALUES('Book|~|c', 'Ulysses')")
    let difference = try shelf.difference()
    #expect(difference.sentence == "phone lacks tablet #1–#3. tablet lacks phone #2.")
    #expect(difference.records.map(\.name).sorted() == ["Book|~|a", "Book|~|b", "Book|~|c"])
    let records = Dictionary(uniqueKeysWithValues: difference.records.map { ($0.name, $0) })
    let (edited, deleted, new) = (records["Book|~|a"], records["Book|~|b"], records["Book|~|c"])
    #expect(edited?.fields.map(\.field) == ["pages", "title"])
    #expect(edited?.fields.last?.first?.value.text == "Emma, again")
    #expect(edited?.fields.last?.second?.value.text == "Emma")
    #expect(deleted?.sentence.hasPrefix("phone shows it, tablet does not. It was deleted by tablet #2") == true)
    #expect(new?.first.code == .notReceived && new?.second.code == .visible)
    #expect(new?.sentence.contains("tablet has it, written by tablet #3") == true)
  }

  /// What an owner takes with it, and what a touch of something owned brings back, is told beside it.
  @Test func whatFollowsAnotherRecordIsTold() throws {
    let shelf = try Shelf()
    try shelf.phone.run("INSERT INTO Shelf(id) VALUES('Shelf|~|s'), ('Shelf|~|other')")
    try shelf.phone.run(
      "INSERT INTO Book(id, shelf) VALUES('Book|~|a', 'Shelf|~|s'), ('Book|~|b', 'Shelf|~|s'), ('Book|~|c', 'Shelf|~|other')"
    )
    try shelf.sync()
    try shelf.tablet.run("DELETE FROM Shelf WHERE id = 'Shelf|~|s'")
    var difference = try shelf.difference()
    #expect(difference.records.map(\.name) == ["Shelf|~|s"])
    let names = difference.records.first?.followers.map(\.name)
    #expect(names == ["Book|~|a", "Book|~|b"] && difference.records.first?.hasMoreFollowers == false)
    #expect(
      difference.records.first?.followerSentence("phone", "tablet")
        == "With it: phone shows Book|~|a and Book|~|b, tablet does not.")
    // The phone's edit keeps the shelf and the other book.
    try shelf.phone.run("UPDATE Book SET title = 'Emma' WHERE id = 'Book|~|a'")
    difference = try shelf.difference()
    #expect(difference.records.map(\.name).sorted() == ["Book|~|a", "Shelf|~|s"])
    try shelf.tablet.apply(shelf.phone.delta(since: shelf.tablet.vector))
    difference = try shelf.difference()
    #expect(difference.records.map(\.name) == ["Shelf|~|s"] && difference.records.first?.followers.isEmpty == true)
    try shelf.phone.apply(shelf.tablet.delta(since: shelf.phone.vector))
    // Now both show the shelf again through its book alone, and then only one of them does.
    try shelf.tablet.run("DELETE FROM Book WHERE id = 'Book|~|a'")
    difference = try shelf.difference()
    #expect(difference.records.map(\.name) == ["Book|~|a"])
    #expect(difference.records.first?.followers.map(\.name) == ["Book|~|b", "Shelf|~|s"])
  }

  @Test func pagesMeetWithoutAGapOrARepetition() throws {
    let shelf = try Shelf()
    // One transaction of many records, and many of one.
    let rows = (0..<70).map { "('Book|~|\($0)', 't')" }.joined(separator: ",")
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES\(rows)")
    for number in 70..<100 { try shelf.phone.run("INSERT INTO Book(id) VALUES('Book|~|\(number)')") }
    for number in 100..<120 { try shelf.tablet.run("INSERT INTO Book(id) VALUES('Book|~|\(number)')") }
    for limit in [1, 7, 50, 500] {
      var (names, place): ([String], String?) = ([], nil)
      repeat {
        let page = try shelf.difference(from: place, limit: limit)
        #expect(page.records.count <= limit)
        names += page.records.map(\.name)
        place = page.next
      } while place != nil
      #expect(names.count == 120 && Set(names).count == 120, "\(limit)")
    }
    // However little time a page has, the comparison comes to its end.
    var (names, place): ([String], String?) = ([], nil)
    repeat {
      let comparison = StoreComparison(("phone", shelf.phone), ("tablet", shelf.tablet), try shelf.directory)
      let page = try comparison.page(from: place, until: { true })
      names += page.records.map(\.name)
      place = page.next
    } while place != nil
    #expect(names.count == 120 && Set(names).count == 120)
  }

  /// A page knows nothing of those before it, and still a record that many transactions have changed is on one alone.
  @Test func aRecordOfManyTransactionsIsOnOnePage() throws {
    let shelf = try Shelf()
    let (phone, tablet) = (shelf.phone, shelf.tablet)
    try phone.run(
      "INSERT INTO Reader(id, name) VALUES('Reader|~|a', 'Ann'), ('Reader|~|b', 'Ben')",
      "INSERT INTO Book(id, title) VALUES('Book|~|old', 'Emma'), ('Book|~|gone', 'Lolita'), ('Book|~|both', 'Ulysses')")
    try shelf.sync()
    // Each round leaves something of the round before, and overwrites something else.
    for round in 1...4 {
      for book in ["new\(round)", "again"] { try phone.run("INSERT OR IGNORE INTO Book(id) VALUES('Book|~|\(book)')") }
      try phone.run("UPDATE Book SET pages = \(round) WHERE id IN ('Book|~|old', 'Book|~|again', 'Book|~|both')")
      try phone.run("UPDATE Book SET title = 'Round \(round)' WHERE id = 'Book|~|new\(max(1, round - 1))'")
      try tablet.run("UPDATE Book SET title = 'Round \(round)' WHERE id = 'Book|~|both'")
      try tablet.run("UPDATE Book SET pages = \(round) WHERE id = 'Book|~|both'")
    }
    try phone.run("UPDATE Book SET title = 'Persuasion' WHERE id = 'Book|~|old'")
    for reader in ["a", "b"] {
      try phone.run("INSERT INTO Book_readers(source, target) VALUES('Book|~|old', 'Reader|~|\(reader)')")
      try tablet.run("INSERT INTO Book_readers(source, target) VALUES('Book|~|both', 'Reader|~|\(reader)')")
    }
    try phone.run("DELETE FROM Book_readers WHERE target = 'Reader|~|a'")
    try phone.run("UPDATE Book SET pages = 7 WHERE id = 'Book|~|gone'")
    try phone.run("DELETE FROM Book WHERE id = 'Book|~|gone'")
    let all = ["again", "both", "gone", "new1", "new2", "new3", "new4", "old"].map { "Book|~|\($0)" }
    for limit in [1, 2, 3, 50] {
      var (names, place): ([String], String?) = ([], nil)
      repeat {
        let page = try shelf.difference(from: place, limit: limit)
        names += page.records.map(\.name)
        place = page.next
      } while place != nil
      #expect(names.sorted() == all, "\(limit)")
    }
  }

  /// A transaction of very many records has several rows in the log. A page begins in the row where the last has ended.
  @Test func pagesOfALargeTransactionMeet() throws {
    let (store, count) = (try Store(inMemory: Shelf.schema), 30_000)
    try store.run(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count)) "
        + "INSERT INTO Reader(id, name) SELECT 'Reader|~|' || i, 'r' FROM n")
    var (names, rows, place) = ([AnyRecordName](), Set<Int64>(), TouchedNames.Place?.none)
    repeat {
      let page = try store.names(beyond: StateVector(), from: place, limit: 3_000)
      names += page.names
      rows.formUnion(page.places.map(\.row))
      #expect(page.places.allSatisfy { $0.done < 20_000 })
      place = page.next
    } while place != nil
    #expect(names.count == count && Set(names).count == count && rows.count > 1)
  }

  @Test func ofAWideRecordFiftyFieldsAreNamedAndTheRestCounted() throws {
    let wide = Schema([EntitySchema(type: "Wide", fields: (0..<80).map { FieldSchema("f\($0)", .text) })])
    let (one, other) = (try Store(inMemory: wide), try Store(inMemory: wide))
    try one.run(
      "INSERT INTO Wide(id, \((0..<80).map { "f\($0)" }.joined(separator: ","))) VALUES('Wide|~|a', "
        + (0..<80).map { "'\($0)'" }.joined(separator: ",") + ")")
    try other.sync(with: one)
    try one.run("UPDATE Wide SET " + (0..<80).map { "f\($0) = 'x'" }.joined(separator: ","))
    let comparison = StoreComparison(("one", one), ("other", other), ReplicaDirectory())
    let record = try #require(try comparison.page().records.first)
    #expect(record.fields.count == 50 && record.otherFields == 30 && record.sentence.hasSuffix(" and 30 more."))
  }

  /// Equal states are no promise of equal screens.
  @Test func storesThatHoldTheSameAndShowSomethingElseSaySo() throws {
    let shelf = try Shelf(tabletSchema: Shelf.older)
    try shelf.tablet.run("CREATE UNIQUE INDEX title ON Book(title)")
    try shelf.phone.run(
      "INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma'), ('Book|~|b', 'Emma')",
      "INSERT INTO Room(id, name) VALUES('Room|~|r', 'Attic'), ('Room|~|s', 'Cellar')")
    try shelf.sync()
    #expect(
      try shelf.difference().sentence == "Both have seen the same and hold the same. Not all of it shows the same: of "
        + "tablet, 1 row is set aside, since its database does not take it and 2 rows are of types that its version of "
        + "the app does not have.")
  }

  @Test func aPlaceThatNoPageGaveIsRefused() throws {
    let shelf = try Shelf()
    for place in [
      "", "3:", "1:\(String(repeating: "0", count: 32)):1:-1:0", "1:x", "1:\(String(repeating: "0", count: 32)):0:0",
      "2:\(String(repeating: "f", count: 32)):-1:0",
    ] {
      #expect(throws: StoreError.self, "\(place)") { try shelf.difference(from: place) }
    }
  }
}
