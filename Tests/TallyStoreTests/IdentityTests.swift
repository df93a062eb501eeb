import Foundation
import GRDB
import Tally
import Testing

/// A dot is never issued twice: not by copies, older copies, or a store that lost its last commits.
@Suite struct IdentityTests {
  let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

  private func open(_ name: String, _ options: StoreOptions = StoreOptions()) throws -> Store {
    try Store(path: path(name), schema: scorebook, options: options)
  }

  private func copy(_ name: String, to other: String, _ suffixes: [String] = ["", "-wal"]) throws {
    for suffix in suffixes {
      try? FileManager.default.removeItem(atPath: path(other) + suffix)
      if FileManager.default.fileExists(atPath: path(name) + suffix) {
        try FileManager.default.copyItem(atPath: path(name) + suffix, toPath: path(other) + suffix)
      }
    }
  }

  private func insert(_ name: String, _ store: Store) throws { try store.write { try Game(name: name).insert($0) } }

  private func names(_ store: Store) throws -> [String] {
    try store.read { try Game.fetchAll($0) }.compactMap(\.name).sorted()
  }

  private func converge(_ a: Store, _ b: Store, _ expected: [String]) throws {
    #expect(try a.sync(with: b).isConverged)
    for store in [a, b] {
      #expect(try names(store) == expected)
      #expect(try store.verify().problems == [])
    }
  }

  @Test func aStoreThatIsOpenedAgainKeepsItsId() throws {
    let first = try open("a")
    try insert("Chess", first)
    let replica = try first.summary().replica
    try first.close()
    for _ in 0..<3 {
      let again = try open("a")
      #expect(try again.summary().replica == replica)
      #expect(try again.lastRenewal() == nil)
      try again.close()
    }
  }

  @Test(arguments: [["", "-wal"], ["", "-wal", "-incarnation"]])
  func aCopyTakesAnIdOfItsOwn(suffixes: [String]) throws {
    let original = try open("a")
    try insert("Chess", original)
    try copy("a", to: "b", suffixes)
    let twin = try open("b")
    #expect(try twin.lastRenewal() != nil)
    try insert("Go", original)
    try insert("Bridge", twin)
    #expect(try original.summary().replica != twin.summary().replica)
    try converge(original, twin, ["Bridge", "Chess", "Go"])
  }

  @Test func anOlderCopyThatIsPutBackTakesANewId() throws {
    let peer = try open("peer")
    var store = try open("a")
    try insert("Chess", store)
    try store.close()
    try copy("a", to: "backup")
    store = try open("a")
    try insert("Go", store)
    try converge(store, peer, ["Chess", "Go"])
    let before = try store.summary().replica
    try store.close()
    try copy("backup", to: "a", ["", "-wal", "-shm"])
    let restored = try open("a")
    try insert("Bridge", restored)
    #expect(try restored.summary().replica != before)
    try converge(restored, peer, ["Bridge", "Chess", "Go"])
  }

  @Test func withoutATokenAPeerTellsAnOlderCopy() throws {
    var options = StoreOptions()
    options.detectsCopies = false
    let peer = try open("peer", options)
    let store = try open("a", options)
    try insert("Chess", store)
    try copy("a", to: "old")
    try insert("Go", store)
    try converge(store, peer, ["Chess", "Go"])
    let old = try open("old", options)
    #expect(try old.summary().replica == store.summary().replica)
    try converge(old, peer, ["Chess", "Go"])
    #expect(try old.lastRenewal()?.reason.contains("older copy") == true)
    try insert("Bridge", old)
    try insert("Poker", store)
    try converge(old, peer, ["Bridge", "Chess", "Go"])
    try converge(store, peer, ["Bridge", "Chess", "Go", "Poker"])
    try converge(store, old, ["Bridge", "Chess", "Go", "Poker"])
  }

  /// A power cut leaves of the write-ahead log what was synced: here what it had when a delta was handed out.
  @Test func whatAPeerHasSeenSurvivesAPowerCut() throws {
    let peer = try open("peer")
    let store = try open("a")
    for round in 1...5 {
      try insert("Game \(round)", store)
      let seen = try store.summary()
      try peer.apply(try store.delta(since: try peer.vector))
      let synced = try #require(try FileManager.default.attributesOfItem(atPath: path("a-wal"))[.size] as? Int)
      try insert("Lost \(round)", store)
      try copy("a", to: "cut")
      let log = try FileHandle(forWritingTo: URL(fileURLWithPath: path("cut-wal")))
      try log.truncate(atOffset: UInt64(synced))
      try log.close()
      var options = StoreOptions()
      options.detectsCopies = false
      let after = try open("cut", options)
      #expect(try after.summary().vector.covers(seen.vector))
      #expect(try names(after).contains("Game \(round)"))
      #expect(try after.sync(with: peer).isConverged)
      _ = try store.write { try $0.execute(sql: "DELETE FROM SBGame WHERE name LIKE 'Lost%'") }
    }
  }
}
