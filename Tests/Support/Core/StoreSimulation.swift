import TallyCRDT
import TallyFaults
import TallyStore
import TallySync
import TallyTesting
import TallyWire

/// Plays a history on real stores and, beside them, on the specification.
///
/// The same histories as the model's, with one operation a transaction: in a store the cascades of a delete show at the
/// end of a transaction, so operations that follow in the same one would act on other rows than the specification's.
package struct StoreSimulation {
  private struct Parcel {
    var delta: [UInt8]
    var seen: EventSet
    var base: EventSet
  }

  private let history: History
  private let authors: [String]
  private let replicas: [StoreReplica]
  private var specification: Specification<ModelField>
  private var seen: [EventSet]
  private var clocks: [UInt64]
  private var parcels: [Int: Parcel] = [:]

  private init(_ history: History, planted: PlantedFault) throws {
    self.history = history
    authors = history.ids.map { ReplicaID(high: $0, low: 1).description }
    let ids = history.ids.map { ReplicaID(high: $0, low: 1) }
    replicas = try ids.map { try StoreReplica(id: $0, seed: history.seed, planted: planted) }
    specification = Specification<ModelField>(beginsLives: true)
    seen = Array(repeating: EventSet(), count: ids.count)
    clocks = history.clocks
  }

  /// Plays the steps, lets all replicas sync with one another and compares.
  /// - Returns: what went wrong, or nil.
  package static func failure(of history: History, planted: PlantedFault = []) -> Simulation.Failure? {
    do {
      var simulation = try StoreSimulation(history, planted: planted)
      for step in history.steps { try simulation.play(step) }
      try simulation.settle()
      return nil
    } catch {
      return error as? Simulation.Failure ?? Simulation.Failure(description: "threw \(error)")
    }
  }

  private mutating func play(_ step: History.Step) throws {
    switch step {
    case .transact(let replica, let elapsed, let operations):
      clocks[replica] += elapsed
      for operation in operations { try transact(replica, operation) }
    case .prepare(let slot, let from, let base):
      var parcel = Parcel(delta: [], seen: seen[from], base: EventSet())
      var since = StateVector()
      if case .vector(let other) = base {
        since = try replicas[other].store.vector
        parcel.base = seen[other].intersection(seen[from])
      }
      parcel.delta = try replicas[from].store.delta(since: since)
      parcels[slot] = parcel
    case .deliver(let slot, let to): try deliver(slot, to)
    case .pieces(let slot, let to, let count, let range):
      // A delta in a store's hands comes whole or not at all: half of it is a truncated one.
      if range.count == count { try deliver(slot, to) } else { try deliverHalf(slot, to) }
    case .clock(let replica, let time): clocks[replica] = time
    case .sync(let one, let other):
      try play(.prepare(slot: .max, from: one, base: .vector(of: other)))
      try play(.deliver(slot: .max, to: other))
      try play(.prepare(slot: .max, from: other, base: .vector(of: one)))
      try play(.deliver(slot: .max, to: one))
    case .forge, .flush, .crash, .backUp, .restore, .clone, .lose, .upgrade: break
    case .check(let replica): try check(replica)
    }
  }

  private mutating func transact(_ replica: Int, _ operation: Operation) throws {
    let didWrite = try replicas[replica].transact(now: clocks[replica], operation)
    let event = specification.transact(
      author: authors[replica], seen: seen[replica], now: clocks[replica], Model.schema, [operation])
    guard didWrite == (event != nil) else {
      throw Simulation.Failure(description: "replica \(replica) \(didWrite ? "replicated" : "ignored") \(operation)")
    }
    if let event { seen[replica].insert(event) }
  }

  private mutating func deliver(_ slot: Int, _ to: Int) throws {
    guard let parcel = parcels[slot] else { return }
    let isCovered = seen[to].isSuperset(of: parcel.base)
    do {
      try replicas[to].store.apply(parcel.delta)
      guard isCovered else { throw Simulation.Failure(description: "replica \(to) took a delta that it could not") }
      seen[to].formUnion(parcel.seen)
    } catch let error as StoreError where error.code == .baseNotCovered {
      guard !isCovered else { throw Simulation.Failure(description: "replica \(to) refused a delta: \(error)") }
    }
  }

  private func deliverHalf(_ slot: Int, _ to: Int) throws {
    guard let parcel = parcels[slot] else { return }
    let before = try replicas[to].store.summary()
    do {
      try replicas[to].store.apply(Array(parcel.delta.dropLast(parcel.delta.count / 2)))
      throw Simulation.Failure(description: "replica \(to) took half a delta")
    } catch is WireError {
    } catch let error as StoreError where error.code == .baseNotCovered {}
    guard try replicas[to].store.summary() == before else {
      throw Simulation.Failure(description: "half a delta changed replica \(to)")
    }
  }

  // MARK: - Comparison

  private func check(_ index: Int) throws {
    let shown = try replicas[index].view()
    let expected = specification.view(of: seen[index], Model.schema)
    guard shown == expected else {
      throw Simulation.Failure(description: "replica \(index) shows\n\(shown)\nand should show\n\(expected)")
    }
    let report = try replicas[index].store.verify()
    guard report.isSound else {
      throw Simulation.Failure(description: "replica \(index): \(report.problems.joined(separator: "; "))")
    }
  }

  private mutating func settle() throws {
    for _ in 0..<2 {
      for to in replicas.indices {
        for from in replicas.indices where from != to {
          let delta = try replicas[from].store.delta(since: try replicas[to].store.vector)
          let result = try replicas[to].store.apply(delta)
          guard !result.fingerprintMismatch else {
            throw Simulation.Failure(description: "replicas \(from) and \(to) have equal vectors and different content")
          }
        }
      }
    }
    let all = seen.reduce(EventSet()) { $0.union($1) }
    seen = seen.map { _ in all }
    let first = try replicas[0].store.summary()
    for index in replicas.indices {
      try check(index)
      let summary = try replicas[index].store.summary()
      guard summary.vector == first.vector, summary.fingerprint == first.fingerprint else {
        throw Simulation.Failure(description: "replicas 0 and \(index) differ")
      }
    }
  }
}
