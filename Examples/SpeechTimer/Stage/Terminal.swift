import Foundation

/// Prints the story, at most 100 columns wide. In color only on a terminal, and never when NO_COLOR is set
/// (https://no-color.org).
struct Terminal {
  enum Style: String {
    case bold = "1"
    case dim = "2"
    case red = "31"
    case green = "32"
    case yellow = "33"
    case blue = "34"
    case purple = "35"
    case cyan = "36"

    /// The style of a color's name.
    init?(named name: String) {
      let colors: [String: Style] = [
        "red": .red, "green": .green, "yellow": .yellow, "blue": .blue, "purple": .purple, "cyan": .cyan,
      ]
      guard let style = colors[name] else { return nil }
      self = style
    }
  }

  private static let width = 98
  private let hasColor: Bool

  init() {
    let noColor = ProcessInfo.processInfo.environment["NO_COLOR"] ?? ""
    hasColor = noColor.isEmpty && isatty(STDOUT_FILENO) == 1
  }

  func styled(_ text: String, _ style: Style) -> String {
    hasColor ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }

  func title(_ text: String) {
    let rule = String(repeating: "─", count: max(3, Self.width - text.count - 4))
    print("\n" + styled("── \(text) \(rule)", .bold))
  }

  /// Text in lines that end between words.
  func say(_ text: String) { for line in wrapped(text) { print("  " + line) } }

  /// Prints a step that somebody takes.
  func step(_ text: String) {
    print()
    for line in wrapped(text) { print("  " + styled(line, .bold)) }
  }

  private func wrapped(_ text: String) -> [String] {
    text.split(separator: " ").reduce(into: [""]) { lines, word in
      let last = lines.count - 1
      if lines[last].isEmpty {
        lines[last] = String(word)
      } else if lines[last].count + 1 + word.count <= Self.width - 2 {
        lines[last] += " " + word
      } else {
        lines.append(String(word))
      }
    }
  }

  /// A line of a table.
  func row(_ text: String) { print("  " + text.replacing(#/\ +$/#, with: "")) }

  func check(_ text: String, _ isFulfilled: Bool) {
    print("  " + (isFulfilled ? styled("✓", .green) : styled("✗", .red)) + " \(text)")
  }

  func complain(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
}
