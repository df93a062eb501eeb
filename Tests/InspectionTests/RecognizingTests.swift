import Foundation
import Tally
import TallyCRDT
import TallyInspection
import TallyStore
import Testing

/// What a person recognizes records by: titles, an order, pictures, and conflicts that are counted once.
@Suite struct RecognizingTests {
  private static let schema = Schema([
    EntitySchema(
      "Meeting", .date("at"), .json("tags"), .text("day"), .text("note"), .integer("seats"), .real("fee"),
      .text("room"), .text("hall"), .text("floor"), .text("street"), .text("meeting_title"), .blob("plan")),
    EntitySchema("Person", .text("city"), .text("Name")),
  ])

  private func store() throws -> Store { try Store(inMemory: Self.schema) }

  private func titles(_ store: Store, _ text: String) throws -> [String: String] {
    let search = RecordSearch(text, in: [store])
    var (titles, place): ([String: String], String?) = ([:], nil)
    repeat {
      let step = try search.step(from: place, until: { false })
      for hit in step.hits {
        #expect(titles[hit.name, default: hit.title] == hit.title)
        titles[hit.name] = hit.title
      }
      place = step.next
    } while place != nil
    return titles
  }

  @Test func aTitleIsANameAndNeverADateOrJSON() throws {
    let store = try store()
    try store.run(
      """
      INSERT INTO Meeting(id, at, tags, day, note, meeting_title) VALUES
        ('Meeting|~|x1', '2020-01-02', '["a"]', '2020-01-02T10:00Z', 'bring cake', 'Board'),
        ('Meeting|~|x2', '2020-01-02', '{}', '2020-01-02', '[draft] agenda', NULL),
        ('Meeting|~|x3', '2020-01-02', '["x"]', '2020-01-02 10:00', '{"x":1}', '  '),
        ('Meeting|~|x4', NULL, NULL, 'Monday', 'Person|~|x', NULL)
      """,
      "INSERT INTO Person(id, city, Name) VALUES('Person|~|x5', 'Bonn', 'Ada'), ('Person|~|x6', 'Bonn', NULL)")
    let expected = [
      "Meeting|~|x1": "Board · bring cake", "Meeting|~|x2": "[draft] agenda", "Meeting|~|x3": "",
      "Meeting|~|x4": "Monday", "Person|~|x5": "Ada · Bonn", "Person|~|x6": "Bonn",
    ]
    #expect(try titles(store, "x") == expected)
    // By a text of the row, and of a record that was deleted.
    #expect(try titles(store, "cake") == ["Meeting|~|x1": "Board · bring cake"])
    try store.run("DELETE FROM Meeting WHERE id = 'Meeting|~|x1'")
    #expect(try titles(store, "cake") == ["Meeting|~|x1": "Board · bring cake"])
    for (name, title) in expected {
      let report = try RecordReport(
        of: try AnyRecordName(name), in: store, try ReplicaDirectory([("phone", store)]))
      #expect(report.title == title.components(separatedBy: " · ")[0], "\(name)")
    }
  }

  /// The beginning of a long text decides whether it is JSON.
  @Test func aLongTextMayBeJSON() throws {
    let store = try store()
    let long = String(repeating: "1,", count: 300)
    try store.run(
      "INSERT INTO Meeting(id, note) VALUES('Meeting|~|j', '[\(long)1]'), ('Meeting|~|t', '[text] \(long)')")
    let found = try titles(store, "1,1,")
    #expect(found["Meeting|~|j"] == "")
    #expect(found["Meeting|~|t"] == String("[text] \(long)".prefix(80)))
  }

  @Test func aConflictOfTwoStoresIsOne() throws {
    let shelf = try Shelf()
    try shelf.phone.run("INSERT INTO Book(id, title, pages) VALUES('Book|~|a', 'Emma', 1), ('Book|~|b', 'Ada', 1)")
    try shelf.sync()
    try shelf.phone.run("UPDATE Book SET title = title || ' of the phone', pages = 2")
    try shelf.tablet.run("UPDATE Book SET title = title || ' of the tablet', pages = 3")
    try shelf.sync()
    let stores = [shelf.phone, shelf.tablet]
    #expect(try stores.map { try $0.sizes().conflicts } == [4, 4])
    let counted = DistinctConflicts(in: stores)
    #expect(counted.count == 4 && counted.isExact)
    // What one has dismissed the other still has.
    try shelf.phone.dismiss(try shelf.phone.conflicts(limit: 1))
    #expect(DistinctConflicts(in: stores) == counted)
    try shelf.tablet.dismiss(try shelf.tablet.conflicts())
    #expect(DistinctConflicts(in: stores).count == 3)
    #expect(DistinctConflicts(in: []).count == 0)
  }

