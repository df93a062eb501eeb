/// What a run found with one number of records.
struct Section: Codable {
  var records: Int
  var findings: [Finding] = []

  var title: String {
    let rounds = findings.map(\.samples.count).max() ?? 0
    return "\(Format.count(records)) records, \(rounds == 1 ? "one round" : "median of \(rounds) rounds")"
  }

  func finding(_ id: String) -> Finding? { findings.first { $0.figure.id == id } }

  func target(of finding: Finding) -> Target? { Target.of(finding.figure.id, records: records) }

  /// A line for each figure; beside ours, those of other programs.
  func table(_ programs: [External]) -> TextTable {
    let rows = findings.map { finding in
      cells(finding) + programs.map { $0.figure(finding.figure.id, records)?.text ?? "" }
    }
    return TextTable(headings: Self.headings + programs.map(\.program), rows: rows)
  }

  private static let headings = [
    "", "what", "against", "target", "measured", "", "range", "Tally", "baseline", "wall, ratio", "its target",
    "wall, Tally", "wall, baseline", "peak memory",
  ]

  private func cells(_ finding: Finding) -> [String] {
    let (figure, target) = (finding.figure, target(of: finding))
    let limit = target.map { Self.limit($0, finding) }
    let isTime = figure.quantity == .cpu
    return [
      figure.id, figure.name, figure.baseline, limit.map { "≤ \($0)" } ?? "",
      finding.ratio.map { Format.ratio($0, figure.quantity) } ?? Format.amount(finding.tally, figure.quantity),
      target.map { Self.verdict(finding.measured, $0.limit) } ?? "", Format.range(finding.ratios),
      Format.amount(finding.tally, figure.quantity), finding.plain.map { Format.amount($0, figure.quantity) } ?? "",
      finding.wallRatio.map { Format.ratio($0) } ?? "", Self.wall(finding, target?.wall),
      isTime ? Format.seconds(finding.tallyWall) : "", isTime ? Format.seconds(finding.plainWall) : "",
      finding.memory.map(Format.memory) ?? "",
    ]
  }

  /// The ratio, or what has no baseline, and whether it is within its target.
  func shortCells(_ id: String) -> [String] {
    guard let finding = finding(id) else { return ["", ""] }
    let target = target(of: finding)
    let limit = target.map { Self.limit($0, finding) }
    let verdict = target.map { Self.verdict(finding.measured, $0.limit) }
    return [
      finding.ratio.map { Format.ratio($0, finding.figure.quantity) }
        ?? Format.amount(finding.tally, finding.figure.quantity),
      limit.map { "≤ \($0), \(verdict ?? "")" } ?? "",
    ]
  }

  private static func limit(_ target: Target, _ finding: Finding) -> String {
    finding.ratio == nil ? Format.amount(target.limit, finding.figure.quantity) : Format.number(target.limit)
  }

  private static func wall(_ finding: Finding, _ limit: Double?) -> String {
    guard let limit, let ratio = finding.wallRatio else { return "" }
    return "≤ \(Format.number(limit)), \(verdict(ratio, limit))"
  }

  private static func verdict(_ value: Double, _ limit: Double) -> String { value <= limit ? "met" : "missed" }
}
