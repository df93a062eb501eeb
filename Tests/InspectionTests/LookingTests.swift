import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyInspection
import TallyStore
import Testing

/// Searching, paging, transactions, sizes and a person's own queries.
@Suite struct LookingTests {
  private func names(_ text: String, _ stores: [Store], isOver: @escaping () -> Bool = { false }) throws -> [String] {
    let search = RecordSearch(text, in: stores)
    var (found, place): ([String], String?) = ([], nil)
    repeat {
      let step = try search.step(from: place, until: isOver)
      for hit in step.hits where !found.contains(hit.name) { found.append(hit.name) }
      place = step.next
    } while place != nil
    return found.sorted()
  }

  @Test func aSearchFindsNamesTextsAndWhatIsHidden() throws {
    let shelf = try Shelf()
    try shelf.phone.run(
      "INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma'), ('Book|~|b', '100 % Emma_'), ('Book|~|emma', 'x')")
    try shelf.tablet.run("INSERT INTO Reader(id, name) VALUES('Reader|~|r', 'EMMA')")
    try shelf.phone.run("DELETE FROM Book WHERE id = 'Book|~|a'")
    let all = ["Book|~|a", "Book|~|b", "Book|~|emma", "Reader|~|r"]
    #expect(try names("emma", [shelf.phone, shelf.tablet]) == all)
    // However little time a step has, the search comes to its end.
    #expect(try names("emma", [shelf.phone, shelf.tablet], isOver: { true }) == all)
    #expect(try names("Book|~|a", [shelf.phone]) == ["Book|~|a"])
    #expect(try names("% Emma_", [shelf.phone]) == ["Book|~|b"])
    #expect(try names("nothing", [shelf.phone]).isEmpty)
    #expect(try RecordSearch("", in: [shelf.phone]).step(until: { false }).next == nil)
  }

  /// A page that is full says of each record on it where it is and where not.
  @Test func aFoundRecordIsLookedUpInAllStores() throws {
    let shelf = try Shelf()
    let rows = (0..<150).map { "('Book|~|\($0)', 'Emma \($0)')" }.joined(separator: ",")
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES\(rows)")
    try shelf.sync()
    try shelf.tablet.run("DELETE FROM Book WHERE id = 'Book|~|149'")
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|new', 'Emma')")
    let search = RecordSearch("Emma", in: [shelf.phone, shelf.tablet])
    let names = try search.step(until: { false })
    let page = try search.step(from: names.next, until: { false })
    let stores = Dictionary(grouping: page.hits) { $0.name }.mapValues { hits in
      hits.sorted { $0.store < $1.store }.map(\.isVisible)
    }
    #expect(stores.count == 50 && stores["Book|~|new"] == [true])
    #expect(stores["Book|~|149"] == [true, false])
    #expect(stores.filter { $0.value == [true, true] }.count == 48)
  }

  @Test func pagesOfRowsMeet() throws {
    let shelf = try Shelf()
    let rows = (0..<2_500).map { "('Book|~|\($0)', 'title \($0)')" }.joined(separator: ",")
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES\(rows)")
    for text in [nil, "title 1"] {
      var (found, after): ([String], Int64?) = ([], nil)
      repeat {
        let page = try shelf.phone.rows(RowQuery("Book", text: text, after: after, limit: 77), until: { true })
        found += page.rows.map(\.name)
        after = page.next
      } while after != nil
      let expected = try shelf.phone.read { db in
        try String.fetchAll(
          db, sql: "SELECT id FROM Book WHERE ?1 IS NULL OR title LIKE '%' || ?1 || '%' ORDER BY rowid DESC",
          arguments: [text])
      }
      #expect(found == expected)
    }
    #expect(throws: StoreError.self) { try shelf.phone.rows(RowQuery("Nothing")) }
  }

  @Test func longValuesAreCutBetweenCharacters() throws {
    let shelf = try Shelf()
    let text = "a" + String(repeating: "é", count: 300_000)
    try shelf.phone.write {
      try $0.execute(sql: "INSERT INTO Book(id, title) VALUES('Book|~|a', ?)", arguments: [text])
    }
    let row = try #require(try shelf.phone.rows(RowQuery("Book")).rows.first?.values.first { $0.kind == .text })
    #expect(row.bytes == 600_001 && row.isCut)
    #expect(text.utf8.starts(with: row.text.utf8) && row.text.utf8.count == 199)
    let field = try #require(try shelf.report("Book|~|a", shelf.phone).fields.first { $0.field == "title" })
    #expect(field.value.bytes == 600_001 && text.utf8.starts(with: field.value.text.utf8))
    #expect(field.value.text.utf8.count <= ValuePreview.pageLimit)
  }

