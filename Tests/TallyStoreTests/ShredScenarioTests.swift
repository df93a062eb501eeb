import Tally
import TallyCRDT
import TallyRig
import Testing

@testable import TallyStore

/// The directed scenarios of the model of deleting by lives, on stores (`Tests/Models/scenarios.py`, same names).
@Suite struct ShredScenarioTests {
  // MARK: Lifting

  @Test func editAway() throws {
    let z = try ShredStage()
    try z.start(z.b)
    try z.edit(z.a, "p", "x", 3)
    try z.delete(z.b, "p")
    try z.shred(z.b)
    try z.pull(z.b, from: z.a)
    try z.pull(z.a, from: z.b)
    try z.pull(z.b, from: z.a)
    #expect(try [z.see(z.a, "p"), z.see(z.b, "p")] == [["x": 3, "y": 2], ["x": 3, "y": 2]])
  }

  @Test func editAwayAndLost() throws {
    let z = try ShredStage()
    try z.start(z.b)
    try z.edit(z.a, "p", "x", 3)
    try z.delete(z.b, "p")
    try z.shred(z.b)
    try z.pull(z.b, from: z.a)
    #expect(try z.see(z.b, "p") == ["x": 3])
  }

  @Test func editAndDeleteAway() throws {
    let z = try ShredStage()
    try z.start(z.b)
    try z.delete(z.b, "p")
    try z.shred(z.b)
    try z.edit(z.a, "p", "x", 3)
    try z.delete(z.a, "p")
    try z.pull(z.a, from: z.b)
    try z.restore(z.a, "p")
    #expect(try z.see(z.a, "p") == ["x": 3, "y": 2])
  }

  @Test func editAndDeleteAwayAndLost() throws {
    let z = try ShredStage()
    try z.start(z.b)
    try z.delete(z.b, "p")
    try z.shred(z.b)
    try z.edit(z.a, "p", "x", 3)
    try z.delete(z.a, "p")
    try z.pull(z.b, from: z.a)
    try z.restore(z.b, "p")
    #expect(try z.see(z.b, "p") == ["x": 3])
  }

  @Test func movedAway() throws {
    let z = try ShredStage()
    try z.start(z.b, owner: true)
    try z.insert(z.a, "q", x: 5)
    try z.pull(z.b, from: z.a)
    try z.move(z.a, "c", to: "q")
    try z.delete(z.b, "c")
    try z.shred(z.b)
    try z.pull(z.b, from: z.a)
    #expect(try z.see(z.b, "c") == [:])
    #expect(try z.owner(z.b, of: "c") == "Item|~|q")
  }

  @Test func oldFile() throws {
    let z = try ShredStage()
    try z.start(z.b)
    let file = try z.a.store.delta()
    try z.delete(z.b, "p")
    try z.shred(z.b)
    try z.b.store.apply(file)
    // Also where the vector is said not to cover it, as in a repair.
    try z.b.store.apply(file, isRepair: true)
    #expect(try z.held(z.b, "p") == 0)
  }

  @Test func liftTravels() throws {
    let z = try ShredStage()
    try z.start(z.b, z.c)
    try z.delete(z.b, "p")
    try z.shred(z.b)
    try z.pull(z.c, from: z.b)
    try z.edit(z.a, "p", "x", 3)
    try z.pull(z.a, from: z.b)
    try z.pull(z.c, from: z.a)
    #expect(try z.see(z.c, "p") == ["x": 3, "y": 2])
  }

  @Test func twoLift() throws {
    let z = try ShredStage()
    try z.start(z.b, z.c)
    try z.delete(z.b, "p")
    try z.shred(z.b)
    try z.edit(z.c, "p", "x", 5)
    try z.edit(z.a, "p", "y", 8)
    try z.pull(z.c, from: z.b)
    try z.pull(z.a, from: z.b)
    try z.sync(z.a, z.c)
    #expect(try z.see(z.a, "p") == ["x": 5, "y": 8])
  }

