import Foundation
import GRDB
import Testing

/// `tally compact`: what it says, and by how much the file gets smaller.
@Suite struct CompactTests {
  let bench: Bench

  init() throws { bench = try Bench("a") }

  /// What a file takes long to be made of is made once: a store of this version, and one without a map of pages.
  private static let new = Result { try filled(isOld: false) }
  private static let old = Result { try filled(isOld: true) }

  private static func filled(isOld: Bool) throws -> [UInt8] {
    let bench = try Bench("a")
    if isOld {
      let queue = try DatabaseQueue(path: bench.path("a"))
      try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA auto_vacuum = NONE; VACUUM") }
      try queue.close()
    }
    try fill("a", bench)
    return try bench.bytes("a")
  }

  /// Fills a store with games of 20,000 bytes that one of two persons owns, and purges the other's.
  private static func fill(_ store: String, _ bench: Bench) throws {
    try bench.done("put", store, "-", input: "'SBPerson|~|ann' name=Ann\n'SBPerson|~|bob' name=Bob\n")
    let icon = String(repeating: "ab", count: 20_000)
    for owner in ["ann", "bob"] {
      let games = (1...60).map { "'SBGame|~|\(owner)-\($0)' owner='SBPerson|~|\(owner)' icon=\(icon)\n" }.joined()
      _ = try bench.tally("put", store, "-", "--relaxed", input: games)
    }
    try bench.done("delete", store, "SBPerson|~|ann")
    try bench.done("purge", store, "SBPerson|~|ann")
  }

  private func size(_ store: String) throws -> Int { try bench.bytes(store).count }

  private func fill(_ store: String) throws { try take(Self.new.get(), as: store) }

  /// A copied file takes a new replica id with the first write, and says so.
  private func take(_ bytes: [UInt8], as store: String) throws {
    try bench.write(bytes, to: store)
    #expect(try bench.tally("put", store, "SBPerson|~|carl", "name=Carl").status == 0)
  }

  /// A store whose file keeps no map of pages, as earlier versions made it.
  private func old(_ sql: String = "") throws {
    try take(Self.old.get(), as: "a")
    guard !sql.isEmpty else { return }
    let queue = try DatabaseQueue(path: bench.path("a"))
    try queue.write { try $0.execute(sql: sql) }
    try queue.close()
  }

  @Test func aFileGivesItsFreePagesBack() throws {
    try fill("a")
    let before = try size("a")
    try bench.unchanged("a") {
      let dry = try bench.done("compact", "a", "--dry-run")
      #expect(dry.hasPrefix("0 records would be emptied, 0 bytes of values; "))
      #expect(dry.hasSuffix(" bytes would be given back\n"))
      #expect(try size("a") == before)
      let report = try bench.done("compact", "a")
      #expect(report == "0 records emptied, 0 bytes of values; \(before - (try size("a"))) bytes given back\n")
      #expect(try size("a") < before * 2 / 3)
      #expect(try !bench.done("compact", "a").contains("given back"))
    }
  }

  @Test func jsonHasTheBytes() throws {
    try fill("a")
    let before = try size("a")
    let report = try bench.done("compact", "a", "--vacuum", "--json")
    let given = before - (try size("a"))
    #expect(given > 0)
    #expect(report == "{\"bytes\":0,\"emptied\":0,\"reclaimable\":0,\"reclaimed\":\(given),\"waiting\":0}\n")
  }

  @Test func anOldFileIsRebuiltWhenItIsAskedFor() throws {
    try old()
    let before = try size("a")
    try bench.unchanged("a") {
      let report = try bench.done("compact", "a")
      #expect(report.hasSuffix(" bytes are free in the file\n") && !report.contains("given back"))
      #expect(try size("a") == before)
      #expect(try bench.done("compact", "a", "--vacuum").contains(" bytes given back"))
      #expect(try size("a") < before * 2 / 3)
    }
  }

  @Test func anOldFileWithASearchIndexIsNot() throws {
    try old("CREATE VIRTUAL TABLE GameText USING fts5(name, content='SBGame')")
    let before = try bench.bytes("a")
    try bench.unchanged("a") {
      try bench.refused(65, ["compact", "a", "--vacuum"], saying: "GameText may depend on rowids")
      try bench.refused(65, ["compact", "a", "--vacuum", "--dry-run"], saying: "dependsOnRowIDs")
    }
    #expect(try bench.bytes("a").count == before.count)
  }
}
