import GRDB
import Tally
import Testing

private struct Page: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Page", .text("title"), .text("body"), .integer("edits"))
  var id = RecordName<Page>()
  var title: String?
  var body: String?
  var edits: Int?
}

/// A record that is larger than a block goes over in parts, all with one stamp.
@Suite struct LargeRecordTests {
  @Test(arguments: [1 << 10, 1 << 20, 1_200_000])
  func itsPartsAreNotTakenForWritesOfTheReceiver(byteCount: Int) throws {
    let (a, b) = (try Store(inMemory: Schema(Page.self)), try Store(inMemory: Schema(Page.self)))
    let body = String(repeating: "Tally. ", count: byteCount / 7 + 1)
    let page = Page(title: "large", body: body, edits: 1)
    try a.write { try page.insert($0) }
    let result = try b.apply(try a.delta())
    #expect(!result.fingerprintMismatch)
    #expect(try b.summary().vector == a.summary().vector)
    #expect(try b.summary().fingerprint == a.summary().fingerprint)
    #expect(try b.summary().replica == nil)
    for store in [a, b] { #expect(try store.verify().problems == []) }
    #expect(try b.read { try Page.fetchOne($0)?.body } == body)
    // A change of one field, and one of the whole.
    try b.write { try $0.execute(sql: "UPDATE Page SET edits = 2") }
    try a.write { try $0.execute(sql: "UPDATE Page SET title = 'x', body = body || 'y', edits = 3") }
    #expect(try a.sync(with: b).isConverged)
    for store in [a, b] { #expect(try store.verify().problems == []) }
    #expect(try b.summary().fingerprint == a.summary().fingerprint)
  }
}