  @Test func liftIsNoTouch() throws {
    let z = try ShredStage()
    try z.start(z.b, z.c)
    try z.delete(z.b, "p")
    try z.shred(z.b)
    try z.edit(z.a, "p", "x", 3)
    try z.pull(z.c, from: z.a)
    try z.delete(z.c, "p")
    try z.pull(z.b, from: z.a)
    try z.sync(z.b, z.c)
    #expect(try z.see(z.b, "p") == nil)
  }

  @Test func hearsOfBothAtOnce() throws {
    let z = try ShredStage()
    try z.start(z.b, owner: true)
    try z.delete(z.b, "p")
    try z.pull(z.a, from: z.b)
    try z.shred(z.b)
    try z.insert(z.b, "p", x: 9)
    try z.pull(z.a, from: z.b)
    #expect(try z.see(z.a, "c") == nil)
  }

  // MARK: Lives

  @Test func shredTravels() throws {
    let z = try ShredStage()
    try z.start(z.b)
    try z.delete(z.b, "p")
    try z.shred(z.b)
    try z.sync(z.a, z.b)
    #expect(try z.held(z.a, "p") == 0)
    #expect(try z.a.store.summary().vector == z.b.store.summary().vector)
  }

  @Test func slowClock() throws {
    let z = try ShredStage(skewOfB: -1_000_000 + 5)
    try z.start()
    try z.edit(z.a, "p", "x", 3)
    try z.pull(z.b, from: z.a)
    try z.pull(z.c, from: z.a)
    try z.delete(z.b, "p")
    try z.shred(z.b)
    try z.insert(z.b, "p", x: 9)
    try z.edit(z.c, "p", "y", nil)
    try z.pull(z.c, from: z.b)
    try z.pull(z.b, from: z.c)
    #expect(try z.see(z.b, "p") == ["x": 9])
  }

  @Test func insertIsComplete() throws {
    let z = try ShredStage()
    try z.start(z.b, z.c)
    try z.delete(z.b, "p")
    try z.shred(z.b)
    try z.edit(z.c, "p", "x", 3)
    try z.insert(z.b, "p", x: 9)
    try z.pull(z.c, from: z.b)
    #expect(try z.see(z.c, "p") == ["x": 9])
  }

  @Test func lifeIsATime() throws {
    let z = try ShredStage(skewOfA: 5_000_000)
    try z.start(z.b)
    try z.edit(z.a, "p", "x", 7)
    try z.delete(z.a, "p")
    try z.shred(z.a)
    try z.delete(z.b, "p")
    try z.shred(z.b)
    try z.insert(z.b, "p", x: 8)
    try z.delete(z.b, "p")
    try z.shred(z.b)
    try z.sync(z.a, z.b)
    let before = try z.b.store.history(of: ShredStage.name("p"))?.fields.map(\.stamp.time).max()
    try z.insert(z.b, "p", x: 9)
    try z.sync(z.a, z.b)
    #expect(try z.see(z.a, "p") == ["x": 9])
    let after = try z.b.store.history(of: ShredStage.name("p"))?.fields.map(\.stamp.time).max()
    #expect(before.map { old in after.map { old < $0 } ?? false } ?? true)
  }

  @Test func restoreIsComplete() throws {
    let z = try ShredStage()
    try z.start(z.b)
    try z.delete(z.b, "p")
    try z.pull(z.a, from: z.b)
    try z.restore(z.b, "p")
    try z.shred(z.a)
    try z.pull(z.a, from: z.b)
    try z.delete(z.a, "p")
    try z.pull(z.b, from: z.a)
    try z.restore(z.b, "p")
    #expect(try z.see(z.b, "p") == ["x": 1, "y": 2])
  }

  @Test func hollow() throws {
    let z = try ShredStage()
    try z.start(z.b, owner: true)
    try z.delete(z.b, "p")
    try z.shred(z.b)
    try z.insert(z.b, "p", x: 9)
    #expect(try z.see(z.b, "c") == nil)
    #expect(try z.see(z.b, "p") == ["x": 9])
  }

