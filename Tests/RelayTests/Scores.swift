import Foundation
import GRDB
import Tally
import TallyRelay
import Testing

/// Small stores to sync.
enum Scores {
  static let schema = Schema([EntitySchema("Score", .text("name"), .blob("noise"))])

  /// A store in memory with one record, which has its name.
  static func store(_ name: String, noise: Int = 0) throws -> Store {
    let store = try Store(inMemory: schema)
    try insert(name, noise: noise, into: store)
    return store
  }

  /// Adds a record.
  static func insert(_ name: String, noise: Int = 0, into store: Store) throws {
    var generator = SystemRandomNumberGenerator()
    let bytes = Data((0..<noise).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    try store.write { db in
      try db.execute(
        sql: "INSERT INTO Score(id, name, noise) VALUES(?, ?, ?)", arguments: ["Score|~|\(name)", name, bytes])
    }
  }

  static func names(_ store: Store) throws -> [String] {
    try store.read { try String.fetchAll($0, sql: "SELECT name FROM Score ORDER BY name") }
  }

  /// Everything that a store holds, as bytes.
  static func dump(_ store: Store) throws -> [String] {
    try store.read { db in
      try Row.fetchAll(db, sql: "SELECT id, name, hex(noise) AS noise FROM Score ORDER BY id").map { "\($0)" }
    } + ["\(try store.summary().fingerprint)"]
  }

  /// Syncs all until nobody has anything to put or take.
  static func settle(_ stores: [Store], _ mailbox: RelayMailbox) async throws {
    for _ in 0..<10 {
      var isQuiet = true
      for store in stores {
        let report = try await store.sync(through: mailbox)
        if !report.taken.isEmpty || !report.written.isEmpty { isQuiet = false }
      }
      if isQuiet { return }
    }
    Issue.record("the stores do not come to rest")
  }
}
