import GRDB
import Tally
import TallyStore
import Testing

extension Pair {
  /// Imports a fixture: each device every other record of a round, which then meet, so that the next round finds what
  /// it refers to. References of a type to itself and links come last, again every other one on each device.
  func importHalves(of fixture: ChinookFixture) throws {
    for types in Chinook.rounds {
      let names = fixture.records.keys.filter { types.contains($0.type) }.sorted()
      try divide(names) { name, db in try self.put(db, fixture, name) { $0.to != name.type } }
      try meet()
    }
    let names = fixture.records.keys.sorted()
    let referring = names.filter { name in
      Chinook.schema[name.type]?.references.contains { $0.to == name.type } ?? false
    }
    try divide(referring) { name, db in try self.put(db, fixture, name) { $0.to == name.type } }
    let links = names.flatMap { name in (fixture.records[name]?.links["tracks"] ?? []).map { (name, $0) } }
    try divide(links) { link, db in try Chinook.schema.link(db, link.0, "tracks", to: link.1) }
    try meet()
  }

  /// Gives the items with even index to the first device and the others to the second, in one transaction each.
  private func divide<Item>(_ items: [Item], _ body: (Item, Database) throws -> Void) throws {
    for (offset, store) in stores.enumerated() {
      try store.write { db in
        for index in stride(from: offset, to: items.count, by: 2) { try body(items[index], db) }
      }
    }
  }

  /// Puts a record's fields, and those of its references that are wanted.
  private func put(
    _ db: Database, _ fixture: ChinookFixture, _ name: AnyRecordName, _ isWanted: (ReferenceSchema) -> Bool
  ) throws {
    guard let record = fixture.records[name], let entity = Chinook.schema[name.type] else { return }
    let unwanted = Set(entity.references.filter { !isWanted($0) }.map(\.name))
    try Chinook.schema.put(db, name, record.fields.filter { !unwanted.contains($0.key) })
  }
}
