import TallyCRDT
import TallyTesting
import Testing

@Suite struct VisibilityTests {
  let seen = World.dot(1, 1)
  let unseen = World.dot(2, 1)

  @Test func recordIsVisibleWhenItWasWritten() throws {
    var world = World()
    try world.add("a")
    #expect(try world.visible(["a", "unknown"]) == ["a"])
  }

  @Test func deletedRecordIsGoneUntilSomethingUnseenIsWritten() throws {
    var world = World()
    try world.add("a", deleted: [seen])
    try world.add("b", touches: [seen, unseen], deleted: [seen])
    #expect(try world.visible(["a", "b"]) == ["b"])
  }

  @Test func childrenAreHiddenWithTheirOwner() throws {
    var world = World()
    try world.add("owner", deleted: [seen])
    try world.add("child", owners: [("owner", 1)])
    try world.add("grandchild", owners: [("child", 1)])
    #expect(try world.visible(["grandchild", "child", "owner"]).isEmpty)
    #expect(try Visibility(world).isAlive(World.name("child")))
  }

  @Test func concurrentEditOfAChildRevivesItsOwner() throws {
    var world = World()
    try world.add("owner", deleted: [seen])
    try world.add("child", owners: [("owner", 1)], touches: [seen, unseen])
    try world.add("sibling", owners: [("owner", 1)])
    #expect(try world.visible(["owner", "child", "sibling"]) == ["owner", "child", "sibling"])
  }

  @Test func concurrentEditOfAGrandchildRevivesBothAbove() throws {
    var world = World()
    try world.add("owner", deleted: [seen])
    try world.add("child", owners: [("owner", 1)], deleted: [seen])
    try world.add("grandchild", owners: [("child", 1)], touches: [unseen])
    #expect(try world.visible(["owner", "child", "grandchild"]) == ["owner", "child", "grandchild"])
  }

  @Test func concurrentAddToARelationshipRevivesWhatHasTheRelationship() throws {
    var world = World()
    try world.add("owner", deleted: [seen])
    try world.add("child", owners: [("owner", 1)], deleted: [seen])
    world.tags[try World.name("child")] = [seen]
    #expect(try world.visible(["owner", "child"]).isEmpty)
    world.tags[try World.name("child")] = [seen, unseen]
    #expect(try world.visible(["owner", "child"]) == ["owner", "child"])
  }

  @Test func childThatWasDeletedItselfRevivesNobody() throws {
    var world = World()
    try world.add("owner", deleted: [seen])
    try world.add("child", owners: [("owner", 1)], touches: [unseen], deleted: [unseen])
    #expect(try world.visible(["owner", "child"]).isEmpty)
  }

  /// The touch that keeps the child was seen by the owner's delete, the one that was not seen is deleted in the child.
  @Test func ownerIsRevivedOnlyByWhatKeepsTheChildAlive() throws {
    var world = World()
    try world.add("owner", deleted: [seen])
    try world.add("child", owners: [("owner", 1)], touches: [seen, unseen], deleted: [unseen])
    #expect(try Visibility(world).isAlive(World.name("child")))
    #expect(try world.visible(["owner", "child"]).isEmpty)
  }

  @Test func recordIsVisibleOnlyWithAllItsOwners() throws {
    var world = World()
    try world.add("here")
    try world.add("gone", deleted: [seen])
    try world.add("both", owners: [("here", 1), ("gone", 1)])
    try world.add("one", owners: [("here", 1)])
    #expect(try world.visible(["both", "one", "here", "gone"]) == ["one", "here"])
  }

  @Test func childOfAnOwnerThatIsNotThereIsHidden() throws {
    var world = World()
    try world.add("orphan", owners: [("nobody", 1)])
    try world.add("below", owners: [("orphan", 1)])
    #expect(try world.visible(["below", "orphan"]).isEmpty)
  }

  @Test func withDeleteWinsAnEditRevivesNothing() throws {
    var world = World()
    try world.add("a", touches: [seen, unseen], deleted: [seen], deleteWins: true)
    try world.add("owner", deleted: [seen], deleteWins: true)
    try world.add("child", owners: [("owner", 1)], touches: [unseen])
    #expect(try world.visible(["a", "owner", "child"]).isEmpty)
    try world.add("a", touches: [unseen], deleted: [seen], deleteWins: true)
    #expect(try world.visible(["a"]) == ["a"])
  }

  @Test func childThatIsGoneByDeleteWinsRevivesNobody() throws {
    var world = World()
    try world.add("owner", deleted: [seen])
    try world.add("child", owners: [("owner", 1)], touches: [seen, unseen], deleted: [seen], deleteWins: true)
    #expect(try world.visible(["owner", "child"]).isEmpty)
  }

  @Test func recordThatOwnsItselfIsItsOwnRoot() throws {
    var world = World()
    try world.add("a", owners: [("a", 1)])
    try world.add("b", owners: [("b", 1)], deleted: [seen])
    #expect(try world.visible(["a", "b"]) == ["a"])
    #expect(try Visibility(world).effectiveOwners(of: World.name("a")).isEmpty)
  }

  /// The owners that are left for each key, asked for in the given order.
  private func owners(_ world: World, _ keys: [String]) throws -> [String: [String]] {
    let visibility = Visibility(world)
    return try Dictionary(
      uniqueKeysWithValues: keys.map { key in
        (key, try visibility.effectiveOwners(of: World.name(key)).map(\.target.key))
      })
  }

  @Test func cycleOfTwoLosesItsEarliestEdgeWhateverIsAskedFirst() throws {
    var world = World()
    try world.add("a", owners: [("b", 5)])
    try world.add("b", owners: [("a", 3)])
    for keys in [["a", "b"], ["b", "a"]] {
      #expect(try owners(world, keys) == ["a": ["b"], "b": []])
      #expect(try world.visible(keys) == ["a", "b"])
    }
  }

  @Test func cycleOfThreeLosesItsEarliestEdgeWhateverIsAskedFirst() throws {
    var world = World()
    try world.add("a", owners: [("b", 5)])
    try world.add("b", owners: [("c", 3)])
    try world.add("c", owners: [("a", 4)])
    try world.add("below", owners: [("b", 1)])
    let keys = ["a", "b", "c", "below"]
    for start in keys.indices {
      let order = Array(keys[start...] + keys[..<start])
      for order in [order, order.reversed()] {
        #expect(try owners(world, order) == ["a": ["b"], "b": [], "c": ["a"], "below": ["b"]])
        #expect(try world.visible(order) == Set(keys))
      }
    }
  }

  @Test func edgesOfEqualStampsBreakByName() throws {
    var world = World()
    try world.add("b", owners: [("a", 3)])
    try world.add("a", owners: [("b", 3)])
    #expect(try owners(world, ["b", "a"]) == ["a": [], "b": ["a"]])
  }

  @Test func crossedCyclesBreakTheSameWayWhateverIsAskedFirst() throws {
    var random = SplitMix64(seed: 1)
    let keys = ["a", "b", "c", "d", "e", "f"]
    for _ in 0..<200 {
      var world = World()
      for key in keys {
        let owners = (0..<random.below(3)).map { _ in (random.pick(keys), UInt64(random.below(5))) }
        try world.add(key, owners: owners, deleted: random.chance(30) ? [seen] : [])
      }
      let expected = try owners(world, keys)
      let visible = try world.visible(keys)
      for _ in 0..<4 {
        let order = keys.shuffled(using: &random)
        #expect(try owners(world, order) == expected)
        #expect(try world.visible(order) == visible)
      }
    }
  }
}
