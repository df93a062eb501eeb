/// One line of the table: what is compared with what.
struct Figure: Hashable, Codable {
  enum Quantity: String, Codable {
    case cpu
    case bytes
  }

  /// The workload, and which of its lines: `W4.sorted`. Targets and the figures of other programs go by it.
  var id: String
  var name: String
  var baseline: String
  var quantity = Quantity.cpu

  init(_ id: String, _ name: String, against baseline: String = "", _ quantity: Quantity = .cpu) {
    (self.id, self.name, self.baseline, self.quantity) = (id, name, baseline, quantity)
  }

  var workload: String { String(id.prefix { $0 != "." }) }
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
  /// Bytes by which a fresh process grew at its peak during our side of it; nil where nobody measured that.
  var memory: Int?

  var tally: Double { samples.map { amount($0.tally) }.median }
  var plain: Double? {
    let values = samples.compactMap { $0.plain.map(amount) }
    return values.isEmpty ? nil : values.median
  }
  var tallyWall: Double { samples.map(\.tally.wall).median }
  var plainWall: Double { samples.compactMap(\.plain?.wall).median }

  /// Of each round its own ratio, as its two halves ran one after the other, and of these the median.
  var ratio: Double? { ratios.isEmpty ? nil : ratios.median }
  var ratios: [Double] { samples.compactMap { sample in sample.plain.map { amount(sample.tally) / amount($0) } } }

  /// The same of the time on the wall, which counts what the disk takes.
  var wallRatio: Double? {
    let ratios = samples.compactMap { sample in sample.plain.map { sample.tally.wall / $0.wall } }
    return figure.quantity == .cpu && !ratios.isEmpty ? ratios.median : nil
  }

  /// What a target is about: the ratio, or the bytes of what has no baseline.
  var measured: Double { ratio ?? tally }

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
