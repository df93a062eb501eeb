import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyRig
import TallyStore
import Testing

/// A blob that has a default is a field like any other: the file says which default that is.
@Suite struct BlobDefaultTests {
  private static func schema(_ further: FieldSchema..., default start: [UInt8] = [0x2d, 0]) -> Schema {
    Schema([EntitySchema(type: "Card", fields: [FieldSchema("image", .blob, default: .blob(start))] + further)])
  }

  @Test func theSchemaIsReadBackAsItWas() throws {
    let schema = Self.schema()
    let json = try schema.json()
    #expect(String(decoding: json, as: UTF8.self).contains(#""default":"2d00""#))
    #expect(try Schema(json: json) == schema)
  }

  @Test(arguments: ["2", "xy", "-"]) func otherDigitsAreRefused(_ text: String) {
    let json = #"{"entities":[{"type":"Card","fields":{"image":{"kind":"blob","default":"\#(text)"}}}]}"#
    #expect(throws: StoreError.self) { try Schema(json: Data(json.utf8)) }
  }

  /// An older version of the app meets a newer one's field, and the app is updated, with the file open or closed.
  @Test func theSchemaGrows() throws {
    let scratch = try Scratch()
    let picture = FieldSchema("picture", .asset)
    let older = try scratch.store("older", schema: Self.schema())
    let newer = try scratch.store("newer", schema: Self.schema(picture))
    let name = "sha256-\(String(repeating: "0a", count: 32)).5.jpg"
    try newer.write { try $0.execute(sql: "INSERT INTO Card(id, picture) VALUES('Card|~|1', ?)", arguments: [name]) }
    try older.write { try $0.execute(sql: "INSERT INTO Card(id) VALUES('Card|~|2')") }
    #expect(try older.sync(with: newer).isConverged)
    #expect(try older.verify().problems == [])
    try older.close()

    let grown = try scratch.store("older", schema: Self.schema(picture))
    #expect(
      try grown.read { try Data.fetchAll($0, sql: "SELECT image FROM Card") } == [Data([0x2d, 0]), Data([0x2d, 0])])
    #expect(try grown.read { try String.fetchOne($0, sql: "SELECT picture FROM Card WHERE id = 'Card|~|1'") } == name)
    #expect(try grown.verify().problems == [])
    try expectConverged(grown, newer)
    try grown.close()
    #expect(throws: StoreError.self) { try scratch.store("older", schema: Self.schema(picture, default: [1])) }
  }

  /// Earlier builds wrote null for each such default. The app knows which one it was.
  @Test func aFileThatDoesNotSayTheDefaultOpens() throws {
    let scratch = try Scratch()
    let store = try scratch.store("a", schema: Self.schema())
    try store.write { try $0.execute(sql: "INSERT INTO Card(id) VALUES('Card|~|1')") }
    try store.close()
    let queue = try DatabaseQueue(path: scratch.path("a"))
    try queue.write { db in
      try db.execute(
        sql: """
          UPDATE tally_meta SET value = CAST(replace(CAST(value AS TEXT), '"default":"2d00"', '"default":null') AS BLOB)
          WHERE key = 'schema'
          """)
      #expect(db.changesCount == 1)
    }
    try queue.close()

    // A version that does not have the field forgets nothing of it.
    let without = Schema([EntitySchema(type: "Card", fields: [FieldSchema("other", .text)])])
    try scratch.store("a", schema: without).close()
    for schema in [Self.schema(), Self.schema(FieldSchema("note", .text))] {
      let store = try scratch.store("a", schema: schema)
      #expect(try store.read { try Data.fetchOne($0, sql: "SELECT image FROM Card") } == Data([0x2d, 0]))
      #expect(try store.verify().problems == [])
      try store.close()
    }
    let json = try scratch.schemaText("a")
    #expect(json.contains(#""default":"2d00""#))
  }
}

extension Scratch {
  /// The schema as the file says it.
  fileprivate func schemaText(_ name: String) throws -> String {
    let queue = try DatabaseQueue(path: path(name))
    defer { try? queue.close() }
    return try queue.read { db in
      try #require(try String.fetchOne(db, sql: "SELECT CAST(value AS TEXT) FROM tally_meta WHERE key = 'schema'"))
    }
  }
}
