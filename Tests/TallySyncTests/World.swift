import Foundation
import GRDB
import Tally
import TallySync
import Testing

struct Note: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Note", .text("text"), .integer("stars"))
  var id = RecordName<Note>()
  var text: String?
  var stars: Int?
}

/// Stores in memory, and syncs between them over a connection.
enum World {
  static func store(notes count: Int = 0, _ prefix: String = "note") throws -> Store {
    let store = try Store(inMemory: Schema(Note.self))
    if count > 0 { try insert(count, prefix, store) }
    return store
  }

  static func insert(_ count: Int, _ prefix: String, _ store: Store) throws {
    try store.write { db in for number in 0..<count { try Note(text: "\(prefix) \(number)", stars: 1).insert(db) } }
  }

  static func sync(_ a: Store, _ b: Store, _ settings: SyncSettings = SyncSettings()) async throws
    -> (SyncOutcome, SyncOutcome)
  {
    let (left, right) = MemoryConnection.pair()
    async let one = a.sync(over: left, settings)
    async let two = b.sync(over: right, settings)
    return (try await one, try await two)
  }

  static func change(stars: Int, _ store: Store) throws {
    try store.write { db in
      try db.execute(sql: "UPDATE Note SET stars = ? WHERE rowid = 7", arguments: [stars])
    }
  }

  static func count(_ store: Store) throws -> Int { try store.read { try Note.fetchCount($0) } }

  static func dump(_ store: Store) throws -> String {
    var text = ""
    try store.dump(.canonical) { text += $0 }
    return text
  }

  static func expectEqual(_ stores: Store...) throws {
    let first = try dump(stores[0])
    for store in stores {
      #expect(try dump(store) == first)
      #expect(try store.verify().problems == [])
      #expect(try store.summary().fingerprint == stores[0].summary().fingerprint)
    }
  }
}
