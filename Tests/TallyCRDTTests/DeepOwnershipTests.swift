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
}