  @Test func theTimelineSaysWhatEachTransactionChanged() throws {
    let shelf = try Shelf()
    try shelf.phone.run(
      "INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma')",
      "INSERT INTO Reader(id, name) VALUES('Reader|~|b', 'Bo')")
    try shelf.phone.run("UPDATE Book SET pages = 3")
    try shelf.phone.run("INSERT INTO Book_readers(source, target) VALUES('Book|~|a', 'Reader|~|b')")
    try shelf.phone.run("DELETE FROM Reader")
    let schema = Shelf.schema
    let entries = try shelf.phone.transactions().map { TimelineReport($0, schema) }
    let own = try #require(try shelf.phone.summary().replica)
    #expect(entries.map(\.sequence).prefix(3) == [4, 3, 2])
    #expect(entries.allSatisfy { $0.by == "\(own)" })
    #expect(entries.first { $0.sequence == 4 }?.items.first?.changes == ["deleted"])
    #expect(
      entries.first { $0.sequence == 3 }?.items.contains { $0.target == "Reader|~|b" && $0.changes == ["linked"] }
        == true)
    #expect(entries.first { $0.sequence == 2 }?.items.first?.changes == ["pages"])
    #expect(
      entries.first { $0.sequence == 1 }?.items.first { $0.name == "Book|~|a" }?.changes.contains("inserted") == true)
    let first = try shelf.phone.transactions(limit: 2)
    let rest = try shelf.phone.transactions(before: try #require(first.last).place)
    #expect(first.map(\.place) + rest.map(\.place) == entries.map(\.place))
    #expect(try shelf.phone.transactions(of: own).count == entries.count)
    #expect(try shelf.phone.transactions(of: ReplicaID(high: 1, low: 1)).isEmpty)
  }

  @Test func aDeleteThatAnEditHasUndoneIsFound() throws {
    let shelf = try Shelf()
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma'), ('Book|~|b', 'Lolita')")
    try shelf.sync()
    try shelf.tablet.run("DELETE FROM Book")
    try shelf.phone.run("UPDATE Book SET pages = 3 WHERE id = 'Book|~|a'")
    try shelf.sync()
    let kept = try shelf.phone.keptRecords().map { KeptReport($0, try shelf.directory) }
    #expect(kept.map(\.name) == ["Book|~|a"])
    #expect(kept.first?.sentence == "tablet #1 deleted it, and it stayed: the delete had not seen phone #2.")
    // What a person has brought back is no surprise.
    try shelf.phone.restore(try AnyRecordName("Book|~|b"))
    #expect(try shelf.phone.keptRecords().map(\.name.text) == ["Book|~|a"])
  }

  /// The clock of whoever deleted is two hours fast.
  @Test func aRestoreByASlowerClockIsNoSurprise() throws {
    let shelf = try Shelf()
    var options = StoreOptions()
    options.now = { Date() + 7200 }
    let fast = try Store(
      path: shelf.url.appendingPathComponent("fast.tally").path, schema: Shelf.schema, options: options)
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma')")
    #expect(try shelf.phone.sync(with: fast).isConverged)
    try fast.run("DELETE FROM Book")
    #expect(try shelf.phone.sync(with: fast).isConverged)
    try shelf.phone.restore(try AnyRecordName("Book|~|a"))
    #expect(try shelf.phone.keptRecords().isEmpty)
  }

  /// A store that is read only has one connection.
  @Test func whatTakesLongKeepsNobodyWaiting() throws {
    let shelf = try Shelf()
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma')")
    var options = StoreOptions()
    options.isReadOnly = true
    let file = try #require(shelf.phone.file)
    let store = try Store(existing: file, options: options)
    let count = try store.withoutOccupying { other in
      try other.read { db in
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          if (try? store.verify().problems) == [] { done.signal() }
        }
        #expect(done.wait(timeout: .now() + 60) == .success)
        return try Int.fetchOne(db, sql: "SELECT count(*) FROM Book")
      }
    }
    #expect(count == 1)
    #expect(throws: CancellationError.self) { try store.withoutOccupying { _ in throw CancellationError() } }
    // Others have connections for it already.
    try shelf.phone.withoutOccupying { #expect($0 === shelf.phone) }
  }

  @Test func onlyQueriesAreRun() throws {
    let shelf = try Shelf()
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma')")
    let result = try shelf.phone.query("-- all\nSELECT id, title FROM Book", limit: 10, until: { false })
    #expect(result.columns == ["id", "title"] && result.rows.first?.map(\.text) == ["Book|~|a", "Emma"])
    let refused = [
      "DELETE FROM Book", "ATTACH '/tmp/x' AS x", "PRAGMA query_only = 0", "BEGIN", "", "-- nothing",
      "WITH x AS (SELECT 1) DELETE FROM Book", "VACUUM INTO '/tmp/x'",
    ]
    for sql in refused {
      #expect(throws: (any Error).self, "\(sql)") { try shelf.phone.query(sql, limit: 10, until: { false }) }
    }
    #expect(throws: QueryRefusal.severalStatements) {
      try shelf.phone.query("SELECT 1; SELECT 2", limit: 1, until: { false })
    }
    for sql in ["SELECT ?", "SELECT :name", "SELECT 1\0 FROM Nothing"] {
      #expect(throws: QueryRefusal.incomplete, "\(sql)") { try shelf.phone.query(sql, limit: 1, until: { false }) }
    }
    let marked = "\u{FEFF}SELECT title FROM Book WHERE id NOT LIKE '%386c1919-5f25-4be2-975f-5b34506c51db%'"
    #expect(try shelf.phone.query(marked, limit: 1, until: { false }).rows.count == 1)
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    #expect(throws: QueryRefusal.tookTooLong) { try shelf.phone.query(endless, limit: 1, until: { true }) }
    // The connection is as good as before.
    #expect(
      try shelf.phone.query("SELECT count(*) FROM Book", limit: 1, until: { false }).rows.first?.first?.text == "1")
    #expect(try shelf.phone.verify().isSound)
  }

  /// SQLite does not look at the clock within a function, and some take the product of the lengths of two operands.
  @Test func noFunctionOfAQueryTakesLong() throws {
    let shelf = try Shelf()
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|a', replace(hex(zeroblob(300000)), '0', 'x'))")
    func query(_ sql: String, until isOver: @escaping () -> Bool = { false }) throws -> ValuePreview? {
      try shelf.phone.query(sql, limit: 1, until: isOver).rows.first?.first
    }
    // Nobody's query makes a value of 900 MB, and one as long as a record's may be is made and read.
    #expect(throws: QueryRefusal.tooLong) { try query("SELECT zeroblob(900000000)") }
    #expect(try query("SELECT printf('%.*c', 8388608, 'x')")?.bytes == 8_388_608)
    #expect(try query("; SELECT title FROM Book")?.bytes == 600_000)
    // Each of these would take minutes or hours in one call.
    let (long, short) = ("zeroblob(8000000)", "zeroblob(4000000)")
    let text = "hex(zeroblob(4000000))"
    let json =
      "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 50000) "
      + "SELECT '{' || group_concat('\"' || i || '\":1') || '}' FROM n)"
    for sql in [
      "SELECT instr(\(long), \(short) || x'01')", "SELECT InStr(title, title || 'y') FROM Book",
      "SELECT replace(\(long), \(short) || x'01', 'x')", "SELECT trim(\(text), \(text))",
      "SELECT count(*) FROM Book WHERE rtrim(title, title) = ''", "SELECT json_patch(\(json), \(json))",
      "WITH x(v) AS (SELECT \(long)) SELECT max(instr(v, v)) OVER () FROM x",
    ] {
      #expect(throws: QueryRefusal.tooLong, "\(sql)") { try query(sql) }
    }
    // Of short values they are what they always are, and a pattern may look into long ones.
    #expect(try query("SELECT instr('Emma', 'm')")?.text == "2")
    #expect(try query("SELECT instr(id, '|~|') FROM Book")?.text == "5")
    #expect(try query("SELECT count(*) FROM Book WHERE title LIKE '%xX%'")?.text == "1")
    #expect(
      try query("SELECT count(*) FROM Book WHERE title LIKE '%\(String(repeating: "x", count: 63))'")?.text == "1")
    #expect(throws: QueryRefusal.patternTooLong) {
      try query("SELECT count(*) FROM Book WHERE title LIKE '%\(String(repeating: "x", count: 64))'")
    }
    // What explains a query runs nothing of it.
    #expect(try query("EXPLAIN SELECT instr(title, title) FROM Book") != nil)
    // Between two calls the clock is looked at.
    var looks = 0
    let calls = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000) SELECT sum(abs(i)) FROM n"
    #expect(
      try query(calls) {
        looks += 1
        return false
      } != nil)
    #expect(looks > 500)
    #expect(try shelf.phone.verify().isSound)
  }

  /// A NUL ends a text for most of SQLite's functions, and for no search.
  @Test func aSearchLooksBehindANul() throws {
    let shelf = try Shelf()
    try shelf.phone.run(
      """
      INSERT INTO Book(id, title) VALUES
        ('Book|~|a', 'Emma' || char(0) || 'Woodhouse'), ('Book|~|b', 'Emma'), ('Book|~|c', 'Woodhouse' || char(0)),
        ('Book|~|d', 'a%b_c\\d')
      """)
    let expected = [
      "woodhouse": ["c", "a"], "emma": ["b", "a"], "a\0w": ["a"], "\0": ["c", "a"], "emma\0x": [], "\0emma": [],
      "%B_c\\": ["d"], "a_b": [],
    ]
    for isHidden in [false, true] {
      if isHidden { try shelf.phone.run("DELETE FROM Book") }
      for (text, keys) in expected {
        let query = RowQuery("Book", text: text)
        let page = try isHidden ? shelf.phone.hiddenRows(query) : shelf.phone.rows(query)
        // Deleting goes by name, so that what is hidden has another order.
        #expect(page.rows.map(\.name).sorted() == keys.map { "Book|~|\($0)" }.sorted(), "\(text.debugDescription)")
      }
    }
  }

  /// The answer to a check is of use only to whoever asked.
  @Test func aVerifyEndsWhenNobodyWaits() throws {
    let shelf = try Shelf()
    let rows = (0..<2_500).map { "('Book|~|\($0)', 'title \($0)')" }.joined(separator: ",")
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES\(rows)")
    #expect(throws: CancellationError.self) { try shelf.phone.verify(until: { true }) }
    var looks = 0
    #expect(throws: CancellationError.self) {
      try shelf.phone.verify(until: {
        looks += 1
        return looks == 20
      })
    }
    #expect(looks == 20)
    let report = try shelf.phone.verify(until: { false })
    #expect(report == (try shelf.phone.verify()) && report.checked == 2_500 && report.isSound)
  }

  /// A newer version of the app, beside this one, may bring the file to its own format.
  @Test func aFileOfAnotherFormatIsNotReadAsOneOfThis() throws {
    let shelf = try Shelf()
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma')")
    var options = StoreOptions()
    options.isReadOnly = true
    let reading = try Store(existing: shelf.phone.path, options: options)
    let name = try AnyRecordName("Book|~|a")
    for (version, code) in [(99, StoreError.Code.newerFormat), (1, .olderFormat)] {
      let other = try DatabaseQueue(path: shelf.phone.path)
      let before = try other.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } ?? 0
      try other.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = \(version)") }
      for store in [shelf.phone, reading] {
        let asked: [(String, () throws -> Void)] = [
          ("rows", { _ = try store.rows(RowQuery("Book")) }), ("summary", { _ = try store.summary() }),
          ("history", { _ = try store.history(of: name) }), ("presence", { _ = try store.presence(of: name) }),
          ("conflicts", { _ = try store.conflicts() }), ("sizes", { _ = try store.sizes() }),
          ("log", { _ = try store.transactions() }), ("verify", { _ = try store.verify() }),
          ("query", { _ = try store.query("SELECT 1", limit: 1, until: { false }) }),
          ("search", { _ = try store.names(withKey: "a", limit: 1) }),
        ]
        for (what, ask) in asked {
          do {
            try ask()
            Issue.record("\(what) of format \(version) was read")
          } catch let error as StoreError {
            #expect(error.code == code, "\(what)")
          }
        }
      }
      // Nor is it written to.
      do {
        try shelf.phone.run("UPDATE Book SET pages = 9")
        Issue.record("a file of format \(version) was written to")
      } catch let error as StoreError {
        #expect(error.code == code)
      }
      try other.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = \(before)") }
      try other.close()
      for store in [shelf.phone, reading] { #expect(try store.rows(RowQuery("Book")).rows.map(\.name) == ["Book|~|a"]) }
    }
    try shelf.phone.run("UPDATE Book SET pages = 9")
    #expect(try shelf.phone.verify().isSound)
  }

  /// What is shown and what is hidden are searched alike, in all columns.
  @Test func aSearchFindsTheSameInRowsAndInHiddenRecords() throws {
    let wide = Schema([EntitySchema(type: "Wide", fields: (0..<450).map { FieldSchema("f\($0)", .text) })])
    let store = try Store(inMemory: wide)
    try store.run(
      "INSERT INTO Wide(id, f449) VALUES('Wide|~|a', 'Émile und EMMA'), ('Wide|~|b', 'Émile und EMMA')")
    try store.run("DELETE FROM Wide WHERE id = 'Wide|~|b'")
    for (text, isFound) in [("und emma", true), ("Émile", true), ("émile", false), ("emmas", false), ("wide|~|", true)]
    {
      let query = RowQuery("Wide", text: text)
      #expect(try store.rows(query).rows.map(\.name) == (isFound ? ["Wide|~|a"] : []), "\(text)")
      #expect(try store.hiddenRows(query).rows.map(\.name) == (isFound ? ["Wide|~|b"] : []), "\(text)")
    }
  }

  /// The clock is looked at by bytes, too: a few long records take as long as many short ones.
  @Test func aSearchThroughLongHiddenRecordsEndsInTime() throws {
    let shelf = try Shelf()
    for number in 0..<6 {
      try shelf.phone.run(
        "INSERT INTO Book(id, title) VALUES('Book|~|\(number)', replace(hex(zeroblob(600000)), '0', 'x'))")
    }
    try shelf.phone.run("DELETE FROM Book")
    let page = try shelf.phone.hiddenRows(RowQuery("Book", text: "needle"), until: { true })
    #expect(page.rows.isEmpty && page.next != nil)
    #expect(try names("needle", [shelf.phone], isOver: { true }).isEmpty)
  }

  @Test func aFileThatWasReplacedOrDeletedIsNotInPlace() throws {
    let shelf = try Shelf()
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma')")
    #expect(try shelf.phone.isInPlace() && Store(inMemory: Shelf.schema).isInPlace())
    let (path, away) = (shelf.phone.path, shelf.phone.path + ".away")
    try FileManager.default.moveItem(atPath: path, toPath: away)
    #expect(try !shelf.phone.isInPlace())
    try FileManager.default.copyItem(atPath: away, toPath: path)
    #expect(try !shelf.phone.isInPlace())
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.moveItem(atPath: away, toPath: path)
    #expect(try shelf.phone.isInPlace())
  }

  /// One store that cannot be read does not end a search of those beside it.
  @Test func aSearchPassesOverAStoreThatCannotBeRead() throws {
    let shelf = try Shelf()
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|emma', 'Emma')")
    try shelf.tablet.close()
    let search = RecordSearch("emma", in: [shelf.tablet, shelf.phone])
    let first = try search.step(until: { false })
    #expect(first.hits.map(\.store) == [1] && first.failures.map(\.store) == [0])
    let second = try search.step(from: first.next, until: { false })
    #expect(second.hits.map(\.store) == [1] && second.failures.map(\.store) == [0] && second.next == nil)
    let directory = ReplicaDirectory(ofReadable: [("tablet", shelf.tablet), ("phone", shelf.phone)])
    #expect(try directory.names[#require(try shelf.phone.summary().replica)] == "phone")
  }

  @Test func sizesAreExactWhereTheyAreSmall() throws {
    let shelf = try Shelf()
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma'), ('Book|~|b', 'Lolita')")
    try shelf.phone.run("DELETE FROM Book WHERE id = 'Book|~|b'")
    let sizes = try SizeReport(of: shelf.phone, measuringUntil: { false })
    let books = try #require(sizes.tables.first { $0.type == "Book" })
    #expect(books.rows == 1 && books.isExact && books.hidden == 1)
    #expect(sizes.bytes > 0 && sizes.measured?.isComplete == true)
    #expect(sizes.measured?.largest.first?.name == "Book|~|a")
  }
}
