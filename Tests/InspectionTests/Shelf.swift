import Foundation
import Tally
import TallyCRDT
import TallyInspection
import TallyStore
import Testing

/// Two devices with shelves of books, in files that go with the test.
final class Shelf {
  static let schema = Schema([
    EntitySchema(
      "Book", .text("title"), .integer("pages", default: 0), .reference("shelf", to: "Shelf", onDelete: .cascade),
      .toMany("readers", to: "Reader")),
    EntitySchema("Shelf", .text("name"), .reference("room", to: "Room", onDelete: .cascade)),
    EntitySchema("Room", .text("name")), EntitySchema("Reader", .text("name")),
  ])
  /// What an older version of the app knows.
  static let older = Schema([EntitySchema("Book", .text("title")), EntitySchema("Reader", .text("name"))])

  let url: URL
  let phone: Store
  let tablet: Store

  init(tabletSchema: Schema = Shelf.schema) throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("tally-shelf-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    phone = try Store(path: url.appendingPathComponent("phone.tally").path, schema: Self.schema)
    tablet = try Store(path: url.appendingPathComponent("tablet.tally").path, schema: tabletSchema)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func sync() throws { #expect(try phone.sync(with: tablet).isConverged) }

  var directory: ReplicaDirectory {
    get throws { try ReplicaDirectory([("phone", phone), ("tablet", tablet)]) }
  }

  func presence(_ name: String, _ store: Store) throws -> PresenceReport {
    let name = try AnyRecordName(name)
    return PresenceReport(of: name, try store.presence(of: name), try directory)
  }

  func report(_ name: String, _ store: Store) throws -> RecordReport {
    try RecordReport(of: try AnyRecordName(name), in: store, try directory)
  }

  func difference(from place: String? = nil, limit: Int = 50) throws -> StoreDifference {
    try StoreComparison(("phone", phone), ("tablet", tablet), try directory).page(from: place, limit: limit)
  }
}

extension Store {
  func run(_ sql: String...) throws { try write { db in for sql in sql { try db.execute(sql: sql) } } }
}
