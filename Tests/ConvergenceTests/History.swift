/// A generated history: replicas with their clocks, and what happens to them. Any subset of the steps is a history too.
struct History {
  /// What a delta is computed against.
  enum Base: Hashable {
    /// Nothing: the whole state.
    case nothing
    /// The vector of a replica at that moment.
    case vector(of: Int)
  }

  enum Step: Hashable {
    /// A local transaction, so many milliseconds after the one before.
    case transact(replica: Int, elapsed: UInt64, [Operation])
    /// Reads a delta in one snapshot and keeps it, to be delivered at any time, to anybody, any number of times.
    case prepare(slot: Int, from: Int, base: Base)
    case deliver(slot: Int, to: Int)
    /// Delivers some of the pieces of a delta; the connection ends before the others come.
    case pieces(slot: Int, to: Int, of: Int, ClosedRange<Int>)
    /// Changes a value under its stamp.
    case forge(replica: Int, String, ModelField, String)
    /// Compares a replica with the specification.
    case check(replica: Int)
  }

  var seed: UInt64
  /// For each replica the first half of its id; replicas order as these do.
  var ids: [UInt64]
  /// For each replica the clock at the start, in milliseconds since 1970.
  var clocks: [UInt64]
  var steps: [Step]

  var hasForgery: Bool {
    steps.contains { if case .forge = $0 { true } else { false } }
  }
}

extension History: CustomStringConvertible {
  var description: String {
    let replicas = zip(ids, clocks).enumerated().map { index, replica in
      "  replica \(index): id \(String(replica.0, radix: 16)), clock \(replica.1)"
    }
    return (replicas + steps.map { "  \($0)" }).joined(separator: "\n")
  }
}

extension History.Step: CustomStringConvertible {
  var description: String {
    switch self {
    case .transact(let replica, let elapsed, let operations):
      "\(replica) after \(elapsed) ms: " + operations.map(\.description).joined(separator: "; ")
    case .prepare(let slot, let from, .nothing): "\(from) reads delta \(slot) since nothing"
    case .prepare(let slot, let from, .vector(let other)): "\(from) reads delta \(slot) since what \(other) has"
    case .deliver(let slot, let to): "\(to) receives delta \(slot)"
    case .pieces(let slot, let to, let count, let range): "\(to) receives of delta \(slot) pieces \(range) of \(count)"
    case .forge(let replica, let record, let field, let value): "\(replica) forges \(record) \(field) = \(value)"
    case .check(let replica): "\(replica) is checked"
    }
  }
}
