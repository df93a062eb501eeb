import GRDB
import Tally
import TallyCRDT
import TallyStore
import TallyWire
import TestEffort
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

  /// What many versions of an app have written can have more fields than one version may: they travel in several
  /// blocks.
  @Test func moreFieldsThanOneVersionMayHaveGoOver() throws {
    let replica = ReplicaID(high: 1, low: 1)
    let a = try Store(inMemory: Schema(Page.self))
    for version in 0..<3 {
      let stamp = Stamp(
        time: HybridTime(milliseconds: 1_800_000_000_000 + UInt64(version)),
        dot: Dot(replica: replica, sequence: UInt64(1 + version)))
      let cells = (0..<700).map { FieldCell(field: FieldID(rawValue: $0), stamp: stamp, value: .integer(Int64($0))) }
      let names = cells.indices.map { "f\(10_000 + 700 * version + $0)" }
      for type in ["Page", "Unknown"] {
        let items = try (0..<3).map {
          DeltaBlock.Record(
            name: try AnyRecordName(type: type, key: "\($0)"), state: RecordState(inserted: stamp, fields: cells))
        }
        let base = StateVector(version == 0 ? [] : [(replica, UInt64(version))])
        let header = DeltaHeader(base: base, target: StateVector([(replica, UInt64(1 + version))]))
        try a.apply(header, [DeltaBlock(records: [.init(type: type, fields: names, items: items)])], isRepair: true)
      }
    }
    let b = try Store(inMemory: Schema(Page.self))
    try b.apply(try a.delta())
    #expect(try b.summary() == a.summary())
    for store in [a, b] { #expect(try store.verify().problems == []) }
  }

  /// A value as large as values may be, beside a block that long keys, names and values have nearly filled.
  @Test(.enabled(if: Effort.isLong, "a long test")) func aLargeValueHasABlockOfItsOwn() throws {
    let types = (0..<2).map { number in
      EntitySchema(
        type: "T\(number)",
        fields: (0..<1000).map { FieldSchema("f\(1000 + $0)" + String(repeating: "x", count: 58), .integer) })
    }
    let schema = Schema([Page.schema] + types)
    let (a, b) = (try Store(inMemory: schema), try Store(inMemory: schema))
    // A part of a record that is known brings no insert.
    let page = RecordName<Page>()
    try a.write { try Page(id: page, title: "large").insert($0) }
    try a.sync(with: b)
    try a.write { db in
      for type in types {
        let columns = type.fields.map { "\"\($0.name)\"" }.joined(separator: ", ")
        let ones = type.fields.map { _ in "1" }.joined(separator: ", ")
        try db.execute(sql: "INSERT INTO \(type.type)(id, \(columns)) VALUES('\(type.type)|~|1', \(ones))")
      }
      for number in 0..<4050 {
        let key = "\(10_000 + number)" + String(repeating: "k", count: 240)
        let title = String(repeating: "t", count: 230)
        try db.execute(sql: "INSERT INTO Page(id, title) VALUES('Page|~|\(key)', '\(title)')")
      }
      let body = String(repeating: "0123456789abcdef", count: WireLimits.valueBytes / 16)
      try db.execute(sql: "UPDATE Page SET body = ? WHERE id = ?", arguments: [body, page])
    }
    #expect(try a.sync(with: b).isConverged)
  }

  /// A member that was added and removed for years: its tags travel in several blocks, also to a store that heals.
  @Test(.enabled(if: Effort.isLong, "a long test")) func aLinkWithVeryManyTagsGoesOver() throws {
    let schema = Schema([EntitySchema("P", .text("name")), EntitySchema("G", .toMany("players", to: "P"))])
    let scratch = try Scratch()
    let (a, b) = (try scratch.store("a.tally", schema: schema), try scratch.store("b.tally", schema: schema))
    try a.write { db in
      try db.execute(sql: "INSERT INTO P(id) VALUES('P|~|1')")
      try db.execute(sql: "INSERT INTO G(id) VALUES('G|~|1')")
      try db.execute(sql: "INSERT INTO G_players(source, target) VALUES('G|~|1', 'P|~|1')")
    }
    let count: UInt64 = 70_000
    let replica = ReplicaID(high: 1, low: 1)
    for start in stride(from: 1, to: count, by: 35_000) {
      var element = ORSetElement()
      element.tags = (start..<start + 35_000).map { number in
        let stamp = Stamp(
          time: HybridTime(milliseconds: 1_800_000_000_000), dot: Dot(replica: replica, sequence: number))
        return ORSetElement.Tag(added: stamp)
      }
      let link = DeltaBlock.Link(
        source: try AnyRecordName("G|~|1"), target: try AnyRecordName("P|~|1"), element: element)
      let base = StateVector(start == 1 ? [] : [(replica, start - 1)])
      try a.apply(
        DeltaHeader(base: base, target: StateVector([(replica, start + 34_999)])),
        [DeltaBlock(links: [.init(source: "G", relationship: "players", target: "P", items: [link])])])
    }
    #expect(try a.sync(with: b).isConverged)
    // Whoever heals takes the parts together, too.
    try b.close()
    let queue = try DatabaseQueue(path: scratch.path("b.tally"))
    try queue.write { db in
      try db.execute(
        sql: "UPDATE tally_zone SET fingerprint = CAST(zeroblob(16) || substr(fingerprint, 17) AS BLOB)")
    }
    try queue.close()
    let damaged = try scratch.store("b.tally", schema: schema)
    #expect(try !damaged.fitsItsSum())
    #expect(try a.sync(with: damaged).isConverged)
    for store in [a, damaged] { #expect(try store.verify().problems == []) }
  }
}
