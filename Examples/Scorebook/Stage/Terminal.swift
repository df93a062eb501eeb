import Foundation

/// Prints the story, at most 100 columns wide. In color only on a terminal, and never when NO_COLOR is set
/// (https://no-color.org).
final class Terminal {
  enum Style: String {
    case bold = "1"
    case dim = "2"
    case red = "31"
    case green = "32"
    case yellow = "33"
    case cyan = "36"
  }

  /// The most columns that a line takes.
  static let width = 98

  private let hasColor: Bool
  private var isInLanes = false

  init() {
    let noColor = ProcessInfo.processInfo.environment["NO_COLOR"] ?? ""
    hasColor = noColor.isEmpty && isatty(STDOUT_FILENO) == 1
  }

  func styled(_ text: String, _ style: Style) -> String {
    hasColor ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }

  // MARK: Lines

  func act(_ title: String) {
    let rule = String(repeating: "─", count: max(3, Self.width - title.count - 4))
    line("\n" + styled("── \(title) \(rule)", .bold) + "\n")
  }

  func say(_ text: String = "") {
    for part in wrapped(text, Self.width - 2) { line(part.isEmpty ? "" : "  " + part) }
  }

  func check(_ text: String, _ isFulfilled: Bool) {
    let mark = isFulfilled ? styled("✓", .green) : styled("✗", .red)
    for (index, part) in wrapped(text, Self.width - 4).enumerated() { line("  \(index == 0 ? mark : " ") \(part)") }
  }

  /// A line of a table, as it is.
  func row(_ text: String) { line("  " + text) }

  func complain(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

  private func line(_ text: String) {
    if isInLanes { print() }
    isInLanes = false
    print(text)
  }

  // MARK: Lanes

  /// Performs a step on one device while the two are apart: the phone's column is on the left, the tablet's on the
  /// right.
  func step(_ device: String, isLeft: Bool, _ time: String, _ what: String) {
    let lane = 46
    if !isInLanes {
      print("  \(styled(padded("phone", lane), .cyan)) │ \(styled("tablet", .yellow))")
      isInLanes = true
    }
    for (index, part) in wrapped(what, lane - 6).enumerated() {
      let clock = styled(index == 0 ? time : "     ", .dim)
      let rest = String(repeating: " ", count: max(0, lane - 6 - part.count))
      let blank = String(repeating: " ", count: lane)
      print(isLeft ? "  \(clock) \(part)\(rest) │" : "  \(blank) │ \(clock) \(part)")
    }
  }
}

/// The text with spaces after it up to the width, or cut to it.
func padded(_ text: String, _ width: Int) -> String {
  guard text.count <= width else { return text.prefix(width - 1) + "…" }
  return text + String(repeating: " ", count: width - text.count)
}

/// The text in lines that are not longer than the width; words stay whole.
func wrapped(_ text: String, _ width: Int) -> [String] {
  var lines = [""]
  for word in text.split(separator: " ", omittingEmptySubsequences: false) {
    let last = lines[lines.count - 1]
    if last.isEmpty {
      lines[lines.count - 1] = String(word)
    } else if last.count + 1 + word.count <= width {
      lines[lines.count - 1] = "\(last) \(word)"
    } else {
      lines.append(String(word))
    }
  }
  return lines
}
