/// A history of raw SQL on stores: a value that follows from its seed, can be printed, and be made smaller.
package struct RawHistory: Sendable {
  package let seed: UInt64
  /// What the seed has drawn.
  package let features: Set<RawFeature>
  let devices: Int
  /// For each device whether its app is of the second version from the start.
  let versions: [RawVersion]
  let clocks: [UInt64]
  var steps: [RawStep]

  func has(_ feature: RawFeature) -> Bool { features.contains(feature) }

  /// Whether rows can be deleted unnoticed: through a unique index that is partial or on an expression.
  var hasOpaqueIndex: Bool {
    has(.quietReplace)
      || steps.contains { step in
        guard case .write(_, _, let transaction) = step else { return false }
        return transaction.statements.contains {
          $0.sql.hasPrefix("CREATE UNIQUE INDEX app_one ") && !$0.sql.hasSuffix("ON N(body)")
        }
      }
  }

  /// The same seed with as few steps and statements as still fail.
  package static func shrink(_ history: RawHistory, fails: (RawHistory) -> Bool) -> RawHistory {
    var smallest = history
    func stillFails(_ steps: [RawStep]) -> Bool {
      var candidate = smallest
      candidate.steps = steps
      return fails(candidate)
    }
    smallest.steps = Shrinker.minimize(history.steps, fails: stillFails)
    for index in smallest.steps.indices {
      guard case .write(let device, let writer, var transaction) = smallest.steps[index] else { continue }
      transaction.statements = Shrinker.minimize(transaction.statements) { statements in
        var fewer = transaction
        fewer.statements = statements
        var steps = smallest.steps
        steps[index] = .write(device: device, writer, fewer)
        return stillFails(steps)
      }
      smallest.steps[index] = .write(device: device, writer, transaction)
    }
    return smallest
  }
}

extension RawHistory: CustomStringConvertible {
  package var description: String {
    let names = features.map(\.rawValue).sorted().joined(separator: ",")
    let stores = (0..<devices).map { "store \($0): \(versions[$0]), clock \(clocks[$0])" }
    let lines = steps.enumerated().map { "  \($0.offset + 1). \($0.element)" }
    return (["TALLY_SEED=\(seed)", "features: \(names)"] + stores + lines).joined(separator: "\n")
  }
}
