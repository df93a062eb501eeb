/// One line of the table: what is compared with what, and how large it may be.
struct Figure: Hashable, Codable {
  enum Quantity: String, Codable {
    case cpu
    case bytes
  }

  enum Target: Hashable, Codable {
    /// At most this many times the baseline.
    case ratio(Double)
    /// At most this many bytes.
    case bytes(Double)
  }

  var workload: String
  var name: String
  var baseline: String
  var quantity = Quantity.cpu
  var target: Target?
  /// What is accepted of a figure that is known to miss its target, so that the gate notices when it gets worse.
  var accepted: Double?

  init(
    _ workload: String, _ name: String, against baseline: String, _ quantity: Quantity = .cpu, target: Target? = nil,
    accepted: Double? = nil
  ) {
    self.workload = workload
    self.name = name
    self.baseline = baseline
    self.quantity = quantity
    self.target = target
    self.accepted = accepted
  }
}

/// One figure's costs in one round, ours and the baseline's.
struct Sample: Codable {
  var tally: Cost
  var plain: Cost?
}

/// What the rounds found for one figure.
struct Finding: Codable {
  var figure: Figure
  var samples: [Sample] = []

  var tally: Double { samples.map { amount($0.tally) }.median }
  var plain: Double? {
    let values = samples.compactMap { $0.plain.map(amount) }
    return values.isEmpty ? nil : values.median
  }
  var tallyWall: Double { samples.map(\.tally.wall).median }
  var plainWall: Double { samples.compactMap(\.plain?.wall).median }
  var memory: Int? { samples.compactMap(\.tally.memory).max() }

  /// Of each round its own ratio, as its two halves ran one after the other, and of these the median.
  var ratio: Double? {
    let ratios = ratios
    return ratios.isEmpty ? nil : ratios.median
  }
  var ratios: [Double] { samples.compactMap { sample in sample.plain.map { amount(sample.tally) / amount($0) } } }

  /// How many times the target it is; nil without a target.
  var excess: Double? {
    switch figure.target {
    case .ratio(let target): ratio.map { $0 / target }
    case .bytes(let target): tally / target
    case nil: nil
    }
  }

  /// The same for what the gate allows: the target, or what is accepted where that is known to be missed.
  var excessForGate: Double? {
    guard let excess, let accepted = figure.accepted else { return excess }
    switch figure.target {
    case .ratio(let target), .bytes(let target): return excess * target / max(target, accepted)
    case nil: return nil
    }
  }

  private func amount(_ cost: Cost) -> Double {
    switch figure.quantity {
    case .cpu: cost.cpu
    case .bytes: cost.bytes
    }
  }
}

extension [Double] {
  /// The middle one, or the mean of the two in the middle; 0 of none.
  var median: Double {
    guard !isEmpty else { return 0 }
    let sorted = sorted()
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2
  }
}
