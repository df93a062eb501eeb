import Foundation
import GRDB
import Tally
import TallyImport
import TallyStore
import Testing

/// The Chinook database as an ordinary SQLite file, with numbers for keys, becomes a store.
@Suite struct DatabaseImportTests {
  @Test func theExtractComesIn() throws { try comesIn(ChinookData.extract()) }

  @Test(.enabled(if: ChinookData.isWholeThere, ChinookData.whyNot))
  func theWholeDatabaseComesIn() throws { try comesIn(ChinookData.whole) }

  private func comesIn(_ data: URL) throws {
    let pair = try Pair()
    let fixture = try ChinookFixture(contentsOf: data)
    let old = pair.folder.appendingPathComponent("chinook.sqlite")
    try Self.write(data, to: old)

    let draft = try ImportMap.draft(of: old, for: Chinook.schema)
    #expect(draft.unmatched == [])
    var map = draft.map
    for index in map.tables.indices {
      let type = map.tables[index].to
      // The fixture's names, so that what came in can be compared with it.
      let key = try ChinookFixture.name(type, 0).key.dropLast(12)
      map.tables[index].id = ImportColumn(sql: "printf('\(key)%012x', id)")
      for field in Chinook.schema[type]?.fields ?? [] where field.kind == .date {
        map.tables[index].fields[field.name] = ImportColumn(sql: "strftime('%Y-%m-%d %H:%M:%f', \(field.name))")
      }
    }
    for store in pair.stores {
      let report = try store.importDatabase(at: old, map: map)
      #expect(report.records.values.reduce(0, +) == fixture.records.count)
      #expect(report.links == fixture.records.values.reduce(0) { $0 + $1.links.values.joined().count })
      #expect(report.known == 0 && report.missing == 0)
      try expectContents(store, "imported", equal: fixture.records)
      #expect(try store.verify().problems == [])
    }
    // Both have imported the same, so there is nothing to decide and nothing twice.
    try pair.meet()
    try expectContents(pair.first, "met", equal: fixture.records)
    #expect(try pair.first.conflicts().isEmpty)
  }

  /// Writes the fixture as a database that knows nothing of Tally: a table for each model, numbers for keys.
  private static func write(_ data: URL, to file: URL) throws {
    let objects = try JSONSerialization.jsonObject(with: Data(contentsOf: data)) as? [[String: Any]] ?? []
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    try DatabaseQueue(path: file.path, configuration: configuration).write { db in
      var tables = Set<String>()
      for object in objects {
        guard let model = object["model"] as? String, let key = object["pk"] as? NSNumber,
          let fields = object["fields"] as? [String: Any]
        else { throw ChinookFixture.Malformed(description: "an object has no pk, model or fields") }
        let table = String(model.dropFirst("chinook.".count))
        let columns = fields.keys.sorted()
        if tables.insert(table).inserted {
          let isLink = table == "playlisttrack"
          let list = columns.map { isLink ? "\($0) INTEGER NOT NULL REFERENCES \($0)(id)" : "\"\($0)\"" }
          try db.execute(sql: "CREATE TABLE \(table)(id INTEGER PRIMARY KEY, \(list.joined(separator: ", ")))")
        }
        let values = columns.map {
          (fields[$0] as? NSNumber).map(Self.value) ?? (fields[$0] as? String)?.databaseValue ?? .null
        }
        let marks = columns.map { _ in ", ?" }.joined()
        try db.execute(
          sql: "INSERT INTO \(table)(id, \(columns.map { "\"\($0)\"" }.joined(separator: ", "))) VALUES (?\(marks))",
          arguments: StatementArguments([key.int64Value.databaseValue] + values))
      }
    }
  }

  private static func value(_ number: NSNumber) -> DatabaseValue {
    number.doubleValue == Double(number.int64Value) ? number.int64Value.databaseValue : number.doubleValue.databaseValue
  }
}
