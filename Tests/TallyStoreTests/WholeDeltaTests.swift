import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyStore
import TallyTesting
import TestEffort
import Testing

/// Whatever a store holds, its delta is one that others can read, and that adds up to what it says.
@Suite struct WholeDeltaTests {
  private static let schema = Schema([EntitySchema("Note", .text("title"), .text("body"), .integer("n"))])

  private static func store() throws -> Store { try Store(inMemory: schema, options: Lab.options(.hook)) }

  private static func run(_ store: Store, _ sql: String) throws { try store.write { try $0.execute(sql: sql) } }

  private func expectReadable(_ store: Store, by peer: Store, _ comment: Comment) throws {
    let fresh = try Self.store()
    try peer.apply(try store.delta(since: try peer.vector))
    try fresh.apply(try store.delta())
    for other in [peer, fresh] {
      #expect(try other.vector == store.vector, comment)
      #expect(try other.summary().fingerprint == store.summary().fingerprint, comment)
    }
  }

  /// The context of a delete or a life has an entry for each replica: many of them fill a block before its items do.
  @Test(arguments: Effort.sample([false, true], 1)) func manyContextsOfManyReplicasCanBeRead(hasUUIDs: Bool) throws {
    let store = try Self.store()
    for number in 0..<(Effort.isLong ? 40 : 100) {
      let other = try Self.store()
      try Self.run(other, "INSERT INTO Note(id) VALUES('Note|~|r\(number)')")
      try store.apply(try other.delta())
    }
    let names = (0..<(Effort.isLong ? 1_700 : 700)).map { hasUUIDs ? "Note|~|\(Self.uuid($0))" : "Note|~|k\($0)" }
    try store.write { db in
      for name in names { try db.execute(sql: "INSERT INTO Note(id) VALUES(?)", arguments: [name]) }
    }
    let peer = try Self.store()
    try peer.apply(try store.delta())
    for name in names { try Self.run(store, "DELETE FROM Note WHERE id = '\(name)'") }
    try expectReadable(store, by: peer, "deleted")
    for name in names { try store.restore(try AnyRecordName(name)) }
    try expectReadable(store, by: peer, "restored")
  }

  /// A record that is too large for a block goes in parts, and each says which life it is of.
  @Test(arguments: [4, 400_000]) func aLargeRecordInALaterLifeIsCountedOnce(size: Int) throws {
    let (store, peer) = (try Self.store(), try Self.store())
    let name = "Note|~|\(Self.uuid(1))"
    let fill = "UPDATE Note SET title = hex(zeroblob(\(size))), body = hex(zeroblob(\(size)))"
    func insert() throws {
      try Self.run(store, "INSERT INTO Note(id, n) VALUES('\(name)', 1)")
      try Self.run(store, fill)
      try Self.run(store, "INSERT INTO Note(id, n) VALUES('Note|~|\(UUID())', 1)")
    }
    try insert()
    try expectReadable(store, by: peer, "inserted")
    try Self.run(store, "DELETE FROM Note WHERE id = '\(name)'")
    try store.restore(try AnyRecordName(name))
    try expectReadable(store, by: peer, "restored")
    try Self.run(store, "DELETE FROM Note WHERE id = '\(name)'")
    try store.purge(try AnyRecordName(name))
    try expectReadable(store, by: peer, "purged")
    try insert()
    try expectReadable(store, by: peer, "inserted again")
    try Self.run(store, "UPDATE Note SET n = 5")
    try expectReadable(store, by: peer, "edited")
    #expect(try store.verify().problems == [])
  }

  private static func uuid(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
  }
}
