import Foundation
import GRDB
import Tally
import TallyStore
import TestEffort
import Testing

/// What a transaction costs is in proportion to what it changes.
@Suite struct BoundedWorkTests {
  @Test(arguments: CapturePath.allCases) func theChangeLogForgetsWhatNothingNeeds(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one')", "INSERT INTO P(id, name) VALUES('P|~|2', 'two')")
    let since = try lab.a.vector
    for number in 0..<(Effort.isLong ? 1500 : 500) { try lab.a.run("UPDATE P SET pos = \(number) WHERE id = 'P|~|1'") }
    #expect(try lab.a.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM tally_log") ?? 0 } < 200)
    #expect(try lab.a.verify().problems == [])
    try lab.b.apply(try lab.a.delta())
    #expect(try lab.a.delta(since: since).count < 400)
    try lab.expectEqual()
  }

  @Test func flippingAColumnOfLargeRowsNotesOnlyThatColumn() throws {
    let schema = Schema([EntitySchema("F", .blob("icon"), .bool("fav", default: false))])
    let lab = try Lab(.triggers, schema)
    try lab.a.write { db in
      for number in 0..<40 {
        try db.execute(sql: "INSERT INTO F(id, icon) VALUES('F|~|\(number)', randomblob(200000))")
      }
    }
    try lab.a.close()
    func size() throws -> Int {
      try #require(FileManager.default.attributesOfItem(atPath: lab.scratch.path("a"))[.size] as? Int)
    }
    let before = try size()
    try lab.shell("a", "UPDATE F SET fav = 1")
    let a = try lab.reopened("a", schema)
    #expect(try a.verify().problems == [])
    try a.close()
    #expect(try size() - before < 300_000)
  }

  @Test(arguments: CapturePath.allCases) func largeValuesOfDeletedRowsComeBack(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, icon) VALUES('P|~|1', randomblob(300000)), ('P|~|2', zeroblob(40000))")
    try lab.sync()
    let icons = try Lab.rows(lab.a, "P")
    try lab.a.run("DELETE FROM P")
    try lab.sync()
    try lab.a.restore(AnyRecordName("P|~|1"))
    try lab.a.restore(AnyRecordName("P|~|2"))
    try lab.sync()
    #expect(try Lab.rows(lab.a, "P") == icons)
    try lab.expectEqual()
  }

  /// The processor time of this thread in seconds: what other tests do meanwhile does not count. A store in memory does
  /// its work on the thread that asks for it.
  private func threadTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  @Test func aChainOfOwnersIsAppliedInLinearTime() throws {
    func chain(_ count: Int) throws -> Double {
      let (source, target) = (try Store(inMemory: Lab.schema), try Store(inMemory: Lab.schema))
      try source.write { db in
        for number in 0..<count {
          let parent = number == 0 ? "NULL" : "'F|~|\(number - 1)'"
          try db.execute(sql: "INSERT INTO F(id, parent) VALUES('F|~|\(number)', \(parent))")
        }
      }
      let delta = try source.delta()
      let start = threadTime()
      try target.apply(delta)
      return threadTime() - start
    }
    // Four times as many: a quadratic cost would be sixteen times.
    let (few, many) = (try min(chain(500), chain(500)), try min(chain(2000), chain(2000)))
    #expect(few > 0 && many < 8 * few)
  }

  @Test func rebuildingASoundStoreChangesNothingAndADamagedOneIsSoundAgain() throws {
    let lab = try Lab(.hook)
    try lab.a.run(
      "INSERT INTO P(id, name) VALUES('P|~|1', 'one'), ('P|~|2', 'two')",
      "INSERT INTO G(id, owner) VALUES('G|~|1', 'P|~|1')")
    try lab.a.run("UPDATE P SET pos = 1 WHERE id = 'P|~|1'")
    try lab.sync()
    let summary = try lab.a.summary()
    let report = try lab.a.rebuild()
    #expect(report.losses == [] && report.checked == 3 && !report.hadOtherFingerprint)
    #expect(try lab.a.summary() == summary)
    #expect(try lab.a.verify().problems == [])
    try lab.shell(
      "a", "DELETE FROM tally_extra", "DELETE FROM tally_log", "DELETE FROM tally_wait",
      "UPDATE tally_zone SET fingerprint = zeroblob(16)")
    let a = try lab.reopened("a")
    #expect(try a.rebuild().losses.count == 1)
    #expect(try a.verify().problems == [])
    for _ in 0..<2 { try a.sync(with: lab.b) }
    try expectConverged(a, lab.b)
    #expect(try Lab.rows(lab.b, "P").count == 2)
  }
}
