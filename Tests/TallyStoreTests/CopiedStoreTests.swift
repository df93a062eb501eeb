import Foundation
import GRDB
import Tally
import TallyCRDT
import Testing

/// A store's file was copied or restored from a backup, and both go on as the same replica: what they write carries the
/// same numbers.
@Suite struct CopiedStoreTests {
  private let scratch: Scratch
  private let original: Store
  private let copy: Store

  init() throws {
    scratch = try Scratch()
    let first = try scratch.store("original.tally")
    try Self.add("Ann", to: first)
    try first.close()
    try FileManager.default.copyItem(atPath: scratch.path("original.tally"), toPath: scratch.path("copy.tally"))
    original = try scratch.store("original.tally")
    copy = try scratch.store("copy.tally")
  }

  @Test func copiesThatWroteEquallyOftenAreJoinedWhenTheyMeet() throws {
    try Self.add("Ben", to: original)
    try Self.add("Cléo", to: copy)
    try expectJoined(["Ann", "Ben", "Cléo"], original, copy)
  }

  @Test func copiesThatWroteDifferentlyOftenAreJoinedWhenTheyMeet() throws {
    try Self.add("Ben", to: original)
    try Self.add("Dora", to: original)
    try Self.add("Cléo", to: copy)
    try expectJoined(["Ann", "Ben", "Cléo", "Dora"], original, copy)
  }

  @Test func whatCopiesWroteReachesAThirdThatMetBoth() throws {
    let third = try scratch.store("third.tally")
    try Self.add("Ben", to: original)
    try Self.add("Cléo", to: copy)
    try Self.add("Dora", to: copy)
    #expect(try original.sync(with: third).isConverged)
    try expectJoined(["Ann", "Ben", "Cléo", "Dora"], copy, third)
    try expectJoined(["Ann", "Ben", "Cléo", "Dora"], original, third)
  }

  @Test func theOlderCopyWritesUnderANewIDOnceItHasMetTheOther() throws {
    try Self.add("Ben", to: original)
    #expect(try original.sync(with: copy).isConverged)
    let dots = (try Self.add("Cléo", to: original), try Self.add("Dora", to: copy))
    #expect(dots.0?.replica != dots.1?.replica)
    #expect(try original.sync(with: copy).repaired == false)
    try expectConverged(original, copy)
  }

  private func expectJoined(
    _ names: [String], _ stores: Store..., sourceLocation: Testing.SourceLocation = #_sourceLocation
  ) throws {
    #expect(try stores[0].sync(with: stores[1]).isConverged, sourceLocation: sourceLocation)
    try expectConverged(stores[0], stores[1], sourceLocation: sourceLocation)
    for store in stores {
      let found = try store.read { db in try Person.order(Column("name")).fetchAll(db).map(\.name) }
      #expect(found == names, sourceLocation: sourceLocation)
    }
  }

  @discardableResult
  private static func add(_ name: String, to store: Store) throws -> Dot? {
    try store.commit { db in try Person(name: name).insert(db) }.dot
  }
}
