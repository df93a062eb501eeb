import TallyCRDT
import TallyFaults
import TallyTesting

/// Plays a history on model replicas and, beside them, on the specification.
package struct Simulation {
  /// A delta that was read and waits for its delivery.
  struct Parcel {
    var delta: ModelDelta
    var from: Int
    /// The events that it carries.
    var seen: EventSet
    /// All that the sender had seen.
    var sender: EventSet
    /// The events that a receiver must have seen.
    var base: EventSet
    /// Tells transfers apart that use the same slot one after the other.
    var transfer: Int
  }

  /// A replica's file and, beside it, what its owner has seen.
  struct File {
    var replica: ModelReplica
    var seen = EventSet()
  }

  /// One device.
  struct Device {
    var file: File
    /// What a power cut leaves.
    var disk: File
    var backup: File?
    var clock: UInt64
    var isLost = false
  }

  /// What went wrong.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
    package init(description: String) { self.description = description }
  }

  let history: History
  let planted: PlantedFault
  let hasForgery: Bool
  let hasCopies: Bool
  var devices: [Device]
  var specification = Specification<ModelField>(beginsLives: false)
  /// For each event its transaction.
  var dots: [Dot] = []
  var parcels: [Int: Parcel] = [:]
  var pieces: [[Int]: Set<Int>] = [:]
  var transfers = 0
  var didRefuse = false
  /// Whether the specification no longer says what the replicas show: see `isUndecided(_:at:)`.
  var isUndecided = false
  private var mint: SplitMix64

  init(_ history: History, planted: PlantedFault) {
    self.history = history
    self.planted = planted
    hasForgery = history.hasForgery
    hasCopies = history.hasCopies
    mint = SplitMix64(seed: ~history.seed)
    devices = zip(history.ids, history.clocks).enumerated().map { index, start in
      var replica = ModelReplica(id: ReplicaID(high: start.0, low: 1), planted: planted)
      if history.older.contains(index) { replica.fields = Model.olderFields }
      let file = File(replica: replica)
      return Device(file: file, disk: file, clock: start.1)
    }
  }

  /// Plays the steps, lets all replicas sync with one another and compares.
  /// - Returns: what went wrong, or nil.
  package static func failure(of history: History, planted: PlantedFault = []) -> Failure? {
    var simulation = Simulation(history, planted: planted)
    do {
      for step in history.steps { try simulation.play(step) }
      try simulation.settle()
      return nil
    } catch {
      return error as? Failure ?? Failure(description: "threw \(error)")
    }
  }

  /// The situations that a history leads to, in the end and at its checks, and whether a delta was refused.
  package static func situations(of history: History) throws -> (Set<Situation>, didRefuse: Bool) {
    var simulation = Simulation(history, planted: [])
    var found: Set<Situation> = []
    for step in history.steps {
      try simulation.play(step)
      guard case .check(let replica) = step else { continue }
      found.formUnion(simulation.specification.situations(of: simulation.devices[replica].file.seen))
    }
    return (found, simulation.didRefuse)
  }

  private mutating func play(_ step: History.Step) throws {
    switch step {
    case .transact(let replica, let elapsed, let operations): try transact(replica, elapsed, operations)
    case .prepare(let slot, let from, let base): prepare(slot, from, base)
    case .deliver(let slot, let to): try deliver(slot, to)
    case .pieces(let slot, let to, let count, let range): try deliver(slot, to, count, range)
    case .sync(let one, let other): try sync(one, other)
    case .forge(let replica, let record, let field, let value):
      devices[replica].file.replica.forge(Model.name(record), field, value)
    case .check(let replica): try check(replica)
    default: meetFate(step)
    }
  }

  func schema(_ index: Int) -> SpecifiedSchema<ModelField> {
    devices[index].file.replica.fields.count == ModelField.allCases.count ? Model.schema : Model.olderSchema
  }

  private mutating func transact(_ index: Int, _ elapsed: UInt64, _ operations: [Operation]) throws {
    guard !devices[index].isLost else { return }
    devices[index].clock += elapsed
    let now = devices[index].clock
    let before = devices[index].file.replica.vector
    try devices[index].file.replica.transact(now: now, operations)
    guard !hasForgery, !isUndecided else { return }
    let (replica, seen) = (devices[index].file.replica, devices[index].file.seen)
    let known = operations.filter { operation in
      if case .update(_, let field, _) = operation { return replica.fields.contains(field) }
      return true
    }.map { operation in
      guard case .insert(let record, let values) = operation else { return operation }
      return .insert(record, values.filter { replica.fields.contains($0.key) })
    }
    let event = specification.transact(
      author: replica.id.description, seen: seen, now: now, schema(index), known)
    let didWrite = replica.vector != before
    guard didWrite == (event != nil) else {
      throw Failure(description: "replica \(index) \(didWrite ? "wrote" : "did not write") \(operations)")
    }
    guard let event else { return }
    devices[index].file.seen.insert(event)
    try note(Dot(replica: replica.id, sequence: replica.vector[replica.id]), of: event)
  }

  /// No two transactions that anybody knows have one number.
  private mutating func note(_ dot: Dot, of event: Int) throws {
    dots.append(dot)
    guard !hasCopies else { return }
    for other in dots.indices.dropLast() where dots[other] == dot {
      let isKnown =
        devices.contains { $0.file.seen.contains(other) } || parcels.values.contains { $0.seen.contains(other) }
      guard !isKnown else { throw Failure(description: "the number \(dot) was given to two transactions") }
    }
  }

  /// Takes another id.
  mutating func renew(_ index: Int) {
    devices[index].file.replica.isOlderCopy = false
    devices[index].file.replica.id = .random(using: &mint)
  }
}
