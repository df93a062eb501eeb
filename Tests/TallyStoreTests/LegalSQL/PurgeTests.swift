import Foundation
import Tally
import TallyCRDT
import TallyTesting
import Testing

@testable import TallyStore

/// Deleting for good, beside what SQL and disks do to a store.
@Suite struct PurgeTests {
  private static func name(_ text: String) throws -> AnyRecordName { try AnyRecordName(text) }

  /// Damages the first record of b, as a disk does, and opens the store again.
  private static func damaged(_ lab: Lab) throws -> Store {
    try lab.damage("b", "UPDATE P SET name = 'zzz' WHERE id = 'P|~|1'")
    let b = try lab.reopened("b")
    #expect(try b.verify().problems != [])
    return b
  }

  /// No byte of a purged value is in any file of two devices, whatever its size and wherever it has been.
  @Test(arguments: CapturePath.allCases) func aPurgedValueIsInNoFile(_ path: CapturePath) throws {
    let lab = try Lab(path)
    let canaries = ["canary-short-7f3a", "canary-middle-91bc", "canary-large-55de", "canary-lost-20aa"]
    let middle = String(repeating: canaries[1] + " ", count: 300)
    let large = String(repeating: canaries[2] + " ", count: 60_000)
    try lab.a.write { db in
      try db.execute(
        sql: "INSERT INTO P(id, name, icon, settings) VALUES('P|~|x', ?, ?, ?)",
        arguments: [canaries[0], Data(large.utf8), "\"\(middle)\""])
      try db.execute(sql: "INSERT INTO P(id, name) VALUES('P|~|stays', 'still here')")
      try db.execute(sql: "INSERT INTO G(id, name, owner) VALUES('G|~|g', ?, 'P|~|x')", arguments: [canaries[0]])
    }
    try lab.sync()
    // A conflict, whose journal has the value that lost.
    try lab.a.run("UPDATE P SET name = '\(canaries[3])' WHERE id = 'P|~|x'")
    try lab.b.run("UPDATE P SET name = 'wins' WHERE id = 'P|~|x'")
    try lab.sync()
    #expect(try lab.a.conflicts().count + lab.b.conflicts().count > 0)
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|x'")
    try lab.sync()
    #expect(try lab.a.purge(Self.name("P|~|x")).emptied == 2)
    try lab.sync()
    try lab.expectEqual()
    for store in [lab.a, lab.b] {
      #expect(try store.conflicts().isEmpty)
      #expect(try store.history(of: Self.name("P|~|x"))?.fields.isEmpty == true)
    }
    try lab.a.close()
    try lab.b.close()
    for device in ["a", "b"] {
      let file = URL(fileURLWithPath: lab.scratch.path(device))
      let folder = file.deletingLastPathComponent()
      for found in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
      where found.lastPathComponent.hasPrefix(file.lastPathComponent) {
        guard let bytes = try? Data(contentsOf: found) else { continue }
        for canary in canaries {
          #expect(bytes.range(of: Data(canary.utf8)) == nil, "\(canary) is in \(found.lastPathComponent)")
        }
      }
    }
  }

  /// A device that is damaged takes a peer's content, and what it had edited unseen outlives a purge all the same.
  @Test(arguments: CapturePath.allCases) func aDamagedDeviceKeepsWhatAPurgeHadNotSeen(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run(
      "INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1)", "INSERT INTO P(id, name, pos) VALUES('P|~|2', 'two', 2)"
    )
    try lab.sync()
    try lab.b.run("UPDATE P SET pos = 22 WHERE id = 'P|~|2'")
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|2'")
    try lab.a.purge(Self.name("P|~|2"))
    let full = try lab.a.delta()
    let b = try Self.damaged(lab)
    try b.apply(full, isRepair: true)
    #expect(try Lab.text(b, "SELECT name FROM P WHERE id = 'P|~|1'") == "one")
    #expect(try Lab.text(b, "SELECT pos FROM P WHERE id = 'P|~|2'") == "22")
    try lab.a.sync(with: b)
    #expect(try Lab.text(lab.a, "SELECT pos FROM P WHERE id = 'P|~|2'") == "22")
    try expectConverged(lab.a, b)
  }

