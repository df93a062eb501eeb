import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyRig
import TallyTesting
import Testing

@testable import TallyStore

/// Which stubs are listed under their owners: those that something above them has to find.
@Suite struct StubWaitTests {
  private static func waits(_ store: Store) throws -> [String] {
    try store.read {
      try String.fetchAll($0, sql: "SELECT key || ' for ' || target FROM tally_wait ORDER BY key, target")
    }
  }

  private static func stubs(_ store: Store) throws -> Int {
    try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM tally_stub") ?? 0 }
  }

  /// A tree that goes with its root waits for nobody once it is emptied, whatever order it is emptied in.
  @Test(arguments: CapturePath.allCases, [["1", "2", "3"], ["3", "2", "1"], ["2", "3", "1"]])
  func aTreeThatIsEmptiedWaitsForNobody(_ path: CapturePath, _ order: [String]) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO F(id, name) VALUES('F|~|1', 'one')")
    for key in 2...3 {
      try lab.a.run("INSERT INTO F(id, name, parent) VALUES('F|~|\(key)', 'below', 'F|~|\(key - 1)')")
    }
    try lab.sync()
    try lab.a.run("DELETE FROM F WHERE id = 'F|~|1'")
    #expect(try Self.waits(lab.a) == ["F|~|2 for F|~|1", "F|~|3 for F|~|2"])
    for key in order {
      try lab.a.replicate { transaction in
        let kind = try #require(transaction.catalog.kind(of: "F"))
        let name = try AnyRecordName("F|~|\(key)")
        let stored = try #require(try transaction.reader.record(name, kind))
        var report = CompactionReport()
        try transaction.empty(name, kind, stored, &report)
      }
      #expect(try lab.a.verify().problems == [])
      // The way to what is no stub stays.
      let open = Set(order.drop { $0 != key }.dropFirst())
      #expect(try Self.waits(lab.a).contains("F|~|3 for F|~|2") == open.contains("3"))
    }
    #expect(try Self.stubs(lab.a) == 3)
    #expect(try Self.waits(lab.a) == [])
    try lab.sync()
    try lab.expectEqual(["F"])
    #expect(try Self.stubs(lab.b) == 3 && Self.waits(lab.b) == [])
  }

  /// An edit below stubs revives the whole chain above it, which must find it.
  @Test(arguments: CapturePath.allCases) func anEditBelowStubsBringsThemBack(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO F(id, name) VALUES('F|~|1', 'one')")
    for key in 2...4 {
      try lab.a.run("INSERT INTO F(id, name, parent) VALUES('F|~|\(key)', 'below', 'F|~|\(key - 1)')")
    }
    try lab.sync()
    try lab.b.run("UPDATE F SET name = 'edited' WHERE id = 'F|~|4'")
    try lab.a.run("DELETE FROM F WHERE id = 'F|~|1'")
    try lab.a.empty(ripe: nil)
    #expect(try Self.waits(lab.a) == [])
    try lab.sync()
    try lab.expectEqual(["F"])
    #expect(try Lab.text(lab.a, "SELECT count(*) FROM F") == "4")
    #expect(try Lab.text(lab.a, "SELECT name FROM F WHERE id = 'F|~|4'") == "edited")
    // And it goes again.
    try lab.b.run("DELETE FROM F WHERE id = 'F|~|1'")
    try lab.b.empty(ripe: nil)
    try lab.sync()
    try lab.expectEqual(["F"])
    #expect(try Self.stubs(lab.a) == 4 && Self.waits(lab.a) == [])
  }

  /// What somebody moved or made below a stub revives the whole chain above it, which must find it although the stub
  /// was not listed. World 529.
  @Test(
    arguments: CapturePath.allCases,
    ["UPDATE F SET parent = 'F|~|2' WHERE id = 'F|~|3'", "INSERT INTO F(id, parent) VALUES('F|~|4', 'F|~|2')"])
  func whatComesBelowAStubBringsItBack(_ path: CapturePath, _ edit: String) throws {
    for purged in ["F|~|1", "F|~|2"] {
      let lab = try Lab(path)
      try lab.a.run("INSERT INTO F(id, name) VALUES('F|~|1', 'one'), ('F|~|3', 'three')")
      try lab.a.run("INSERT INTO F(id, name, parent) VALUES('F|~|2', 'below', 'F|~|1')")
      try lab.sync()
      try lab.b.run(edit)
      try lab.a.run("DELETE FROM F WHERE id = 'F|~|1'")
      try lab.a.purge(AnyRecordName(purged))
      #expect(try Self.waits(lab.a) == [])
      try lab.a.apply(lab.b.delta(since: lab.a.vector))
      #expect(try lab.a.verify().problems == [])
      try lab.sync()
      try lab.expectEqual(["F"])
      #expect(try Lab.text(lab.a, "SELECT count(*) FROM F WHERE id <> 'F|~|3' OR parent = 'F|~|2'") == "3")
    }
  }

  private static let twoOwners = Schema([
    EntitySchema("P", .text("name")),
    EntitySchema(
      "C", .text("name"), .reference("one", to: "P", onDelete: .cascade),
      .reference("two", to: "P", onDelete: .cascade)),
  ])

  /// Of two owners one hides the child, and the child's edit keeps the other: also once the child is emptied, and
  /// whichever of the two comes first.
  @Test(arguments: CapturePath.allCases, [false, true])
  func aStubKeepsTheOwnerThatDidNotHideIt(_ path: CapturePath, isLate: Bool) throws {
    let lab = try Lab(path, Self.twoOwners)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'first'), ('P|~|2', 'second')")
    try lab.sync()
    // B does not know of the child.
    try lab.b.run("DELETE FROM P WHERE id = 'P|~|2'")
    try lab.a.run("INSERT INTO C(id, name, one, two) VALUES('C|~|c', 'child', 'P|~|1', 'P|~|2')")
    if !isLate { try lab.a.apply(lab.b.delta(since: lab.a.vector)) }
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|1'")
    #expect(try lab.a.purge(AnyRecordName("P|~|1")).emptied == 2)
    #expect(try Self.stubs(lab.a) == 2)
    // Where nobody has deleted the second owner, nothing has to find the child.
    #expect(try Self.waits(lab.a).isEmpty == isLate)
    if isLate { try lab.a.apply(lab.b.delta(since: lab.a.vector)) }
    #expect(try Lab.text(lab.a, "SELECT group_concat(name) FROM P") == "second")
    #expect(try lab.a.verify().problems == [])
    try lab.sync()
    try lab.expectEqual(["P", "C"])
    #expect(try Lab.text(lab.b, "SELECT group_concat(name) FROM P") == "second")
    let third = try Store(inMemory: Self.twoOwners, options: Lab.options(path))
    try third.apply(lab.a.delta())
    try expectConverged(third, lab.a)
    #expect(try Lab.text(third, "SELECT group_concat(name) FROM P") == "second")
    // What is derived anew is the same.
    _ = try lab.a.rebuild()
    try expectConverged(third, lab.a)
    #expect(try Lab.text(lab.a, "SELECT group_concat(name) FROM P") == "second")
  }

  /// The window of an owner that was shown through a child begins with the child's delete, also if that is purged at
  /// once.
  @Test func theWindowOfAnOwnerWaitsForThePurgedChildThatKeptIt() throws {
    let z = try ShredStage()
    let day: Int64 = 86_400_000
    z.time.value = 1_800_000_000_000
    func sync() throws {
      try z.sync(z.a, z.b)
      for device in [z.a, z.b] { try device.store.noteShared(try device.store.vector) }
    }
    try z.insert(z.a, "p", x: 1)
    try z.insert(z.a, "c", x: 2, owner: "p")
    try sync()
    try z.edit(z.b, "c", "x", 3)
    try z.delete(z.a, "p")
    try sync()
    z.time.value += 40 * day
    try sync()
    #expect(try z.see(z.a, "p") != nil)
    try z.delete(z.a, "c")
    #expect(try z.a.store.purge(try ShredStage.name("c")).emptied == 1)
    #expect(try z.see(z.a, "p") == nil)
    #expect(try z.a.store.compact(restoreWindow: .days(30)).emptied == 0)
    #expect(try z.held(z.a, "p") == 1)
    try sync()
    z.time.value += 31 * day
    try sync()
    #expect(try z.a.store.compact(restoreWindow: .days(30)).emptied == 1)
    #expect(try z.held(z.a, "p") == 0)
  }
}
