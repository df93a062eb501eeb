import Foundation
import TallyCRDT
import TallyStore

/// Runs an app's schema on simulated devices according to a script, then lets all of them meet and checks that nothing
/// was lost.
///
/// ```swift
/// @Test func bothNotesStay() async throws {
///   try await simulate(Note.self, replicas: 2) { world in
///     world.network.partition([0], [1])
///     try world.replica(0).write { db in try Note(id: .init(uuid: world.uuid()), text: "from the train").insert(db) }
///     try world.replica(1).write { db in try Note(id: .init(uuid: world.uuid()), text: "from home").insert(db) }
///     world.network.heal()
///     try world.sync()
///     try expectConverged(world)
///     #expect(try world.replica(0).read { try Note.fetchCount($0) } == 2)
///   }
/// }
/// ```
///
/// Two devices cost some milliseconds. When the script ends, all faults end, all devices sync with each other, and
/// `expectConverged` is checked.
/// - Parameters:
///   - entities: the record types of the app's schema.
///   - replicas: the number of devices at the beginning.
///   - seed: the number that determines everything random. `TALLY_SEED` in the environment takes precedence; without
///     either, a new seed is used.
///   - onDisk: whether the stores are on simulated disks instead of in memory. Then power cuts, backups and copies are
///     possible, and each run takes about ten times as long.
///   - isolation: the actor on which the script runs; by default the caller's.
///   - script: makes the devices write, sync and fail, and may check anything on the way.
/// - Throws: `SimulationFailure`, which tells how to replay the run; an error of the script becomes its cause.
public func simulate(
  _ entities: any Entity.Type..., replicas: Int = 2, seed: UInt64? = nil, onDisk: Bool = false,
  isolation: isolated (any Actor)? = #isolation,
  _ script: (World) async throws -> Void
) async throws {
  let schema = Schema(entities.map { $0.schema })
  try await simulate(schema, replicas: replicas, seed: seed, onDisk: onDisk, isolation: isolation, script)
}

/// Runs a schema on simulated devices according to a script. See the form with entities.
public func simulate(
  _ schema: Schema, replicas: Int = 2, seed: UInt64? = nil, onDisk: Bool = false,
  isolation: isolated (any Actor)? = #isolation,
  _ script: (World) async throws -> Void
) async throws {
  let world = try World(schema, replicas: replicas, seed: seed.chosen, onDisk: onDisk)
  do {
    try await script(world)
    try world.heal()
    try world.sync()
    try world.checkConvergence()
  } catch {
    throw SimulationFailure(error, world)
  }
}

/// Runs an app's schema on simulated devices that act at random: edits of all declared fields, references and
/// relationships, syncs in any order, and faults. The seed determines everything. At the end of each run, all devices
/// sync with each other and everything is checked.
///
/// ```swift
/// @Test func nothingIsLostInRandomRuns() async throws {
///   try await simulate(Note.self, Folder.self, replicas: 3, runs: 50)
/// }
/// ```
/// - Parameters:
///   - entities: the record types of the app's schema.
///   - replicas: the number of devices at the beginning of each run.
///   - runs: the number of runs, each with a seed of its own; with `TALLY_SEED` in the environment, only the run with
///     that seed.
///   - steps: the number of edits, syncs and faults in a run.
///   - faults: the kinds of fault that may occur; by default all of them.
/// - Throws: `SimulationFailure` for the first run that fails.
public func simulate(
  _ entities: any Entity.Type..., replicas: Int = 3, runs: Int, steps: Int = 60, faults: Faults = .all
) async throws {
  try await simulate(Schema(entities.map { $0.schema }), replicas: replicas, runs: runs, steps: steps, faults: faults)
}

/// Runs a schema on simulated devices at random. See the form with entities.
public func simulate(
  _ schema: Schema, replicas: Int = 3, runs: Int, steps: Int = 60, faults: Faults = .all
) async throws {
  let fixed = ProcessInfo.processInfo.environment["TALLY_SEED"].flatMap(UInt64.init)
  for seed in fixed.map({ $0...$0 }) ?? 1...UInt64(max(1, runs)) {
    if let failure = World.failure(schema, replicas: replicas, seed: seed, steps: steps, faults: faults) {
      throw failure
    }
    await Task.yield()
  }
}

/// Checks that all devices of a world have the same content, that each shows what it must according to its writes and
/// what it has seen, that no file contradicts itself, and that a device that joins now gets the same content.
///
/// It does not sync the devices: call `world.sync()` before.
/// - Throws: `SimulationFailure`.
public func expectConverged(_ world: World) throws {
  do {
    try world.checkConvergence()
  } catch {
    throw SimulationFailure(error, world)
  }
}

extension SimulationFailure {
  init(_ error: any Error, _ world: World) {
    if let known = error as? SimulationFailure {
      self = known
    } else {
      self.init("\(error)", seed: world.seed, trace: world.trace, cause: error is Finding ? nil : error)
    }
  }
}

extension Optional where Wrapped == UInt64 {
  /// The environment's seed, this one, or a new one.
  fileprivate var chosen: UInt64 {
    ProcessInfo.processInfo.environment["TALLY_SEED"].flatMap(UInt64.init) ?? self ?? .random(in: 1...999_999_999)
  }
}

extension World {
  /// Plays one random run.
  /// - Returns: what went wrong, or nil.
  package static func failure(
    _ schema: Schema, replicas: Int, seed: UInt64, steps: Int, faults: Faults = .all,
    options: StoreOptions = StoreOptions(), tampering: (any Tampering)? = nil, relay: (any WorldRelay)? = nil
  ) -> SimulationFailure? {
    var world: World?
    do {
      let made = try World(
        schema, replicas: replicas, seed: seed, onDisk: !faults.isDisjoint(with: [.power, .copies]), options: options,
        tampering: tampering, relay: relay)
      world = made
      let isThroughMailbox = relay != nil || faults.contains(.mailbox) && seed % 3 == 0
      try made.run(steps: steps, faults: faults)
      try made.heal()
      try isThroughMailbox ? made.settleThroughMailbox() : made.sync()
      try made.checkConvergence()
      guard made.removals != nil else { return nil }
      try made.emptyAll()
      try isThroughMailbox ? made.settleThroughMailbox() : made.sync()
      try made.checkConvergence()
      try made.checkNothingStays()
      return nil
    } catch {
      if let world { return SimulationFailure(error, world) }
      return SimulationFailure("\(error)", seed: seed, trace: [], cause: error)
    }
  }
}