  @Test func shownThroughItsChild() throws {
    let z = try ShredStage()
    try z.start(z.b, owner: true)
    try z.insert(z.a, "q", x: 5)
    try z.pull(z.b, from: z.a)
    try z.delete(z.b, "p")
    try z.shred(z.b)
    try z.edit(z.a, "c", "x", 4)
    try z.pull(z.b, from: z.a)
    #expect(try z.see(z.b, "p") == [:])
    try z.put(z.b, "c", into: "p")
    try z.move(z.b, "c", to: "q")
    #expect(try z.see(z.b, "p") == [:])
  }

  @Test func shownThroughALift() throws {
    let z = try ShredStage()
    try z.insert(z.a, "g", x: 0)
    try z.insert(z.a, "p", x: 1, owner: "g")
    try z.insert(z.a, "c", x: 2, owner: "p")
    try z.insert(z.a, "q", x: 5)
    try z.pull(z.b, from: z.a)
    try z.pull(z.c, from: z.a)
    try z.edit(z.c, "c", "x", 4)
    try z.edit(z.a, "g", "x", 7)
    try z.move(z.a, "c", to: "q")
    try z.delete(z.b, "g")
    try z.shred(z.b)
    try z.pull(z.b, from: z.c)
    try z.pull(z.b, from: z.a)
    #expect(try z.see(z.b, "p") == [:])
  }

  // MARK: Presence

  @Test func ownerStays() throws {
    let z = try ShredStage()
    try z.start(z.b, owner: true)
    try z.delete(z.b, "c")
    try z.shred(z.b)
    try z.edit(z.a, "c", "x", 4)
    try z.pull(z.b, from: z.a)
    #expect(try z.owner(z.b, of: "c") == "Item|~|p")
  }

  @Test func visibleIsNotShredded() throws {
    let z = try ShredStage()
    try z.start(z.b)
    try z.edit(z.a, "p", "x", 4)
    try z.delete(z.b, "p")
    try z.pull(z.b, from: z.a)
    try z.shred(z.b)
    #expect(try z.see(z.b, "p") == ["x": 4, "y": 2])
  }

  @Test func nothingReturns() throws {
    let z = try ShredStage()
    try z.start(z.b, owner: true)
    try z.delete(z.b, "c")
    try z.pull(z.a, from: z.b)
    try z.restore(z.a, "c")
    try z.delete(z.a, "p")
    try z.pull(z.b, from: z.a)
    try z.shred(z.b)
    try z.shred(z.a)
    try z.sync(z.a, z.b)
    #expect(try z.see(z.b, "p") == nil)
    #expect(try z.see(z.a, "c") == nil)
  }

  @Test func cycle() throws {
    let z = try ShredStage()
    try z.insert(z.a, "p", x: 1)
    try z.insert(z.a, "c", x: 2)
    try z.pull(z.b, from: z.a)
    try z.move(z.a, "c", to: "p")
    try z.move(z.b, "p", to: "c")
    try z.sync(z.a, z.b)
    let (top, below) = try z.owner(z.a, of: "p") == nil ? ("p", "c") : ("c", "p")
    try z.delete(z.a, top)
    try z.shred(z.a)
    try z.insert(z.a, top, x: 7)
    #expect(try z.see(z.a, top) == ["x": 7])
    #expect(try z.see(z.a, below) == nil)
  }

  // MARK: Deletes that win

  @Test func deleteWinsEdit() throws {
    let z = try ShredStage(deleteWins: true)
    try z.start(z.b)
    try z.edit(z.a, "p", "x", 3)
    try z.delete(z.b, "p")
    try z.shred(z.b)
    try z.pull(z.b, from: z.a)
    #expect(try z.see(z.b, "p") == nil)
    try z.restore(z.b, "p")
    #expect(try z.see(z.b, "p") == ["x": 3])
  }

  @Test func deleteWinsTakesItAway() throws {
    let z = try ShredStage(deleteWins: true)
    try z.start(z.b)
    try z.edit(z.a, "p", "x", 3)
    try z.delete(z.b, "p")
    try z.shred(z.b)
    try z.pull(z.a, from: z.b)
    #expect(try z.see(z.a, "p") == nil)
    try z.restore(z.a, "p")
    #expect(try z.see(z.a, "p") == ["x": 3, "y": 2])
  }

