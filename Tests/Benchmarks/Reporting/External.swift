import Foundation

/// Figures of another program, measured on the same machine with the same rows: Docs/Benchmarks/other-programs.md has
/// the form.
struct External: Codable {
  var program: String
  /// `Machine.name` of where it was measured.
  var machine: String
  var figures: [Amount]

  struct Amount: Codable {
    /// `Figure.id`.
    var workload: String
    var records: Int
    var cpuSeconds: Double?
    var wallSeconds: Double?
    /// Of plain SQLite in the same run as `cpuSeconds`.
    var baselineCPUSeconds: Double?
    var bytes: Double?

    /// The ratio and what it is made of.
    var text: String {
      var parts: [String] = []
      if let cpuSeconds, let baselineCPUSeconds {
        parts.append("\(Format.ratio(cpuSeconds / baselineCPUSeconds)) (\(Format.seconds(cpuSeconds)))")
      }
      if let wallSeconds { parts.append("wall \(Format.seconds(wallSeconds))") }
      if let bytes { parts.append(Format.bytes(bytes)) }
      return parts.joined(separator: ", ")
    }
  }

  init(path: String) throws {
    do {
      self = try JSONDecoder().decode(External.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    } catch {
      throw Mistake("\(path) has no figures that can be read: \(error)")
    }
    for figure in figures {
      guard figure.bytes != nil || figure.cpuSeconds != nil else {
        throw refusal("\(figure.workload) has neither cpuSeconds nor bytes")
      }
      guard figure.cpuSeconds == nil || (figure.baselineCPUSeconds ?? 0) > 0 else {
        throw refusal("\(figure.workload) has no baselineCPUSeconds of the same run")
      }
    }
  }

  func figure(_ id: String, _ records: Int) -> Amount? {
    figures.first { $0.workload == id && $0.records == records }
  }

  /// Figures stand beside ours only where they can be compared.
  func check(machine name: String, records: [Int]) throws {
    guard machine == name else { throw refusal("measured on '\(machine)', and this is '\(name)'") }
    for figure in figures where !records.contains(figure.records) {
      throw refusal("\(figure.workload) has \(figure.records) records, and this run has \(records)")
    }
  }

  func check(_ report: Report) throws {
    try check(machine: report.machine.name, records: report.sections.map(\.records))
    for figure in figures {
      guard report.sections.contains(where: { $0.records == figure.records && $0.finding(figure.workload) != nil })
      else { throw refusal("this run has no figure \(figure.workload) with \(figure.records) records") }
    }
  }

  private func refusal(_ reason: String) -> Mistake { Mistake("figures of \(program) are refused: \(reason)") }
}
