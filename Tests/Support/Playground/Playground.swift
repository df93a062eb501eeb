import TallyCRDT
import TallyFaults
import TallyStore
import TallyTesting

/// A schema with one of everything, for worlds that test Tally itself.
package enum Playground {
  package static let schema = Schema([
    EntitySchema(
      "Folder", .text("name"), .integer("rank", default: 1), .reference("inside", to: "Folder", onDelete: .cascade),
      .toMany("pinned", to: "Note")),
    EntitySchema(
      "Note", .text("text"), .real("weight"), .bool("isDone", default: false), .date("due"),
      .reference("folder", to: "Folder", onDelete: .cascade), .reference("parent", to: "Note", onDelete: .cascade),
      .reference("next", to: "Note"), .toMany("tags", to: "Tag"), .toMany("related", to: "Note")),
    EntitySchema(
      "Tag", deleteWins: true, .text("name", default: "new"), .reference("within", to: "Tag", onDelete: .cascade)),
    EntitySchema(
      "Card", .json("layout"), .blob("picture"), .uuid("external"), .reference("note", to: "Note", onDelete: .deny)),
  ])

  /// A schema of counters beside other fields, and of records that own each other.
  private static let counting = Schema([
    EntitySchema("Game", .text("name"), .counter("score"), .toMany("rounds", to: "Round")),
    EntitySchema(
      "Round", .counter("points", default: 3), .integer("rank"), .counter("fouls"),
      .reference("game", to: "Game", onDelete: .cascade)),
    EntitySchema("Vote", deleteWins: true, .counter("ayes"), .text("title", default: "new")),
  ])

  /// Plays one random run of devices that count.
  /// - Returns: what went wrong, or nil.
  package static func countingFailure(seed: UInt64, planted: PlantedFault = []) -> SimulationFailure? {
    var random = SplitMix64(seed: seed &* 7)
    var options = StoreOptions()
    options.plant(planted)
    options.chooseCapture(by: seed)
    return World.failure(
      counting, replicas: 2 + random.below(3), seed: seed, steps: 30 + random.below(60), options: options,
      tampering: PlantedTampering(planted))
  }

  /// Plays one random run. If the devices have a relay that tells them what is new, `log` is what it keeps.
  /// - Returns: what went wrong, or nil.
  package static func failure(seed: UInt64, planted: PlantedFault = [], in log: (any RelayLog)? = nil)
    -> SimulationFailure?
  {
    var random = SplitMix64(seed: seed &* 7)
    var options = StoreOptions()
    options.plant(planted)
    options.chooseCapture(by: seed)
    return World.failure(
      schema, replicas: 2 + random.below(3), seed: seed, steps: 30 + random.below(60), options: options,
      tampering: PlantedTampering(planted), relay: log.map { PushedRelay($0, planted) })
  }
}
