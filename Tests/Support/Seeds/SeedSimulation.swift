import TallyCRDT
import TallyFaults
import TallyStore
import TallySync
import TallyTesting

/// Plays a history with seeds on real stores and, beside them, on the specification.
package struct SeedSimulation {
  private let story: SeedStory
  private let planted: PlantedFault
  private let replicas: [SeedReplica]
  private var specification: SeedSpecification
  private var seen: [Set<Int>]
  private var clocks: [UInt64]
  /// The newest version that each replica's own app has brought.
  private var applied: [Int]
  /// What each app brings whenever it starts, if it adopts.
  private var launches: [SeedEdition?]

  private init(_ story: SeedStory, planted: PlantedFault) throws {
    (self.story, self.planted) = (story, planted)
    replicas = try story.ids.map {
      try SeedReplica(id: ReplicaID(high: $0, low: 1), mode: story.mode, seed: story.seed, planted: planted)
    }
    specification = SeedSpecification(mode: story.mode)
    seen = Array(repeating: [], count: replicas.count)
    clocks = story.clocks
    applied = Array(repeating: 0, count: replicas.count)
    launches = Array(repeating: nil, count: replicas.count)
  }

  /// Plays the steps, lets all replicas sync with one another and compares.
  /// - Returns: what went wrong, or nil.
  package static func failure(of story: SeedStory, planted: PlantedFault = []) -> Simulation.Failure? {
    do {
      var simulation = try SeedSimulation(story, planted: planted)
      for step in story.steps { try simulation.play(step) }
      try simulation.settle()
      return nil
    } catch {
      return error as? Simulation.Failure ?? Simulation.Failure(description: "threw \(error)")
    }
  }

  /// What went wrong, with the smallest history that shows it; nil if all is well.
  package static func report(_ story: SeedStory) -> String? {
    guard failure(of: story) != nil else { return nil }
    var smallest = story
    smallest.steps = Shrinker.minimize(story.steps) { steps in
      var candidate = story
      candidate.steps = steps
      return failure(of: candidate) != nil
    }
    return "\(failure(of: smallest)?.description ?? "passes when shrunk")\n\(smallest)"
  }

  /// The situations in the end of a history.
  package static func situations(of story: SeedStory) throws -> Set<SeedSituation> {
    var simulation = try SeedSimulation(story, planted: [])
    for step in story.steps { try simulation.play(step) }
    return simulation.specification.situations(of: simulation.seen.reduce(Set()) { $0.union($1) })
  }

  private mutating func play(_ step: SeedStory.Step) throws {
    switch step {
    case .transact(let replica, let elapsed, let operation): try transact(replica, elapsed, operation)
    case .seed(let replica, let edition, let adopting): try seed(replica, story.editions[edition], adopting)
    case .sync(let from, let to):
      let delta = try replicas[from].store.delta(since: try replicas[to].store.vector)
      try replicas[to].store.apply(delta)
      seen[to].formUnion(seen[from])
    case .check(let replica): try check(replica)
    }
  }

  private mutating func transact(_ replica: Int, _ elapsed: UInt64, _ operation: SeedStory.Operation) throws {
    clocks[replica] += elapsed
    replicas[replica].tick(clocks[replica])
    let didWrite = try replicas[replica].transact(operation)
    let event = specification.transact(
      author: replicas[replica].author, seen: seen[replica], now: clocks[replica], operation)
    guard didWrite == (event != nil) else {
      throw Simulation.Failure(description: "replica \(replica) \(didWrite ? "replicated" : "ignored") \(operation)")
    }
    if let event { seen[replica].insert(event) }
  }

  /// - Returns: whether the store has taken the edition; it refuses one older than what it has applied.
  @discardableResult
  private mutating func seed(_ replica: Int, _ edition: SeedEdition, _ adopting: Bool) throws -> Bool {
    replicas[replica].tick(clocks[replica])
    let report: SeedReport
    do {
      let adopts = adopting && !planted.contains(.seedDuplicatesKept)
      report = try replicas[replica].store.seed(edition.set(adopting: adopts))
    } catch let error as StoreError where error.code == .seedVersionBackwards {
      guard edition.version < applied[replica] else { throw Simulation.Failure(description: "\(error)") }
      return false
    }
    applied[replica] = max(applied[replica], edition.version)
    if adopting { launches[replica] = edition }
    let event = specification.bring(edition, by: report.replica.description)
    guard specification.events[event].author == report.replica.description else {
      throw Simulation.Failure(description: "replica \(replica) brings an edition as nobody else does")
    }
    guard seen[replica].insert(event).inserted == report.isNew else {
      throw Simulation.Failure(description: "replica \(replica) is wrong about whether the edition is new")
    }
    guard adopting else { return true }
    let (adoption, copies) = specification.adopt(
      author: replicas[replica].author, seen: seen[replica], now: clocks[replica], edition)
    guard copies == report.adopted.map(\.text).sorted() else {
      throw Simulation.Failure(
        description: "replica \(replica) adopted \(report.adopted) and should have adopted \(copies)")
    }
    if let adoption { seen[replica].insert(adoption) }
    return true
  }

  // MARK: Comparison

  private func check(_ index: Int, afterRestart: Bool = false) throws {
    let shown = try replicas[index].view()
    let past = specification.past(seen[index])
    for promise in SeedPromise.allCases where promise != .membersStay || afterRestart {
      guard let broken = promise.violation(specification, past, shown, seen[index]) else { continue }
      throw Simulation.Failure(description: "replica \(index) breaks “\(promise.rawValue)”: \(broken)")
    }
    try compare(shown, specification.view(past), index)
    let report = try replicas[index].store.verify()
    guard report.isSound else {
      throw Simulation.Failure(description: "replica \(index): \(report.problems.joined(separator: "; "))")
    }
  }

  private func compare(_ shown: SeedView, _ expected: SeedView, _ index: Int) throws {
    for record in SeedWorld.records where shown[record] != expected[record] {
      throw Simulation.Failure(
        description: """
          replica \(index) breaks “every row is what the history says”: \(record) is
            \(shown[record].map { "\($0)" } ?? "not there") and should be
            \(expected[record].map { "\($0)" } ?? "not there")
          """)
    }
  }

  private mutating func settle() throws {
    try exchange()
    try check(Int(story.seed % UInt64(replicas.count)))
    // A launch that is refused adopts nothing.
    var hasStarted = false
    for (index, step) in launches.enumerated() {
      guard let step else { continue }
      hasStarted = try seed(index, step, true) || hasStarted
    }
    try exchange()
    let first = try replicas[0].store.summary()
    let dump = try replicas[0].dump()
    for index in replicas.indices {
      try check(index, afterRestart: hasStarted)
      let summary = try replicas[index].store.summary()
      guard summary.vector == first.vector, summary.fingerprint == first.fingerprint else {
        throw Simulation.Failure(description: "replicas 0 and \(index) differ in vector or fingerprint")
      }
      guard try replicas[index].dump() == dump else {
        throw Simulation.Failure(description: "replicas 0 and \(index) dump different states")
      }
    }
  }

  private mutating func exchange() throws {
    // By way of the first, which then has everything.
    for index in replicas.indices.dropFirst() { try play(.sync(from: index, to: 0)) }
    for index in replicas.indices.dropFirst() { try play(.sync(from: 0, to: index)) }
  }
}