  /// The same where other damage stays, in a record that this device alone has.
  @Test(arguments: CapturePath.allCases) func whatAPurgeHadNotSeenOutlivesDamageThatStays(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run(
      "INSERT INTO P(id, name, pos) VALUES('P|~|2', 'two', 2), ('P|~|3', 'three', 3)")
    try lab.sync()
    try lab.b.run("INSERT INTO P(id, name) VALUES('P|~|1', 'own')")
    try lab.b.run("UPDATE P SET pos = 22 WHERE id = 'P|~|2'")
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|2'")
    try lab.a.purge(Self.name("P|~|2"))
    let full = try lab.a.delta()
    let b = try Self.damaged(lab)
    let result = try b.apply(full, isRepair: true)
    #expect(result.isHealed)
    #expect(try b.doubt()?.level == .damaged)
    #expect(try Lab.text(b, "SELECT pos FROM P WHERE id = 'P|~|2'") == "22")
    // The damaged record is overwritten.
    try b.run("UPDATE P SET name = 'own' WHERE id = 'P|~|1'")
    _ = try b.rebuild()
    try lab.a.sync(with: b)
    #expect(try Lab.text(lab.a, "SELECT pos FROM P WHERE id = 'P|~|2'") == "22")
    try expectConverged(lab.a, b)
  }

  /// The same the other way round: the damaged device has purged, and what heals it has an edit that it had not seen,
  /// and a delete.
  @Test(arguments: CapturePath.allCases) func aDamagedDeviceKeepsWhatItsPurgeHadNotSeen(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run(
      "INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1)", "INSERT INTO P(id, name, pos) VALUES('P|~|2', 'two', 2)"
    )
    try lab.sync()
    try lab.b.run("DELETE FROM P WHERE id = 'P|~|2'")
    try lab.b.purge(Self.name("P|~|2"))
    try lab.a.run("UPDATE P SET pos = 22 WHERE id = 'P|~|2'")
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|2'")
    let full = try lab.a.delta()
    let b = try Self.damaged(lab)
    #expect(throws: StoreError.self) { try b.purge(Self.name("P|~|2")) }
    try b.apply(full, isRepair: true)
    try lab.a.sync(with: b)
    try expectConverged(lab.a, b)
    try lab.a.restore(Self.name("P|~|2"))
    #expect(try Lab.text(lab.a, "SELECT pos FROM P WHERE id = 'P|~|2'") == "22")
  }

  /// Content that a peer has purged also goes from the conflict journal of a device that heals from it.
  @Test func healingFollowsAPurge() throws {
    let lab = try Lab(.hook)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one')", "INSERT INTO P(id, name) VALUES('P|~|2', 'two')")
    try lab.sync()
    try lab.a.run("UPDATE P SET name = 'lost' WHERE id = 'P|~|2'")
    try lab.b.run("UPDATE P SET name = 'wins' WHERE id = 'P|~|2'")
    try lab.sync()
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|2'")
    try lab.sync()
    try lab.a.purge(Self.name("P|~|2"))
    let full = try lab.a.delta()
    let b = try Self.damaged(lab)
    let result = try b.apply(full, isRepair: true)
    #expect(result.isHealed && result.emptied == 1)
    #expect(try b.conflicts().isEmpty)
    #expect(try b.removals().all == lab.a.removals().all)
  }

