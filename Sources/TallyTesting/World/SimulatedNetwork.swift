/// The network between simulated replicas. It decides which of them can reach each other; at first all can.
///
/// Connections carry messages in order, each once or not at all, as `SyncConnection` requires of every transport; the
/// network loses messages only by breaking the connection. Deltas that travel as files are lost, duplicated and
/// delayed: see `World.Weather`.
public final class SimulatedNetwork {
  private struct Way: Hashable {
    var from, to: Int
  }

  private var blocked: Set<Way> = []
  private var slow: Set<Way> = []
  var onChange: (String) -> Void = { _ in }
  /// The number of messages after which each new connection breaks; nil if none breaks.
  public var messagesBeforeCut: Int?

  init() {}

  /// Splits the network: replicas of different groups cannot reach each other. Those in no group reach everybody.
  public func partition(_ groups: [Int]...) {
    blocked = []
    for (number, group) in groups.enumerated() {
      for other in groups[(number + 1)...].joined() {
        for one in group {
          blocked.insert(Way(from: one, to: other))
          blocked.insert(Way(from: other, to: one))
        }
      }
    }
    onChange("the network is split into \(groups)")
  }

  /// Blocks messages in one direction: those from one replica to another no longer arrive, those in the other direction
  /// do.
  public func block(from: Int, to: Int) {
    blocked.insert(Way(from: from, to: to))
    onChange("messages of \(from) to \(to) no longer arrive")
  }

  /// Makes one direction slow: in random runs its messages wait while others overtake them.
  public func slow(from: Int, to: Int) {
    slow.insert(Way(from: from, to: to))
    onChange("messages of \(from) to \(to) take long")
  }

  /// Lets all replicas reach each other again, over connections that do not break.
  public func heal() {
    (blocked, slow, messagesBeforeCut) = ([], [], nil)
    onChange("the network is whole")
  }

  func carries(_ from: Int, _ to: Int) -> Bool { !blocked.contains(Way(from: from, to: to)) }
  func isSlow(_ from: Int, _ to: Int) -> Bool { slow.contains(Way(from: from, to: to)) }
  func connects(_ one: Int, _ other: Int) -> Bool { carries(one, other) && carries(other, one) }
}
