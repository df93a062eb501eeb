import TallySync

/// A connection between two replicas, on which messages wait until the world delivers them.
package final class SimulatedConnection {
  let one: SessionEnd
  let other: SessionEnd
  /// After so many more messages the connection breaks; nil if it holds.
  var messagesLeft: Int?
  private(set) var isCut = false

  init(
    _ one: SimulatedReplica, _ other: SimulatedReplica, isLive: Bool = false, chunkLimit: Int = .max,
    messagesLeft: Int? = nil
  ) throws {
    self.one = try SessionEnd(one, isLive: isLive, chunkLimit: chunkLimit)
    self.other = try SessionEnd(other, isLive: isLive, chunkLimit: chunkLimit)
    self.messagesLeft = messagesLeft
  }

  /// Whether nothing more will come of it.
  var isOver: Bool { isCut || one.isFinished && other.isFinished && one.isIdle && other.isIdle }
  /// Whether both wait for changes.
  var isResting: Bool { one.isIdle && other.isIdle && one.session.isLive && isLive(one) && isLive(other) }

  private func isLive(_ end: SessionEnd) -> Bool { end.session.progress.phase == .live }

  /// When nothing is under way in a live connection, both must hold the same.
  func checkRest() throws {
    guard isResting else { return }
    let (a, b) = (try one.replica.store.summary(), try other.replica.store.summary())
    guard a.vector == b.vector else {
      throw Finding(
        "\(one.replica.index) and \(other.replica.index) are live and at rest, and one lacks what the other has")
    }
  }

  /// Lets everything happen until nothing is under way.
  package func runToRest() throws { try run(steps: 10_000) }

  /// Lets so many things happen, always the first that can.
  package func run(steps: Int) throws {
    for _ in 0..<steps {
      guard let move = moves(one.replica.world.network).first else { return }
      try make(move)
    }
  }

  /// Lets one end do all that it has to do; its messages stay on their way.
  package func work(_ index: Int) throws {
    let end = one.replica.index == index ? one : other
    while !end.jobs.isEmpty || !end.answers.isEmpty {
      try make(end.jobs.isEmpty ? .answer(end === one) : .work(end === one))
    }
  }

  /// Delivers all that one end has sent.
  package func deliver(from index: Int) throws {
    let end = one.replica.index == index ? one : other
    while !end.outbox.isEmpty { try make(.deliver(end === one)) }
  }

  func involves(_ index: Int) -> Bool { one.replica.index == index || other.replica.index == index }

  /// What can happen next.
  func moves(_ network: SimulatedNetwork) -> [Move] {
    var moves: [Move] = []
    for (end, isFirst) in [(one, true), (other, false)] {
      if !end.jobs.isEmpty { moves.append(.work(isFirst)) }
      if !end.answers.isEmpty { moves.append(.answer(isFirst)) }
      let (from, to) = isFirst ? (one, other) : (other, one)
      if !from.outbox.isEmpty, network.carries(from.replica.index, to.replica.index) { moves.append(.deliver(isFirst)) }
    }
    return moves
  }

  enum Move {
    /// An end does what it has to do with its store.
    case work(Bool)
    /// An end's session learns what its store has answered.
    case answer(Bool)
    /// The next message of an end arrives.
    case deliver(Bool)
  }

  func make(_ move: Move) throws {
    switch move {
    case .work(let isFirst): try isFirst ? one.work(other) : other.work(one)
    case .answer(let isFirst): try (isFirst ? one : other).takeAnswer()
    case .deliver(let isFirst):
      if let left = messagesLeft {
        guard left > 0 else { return cut() }
        messagesLeft = left - 1
      }
      let (from, to) = isFirst ? (one, other) : (other, one)
      try to.receive(from.outbox.removeFirst())
    }
  }

  /// Breaks the connection: what was on its way is lost.
  func cut() {
    isCut = true
    one.leave()
    other.leave()
  }
}
