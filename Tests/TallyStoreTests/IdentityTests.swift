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

  private static let tiles = Schema([EntitySchema("Tile", .counter("score"))])

  private func session(_ body: (Store) throws -> Void) throws {
    let store = try Store(path: path("a"), schema: Self.tiles)
    try body(store)
    try store.close()
  }

  private func score(_ store: Store) throws -> Int? {
    try store.read { try Int.fetchOne($0, sql: "SELECT score FROM Tile") }
  }

  /// The store's files are copied while it is open, and back over those that are there then: `cp`, and `cp -p`, which
  /// keeps the time of the content. A file system may give a token's number to the next but one after it, and a file
  /// that is written over keeps its number. With `cp` it need not have been opened again in between.
  @Test(arguments: [false, true]) func filesThatAreCopiedBackOverTheirSuccessorsTakeANewId(keepsTimes: Bool) throws {
    let peer = try Store(path: path("peer"), schema: Self.tiles)
    var total = 0
    func add(_ store: Store) throws {
      try store.write { try $0.execute(sql: "UPDATE Tile SET score = score + 1") }
      total += 1
    }
    try session { store in try store.write { try $0.execute(sql: "INSERT INTO Tile(id) VALUES('Tile|~|1')") } }
    for round in 0..<12 {
      var files: [(path: String, bytes: Data, time: timespec)] = []
      var replica: ReplicaID?
      try session { store in
        try add(store)
        replica = try store.summary().replica
        files = try ["a", "a-wal", "a-incarnation"].map {
          (path($0), try Data(contentsOf: URL(fileURLWithPath: path($0))), try Self.time(of: path($0)))
        }
        try add(store)
        #expect(try store.sync(with: peer).isConverged)
      }
      for _ in 0..<round % 4 + (keepsTimes ? 1 : 0) {
        try session { store in
          try add(store)
          #expect(try store.sync(with: peer).isConverged)
        }
      }
      for file in files {
        try file.bytes.write(to: URL(fileURLWithPath: file.path))
        guard keepsTimes else { continue }
        try #require(utimensat(AT_FDCWD, file.path, [file.time, file.time], 0) == 0)
      }
      try session { store in
        try add(store)
        #expect(try store.summary().replica != replica, "round \(round)")
        #expect(try store.sync(with: peer).isConverged)
        #expect(try score(store) == total && score(peer) == total, "round \(round)")
      }
    }
  }

  private static func time(of path: String) throws -> timespec {
    var status = stat()
    try #require(stat(path, &status) == 0)
    #if canImport(Darwin)
      return status.st_mtimespec
    #else
      return status.st_mtim
    #endif
  }

  /// Other permissions, as a container's start may set them each time, and another place on the same disk.
  @Test func aTokenWithOtherPermissionsOrAnotherNameIsTheStores() throws {
    var store = try open("a")
    try insert("Chess", store)
    let replica = try store.summary().replica
    try store.close()
    for (mode, from, to) in [(0o600, "a", "a"), (0o640, "a", "b"), (0o644, "b", "a")] {
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path(from) + "-incarnation")
      for suffix in ["", "-incarnation"] where from != to {
        try FileManager.default.moveItem(atPath: path(from) + suffix, toPath: path(to) + suffix)
      }
      store = try open(to)
      #expect(try store.summary().replica == replica && store.lastRenewal() == nil)
      try store.close()
    }
  }

  /// Earlier builds kept only the token in the database.
  @Test func aStoreOfAnEarlierBuildKeepsItsId() throws {
    var store = try open("a")
    try insert("Chess", store)
    let replica = try store.summary().replica
    try store.close()
    let file = try DatabaseQueue(path: path("a"))
    let token = "SELECT value FROM tally_meta WHERE key = 'incarnation'"
    let isWhole = try file.write { db in
      try db.execute(sql: "UPDATE tally_meta SET value = substr(value, 1, 32) WHERE key = 'incarnation'")
      let text = try String(contentsOfFile: path("a-incarnation"), encoding: .utf8)
      return try text.hasPrefix(#require(try String.fetchOne(db, sql: token)) + " ")
    }
    #expect(isWhole)
    try file.close()
    store = try open("a")
    #expect(try store.summary().replica == replica && store.lastRenewal() == nil)
    #expect(try store.read { try String.fetchOne($0, sql: token) }?.split(separator: " ").count == 3)
    try store.close()
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
