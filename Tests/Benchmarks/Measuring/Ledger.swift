/// Collects what the rounds measure, in the order of the table.
final class Ledger {
  private(set) var findings: [Finding] = []
  /// For each stretch of our side's work the figures that it gave, the first of which names it.
  private(set) var stretches: [[String]] = []

  func add(_ sample: Sample, to figure: Figure) {
    if let index = findings.firstIndex(where: { $0.figure == figure }) {
      findings[index].samples.append(sample)
    } else {
      findings.append(Finding(figure: figure, samples: [sample]))
    }
  }

  func addStretch(_ figures: [Figure]) {
    let ids = figures.map(\.id)
    if !stretches.contains(ids) { stretches.append(ids) }
  }

  /// By the workloads' numbers; within one, in the order of measuring.
  func sorted() -> [Finding] {
    func key(_ finding: Finding) -> Int { Int(finding.figure.workload.dropFirst()) ?? 0 }
    return findings.enumerated().sorted { (key($0.element), $0.offset) < (key($1.element), $1.offset) }.map(\.element)
  }
}
