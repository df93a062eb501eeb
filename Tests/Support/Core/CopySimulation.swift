import TallyCRDT
import TallyStore
import TallySync
import TallyTesting

/// Plays a history on three stores of which two are copies of one that nobody has noticed: both write under one replica
/// id until a meeting tells them.
///
/// What people see then depends on who met first, so it is not compared with the specification. But nothing may stay
/// different: after all have met all hold and show the same, are sound, and have ids of their own.
package struct CopySimulation {
  private let stores: [StoreReplica]
  private var clocks: [UInt64]
  /// From whom the delta of a slot is.
  private var senders: [Int: Int] = [:]

  private init(_ history: History) throws {
    let ids = [history.ids[0], history.ids[1], history.ids[1]].map { ReplicaID(high: $0, low: 1) }
    stores = try ids.enumerated().map {
      try StoreReplica(id: $1, seed: history.seed, later: history.seed << 2 | UInt64($0))
    }
    clocks = [history.clocks[0], history.clocks[1], history.clocks[1]]
  }

  /// Plays the steps, lets all meet and compares.
  /// - Returns: what went wrong, or nil.
  package static func failure(of history: History) -> Simulation.Failure? {
    do {
      var simulation = try CopySimulation(history)
      for step in history.steps { try simulation.play(step) }
      try simulation.settle()
      return nil
    } catch {
      return error as? Simulation.Failure ?? Simulation.Failure(description: "threw \(error)")
    }
  }

  private mutating func play(_ step: History.Step) throws {
    switch step {
    case .transact(let index, let elapsed, let operations):
      clocks[index % 3] += elapsed
      for operation in operations { _ = try stores[index % 3].transact(now: clocks[index % 3], operation) }
    case .prepare(let slot, let from, _): senders[slot] = from % 3
    case .deliver(let slot, let to): if let from = senders[slot] { try send(from, to % 3) }
    case .sync(let one, let other) where one % 3 != other % 3:
      try stores[one % 3].store.sync(with: stores[other % 3].store)
    case .check(let index): try check(index % 3)
    default: break
    }
  }

  /// One way only, as a file would go.
  private func send(_ from: Int, _ to: Int) throws {
    guard from != to else { return }
    try stores[to].store.apply(try stores[from].store.delta(since: try stores[to].store.vector))
  }

  private func check(_ index: Int) throws {
    let report = try stores[index].store.verify()
    guard report.isSound else {
      throw Simulation.Failure(description: "store \(index): \(report.problems.joined(separator: "; "))")
    }
  }

  private func settle() throws {
    // Each meeting may be the one that finds the next difference.
    for round in 1...4 {
      for (one, other) in [(0, 1), (0, 2), (1, 2)] {
        let report = try stores[one].store.sync(with: stores[other].store)
        guard report.isConverged, !report.repaired || round < 4 else {
          throw Simulation.Failure(description: "stores \(one) and \(other) still differ in round \(round)")
        }
      }
    }
    let first = try (stores[0].store.summary(), stores[0].view())
    for index in stores.indices {
      try check(index)
      let summary = try stores[index].store.summary()
      guard summary.vector == first.0.vector, summary.fingerprint == first.0.fingerprint else {
        throw Simulation.Failure(description: "stores 0 and \(index) differ in vector or fingerprint")
      }
      let view = try stores[index].view()
      guard view == first.1 else {
        throw Simulation.Failure(description: "store \(index) shows\n\(view)\nand store 0 shows\n\(first.1)")
      }
    }
  }
}
