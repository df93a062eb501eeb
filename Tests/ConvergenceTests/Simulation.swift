import TallyCRDT

/// Plays a history on model replicas and, beside them, on the specification.
struct Simulation {
  /// A delta that was read and waits for its delivery.
  private struct Parcel {
    var delta: ModelDelta
    var from: Int
    /// The events that the sender had seen.
    var seen: Set<Int>
    /// The events that a receiver must have seen.
    var base: Set<Int>
    /// Tells transfers apart that use the same slot one after the other.
    var transfer: Int
  }

  /// What went wrong.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private let history: History
  private let hasForgery: Bool
  private var replicas: [ModelReplica]
  private var specification: Specification
  /// For each replica the events whose effects it must show.
  private var seen: [Set<Int>]
  private var clocks: [UInt64]
  private var parcels: [Int: Parcel] = [:]
  private var pieces: [[Int]: Set<Int>] = [:]
  private var transfers = 0
  private var didRefuse = false

  private init(_ history: History, planted: PlantedFault) {
    self.history = history
    hasForgery = history.hasForgery
    let ids = history.ids.map { ReplicaID(high: $0, low: 1) }
    replicas = ids.map { ModelReplica(id: $0, planted: planted) }
    specification = Specification(tieBreaks: ids.map(\.description))
    seen = Array(repeating: [], count: ids.count)
    clocks = history.clocks
  }

  /// Plays the steps, lets all replicas sync with one another and compares.
  /// - Returns: what went wrong, or nil.
  static func failure(of history: History, planted: PlantedFault = []) -> Failure? {
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
  static func situations(of history: History) throws -> (Set<Situation>, didRefuse: Bool) {
    var simulation = Simulation(history, planted: [])
    var found: Set<Situation> = []
    for step in history.steps {
      try simulation.play(step)
      guard case .check(let replica) = step else { continue }
      found.formUnion(simulation.specification.situations(of: simulation.seen[replica]))
    }
    return (found, simulation.didRefuse)
  }

  private mutating func play(_ step: History.Step) throws {
    switch step {
    case .transact(let replica, let elapsed, let operations):
      clocks[replica] += elapsed
      try replicas[replica].transact(now: clocks[replica], operations)
      guard !hasForgery else { return }
      let now = clocks[replica]
      let event = specification.transact(author: replica, seen: seen[replica], now: now, operations)
      if let event { seen[replica].insert(event) }
    case .prepare(let slot, let from, let base): prepare(slot, from, base)
    case .deliver(let slot, let to): try deliver(slot, to)
    case .pieces(let slot, let to, let count, let range): try deliver(slot, to, count, range)
    case .forge(let replica, let record, let field, let value):
      replicas[replica].forge(Model.name(record), field, value)
    case .check(let replica): try check(replica)
    }
  }

  private mutating func prepare(_ slot: Int, _ from: Int, _ base: History.Base) {
    transfers += 1
    var parcel = Parcel(
      delta: replicas[from].delta(since: StateVector()), from: from, seen: seen[from], base: [], transfer: transfers)
    if case .vector(let other) = base {
      parcel.delta = replicas[from].delta(since: replicas[other].vector)
      parcel.base = seen[other].intersection(seen[from])
    }
    parcels[slot] = parcel
  }

  private mutating func deliver(_ slot: Int, _ to: Int) throws {
    guard let parcel = parcels[slot] else { return }
    let delta = replicas[parcel.from].sending(parcel.delta)
    try note(replicas[to].apply(delta, now: clocks[to]), parcel, to)
  }

  private mutating func deliver(_ slot: Int, _ to: Int, _ count: Int, _ range: ClosedRange<Int>) throws {
    guard let parcel = parcels[slot] else { return }
    let chunks = replicas[parcel.from].sending(parcel.delta).chunks(count)
    // Transfers cut into different numbers of pieces are different transfers.
    let transfer = parcel.transfer * 10 + count
    for index in range {
      let receipt = replicas[to].receive(chunks[index], index, of: count, transfer: transfer, now: clocks[to])
      let key = [transfer, to]
      pieces[key, default: []].insert(index)
      if pieces[key]?.count == count {
        pieces[key] = nil
        try note(receipt, parcel, to)
      } else if !replicas[to].planted.contains(.vectorPerChunk), receipt != .waiting {
        throw Failure(description: "replica \(to) did not wait for the other pieces")
      }
    }
  }

  private mutating func note(_ receipt: Receipt, _ parcel: Parcel, _ to: Int) throws {
    guard !hasForgery else { return }
    let expected: Receipt = seen[to].isSuperset(of: parcel.base) ? .applied : .refused
    guard receipt == expected else {
      throw Failure(description: "a delta to replica \(to) was \(receipt) and should have been \(expected)")
    }
    if receipt == .refused { didRefuse = true }
    if receipt == .applied { seen[to].formUnion(parcel.seen) }
  }

  // MARK: - Comparison

  private func check(_ index: Int) throws {
    guard !hasForgery else { return }
    let shown = try replicas[index].view()
    let expected = specification.view(of: seen[index])
    guard shown == expected else {
      throw Failure(description: "replica \(index) shows\n\(describe(shown))  and should show\n\(describe(expected))")
    }
    for author in replicas.indices {
      let count = seen[index].count { specification.events[$0].author == author }
      guard replicas[index].vector[replicas[author].id] == UInt64(count) else {
        throw Failure(description: "the vector of replica \(index) counts transactions of \(author) wrongly")
      }
    }
  }

  private mutating func settle() throws {
    // A forgery is not something that vectors know of; as in a repair, everybody gets everything.
    for _ in 0..<2 {
      for to in replicas.indices {
        for from in replicas.indices where from != to {
          let base = hasForgery ? StateVector() : replicas[to].vector
          let receipt = replicas[to].apply(replicas[from].delta(since: base), now: clocks[to])
          guard receipt == .applied else { throw Failure(description: "a fresh delta was \(receipt)") }
        }
      }
    }
    let all = seen.reduce(Set()) { $0.union($1) }
    seen = seen.map { _ in all }
    let bytes = try WireImage.bytes(of: replicas[0])
    for index in replicas.indices {
      try check(index)
      guard replicas[index].fingerprint == replicas[index].recomputedFingerprint() else {
        throw Failure(description: "the fingerprint of replica \(index) is not the sum of its content")
      }
      guard try WireImage.bytes(of: replicas[index]) == bytes else {
        throw Failure(description: "replicas 0 and \(index) differ in their bytes")
      }
    }
    try checkRepetition(bytes)
  }

  /// Deltas once more, and the trip over the wire, change nothing.
  private mutating func checkRepetition(_ bytes: [UInt8]) throws {
    _ = replicas[0].apply(replicas[1].delta(since: StateVector()), now: clocks[0])
    guard try WireImage.bytes(of: replicas[0]) == bytes else {
      throw Failure(description: "a delta that was applied twice changed something")
    }
    let rest = replicas[0].delta(since: replicas[1].vector)
    guard rest.records.isEmpty, rest.links.isEmpty else {
      throw Failure(description: "a delta between equal replicas is not empty")
    }
    let copy = try WireImage.replica(from: bytes, id: ReplicaID(high: .max, low: .max))
    guard try WireImage.bytes(of: copy) == bytes else {
      throw Failure(description: "the state does not survive the wire")
    }
  }

  private func describe(_ view: ModelView) -> String {
    view.sorted { $0.key < $1.key }.map { name, row in
      let fields = row.fields.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key): \($0.value)" }
      return "    \(name) [\(fields.joined(separator: ", "))] members \(row.members.sorted())\n"
    }.joined()
  }
}
