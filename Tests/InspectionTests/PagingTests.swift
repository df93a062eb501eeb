import GRDB
import Tally
import TallyCRDT
import TallyInspection
import TallyStore
import Testing

/// Lists that are read in pages while the newest entries of the change log move into rows that hold many of them.
@Suite struct PagingTests {
  /// Two devices whose transactions take turns in the log of the first.
  private static func shelf() throws -> Shelf {
    let shelf = try Shelf()
    for number in 0..<60 {
      try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|p\(number)', 'Emma')")
      try shelf.tablet.run("INSERT INTO Book(id, title) VALUES('Book|~|t\(number)', 'Emma')")
      if number % 7 == 0 { try shelf.sync() }
      if number == 20 {
        let rows = (0..<50).map { "('Book|~|many\($0)', 'Emma')" }.joined(separator: ", ")
        try shelf.phone.run("INSERT INTO Book(id, title) VALUES \(rows)")
      }
      if number == 30 { try shelf.phone.flushTail() }
    }
    try shelf.sync()
    return shelf
  }

  @Test(arguments: [1, 3, 8, 40]) func transactionsComeOnceAndInOrder(_ limit: Int) throws {
    let shelf = try Self.shelf()
    let all = try shelf.phone.transactions(limit: 1000).map(\.dot)
    #expect(all.count == 121 && Set(all).count == 121)
    for replica in Set(all.map(\.replica)) {
      let own = try shelf.phone.transactions(of: replica, limit: 1000).map(\.dot)
      #expect(own == all.filter { $0.replica == replica })
    }
    var (found, place): ([Dot], Int64) = ([], .max)
    while case let page = try shelf.phone.transactions(before: place, limit: limit), let last = page.last {
      found += page.map(\.dot)
      place = last.place
      // They move after the first page.
      if found.count == page.count { try shelf.phone.flushTail() }
    }
    #expect(found == all)
  }

  /// An entry that was dropped from a row leaves the row's number, which then is greater than those of its entries.
  @Test(arguments: [1, 2, 5]) func rowsThatHaveLostEntriesHideNoOthers(_ limit: Int) throws {
    let shelf = try Shelf()
    for number in 0..<10 {
      try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|p\(number)', 'Emma')")
      try shelf.tablet.run("INSERT INTO Book(id, title) VALUES('Book|~|t\(number)', 'Emma')")
      try shelf.sync()
      try shelf.phone.run("UPDATE Book SET title = 'Lolita' WHERE id = 'Book|~|p\(number)'")
    }
    try shelf.phone.flushTail()
    for number in 2..<10 {
      try shelf.phone.run("UPDATE Book SET title = 'Ulysses' WHERE id = 'Book|~|p\(number)'")
    }
    try shelf.phone.flushTail()
    let all = try shelf.phone.transactions(limit: 1000).map(\.dot)
    #expect(all.count >= 20 && Set(all).count == all.count)
    var (found, place): ([Dot], Int64) = ([], .max)
    while case let page = try shelf.phone.transactions(before: place, limit: limit), let last = page.last {
      found += page.map(\.dot)
      place = last.place
    }
    #expect(found == all)
  }

  @Test(arguments: [1, 3, 8, 40]) func namesComeOnce(_ limit: Int) throws {
    let shelf = try Self.shelf()
    let all = try shelf.phone.names(beyond: StateVector(), limit: 1000).names
    #expect(all.count == 170 && Set(all).count == 170)
    var (found, place) = ([AnyRecordName](), TouchedNames.Place?.none)
    repeat {
      let page = try shelf.phone.names(beyond: StateVector(), from: place, limit: limit)
      found += page.names
      if place == nil { try shelf.phone.flushTail() }
      place = page.next
    } while place != nil
    #expect(found == all)
    // Of a pack only what is beyond the vector.
    var half = StateVector()
    for entry in try shelf.phone.vector.entries { half.include(Dot(replica: entry.replica, sequence: 30)) }
    let beyond = try shelf.phone.names(beyond: half, limit: 1000).names
    #expect(beyond.count < 110 && Set(beyond).isSubset(of: all))
    #expect(!beyond.contains { $0.text == "Book|~|p3" || $0.text == "Book|~|t3" })
  }

  /// Rows that hold thousands of transactions of records with short names.
  @Test func namesOfLongRowsComeOnce() throws {
    let shelf = try Shelf()
    // It is not swept by itself, so that the rows of many small transactions become one.
    let file = try DatabaseQueue(path: shelf.url.appendingPathComponent("phone.tally").path)
    try file.write { try $0.execute(sql: "INSERT OR REPLACE INTO tally_meta VALUES('log', '0 999999999 0')") }
    try file.close()
    let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_".map(String.init)
    for first in letters {
      for second in letters {
        try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|\(first)\(second)', 'Emma')")
      }
    }
    try shelf.phone.flushTail(sweeping: true)
    let all = try shelf.phone.names(beyond: StateVector(), limit: 10_000).names
    #expect(all.count == 4_096 && Set(all).count == 4_096)
    for limit in [40, 1_000] {
      var (found, place, pages) = ([AnyRecordName](), TouchedNames.Place?.none, 0)
      repeat {
        let page = try shelf.phone.names(beyond: StateVector(), from: place, limit: limit)
        found += page.names
        (place, pages) = (page.next, pages + 1)
      } while place != nil && pages < 200
      #expect(found == all)
    }
  }
}
