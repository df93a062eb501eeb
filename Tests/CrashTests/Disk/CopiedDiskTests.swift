import Tally
import TallyTesting
import TestEffort
import Testing

/// Disks that are copied, put back and cut off: every edit of every copy ends up everywhere, and no two changes stay
/// under one identity.
@Suite struct CopiedDiskTests {
  /// A machine that has written and told a peer, and that peer.
  private struct Pair {
    let disk = SimulatedDisk()
    let store: Store
    let peer: Store
    private let peerDisk = SimulatedDisk()

    init() throws {
      store = try disk.store(schema: notebook, options: .quiet)
      peer = try peerDisk.store(schema: notebook, options: .quiet)
      try store.add("first")
      #expect(try store.sync(with: peer).isConverged)
    }
  }

  /// Everybody meets everybody until all have met, and then all show these notes.
  private func expectEqual(_ stores: [Store], _ texts: [String]) throws {
    for _ in 1...2 {
      for one in stores.indices {
        for other in stores.indices where other > one { _ = try stores[one].sync(with: stores[other]) }
      }
    }
    for store in stores {
      #expect(try store.texts() == texts.sorted())
      try store.expectSound("at the end")
    }
    let summaries = try stores.map { try $0.summary() }
    #expect(summaries.allSatisfy { $0.vector == summaries[0].vector && $0.fingerprint == summaries[0].fingerprint })
    #expect(Set(summaries.compactMap(\.replica)).count == summaries.count(where: { $0.replica != nil }))
  }

  @Test func aCopiedStoreAndItsOriginalKeepTheEditsOfBoth() throws {
    let pair = try Pair()
    let copy = SimulatedDisk(pair.disk.image.copied())
    let twin = try copy.store(schema: notebook, options: .quiet)
    #expect(try twin.lastRenewal() != nil)
    try pair.store.add("original")
    try twin.add("twin")
    try expectEqual([pair.store, twin, pair.peer], ["first", "original", "twin"])
    #expect(try pair.store.lastRenewal() == nil)
  }

  /// The whole disk is cloned, token and file numbers included, as snapshots of virtual machines are: nothing on it can
  /// tell, so both go on as one replica and give out the same dots. Whoever meets both finds out.
  @Test(arguments: 1...3, 1...3)
  func clonedMachinesKeepTheEditsOfBoth(ofOne: Int, ofTwo: Int) throws {
    let pair = try Pair()
    try pair.store.close()
    let image = pair.disk.image
    let clones = try [image, image].map { image in
      let disk = SimulatedDisk(image)
      return (disk, try disk.store(schema: notebook, options: .quiet))
    }
    #expect(try clones[0].1.summary().replica == clones[1].1.summary().replica)
    for number in 1...ofOne { try clones[0].1.add("one \(number)") }
    for number in 1...ofTwo { try clones[1].1.add("two \(number)") }
    let texts = ["first"] + (1...ofOne).map { "one \($0)" } + (1...ofTwo).map { "two \($0)" }
    try expectEqual([pair.peer, clones[0].1, clones[1].1], texts)
    for (number, clone) in clones.enumerated() { try clone.1.add("later \(number)") }
    try expectEqual([clones[0].1, pair.peer, clones[1].1], texts + ["later 0", "later 1"])
  }

  @Test func anOldCopyThatIsPutBackKeepsWhatThePeerHas() throws {
    let pair = try Pair()
    let backup = pair.disk.image
    try pair.store.add("published")
    #expect(try pair.store.sync(with: pair.peer).isConverged)
    try pair.store.add("never told")
    pair.disk.restore(backup.copied())
    let restored = try pair.disk.store(schema: notebook, options: .quiet)
    #expect(try restored.lastRenewal() != nil)
    try restored.add("after")
    try expectEqual([restored, pair.peer], ["after", "first", "published"])
  }

  @Test func aPowerCutAfterPublishingTakesNothingThatThePeerHas() throws {
    for seed in Effort.seeds(20) {
      var generator = SplitMix64(seed: seed)
      let pair = try Pair()
      try pair.store.add("published", bytes: 9000)
      let delta = try pair.store.delta(since: try pair.peer.vector)
      try pair.store.add("after", bytes: 9000)
      pair.disk.powerCut(using: &generator)
      try pair.peer.apply(delta)
      let store = try pair.disk.store(schema: notebook, options: .quiet)
      let texts = try store.texts()
      #expect(texts.contains("published"), "TALLY_SEED=\(seed)")
      try store.add("next")
      try expectEqual([store, pair.peer], texts + ["next"])
    }
  }
}