  @Test func restoreBringsOwners() throws {
    let z = try ShredStage(deleteWins: true)
    try z.insert(z.a, "g", x: 0)
    try z.insert(z.a, "p", x: 0, owner: "g")
    try z.insert(z.a, "c", x: 1, y: 2, owner: "p")
    try z.delete(z.a, "c")
    try z.delete(z.a, "p")
    try z.delete(z.a, "g")
    try z.restore(z.a, "c")
    #expect(try z.see(z.a, "c") == ["x": 1, "y": 2])
  }

  // MARK: What the store adds

  /// A device that is new takes in thousands of emptied records, and writes nothing for it.
  @Test func aNewcomerSaysNothingOfWhatWasEmptied() throws {
    let z = try ShredStage()
    try z.start(owner: true)
    try z.insert(z.a, "q", x: 4)
    try z.delete(z.a, "p")
    try z.delete(z.a, "q")
    try z.shred(z.a)
    try z.pull(z.b, from: z.a)
    #expect(try z.b.store.vector == z.a.store.vector)
    // Nor does whoever hears of the delete and the emptying at once, after having seen the record.
    let y = try ShredStage()
    try y.start(y.b, owner: true)
    try y.delete(y.a, "p")
    try y.shred(y.a)
    try y.pull(y.b, from: y.a)
    #expect(try y.b.store.vector == y.a.store.vector)
    #expect(try y.held(y.b, "c") == 0)
  }

  @Test func whatIsPurgedCannotBeRestored() throws {
    let z = try ShredStage()
    try z.start(z.b, owner: true)
    #expect(throws: StoreError.self) { try z.a.store.purge(ShredStage.name("p")) }
    #expect(throws: StoreError.self) { try z.a.store.purge(ShredStage.name("nobody")) }
    try z.delete(z.a, "p")
    let report = try z.a.store.purge(ShredStage.name("p"))
    #expect(report.emptied == 2)
    #expect(try z.a.store.purge(ShredStage.name("p")).emptied == 0)
    for device in [z.a, z.b] {
      try z.pull(z.b, from: z.a)
      do {
        try device.store.restore(ShredStage.name("p"))
        Issue.record("a purged record was restored")
      } catch let error as StoreError {
        #expect(error.code == .purged)
      }
      #expect(try z.held(device, "c") == 0)
      #expect(try device.store.verify().problems == [])
    }
    // The name may be used again.
    try z.insert(z.b, "p", y: 5)
    try z.sync(z.a, z.b)
    #expect(try z.see(z.a, "p") == ["y": 5])
    #expect(try z.see(z.a, "c") == nil)
  }

  /// The row of a record that was shown is emptied in place, and shows what was lifted, in one transaction.
  @Test func aTriggerOfTheAppsSeesNoEmptyRow() throws {
    let z = try ShredStage()
    try z.start(z.b)
    try z.b.store.write { db in
      try db.execute(
        sql: """
          CREATE TABLE seen(x INTEGER);
          CREATE TRIGGER note AFTER UPDATE OF x ON Item BEGIN INSERT INTO seen VALUES(new.x); END
          """)
    }
    try z.edit(z.b, "p", "y", 8)
    try z.delete(z.a, "p")
    try z.shred(z.a)
    try z.pull(z.b, from: z.a)
    #expect(try z.see(z.b, "p") == ["x": 1, "y": 8])
    #expect(try z.b.store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM seen") } == 0)
  }

  /// A value that is said again keeps the stamp of the transaction that wrote it, so the change log has it there too:
  /// the row that listed it has gone with the life that the peer ended.
  @Test func whatIsSaidAgainIsInTheChangeLog() throws {
    let z = try ShredStage()
    try z.insert(z.d, "p", x: 1)
    try z.pull(z.b, from: z.d)
    try z.insert(z.c, "p", x: 2)
    try z.pull(z.d, from: z.c)
    try z.delete(z.c, "p")
    try z.shred(z.c)
    try z.edit(z.d, "p", "y", 3)
    try z.pull(z.c, from: z.d)
    try z.pull(z.b, from: z.c)
    #expect(try z.see(z.b, "p") == ["x": 1, "y": 3])
  }
}
