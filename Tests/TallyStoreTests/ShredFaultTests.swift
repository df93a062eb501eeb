#if PlantedFaults
  import Tally
  import TallyCRDT
  import TallyFaults
  import TallyRig
  import Testing

  @testable import TallyStore

  /// Each rule of deleting by lives is needed: without it a scenario ends another way. Named as in `Tests/Models`.
  @Suite struct ShredFaultTests {
    struct Scenario: Sendable, CustomTestStringConvertible {
      var rule: String
      var fault: PlantedFault
      var due: [[String: Int]?]
      var play: @Sendable (ShredStage) throws -> [[String: Int]?]
      var testDescription: String { rule }
    }

    static let scenarios = [
      Scenario(rule: "noLiftSeen", fault: .noLiftSeen, due: [["x": 3, "y": 2]]) { z in
        try z.start(z.b)
        try z.edit(z.a, "p", "x", 3)
        try z.delete(z.b, "p")
        try z.shred(z.b)
        try z.pull(z.b, from: z.a)
        try z.pull(z.a, from: z.b)
        return [try z.see(z.a, "p")]
      },
      Scenario(rule: "noLiftUnsent", fault: .noLiftUnsent, due: [["x": 3, "y": 2]]) { z in
        try z.start(z.b)
        try z.delete(z.b, "p")
        try z.shred(z.b)
        try z.edit(z.a, "p", "x", 3)
        try z.delete(z.a, "p")
        try z.pull(z.a, from: z.b)
        do { try z.restore(z.a, "p") } catch let error as StoreError where error.code == .purged { return [nil] }
        return [try z.see(z.a, "p")]
      },
      Scenario(rule: "noLiftNews", fault: .noLiftNews, due: [["x": 3]]) { z in
        try z.start(z.b)
        try z.edit(z.a, "p", "x", 3)
        try z.delete(z.b, "p")
        try z.shred(z.b)
        try z.pull(z.b, from: z.a)
        return [try z.see(z.b, "p")]
      },
      Scenario(rule: "liftKeepsVia", fault: .liftKeepsVia, due: [["x": 3, "y": 2]]) { z in
        try z.start(z.b, z.c)
        try z.delete(z.b, "p")
        try z.shred(z.b)
        try z.pull(z.c, from: z.b)
        try z.edit(z.a, "p", "x", 3)
        try z.pull(z.a, from: z.b)
        // Not `pull`: states differ under equal vectors.
        try z.c.store.apply(try z.a.store.delta(since: try z.c.store.vector))
        return [try z.see(z.c, "p")]
      },
      Scenario(rule: "restoreBare", fault: .restoreBare, due: [["x": 1, "y": 2]]) { z in
        try z.start(z.b)
        try z.delete(z.b, "p")
        try z.pull(z.a, from: z.b)
        try z.restore(z.b, "p")
        try z.shred(z.a)
        try z.pull(z.a, from: z.b)
        try z.delete(z.a, "p")
        try z.pull(z.b, from: z.a)
        do { try z.restore(z.b, "p") } catch let error as StoreError where error.code == .purged { return [nil] }
        return [try z.see(z.b, "p")]
      },
      Scenario(rule: "insertBare", fault: .insertBare, due: [["x": 9]]) { z in
        try z.start(z.b, z.c)
        try z.delete(z.b, "p")
        try z.shred(z.b)
        try z.edit(z.c, "p", "x", 3)
        try z.insert(z.b, "p", x: 9)
        try z.pull(z.c, from: z.b)
        return [try z.see(z.c, "p")]
      },
      Scenario(rule: "noHollow", fault: .noHollow, due: [nil]) { z in
        try z.start(z.b, owner: true)
        try z.delete(z.b, "p")
        try z.shred(z.b)
        try z.insert(z.b, "p", x: 9)
        return [try z.see(z.b, "c")]
      },
      Scenario(rule: "onlyValuesAreUnsent: a move", fault: .onlyValuesAreUnsent, due: [["x": 1, "y": 2]]) { z in
        try z.start(z.b, owner: true)
        try z.delete(z.b, "c")
        try z.shred(z.b)
        try z.insert(z.a, "q", x: 5)
        try z.move(z.a, "c", to: "q")
        try z.delete(z.a, "q")
        try z.pull(z.a, from: z.b)
        try z.restore(z.a, "q")
        return [try z.see(z.a, "c")]
      },
      Scenario(rule: "onlyValuesAreUnsent: a member", fault: .onlyValuesAreUnsent, due: [["x": 1, "y": 2]]) { z in
        try z.start(z.b, owner: true)
        try z.insert(z.a, "m", x: 5)
        try z.pull(z.b, from: z.a)
        try z.delete(z.b, "c")
        try z.shred(z.b)
        try z.put(z.a, "m", into: "c")
        try z.delete(z.a, "p")
        try z.pull(z.a, from: z.b)
        try z.restore(z.a, "p")
        return [try z.see(z.a, "c")]
      },
    ]

    @Test(arguments: scenarios) func withoutItsRuleAScenarioEndsAnotherWay(_ scenario: Scenario) throws {
      #expect(try scenario.play(ShredStage()) == scenario.due)
      #expect(try scenario.play(ShredStage { $0.planted = scenario.fault }) != scenario.due)
    }
  }
#endif