  @Test func pagesOfSortedRowsMeet() throws {
    let store = try store()
    try store.write { db in
      for number in 0..<300 {
        let note = number % 7 == 0 ? nil : "\(number % 2 == 0 ? "n" : "N")ote \(number * 37 % 100)"
        try db.execute(
          sql: "INSERT INTO Meeting(id, note, seats, fee) VALUES(?, ?, ?, ?)",
          arguments: ["Meeting|~|\(number)", note, number * 31 % 97, number % 5 == 0 ? nil : Double(number % 11) / 4])
      }
    }
    for column in ["id", "note", "seats", "fee"] {
      for (isDescending, text) in [(false, nil), (true, nil), (false, "note 3"), (true, "NOTE 3")] {
        var query = RowQuery("Meeting", text: text, limit: 41)
        query.order = RowOrder(by: column, isDescending: isDescending)
        var found: [String] = []
        repeat {
          let page = try store.rows(query)
          found += page.rows.map(\.name)
          query.after = page.next
        } while query.after != nil
        let expected = try store.read { db in
          try String.fetchAll(
            db,
            sql: """
              SELECT id FROM Meeting WHERE ?1 IS NULL OR note LIKE '%' || ?1 || '%'
              ORDER BY \(column) IS NULL, \(column) COLLATE NOCASE \(isDescending ? "DESC" : ""), rowid DESC
              """, arguments: [text])
        }
        #expect(!expected.isEmpty && found == expected, "\(column) \(isDescending) \(text ?? "")")
      }
    }
    var query = RowQuery("Meeting")
    query.order = RowOrder(by: "seats\" --")
    #expect(throws: StoreError.self) { try store.rows(query) }
    query.order = RowOrder(by: "note")
    let place = try #require(try store.schema["Meeting"]?.columnNames.firstIndex(of: "note"))
    query.columns = place..<place + 1
    let first = try #require(try store.rows(query).rows.first)
    #expect(first.values.map(\.text) == ["note 0"], "\(first)")
  }

  @Test func sortingEndsWhenItsTimeIsOver() throws {
    let store = try store()
    try store.run(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
      INSERT INTO Meeting(id, note) SELECT 'Meeting|~|' || i, i FROM n
      """)
    var query = RowQuery("Meeting")
    query.order = RowOrder(by: "note")
    #expect(throws: QueryRefusal.tookTooLong) { try store.rows(query, until: { true }) }
    #expect(try store.rows(query, until: { false }).rows.first?.name == "Meeting|~|1")
  }

  @Test func picturesAreKnownByTheirFirstBytes() throws {
    let (png, webp) = ("89504e470d0a1a0a", "524946460000000057454250")
    let kinds: [(String, PictureType?)] = [
      (png, .png), (png + "00", .png), ("ffd8ffe0", .jpeg), ("474946383961", .gif), ("474946383761", .gif),
      (webp, .webp), (webp + "56503820", .webp), ("", nil), ("89504e470d0a1a", nil), ("ffd8", nil),
      ("474946383861", nil), ("524946460000000057415645", nil), ("00" + png, nil), ("3c737667", nil), ("424d", nil),
    ]
    for (digits, kind) in kinds {
      let bytes = try #require(Hexadecimal.bytes(digits))
      #expect(PictureType(bytes) == kind, "\(digits)")
      #expect(ValuePreview(.blob(bytes)).picture == kind)
    }
    // In a list, where only the beginning is read; and a text that spells one is none.
    let store = try store()
    try store.run(
      "INSERT INTO Meeting(id, plan, note) VALUES('Meeting|~|p', CAST(x'\(png)' || zeroblob(5000) AS BLOB), '\(png)')",
      "INSERT INTO Meeting(id, plan) VALUES('Meeting|~|q', CAST(x'\(png)' || zeroblob(5000) AS BLOB))")
    let rows = try store.rows(RowQuery("Meeting")).rows
    for row in rows {
      let blob = try #require(row.values.first { $0.kind == .blob })
      #expect(blob.picture == .png && blob.isCut, "\(row.name)")
    }
    #expect(rows.allSatisfy { row in row.values.allSatisfy { $0.kind == .blob || $0.picture == nil } })
  }
}
