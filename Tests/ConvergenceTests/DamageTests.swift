import Foundation
import TallyRig
import Testing

/// A disk damages one of three devices, in every way, and the three sync in every order, in sessions and through a
/// folder.
@Suite struct DamageTests {
  /// `TALLY_CASES` says how many of each kind, `TALLY_SEED` replays one.
  private static var seeds: [UInt64] {
    let environment = ProcessInfo.processInfo.environment
    let isAsked = environment["TALLY_SEED"] != nil || environment["TALLY_CASES"] != nil
    return isAsked ? Seeds.all : Array(1...6)
  }

  @Test(arguments: Damage.allCases, DamageStory.Route.allCases)
  func damageDoesNotSpread(_ damage: Damage, _ route: DamageStory.Route) {
    for seed in Self.seeds {
      if let failure = DamageStory.failure(seed: seed, route, damage) {
        Issue.record("\(damage.rawValue), \(failure)")
        return
      }
    }
  }

  @Test(arguments: DamageStory.Route.allCases) func aSeedIsOneHistory(_ route: DamageStory.Route) {
    var reached = Set<String>()
    for seed in UInt64(1)...20 {
      let story = DamageStory.play(seed: seed, route)
      #expect(!story.log.isEmpty && story.log == DamageStory.play(seed: seed, route).log, "TALLY_SEED=\(seed)")
      reached.formUnion(story.reached)
    }
    // Records have been emptied, and stores healed, in some of them.
    #expect(reached.isSuperset(of: ["emptied", "healed"]))
  }
}
