import Foundation
import Tally
import TallyCRDT
import TallyInspection
import TallyStore
import Testing

/// What one store has and the other lacks.
@Suite struct DifferenceTests {
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
  }

  @Test func aPlaceThatNoPageGaveIsRefused() throws {
    let shelf = try Shelf()
    for place in [
      "", "3:", "1:x", "1:\(String(repeating: "0", count: 32)):0:0", "2:\(String(repeating: "f", count: 32)):-1:0",
    ] {
      #expect(throws: StoreError.self, "\(place)") { try shelf.difference(from: place) }
    }
  }
}
