import TallyCRDT
import Testing

@Suite struct DeepOwnershipTests {
  let seen = World.dot(1, 1)
  let unseen = World.dot(2, 1)

  /// Depth is data: somebody's list of lists must not cost the stack, nor time that grows with its square.
  @Test(.timeLimit(.minutes(30)))
  func chainOfTwentyThousandOwnersIsEvaluated() throws {
    var world = World()
    let depth = 20_000
    try world.add("0", deleted: [seen])
    for level in 1..<depth {
      try world.add("\(level)", owners: [("\(level - 1)", 1)], touches: level == depth - 1 ? [unseen] : [seen])
    }
    let visibility = Visibility(world)
    #expect(try visibility.isVisible(World.name("\(depth - 1)")))
    #expect(try visibility.isVisible(World.name("\(depth / 2)")))
  }

  /// So is breadth: what was found below an owner serves all records there, however many there are.
  @Test(.timeLimit(.minutes(30)))
  func whatIsBelowADeletedOwnerIsReadOnce() throws {
    var world = World()
    let count = 70_000
    try world.add("owner", deleted: [seen])
    for number in 0..<count { try world.add("\(number)", owners: [("owner", 1)]) }
    let source = CountedWorld(world)
    let visibility = Visibility(source)
    for number in 0..<count where source.reads < 4 * count {
      #expect(try !visibility.isShown(World.name("\(number)")))
    }
    #expect(source.reads < 4 * count)
  }
}

/// Counts how many records are read.
private final class CountedWorld: VisibilitySource {
  private let world: World
  private(set) var reads = 0

  init(_ world: World) { self.world = world }

  func facts(of name: AnyRecordName) -> RecordFacts? {
    reads += 1
    return world.facts(of: name)
  }

  func liveTags(of name: AnyRecordName) -> [Dot] { world.liveTags(of: name) }
  func owned(by owner: AnyRecordName) -> [AnyRecordName] { world.owned(by: owner) }
}
