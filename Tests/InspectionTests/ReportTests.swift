import Foundation
import Tally
import TallyInspection
import TallyStore
import Testing

/// A report to send to somebody, and where two of them part.
@Suite struct ReportTests {
  private func text(_ report: StoreReport) throws -> String { try InspectionJSON.text(report) }

  @Test func withoutValuesNothingOfTheUsersIsInIt() throws {
    let shelf = try Shelf()
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|secretkey', 'Secret title')")
    try shelf.sync()
    try shelf.phone.run("UPDATE Book SET title = 'Secret one'")
    try shelf.tablet.run("UPDATE Book SET title = 'Secret two'")
    try shelf.sync()
    let plain = try text(StoreReport(of: shelf.phone, at: Date(timeIntervalSince1970: 0)))
    #expect(!plain.lowercased().contains("secret") && plain.contains("\"Book.title\":1"))
    let full = try text(StoreReport(of: shelf.phone, at: Date(timeIntervalSince1970: 0), hasValues: true))
    #expect(full.contains("Secret") && full.contains("secretkey"))
  }

  /// The reason of a doubt is written with the names of the records that do not fit.
  @Test func theReasonOfADoubtIsLeftOutWithoutValues() throws {
    let shelf = try Shelf()
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|secretkey', 'Emma')")
    let queue = try DatabaseQueue(path: shelf.phone.path)
    try queue.write { db in
      try db.execute(sql: "INSERT INTO tally_meta VALUES('doubt', '1000 damaged Book|~|secretkey does not fit')")
    }
    try queue.close()
    let plain = try StoreReport(of: shelf.phone, at: Date())
    #expect(plain.doubt?.hasPrefix("damaged since 1970-01-01T00:00:01") == true)
    #expect(try !text(plain).contains("secretkey"))
    #expect(!ReportComparison(plain, plain).findings.contains { $0.sentence.contains("secretkey") })
    let full = try StoreReport(of: shelf.phone, at: Date(), hasValues: true)
    #expect(full.doubt?.hasSuffix("Book|~|secretkey does not fit") == true)
  }

  @Test func aReportReadsBackAsItself() throws {
    let shelf = try Shelf()
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma')")
    let report = try StoreReport(of: shelf.phone, at: Date(timeIntervalSince1970: 1), hasValues: true)
    let again = try JSONDecoder().decode(StoreReport.self, from: try InspectionJSON.bytes(report))
    #expect(try text(again) == text(report))
    #expect(ReportComparison(report, again).findings.map(\.about) == ["store"])
  }

  @Test func twoReportsPartInSchemaVectorAndClock() throws {
    let shelf = try Shelf(tabletSchema: Shelf.older)
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma')")
    try shelf.sync()
    try shelf.tablet.run("INSERT INTO Book(id, title) VALUES('Book|~|b', 'Lolita')")
    var (one, other) = (try StoreReport(of: shelf.phone, at: Date()), try StoreReport(of: shelf.tablet, at: Date()))
    other.clockAhead = [one.replica ?? "": 90]
    let findings = ReportComparison(one, other).findings
    func has(_ about: String, _ words: String) -> Bool {
      findings.contains { $0.about == about && $0.sentence.contains(words) }
    }
    #expect(has("schema", "Only the first schema has the type Room."))
    #expect(has("schema", "Only the first schema has the field Book.pages."))
    #expect(has("schema", "Only the first schema has the reference Book.shelf."))
    #expect(has("vector", "The first store lacks #1 of the replica"))
    #expect(has("clock", "In the second report, writes of the other device are 90 s ahead of its clock."))
    for seconds in [1e300, -1e300, .infinity, .nan] {
      other.clockAhead = ["": seconds]
      let sentences = ReportComparison(one, other).findings.filter { $0.about == "clock" }.map(\.sentence)
      #expect(sentences.first?.contains("more seconds than can be counted") == true, "\(seconds)")
    }
    (one.vector, one.fingerprint) = (other.vector, "0")
    #expect(ReportComparison(one, other).findings.contains { $0.about == "content" })
  }

  @Test func aRecordsReportHasWhatWasLostAndWhoHasSeenIt() throws {
    let shelf = try Shelf()
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma')")
    try shelf.sync()
    try shelf.phone.run("UPDATE Book SET title = 'One'")
    try shelf.tablet.run("UPDATE Book SET title = 'Two'")
    try shelf.sync()
    let report = try shelf.report("Book|~|a", shelf.phone)
    let conflict = try #require(report.conflicts.first)
    // Of two writes in one millisecond the replicas' ids decide.
    #expect(Set([conflict.loser.value?.text, conflict.winner.value?.text]) == ["One", "Two"])
    #expect(report.fields.first { $0.field == "title" }?.value == conflict.winner.value)
    let nothing = try shelf.report("Book|~|none", shelf.phone)
    #expect(nothing.fields.isEmpty && nothing.presence.code == .notReceived)
  }
}
