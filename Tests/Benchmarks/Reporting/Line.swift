import Foundation

/// A finding as the table shows it.
struct Line {
  static let headings = [
    "", "what", "against", "target", "measured", "", "range", "Tally", "baseline", "wall", "wall of the baseline",
    "peak memory",
  ]
  var cells: [String]

  init(_ finding: Finding) {
    let figure = finding.figure
    let isTime = figure.quantity == .cpu
    let verdict = finding.excess.map { $0 <= 1 ? "met" : "missed" } ?? ""
    cells = [
      figure.workload, figure.name, figure.baseline, Self.target(figure.target), Self.measured(finding), verdict,
      Self.range(finding), Self.amount(finding.tally, figure.quantity),
      finding.plain.map { Self.amount($0, figure.quantity) } ?? "", isTime ? Self.seconds(finding.tallyWall) : "",
      isTime ? Self.seconds(finding.plainWall) : "", isTime ? Self.memory(finding.memory) : "",
    ]
  }

  private static func target(_ target: Figure.Target?) -> String {
    switch target {
    case .ratio(let ratio): "≤ " + String(format: "%g", ratio)
    case .bytes(let bytes): "≤ " + String(format: "%g B", bytes)
    case nil: ""
    }
  }

  private static func measured(_ finding: Finding) -> String {
    finding.ratio.map { String(format: "%.2f", $0) } ?? String(format: "%.0f B", finding.tally)
  }

  private static func range(_ finding: Finding) -> String {
    guard let least = finding.ratios.min(), let most = finding.ratios.max(), most - least >= 0.01 else { return "" }
    return String(format: "%.2f–%.2f", least, most)
  }

  private static func amount(_ amount: Double, _ quantity: Figure.Quantity) -> String {
    guard quantity == .bytes else { return seconds(amount) }
    return amount < 10_000 ? String(format: "%.0f B", amount) : String(format: "%.2f MB", amount / 1e6)
  }

  private static func seconds(_ seconds: Double) -> String {
    seconds < 0.1 ? String(format: "%.1f ms", seconds * 1000) : String(format: "%.2f s", seconds)
  }

  static func memory(_ bytes: Int?) -> String {
    bytes.map { String(format: "%.0f MiB", Double($0) / 1_048_576) } ?? "unknown"
  }
}

extension Growth {
  static let headings = [
    "", "what", "cost for each record (≤ × 1.15)", "of the plain database", "peak memory before",
    "peak memory (≤ 64 MiB)",
  ]

  var cells: [String] {
    [
      large.figure.workload, large.figure.name, String(format: "× %.2f", factor),
      plainFactor.map { String(format: "× %.2f", $0) } ?? "", Line.memory(small.memory), Line.memory(large.memory),
    ]
  }
}
