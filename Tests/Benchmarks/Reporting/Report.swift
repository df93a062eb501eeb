import Foundation

/// What a run found, as text, as JSON and as a verdict.
struct Report: Codable {
  var records: Int
  var runs = 0
  var findings: [Finding] = []
  var growth: [Growth] = []
  /// How busy the machine was after the last round: processes that run or wait to, over a minute.
  var load: Double?

  var text: String {
    let table = TextTable(headings: Line.headings, rows: lines.map(\.cells)).text
    let growth = growth.isEmpty ? "" : "\n" + TextTable(headings: Growth.headings, rows: growthCells).text
    return summary + "\n\n" + table + growth
  }

  /// How it was measured, in one sentence.
  var summary: String {
    """
    \(records) records, median of \(runs) \(runs == 1 ? "run" : "runs"), \(ProcessInfo.processInfo.activeProcessorCount) cores\
    \(load.map { String(format: ", load average %.1f after the last round", $0) } ?? "").
    """
  }

  var lines: [Line] { findings.map(Line.init) }
  var growthCells: [[String]] { growth.map(\.cells) }

  init(records: Int) { self.records = records }

  init(json: Data) throws { self = try JSONDecoder().decode(Report.self, from: json) }

  func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    return try encoder.encode(self)
  }

  /// - Throws: `Mistake` with the figures that are far outside.
  func requireTargets(times factor: Double) throws {
    let outside = findings.filter { ($0.excessForGate ?? 0) > factor }
    guard outside.isEmpty else {
      let names = outside.map { "\($0.figure.workload) \($0.figure.name)" }.joined(separator: "; ")
      throw Mistake("more than \(factor) times the target, or of what is known to miss it: \(names)")
    }
  }

  static func currentLoad() -> Double? {
    var averages = [0.0, 0.0, 0.0]
    return getloadavg(&averages, 3) > 0 ? averages[0] : nil
  }
}
