import Foundation

/// What a run found, as text, as JSON and as a verdict.
struct Report: Codable {
  var machine: Machine
  var sections: [Section] = []
  var programs: [External] = []

  init(machine: Machine) { self.machine = machine }

  init(json: Data) throws { self = try JSONDecoder().decode(Report.self, from: json) }

  func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    return try encoder.encode(self)
  }

  /// How it was measured.
  var summary: String {
    ([machine.text] + [machine.warning].compactMap { $0 }).joined(separator: " ")
  }

  var text: String {
    let tables = sections.map { "\($0.title)\n\n\($0.table(programs).text)" }
    return ([summary] + tables + [growth?.text].compactMap { $0 }).joined(separator: "\n\n")
  }

  var markdown: String {
    let tables = sections.map { "### \($0.title)\n\n\($0.table(programs).markdown)" }
    let growth = growth.map {
      ["### Growth\n\nThe cost for each record, against the number of records before.\n\n\($0.markdown)"]
    }
    return (tables + (growth ?? [])).joined(separator: "\n")
  }

  /// A line for each figure, with what each number of records has found.
  var shortMarkdown: String {
    let columns = sections.flatMap { ["\(Format.count($0.records)) records", "target"] }
    var rows: [[String]] = []
    for finding in sections.last?.findings ?? [] {
      let cells = sections.flatMap { $0.shortCells(finding.figure.id) }
      rows.append([finding.figure.id, finding.figure.name] + cells)
    }
    return TextTable(headings: ["", "what"] + columns, rows: rows).markdown
  }

  /// How costs for each record grow; nil with one number of records.
  private var growth: TextTable? {
    let lines = Growth.all(sections)
    return lines.isEmpty ? nil : TextTable(headings: Growth.headings, rows: lines.map(\.cells))
  }

  /// - Throws: `Mistake` with the figures that are far outside.
  func requireTargets(times factor: Double) throws {
    let outside = sections.flatMap { section in
      section.findings.filter { finding in
        section.target(of: finding).map { finding.measured > factor * $0.gate } ?? false
      }
    }
    guard outside.isEmpty else {
      let names = outside.map { "\($0.figure.id) \($0.figure.name), against \($0.figure.baseline)" }
      throw Mistake(
        "more than \(factor) times the target, or of what is known to miss it: \(names.joined(separator: "; "))")
    }
  }
}
