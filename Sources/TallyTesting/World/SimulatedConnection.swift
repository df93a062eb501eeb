import TallySync

/// A connection between two replicas, on which messages wait until the world delivers them. Both ends run what ships,
/// one step at a time.
package final class SimulatedConnection {
  let one: SimulatedEnd
  let other: SimulatedEnd
  private let link: StepLink
  /// After so many more messages the connection breaks; nil if it holds.
  var messagesLeft: Int?
  private(set) var isCut = false

  init(
    _ one: SimulatedReplica, _ other: SimulatedReplica, isLive: Bool = false, chunkLimit: Int = .max,
    capacity: Int = .max, messagesLeft: Int? = nil
  ) {
    self.one = SimulatedEnd(one, isLive: isLive, chunkLimit: chunkLimit, capacity: capacity)
    self.other = SimulatedEnd(other, isLive: isLive, chunkLimit: chunkLimit, capacity: capacity)
    link = StepLink(self.one.step, self.other.step, one.world.time)
    (self.one.work.other, self.other.work.other) = (self.other.work, self.one.work)
    self.messagesLeft = messagesLeft
  }

  /// Whether nothing more will come of it.
  var isOver: Bool { one.step.isOver && other.step.isOver }
  /// Whether both wait for changes.
  var isResting: Bool { one.isLive && other.isLive && one.isQuiet && other.isQuiet }

  /// When nothing is under way in a live connection, both must hold the same.
  func checkRest() throws {
    guard isResting else { return }
    let (a, b) = (try one.replica.store.summary(), try other.replica.store.summary())
    guard a.vector == b.vector else {
      throw Finding(
        "\(one.replica.index) and \(other.replica.index) are live and at rest, and one lacks what the other has")
    }
  }

  /// A sync may end by a broken connection, by a silence that was too long, or well.
  func checkEnds() throws {
    let isBroken = isCut || one.hasGivenUp || other.hasGivenUp
    for end in [one, other] {
      guard let error = end.failure(isBroken: isBroken) else { continue }
      guard error is SyncError else { throw error }
      // The side that failed first has said why, and the other only repeats it.
      throw Finding("the sync of \(one.replica.index) and \(other.replica.index) failed: \(error)")
    }
  }

  // MARK: Steps

  /// Lets everything happen until nothing is under way.
  package func runToRest() throws { try run(steps: 100_000) }

  /// Lets so many things happen, always the first that can.
  package func run(steps: Int) throws {
    for _ in 0..<steps {
      guard let move = moves.first else { return }
      try make(move)
    }
  }

  /// Lets one end do all that it has to do; its messages stay on their way.
  package func work(_ index: Int) throws {
    (one.replica.index == index ? one : other).step.work()
    try checkEnds()
  }

  /// Delivers all that one end has sent.
  package func deliver(from index: Int) throws {
    let isFirst = one.replica.index == index
    while (isFirst ? one : other).step.connection.hasNews { try make(.delivery(first: isFirst)) }
  }

  func involves(_ index: Int) -> Bool { one.replica.index == index || other.replica.index == index }

  /// The devices that a delivery is from and to.
  func way(first isFirst: Bool) -> (from: Int, to: Int) {
    isFirst ? (one.replica.index, other.replica.index) : (other.replica.index, one.replica.index)
  }

  /// The steps that can happen next, except that time passes.
  var moves: [StepLink.Step] {
    link.steps.filter { step in
      guard case .delivery(let isFirst) = step else { return true }
      let way = way(first: isFirst)
      return one.replica.world.network.carries(way.from, way.to)
    }
  }

  func make(_ move: StepLink.Step) throws {
    if case .delivery(let isFirst) = move, let left = messagesLeft,
      (isFirst ? one : other).step.connection.sentCount > 0
    {
      guard left > 0 else { return cut() }
      messagesLeft = left - 1
    }
    link.make(move)
    try checkEnds()
  }

  // MARK: Ends

  /// Breaks the connection, and lets both ends find out: what was on its way is lost, and what is under way in a store
  /// comes to its end.
  func cut() {
    isCut = true
    link.cut()
    for end in [one, other] {
      end.step.work()
      while !end.step.isOver, let next = link.time.next {
        link.time.pass(until: next)
        end.step.work()
      }
    }
  }

  /// Breaks the connection because a device stops: nothing that waits for its store is done any more.
  func stop(_ index: Int) {
    for end in [one, other] where end.replica.index == index { end.work.stop() }
    cut()
  }

  /// No session looks any more.
  func abandon() {
    for end in [one, other] { end.work.stop() }
    cut()
  }
}