  /// An entry of a record that was deleted since can be decided once the record is back, and goes with a purge.
  @Test func aConflictOfADeletedRecordWaitsForTheRecord() throws {
    let lab = try Lab(.hook)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|x', 'old')")
    try lab.sync()
    try lab.a.run("UPDATE P SET name = 'loses' WHERE id = 'P|~|x'")
    try lab.b.run("UPDATE P SET name = 'wins' WHERE id = 'P|~|x'")
    try lab.sync()
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|x'")
    let conflict = try #require(try lab.a.conflicts().first)
    let refusal = #expect(throws: StoreError.self) { try lab.a.restore(conflict) }
    #expect(refusal?.code == .noSuchRecord)
    try lab.a.restore(conflict.name)
    try lab.a.restore(conflict)
    #expect(try Lab.text(lab.a, "SELECT name FROM P") == "loses")
    try lab.sync()
    try lab.expectEqual()
    try lab.b.run("DELETE FROM P WHERE id = 'P|~|x'")
    try lab.b.purge(Self.name("P|~|x"))
    try lab.sync()
    #expect(try lab.a.conflicts().isEmpty && lab.b.conflicts().isEmpty)
  }

  /// A purged name is used again before the purge arrives: what it held goes all the same, also out of the journal.
  @Test(arguments: CapturePath.allCases) func aPurgeBehindANewRecordReachesEverything(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|x', 'first', 1)")
    try lab.sync()
    try lab.a.run("UPDATE P SET name = 'canary' WHERE id = 'P|~|x'")
    try lab.b.run("UPDATE P SET name = 'wins' WHERE id = 'P|~|x'")
    try lab.sync()
    #expect(try !lab.b.conflicts().isEmpty)
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|x'")
    try lab.a.purge(Self.name("P|~|x"))
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|x', 'second')")
    try lab.sync()
    #expect(try lab.a.conflicts().isEmpty && lab.b.conflicts().isEmpty)
    #expect(try !lab.a.removals().all.isEmpty && !lab.b.removals().all.isEmpty)
    #expect(try Lab.text(lab.b, "SELECT name FROM P") == "second")
    try lab.expectEqual()
  }

  /// Counting what would go writes nothing, and a shorter window than usual forgets no day.
  @Test func aDryRunWritesNothing() throws {
    let lab = try Lab(.hook)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|x', 'old')")
    try lab.sync()
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|x'")
    try lab.sync()
    func notes() throws -> [String: [UInt8]] { try lab.a.notes(SharedDays.scope).values }
    let before = try (lab.a.summary(), notes())
    #expect(try lab.a.compact(restoreWindow: .days(0), isDryRun: true).waiting == 1)
    #expect(try (lab.a.summary(), notes()) == before)
  }

