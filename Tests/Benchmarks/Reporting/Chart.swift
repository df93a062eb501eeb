import Foundation

/// Horizontal bars with the target as a line across each.
struct Chart {
  struct Bar {
    var label: String
    var value: Double
    var target: Double?
  }

  var title: String
  private(set) var bars: [Bar] = []

  /// One chart of processor time and one of bytes, of the section with 100,000 records or else the last.
  static func all(_ report: Report) -> [(String, Chart)] {
    guard let section = report.sections.first(where: { $0.records == 100_000 }) ?? report.sections.last else {
      return []
    }
    let records = "\(Format.count(section.records)) records"
    return [
      ("time", Chart("Processor time, as a multiple of plain SQLite, \(records); bars end at 4", .cpu, section)),
      ("bytes", Chart("Bytes, as a multiple of the bare data, \(records)", .bytes, section)),
    ].filter { !$0.1.bars.isEmpty }
  }

  private init(_ title: String, _ quantity: Figure.Quantity, _ section: Section) {
    self.title = title
    bars = section.findings.filter { $0.figure.quantity == quantity }.compactMap { finding in
      guard let ratio = finding.ratio else { return nil }
      let label = "\(finding.figure.id) \(finding.figure.name)"
      return Bar(label: label, value: ratio, target: section.target(of: finding)?.limit)
    }
  }

  // MARK: SVG

  private static let (labels, width, step, top, limit) = (470.0, 400.0, 24.0, 44.0, 4.0)

  var svg: String {
    let height = Self.top + Self.step * Double(bars.count) + 16
    let size = String(format: "%.0f %.0f", Self.labels + Self.width + 70, height)
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(size)" font-family="system-ui, sans-serif" font-size="13">
      <rect width="100%" height="100%" fill="#ffffff"/>
      <text x="12" y="24" font-size="15" font-weight="600" fill="#1f2328">\(Self.escaped(title))</text>
      \(bars.enumerated().map(row).joined(separator: "\n"))
      </svg>

      """
  }

  private func row(_ index: Int, _ bar: Bar) -> String {
    let y = Self.top + Self.step * Double(index)
    let isMissed = bar.target.map { bar.value > $0 } ?? false
    let end = Self.labels + length(bar.value)
    let label = Self.text(bar.label, x: Self.labels - 8, y: y + 13, anchor: "end")
    let rectangle = String(
      format: #"<rect x="%.0f" y="%.0f" width="%.1f" height="16" fill=""#, Self.labels, y, length(bar.value))
    let colour = isMissed ? "#c4622d" : bar.target == nil ? "#8c959f" : "#2f6f9f"
    let number = Self.text(String(format: "%.2f", bar.value), x: end + 8, y: y + 13, anchor: "start")
    return ([label, rectangle + colour + "\"/>", number] + (bar.target.map { [tick($0, y)] } ?? [])).joined(
      separator: "\n")
  }

  private func tick(_ target: Double, _ y: Double) -> String {
    let x = Self.labels + length(target)
    return String(
      format: ##"<line x1="%.1f" x2="%.1f" y1="%.0f" y2="%.0f" stroke="#1f2328" stroke-width="2"/>"##, x, x, y - 2,
      y + 18)
  }

  /// A bar that is longer than the chart ends there; its number says how long it is.
  private func length(_ value: Double) -> Double {
    let most = bars.flatMap { [$0.value, $0.target ?? 0] }.max() ?? 1
    return Self.width * min(value / max(min(most, Self.limit), 1), 1)
  }

  private static func text(_ text: String, x: Double, y: Double, anchor: String) -> String {
    let place = String(format: #"<text x="%.1f" y="%.0f""#, x, y)
    return "\(place) text-anchor=\"\(anchor)\" fill=\"#1f2328\">\(escaped(text))</text>"
  }

  private static func escaped(_ text: String) -> String {
    text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
  }
}
