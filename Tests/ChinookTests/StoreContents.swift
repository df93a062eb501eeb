import GRDB
import Tally
import TallyCRDT
import TallyStore
import Testing

/// Everything that an app sees in a store, read with plain SQL.
func contents(of store: Store) throws -> [AnyRecordName: DynamicRecord] {
  try store.read { db in
    var records: [AnyRecordName: DynamicRecord] = [:]
    for entity in Chinook.schema.entities {
      let columns = entity.columnNames
      let list = (["id"] + columns).map { "\"\($0)\"" }.joined(separator: ", ")
      let rows = try Row.fetchCursor(db, sql: "SELECT \(list) FROM \"\(entity.type)\" ORDER BY id")
      while let row = try rows.next() {
        let name = try AnyRecordName(row[0])
        var record = DynamicRecord(name: name, fields: [:], links: [:])
        for (index, column) in columns.enumerated() {
          record.fields[column] = Value(row[index + 1] as DatabaseValue)
        }
        for relationship in entity.relationships { record.links[relationship.name] = [] }
        records[name] = record
      }
      for relationship in entity.relationships {
        let table = Schema.joinTable(entity.type, relationship.name)
        let links = try Row.fetchCursor(db, sql: "SELECT source, target FROM \"\(table)\" ORDER BY source, target")
        while let row = try links.next() {
          let (source, target) = (try AnyRecordName(row[0]), try AnyRecordName(row[1]))
          records[source]?.links[relationship.name]?.append(target)
        }
      }
    }
    return records
  }
}

/// The store holds exactly these records, row by row. Says which do not, at most ten.
func expectContents(
  _ store: Store, _ name: String, equal expected: [AnyRecordName: DynamicRecord],
  sourceLocation: Testing.SourceLocation = #_sourceLocation
) throws {
  let found = try contents(of: store)
  var complaints: [String] = []
  for name in Set(found.keys).union(expected.keys).sorted() where found[name] != expected[name] {
    switch (found[name], expected[name]) {
    case (nil, _): complaints.append("\(name) is missing")
    case (_, nil): complaints.append("\(name) should not be there")
    case (let found?, let expected?):
      let fields = expected.fields.keys.filter { found.fields[$0] != expected.fields[$0] }
      let links = expected.links.keys.filter { found.links[$0] != expected.links[$0] }
      complaints.append("\(name) differs in \((fields + links).sorted().joined(separator: ", "))")
    }
  }
  #expect(complaints.prefix(10) == [], "\(name), \(complaints.count) in all", sourceLocation: sourceLocation)
}

/// The whole replicated state as bytes.
func canonicalDump(_ store: Store) throws -> [UInt8] {
  var bytes: [UInt8] = []
  try store.dump(.canonical) { bytes += $0.utf8 }
  return bytes
}

/// All stores stand at the same point, hold the same to the byte, and are sound.
func expectConverged(_ stores: [Store], sourceLocation: Testing.SourceLocation = #_sourceLocation) throws {
  let summaries = try stores.map { try $0.summary() }
  let dumps = try stores.map(canonicalDump)
  #expect(dumps.allSatisfy { $0 == dumps.first }, "the canonical dumps differ", sourceLocation: sourceLocation)
  for (store, summary) in zip(stores, summaries) {
    #expect(summary.vector == summaries[0].vector, sourceLocation: sourceLocation)
    #expect(summary.fingerprint == summaries[0].fingerprint, sourceLocation: sourceLocation)
    #expect(try store.verify().problems == [], sourceLocation: sourceLocation)
    let dangling = try store.read { try Row.fetchAll($0, sql: "PRAGMA foreign_key_check").count }
    #expect(dangling == 0, sourceLocation: sourceLocation)
  }
}