  /// A purged name that is written anew, in whichever way, has what was written and defaults, and nothing of before.
  @Test(
    arguments: CapturePath.allCases,
    [
      "INSERT INTO P(id, pos) VALUES('P|~|x', 5)", "INSERT OR REPLACE INTO P(id, pos) VALUES('P|~|x', 5)",
      "INSERT INTO P(id, pos) VALUES('P|~|x', 5) ON CONFLICT(id) DO UPDATE SET pos = 6",
    ])
  func aPurgedNameIsWrittenAnew(_ path: CapturePath, sql: String) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|x', 'old', 1)")
    try lab.sync()
    // An edit that nobody has seen yet lifts the old name.
    try lab.b.run("UPDATE P SET pos = 3 WHERE id = 'P|~|x'")
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|x'")
    try lab.a.purge(Self.name("P|~|x"))
    try lab.a.run(sql)
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.a, "SELECT quote(name) || pos FROM P WHERE id = 'P|~|x'") == "NULL5")
  }

  /// A record that was purged with its owner, which came back without it, has nothing left to purge, like any stub.
  @Test func whatIsHollowIsPurgedAlready() throws {
    let lab = try Lab(.hook)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|x', 'owner')")
    try lab.sync()
    try lab.a.run("INSERT INTO G(id, name, owner) VALUES('G|~|g', 'owned', 'P|~|x')")
    try lab.b.run("UPDATE P SET name = 'edited'")
    try lab.a.run("DELETE FROM P")
    try lab.a.purge(Self.name("P|~|x"))
    try lab.sync()
    #expect(try Lab.text(lab.a, "SELECT name FROM P") == "edited")
    #expect(try Lab.text(lab.a, "SELECT count(*) FROM G") == "0")
    for store in [lab.a, lab.b] { #expect(try store.purge(Self.name("G|~|g")).emptied == 0) }
    let error = #expect(throws: StoreError.self) { try lab.a.restore(Self.name("G|~|g")) }
    #expect(error?.code == .purged)
  }

  /// A row that SQLite does not let go loses its values, or keeps them where the app refuses defaults in their place;
  /// an edit of it says all that it shows.
  @Test(arguments: CapturePath.allCases, [false, true])
  func anEditOfARowThatWasKeptSaysAllThatItShows(_ path: CapturePath, refusesDefaults: Bool) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|x', 'shown', 1)")
    try lab.sync()
    try lab.b.run(
      "CREATE TABLE pinned(p TEXT REFERENCES P(id) ON DELETE RESTRICT)", "INSERT INTO pinned VALUES('P|~|x')")
    if refusesDefaults {
      try lab.b.run(
        "CREATE TRIGGER t BEFORE UPDATE OF name ON P WHEN NEW.name IS NULL BEGIN SELECT RAISE(ABORT, 'no'); END")
    }
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|x'")
    try lab.a.purge(Self.name("P|~|x"))
    try lab.sync()
    let values = "SELECT quote(name) || quote(pos) FROM P"
    #expect(try Lab.text(lab.b, values) == (refusesDefaults ? "'shown'1" : "NULLNULL"))
    try lab.b.run("UPDATE P SET pos = 2")
    try lab.sync()
    try lab.expectEqual()
    for store in [lab.a, lab.b] { #expect(try Lab.text(store, values) == (refusesDefaults ? "'shown'2" : "NULL2")) }
  }

  /// A part of what a sender has, joined as a repair, as files of a mailbox are, does not say that it lacks an edit.
  @Test func aPurgeThatComesInAFileLiftsNothing() throws {
    let lab = try Lab(.hook)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|x', 'old')")
    try lab.sync()
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|x'")
    try lab.b.apply(try lab.a.delta(since: try lab.b.vector), isRepair: true)
    try lab.a.purge(Self.name("P|~|x"))
    try lab.b.apply(try lab.a.delta(since: try lab.b.vector), isRepair: true)
    #expect(try lab.b.vector == lab.a.vector)
    #expect(try lab.b.history(of: Self.name("P|~|x"))?.fields.isEmpty == true)
    try expectConverged(lab.a, lab.b)
  }

  /// A sync in one process counts as one.
  @Test func aSyncBeginsTheRestoreWindow() throws {
    let lab = try Lab(.hook)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|x', 'old')")
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|x'")
    try lab.sync()
    #expect(try lab.a.recentlyDeleted(ofType: "P").first?.restorableUntil != nil)
    #expect(try lab.b.recentlyDeleted(ofType: "P").first?.restorableUntil != nil)
  }

  /// Deleted records are listed until they are purged, with what they held.
  @Test func recentlyDeletedRecordsCanBeRestored() throws {
    let lab = try Lab(.hook)
    try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|x', 'ex', 1)", "INSERT INTO P(id) VALUES('P|~|y')")
    try lab.sync()
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|x'")
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|y'")
    let bin = try lab.a.recentlyDeleted(ofType: "P")
    #expect(bin.map(\.name.text) == ["P|~|y", "P|~|x"])
    #expect(bin.last?.values["name"] == .text("ex"))
    #expect(bin.allSatisfy { $0.restorableUntil == nil })
    #expect(try lab.a.recentlyDeleted(ofType: "P", limit: 1).map(\.name.text) == ["P|~|y"])
    try lab.a.noteShared(try lab.a.vector)
    #expect(try lab.a.recentlyDeleted(ofType: "P").allSatisfy { $0.restorableUntil != nil })
    try lab.a.purge(Self.name("P|~|x"))
    #expect(try lab.a.recentlyDeleted(ofType: "P").map(\.name.text) == ["P|~|y"])
    try lab.a.restore(Self.name("P|~|y"))
    #expect(try lab.a.recentlyDeleted(ofType: "P").isEmpty)
    #expect(throws: StoreError.self) { try lab.a.recentlyDeleted(ofType: "Nothing") }
  }
}
