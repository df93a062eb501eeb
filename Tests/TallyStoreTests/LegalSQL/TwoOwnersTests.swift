import Foundation
import Synchronization
import Tally
import TallyCRDT
import Testing

@testable import TallyStore

/// Deleting for good where a record has two owners: it is shown while both are, and goes with either.
@Suite struct TwoOwnersTests {
  private static let schema = Schema([
    EntitySchema("P", .text("name")),
    EntitySchema(
      "C", .text("name"), .integer("pos"), .reference("one", to: "P", onDelete: .cascade),
      .reference("two", to: "P", onDelete: .cascade)),
  ])
  private static let rows = """
    INSERT INTO P(id, name) VALUES('P|~|1', 'first'), ('P|~|2', 'second');
    INSERT INTO C(id, name, pos, one, two) VALUES('C|~|c', 'child', 1, 'P|~|1', 'P|~|2')
    """

  private static func name(_ text: String) throws -> AnyRecordName { try AnyRecordName(text) }

  private static func content(_ store: Store, _ text: String) throws -> Int? {
    try store.history(of: name(text))?.fields.filter { $0.field == "name" || $0.field == "pos" }.count
  }

  /// A purge of one owner empties the record, and leaves the other owner alone. An edit that it had not seen brings the
  /// record back, shown through the purged owner.
  @Test(arguments: CapturePath.allCases, [false, true]) func aPurgeOfOneOwner(_ path: CapturePath, isEdited: Bool)
    throws
  {
    let lab = try Lab(path, Self.schema)
    try lab.a.run(Self.rows)
    try lab.sync()
    if isEdited { try lab.b.run("UPDATE C SET pos = 22 WHERE id = 'C|~|c'") }
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|1'")
    #expect(try lab.a.purge(Self.name("P|~|1")).emptied == 2)
    #expect(try Self.content(lab.a, "C|~|c") == 0)
    try lab.sync()
    try lab.expectEqual(["P", "C"])
    #expect(try Lab.text(lab.a, "SELECT name FROM P WHERE id = 'P|~|2'") == "second")
    #expect(try Lab.text(lab.a, "SELECT name || pos FROM C") == (isEdited ? "child22" : nil))
    guard isEdited else {
      #expect(try Self.content(lab.b, "C|~|c") == 0 && Self.content(lab.b, "P|~|1") == 0)
      return
    }
    #expect(try Lab.text(lab.a, "SELECT one || two FROM C") == "P|~|1P|~|2")
    // It goes with the other owner, too.
    try lab.b.run("DELETE FROM P WHERE id = 'P|~|2'")
    #expect(try lab.b.purge(Self.name("P|~|2")).emptied == 2)
    try lab.sync()
    try lab.expectEqual(["P", "C"])
    #expect(try Lab.rows(lab.a, "C").isEmpty && Self.content(lab.a, "C|~|c") == 0)
  }

  /// The window of a record that two deleted owners hide begins with the later delete.
  @Test func theWindowWaitsForBothOwners() throws {
    let time = Mutex(1_800_000_000.0)
    var options = StoreOptions()
    options.now = { Date(timeIntervalSince1970: time.withLock { $0 }) }
    let lab = try Lab(.hook, Self.schema, options: options)
    func pass(_ days: Double) throws {
      time.withLock { $0 += days * 86_400 }
      try lab.sync()
    }
    try lab.a.run(Self.rows)
    try pass(1)
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|1'")
    try pass(1)
    try pass(19)
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|2'")
    try pass(1)
    try pass(12)
    try lab.a.compact()
    #expect(try Self.content(lab.a, "P|~|1") == 0)
    #expect(try Self.content(lab.a, "P|~|2") == 1 && Self.content(lab.a, "C|~|c") == 2)
    try pass(20)
    try lab.a.compact()
    #expect(try Self.content(lab.a, "P|~|2") == 0 && Self.content(lab.a, "C|~|c") == 0)
    try lab.sync()
    try lab.expectEqual(["P", "C"])
  }
}
