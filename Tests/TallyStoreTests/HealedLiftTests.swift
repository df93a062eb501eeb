import Foundation
import GRDB
import Tally
import TallyStore
import Testing

/// Healing says again in a later life what a join would, as if nothing had been damaged.
@Suite struct HealedLiftTests {
  private static let schema = Schema([
    EntitySchema("P", .text("name"), .integer("pos"), .toMany("friends", to: "P"))
  ])
  private static var record: AnyRecordName { get throws { try AnyRecordName("P|~|1") } }

  /// The edits that device a had not seen when it purged the record. Device b still shows it.
  enum Knowledge: CaseIterable {
    /// An edit of its own.
    case edit
    /// An edit, and a delete of its own after it.
    case editAndDelete
    /// A member that it added, and a delete of its own after it.
    case memberAndDelete
    /// Nothing; but device c has edited the record and given that to device a.
    case nothing
  }

  @Test(arguments: Knowledge.allCases, [false, true]) func aPurgeMeets(_ knowledge: Knowledge, isDamaged: Bool) throws {
    let scratch = try Scratch()
    func open(_ name: String) throws -> Store {
      try scratch.store(name, schema: Self.schema, options: Lab.options(.hook))
    }
    let (a, c) = (try open("a"), try open("c"))
    var b = try open("b")
    try a.run("INSERT INTO P(id, name, pos) VALUES('P|~|1', 'x', 1), ('P|~|2', 'sound', 2)")
    for store in [b, c] { try a.sync(with: store) }
    try a.run("DELETE FROM P WHERE id = 'P|~|1'")
    try a.purge(Self.record)
    switch knowledge {
    case .edit: try b.run("UPDATE P SET name = 'edited' WHERE id = 'P|~|1'")
    case .editAndDelete:
      try b.run("UPDATE P SET name = 'edited' WHERE id = 'P|~|1'")
      try b.run("DELETE FROM P WHERE id = 'P|~|1'")
    case .memberAndDelete:
      try b.run("INSERT INTO P_friends(source, target) VALUES('P|~|1', 'P|~|2')")
      try b.run("DELETE FROM P WHERE id = 'P|~|1'")
    case .nothing:
      try c.run("UPDATE P SET name = 'edited' WHERE id = 'P|~|1'")
      // Whoever takes the purge has the edit with it.
      try a.apply(try c.delta(since: try a.vector))
    }
    try b.close()
    if isDamaged { try damage(scratch.path("b")) }
    b = try open("b")
    #expect(try b.fitsItsSum() != isDamaged)
    #expect(try b.sync(with: a).first.isHealed == isDamaged)
    if [.editAndDelete, .memberAndDelete].contains(knowledge) { try b.restore(Self.record) }
    for store in [b, c] { try a.sync(with: store) }
    let name = knowledge == .memberAndDelete ? "x" : "edited"
    for store in [a, b, c] {
      #expect(try store.verify().problems == [])
      #expect(try Lab.rows(store, "P") == ["'P|~|1','\(name)',1", "'P|~|2','sound',2"])
    }
  }

  /// Of what is hidden after healing nothing comes back.
  @Test func whatWasPurgedIsGone() throws {
    let scratch = try Scratch()
    let a = try scratch.store("a", schema: Self.schema, options: Lab.options(.hook))
    var b = try scratch.store("b", schema: Self.schema, options: Lab.options(.hook))
    try a.run("INSERT INTO P(id, name, pos) VALUES('P|~|1', 'canary', 1), ('P|~|2', 'sound', 2)")
    try a.sync(with: b)
    try a.run("DELETE FROM P WHERE id = 'P|~|1'")
    try a.purge(Self.record)
    try b.close()
    try damage(scratch.path("b"))
    b = try scratch.store("b", schema: Self.schema, options: Lab.options(.hook))
    #expect(try !b.fitsItsSum())
    #expect(try b.sync(with: a).first.isHealed)
    for (store, path) in [(a, "a"), (b, "b")] {
      #expect(try store.verify().problems == [])
      #expect(try Lab.rows(store, "P") == ["'P|~|2','sound',2"])
      try store.close()
      #expect(try Data(contentsOf: URL(fileURLWithPath: scratch.path(path))).range(of: Data("canary".utf8)) == nil)
    }
  }

  /// One character of the other record is another one.
  private func damage(_ path: String) throws {
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let place = try #require(bytes.range(of: Data("sound".utf8)))
    bytes[place.lowerBound] ^= 1
    try bytes.write(to: URL(fileURLWithPath: path))
  }
}
