import GRDB
import Tally
import Testing

/// A state that is gone leaves a number that is given out again, while its row still points there.
@Suite struct LostBodyTests {
  private let files: SharedFolder
  private let a: Store
  private let before: Store

  /// Two stores that hold the same: three notes, the first with a state beside its row.
  init() throws {
    files = try SharedFolder()
    (a, before) = (try files.store("a"), try files.store("b"))
    try World.insert(3, "note", a)
    try Self.star(2, "note 0", a)
    try a.sync(with: before)
  }

  private static func star(_ stars: Int, _ text: String, _ store: Store) throws {
    try store.write { try $0.execute(sql: "UPDATE Note SET stars = ? WHERE text = ?", arguments: [stars, text]) }
  }

  private static func stars(_ store: Store) throws -> [Int] {
    try store.read { try Int.fetchAll($0, sql: "SELECT stars FROM Note ORDER BY text") }
  }

  @Test func aStateThatTwoRowsPointToHealsInOneSession() throws {
    let b = try files.tamper("b", before, "DELETE FROM tally_extra")
    try Self.star(3, "note 1", a)
    try a.sync(with: b)
    #expect(try b.verify().problems.contains { $0.contains("points to the state of another row") })
    #expect(throws: StoreError.self) { try b.delta() }
    let report = try a.sync(with: b)
    #expect(report.second.isHealed && report.second.inDoubt == [] && report.isConverged)
    #expect(try b.doubt() == nil)
    #expect(try Self.stars(b) == [2, 3, 1])
    try World.expectEqual(a, b)
    #expect(try !a.sync(with: b).repaired)
  }

  /// The change log tells whose state it is, so that what nobody else has is not lost with the other.
  @Test(arguments: ["sync", "rebuild"]) func theRowWhoseStateItIsKeepsIt(_ way: String) throws {
    let b = try files.tamper("b", before, "DELETE FROM tally_extra")
    try Self.star(5, "note 1", b)
    if way == "rebuild" {
      #expect(try b.rebuild().losses.count == 1)
    } else {
      #expect(throws: StoreError.self) { try b.delta() }
    }
    for _ in 0..<2 { try a.sync(with: b) }
    #expect(try Self.stars(a) == [2, 5, 1])
    try World.expectEqual(a, b)
  }

  /// No clock can point to what comes after it.
  @Test func aStateWhoseNumberTheDiskHasMadeHugeIsNotCountedOnFrom() throws {
    let b = try files.tamper("b", before, "UPDATE tally_extra SET n = n + (1 << 50)")
    for place in 1...2 { try Self.star(5 + place, "note \(place)", b) }
    #expect(throws: StoreError.self) { try b.delta() }
    for _ in 0..<2 { try a.sync(with: b) }
    #expect(try Self.stars(a) == [2, 6, 7])
    try World.expectEqual(a, b)
  }
}
