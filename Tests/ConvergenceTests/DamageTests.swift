import TallyRig
import TestEffort
import Testing

/// A disk damages one of three devices, in every way, and the three sync in every order, in sessions and through a
/// folder.
@Suite struct DamageTests {
  /// Each kind of damage; `Soak` lets each seed choose one.
  @Test(.enabled(if: Effort.isLong, "a long test"), arguments: Damage.allCases, DamageStory.Route.allCases)
  func damageDoesNotSpread(_ damage: Damage, _ route: DamageStory.Route) {
    for seed in Effort.seeds(1) {
      if let failure = DamageStory.failure(seed: seed, route, damage) {
        Issue.record("\(damage.rawValue), \(failure)")
        return
      }
    }
  }

  @Test(arguments: DamageStory.Route.allCases) func aSeedIsOneHistory(_ route: DamageStory.Route) {
    let seed = Effort.seeds(1)[0]
    let story = DamageStory.play(seed: seed, route)
    #expect(!story.log.isEmpty && story.log == DamageStory.play(seed: seed, route).log, "TALLY_SEED=\(seed)")
  }

  @Test(.enabled(if: Effort.isLong, "a long test"), arguments: DamageStory.Route.allCases)
  func inSomeRecordsAreEmptiedAndStoresHeal(_ route: DamageStory.Route) {
    let reached = (UInt64(1)...20).reduce(into: Set()) { $0.formUnion(DamageStory.play(seed: $1, route).reached) }
    #expect(reached.isSuperset(of: ["emptied", "healed"]))
  }
}
