import Foundation
import GRDB
import Tally
import TallyRig
import TallyTesting
import Testing

/// What a simulated world does for whoever tests an app with it.
@Suite struct WorldTests {
  let schema = Schema([
    EntitySchema("Task", .text("text"), .reference("after", to: "Task"), .toMany("parts", to: "Task"))
  ])

  func insert(_ name: String, _ replica: SimulatedReplica) throws {
    try replica.write {
      try $0.execute(sql: "INSERT INTO Task(id, text) VALUES(?, ?)", arguments: ["Task|~|\(name)", name])
    }
  }

  func count(_ replica: SimulatedReplica) throws -> Int {
    try replica.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM Task") ?? 0 }
  }

  @Test func nothingArrivesWhileTheNetworkIsSplit() async throws {
    try await simulate(schema, replicas: 3) { world in
      world.network.partition([0], [1, 2])
      try insert("a", world.replica(0))
      try insert("b", world.replica(1))
      try world.sync()
      #expect(try [0, 1, 2].map { try count(world.replica($0)) } == [1, 1, 1])
      #expect(throws: SimulationFailure.self) { try expectConverged(world) }
      world.network.heal()
      try world.sync()
      #expect(try [0, 1, 2].map { try count(world.replica($0)) } == [2, 2, 2])
    }
  }

  @Test func oneWayIsNotEnoughToSync() async throws {
    try await simulate(schema) { world in
      world.network.block(from: 1, to: 0)
      try insert("a", world.replica(0))
      #expect(try !world.sync(0, 1))
      #expect(try count(world.replica(1)) == 0)
    }
  }

  @Test func aCutAnywhereLosesNothing() async throws {
    for messages in 0..<10 {
      try await simulate(schema, seed: UInt64(messages)) { world in
        for name in ["a", "b", "c"] { try insert(name, world.replica(0)) }
        try insert("d", world.replica(1))
        world.network.messagesBeforeCut = messages
        try world.sync(0, 1)
        world.network.heal()
        try world.sync()
        try expectConverged(world)
        #expect(try count(world.replica(1)) == 4)
      }
    }
  }

  @Test func aFailureSaysHowToPlayTheRunAgain() async throws {
    struct Wrong: Error {}
    do {
      try await simulate(schema, seed: 4711) { world in
        try insert("a", world.replica(0))
        throw Wrong()
      }
      Issue.record("the script's error was lost")
    } catch let failure as SimulationFailure {
      #expect(failure.cause is Wrong)
      #expect(failure.description.contains("TALLY_SEED="))
      #expect(failure.trace.contains { $0.contains("Task|~|a") })
    }
  }

  /// Values that two devices give to two records, in random runs with every fault that a world knows.
  @Test func randomRunsShowUniqueValuesAsTheSpecificationSays() async throws {
    let schema = Schema([
      EntitySchema("List", .text("title")),
      EntitySchema(
        "Task", unique: [.on("text", .rename), .on("number"), .on(["day", "place"])],
        .text("text"), .integer("number"), .bool("day"), .bool("place"),
        .reference("list", to: "List", onDelete: .cascade)),
    ])
    try await simulate(schema, replicas: 3, runs: 12, steps: 40)
  }

  @Test func theSameSeedIsTheSameRun() async throws {
    func trace() async throws -> [String] {
      var trace: [String] = []
      try await simulate(schema, replicas: 3, seed: 7) { world in
        try world.run(steps: 80)
        trace = world.trace
      }
      return trace
    }
    let first = try await trace()
    #expect(try await trace() == first)
    #expect(first.count > 25)
  }

  @Test func aPowerCutTakesWhatNobodyHasSeenAndNothingElse() async throws {
    try await simulate(schema, replicas: 2, onDisk: true) { world in
      try insert("a", world.replica(0))
      try world.sync()
      try insert("b", world.replica(0))
      try world.replica(0).powerCut()
      #expect(try count(world.replica(0)) >= 1)
      try insert("c", world.replica(0))
      try world.sync()
      try expectConverged(world)
    }
  }

  @Test func aRestoredDeviceDoesNotWriteUnderItsOldNumbers() async throws {
    try await simulate(schema, replicas: 2, onDisk: true) { world in
      try insert("a", world.replica(0))
      try world.replica(0).backUp()
      try insert("b", world.replica(0))
      try world.sync()
      try world.replica(0).restoreBackup()
      try insert("c", world.replica(0))
      try world.sync()
      try expectConverged(world)
      #expect(try count(world.replica(1)) == 3)
    }
  }

  @Test func aCopyOfADeviceIsADeviceOfItsOwn() async throws {
    try await simulate(schema, replicas: 2, onDisk: true) { world in
      try insert("a", world.replica(0))
      try world.replica(1).become(copyOf: world.replica(0))
      try insert("b", world.replica(0))
      try insert("c", world.replica(1))
      try world.sync()
      try expectConverged(world)
      #expect(try count(world.replica(1)) == 3)
    }
  }

  @Test func seedsAreThereOnce() async throws {
    let set = SeedSet("tasks", version: 1, records: [SeedRecord("first", type: "Task", ["text": "First"])])
    try await simulate(schema, replicas: 3) { world in
      for replica in world.replicas { try replica.seed(set) }
      try insert("own", world.replica(2))
      try world.sync()
      try expectConverged(world)
      #expect(try count(world.replica(0)) == 2)
    }
  }

  @Test func whatOnlyALostDeviceKnewIsGoneAndNothingElse() async throws {
    try await simulate(schema, replicas: 3) { world in
      try insert("a", world.replica(2))
      try world.sync()
      try insert("b", world.replica(2))
      world.replica(2).lose()
      try world.addReplica()
      try world.sync()
      try expectConverged(world)
      #expect(try world.present.map(count) == [1, 1, 1])
    }
  }

  @Test func aMailboxBringsEverythingWithoutAnyConnection() async throws {
    try await simulate(schema, replicas: 3) { world in
      for replica in world.replicas { try insert("by-\(replica.index)", replica) }
      for _ in 0..<3 { for replica in world.replicas { try world.visitMailbox(replica.index) } }
      try expectConverged(world)
      #expect(try count(world.replica(0)) == 3)
    }
  }

  @Test func twoDevicesTakeMilliseconds() async throws {
    let clock = ContinuousClock()
    var fastest = Duration.seconds(60)
    for seed in 1...UInt64(20) {
      let time = try await clock.measure {
        try await simulate(schema, seed: seed) { world in
          try insert("a", world.replica(0))
          try world.sync()
        }
      }
      fastest = min(fastest, time)
    }
    // In a debug build on a busy machine, whose tests keep each other waiting; a release build needs a few.
    #expect(fastest < .milliseconds(1_000))
  }
}
