import Foundation

/// The page that shows the figures: what stands between its markers is replaced, the rest is written by people. All
/// that was measured goes into the folder of the page's name, and a figure a line to the page.
struct Page {
  static let begin = "<!-- measured -->"
  static let end = "<!-- end of measured -->"
  var path: String

  func update(_ report: Report) throws {
    let page = try String(contentsOfFile: path, encoding: .utf8)
    guard let begin = page.range(of: Self.begin), let end = page.range(of: Self.end), begin.upperBound <= end.lowerBound
    else { throw Mistake("\(path) has no markers \(Self.begin) and \(Self.end)") }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let charts = try writeCharts(report)
    let tables = "# All that was measured\n\n\(report.summary) [Benchmarks](../\(name)) says how.\n\n\(report.markdown)"
    try Data(tables.utf8).write(to: folder.appendingPathComponent("tables.md"))
    let content = ([report.summary] + charts + [report.shortMarkdown]).joined(separator: "\n\n")
    let updated = page[..<begin.upperBound] + "\n\n" + content + "\n" + page[end.lowerBound...]
    try Data(updated.utf8).write(to: URL(fileURLWithPath: path))
  }

  private var folder: URL { URL(fileURLWithPath: path).deletingPathExtension() }
  private var name: String { URL(fileURLWithPath: path).lastPathComponent }

  /// Writes the charts, and gives the lines that show them.
  private func writeCharts(_ report: Report) throws -> [String] {
    try Chart.all(report).map { name, chart in
      try Data(chart.svg.utf8).write(to: folder.appendingPathComponent(name + ".svg"))
      return "![\(chart.title)](\(folder.lastPathComponent)/\(name).svg)"
    }
  }
}
