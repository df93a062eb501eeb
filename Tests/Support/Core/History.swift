import TallyTesting

/// A generated history: replicas with their clocks, and what happens to them. Any subset of the steps is a history too.
package struct History: Sendable {
  /// What a delta is computed against.
  package enum Base: Hashable, Sendable {
    /// Nothing: the whole state.
    case nothing
    /// The vector of a replica at that moment.
    case vector(of: Int)
  }

  package enum Step: Hashable, Sendable {
    /// A local transaction, so many milliseconds after the one before.
    case transact(replica: Int, elapsed: UInt64, [Operation])
    /// Reads a delta in one snapshot and keeps it, to be delivered at any time, to anybody, any number of times.
    case prepare(slot: Int, from: Int, base: Base)
    case deliver(slot: Int, to: Int)
    /// Delivers some of the pieces of a delta; the connection ends before the others come.
    case pieces(slot: Int, to: Int, of: Int, ClosedRange<Int>)
    /// Two replicas exchange what they lack, and everything if they have seen the same and hold something else.
    case sync(Int, Int)
    /// Changes a value under its stamp.
    case forge(replica: Int, String, ModelField, String)
    /// Sets a clock, forwards or backwards.
    case clock(replica: Int, UInt64)
    /// The system brings what was written to the disk.
    case flush(replica: Int)
    /// The power fails: what has not been brought to the disk is gone.
    case crash(replica: Int)
    /// Copies a replica's file away.
    case backUp(replica: Int)
    /// Puts the copied file back. It is recognized as an old one at once, or not.
    case restore(replica: Int, isNoticed: Bool)
    /// A device is lost; its successor begins with a copy of another one's file.
    case clone(of: Int, as: Int, isNoticed: Bool)
    /// A device is lost for ever.
    case lose(replica: Int)
    /// An app that knew fewer fields learns of the others.
    case upgrade(replica: Int)
    /// Compares a replica with the specification.
    case check(replica: Int)
  }

  package var seed: UInt64
  /// For each replica the first half of its id; replicas order as these do.
  package var ids: [UInt64]
  /// For each replica the clock at the start, in milliseconds since 1970.
  package var clocks: [UInt64]
  /// The replicas that begin with an older version of the app.
  package var older: Set<Int> = []
  package var steps: [Step]

  package var hasForgery: Bool {
    steps.contains { if case .forge = $0 { true } else { false } }
  }

  /// Whether two replicas may write under one id before anybody notices.
  package var hasCopies: Bool {
    steps.contains { step in
      switch step {
      case .restore(_, let isNoticed), .clone(_, _, let isNoticed): !isNoticed
      default: false
      }
    }
  }
}

extension History: CustomStringConvertible {
  package var description: String {
    let replicas = zip(ids, clocks).enumerated().map { index, replica in
      "  replica \(index): id \(String(replica.0, radix: 16)), clock \(replica.1)\(older.contains(index) ? ", older" : "")"
    }
    return (replicas + steps.map { "  \($0)" }).joined(separator: "\n")
  }
}

extension History.Step: CustomStringConvertible {
  package var description: String {
    switch self {
    case .transact(let replica, let elapsed, let operations):
      "\(replica) after \(elapsed) ms: " + operations.map(\.description).joined(separator: "; ")
    case .prepare(let slot, let from, .nothing): "\(from) reads delta \(slot) since nothing"
    case .prepare(let slot, let from, .vector(let other)): "\(from) reads delta \(slot) since what \(other) has"
    case .deliver(let slot, let to): "\(to) receives delta \(slot)"
    case .pieces(let slot, let to, let count, let range): "\(to) receives of delta \(slot) pieces \(range) of \(count)"
    case .sync(let one, let other): "\(one) and \(other) sync"
    case .forge(let replica, let record, let field, let value): "\(replica) forges \(record) \(field) = \(value)"
    case .clock(let replica, let time): "\(replica) sets its clock to \(time)"
    case .flush(let replica): "\(replica) brings everything to the disk"
    case .crash(let replica): "\(replica) loses power"
    case .backUp(let replica): "\(replica) is copied away"
    case .restore(let replica, let isNoticed): "\(replica) is restored\(isNoticed ? ", and notices" : "")"
    case .clone(let source, let copy, let isNoticed):
      "\(copy) is lost and begins again as a copy of \(source)\(isNoticed ? ", and notices" : "")"
    case .lose(let replica): "\(replica) is lost"
    case .upgrade(let replica): "\(replica) upgrades"
    case .check(let replica): "\(replica) is checked"
    }
  }
}
