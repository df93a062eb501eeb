import Tally
import TallyTesting
import TestEffort
import Testing

@Suite struct MachineStoryTests {
  @Test func nothingThatTwoMachinesHadIsLostAndNoDotIsGivenOutTwice() throws {
    var accidents: [String: Int] = [:]
    for seed in Effort.seeds(12) {
      var story = try MachineStory(seed: seed)
      try story.run(steps: 60)
      #expect(story.problems == [])
      accidents.merge(story.accidents) { $0 + $1 }
    }
    if Effort.factor > 1 { print("accidents: \(accidents)") }
    if Effort.seeds(12).count > 1 {
      #expect(
        ["kill", "power cut", "power cut in sync", "power cut after sync", "old copy"].allSatisfy {
          accidents[$0, default: 0] > 0
        })
    }
  }

  /// The two guards of a dot, taken away one at a time: the story must notice.
  @Test(arguments: [\StoreOptions.flushesBeforeSync, \StoreOptions.detectsCopies])
  func withoutAGuardTheStoryFails(guarding: WritableKeyPath<StoreOptions, Bool> & Sendable) throws {
    var options = StoreOptions.quiet
    options[keyPath: guarding] = false
    for seed in UInt64(1)...200 {
      var story = try MachineStory(seed: seed, options: options)
      try story.run(steps: 60)
      if story.problems.contains(where: { $0.contains("is that of") }) { return }
    }
    Issue.record("200 stories without a dot that was given out twice")
  }
}
