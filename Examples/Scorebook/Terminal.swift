import Foundation

/// Prints the story. In colour only on a terminal, and never when NO_COLOR is set (https://no-color.org).
struct Terminal {
  enum Style: String {
    case bold = "1"
    case dim = "2"
    case red = "31"
    case green = "32"
    case yellow = "33"
    case cyan = "36"
  }

  private let hasColour: Bool

  init() {
    let noColour = ProcessInfo.processInfo.environment["NO_COLOR"] ?? ""
    hasColour = noColour.isEmpty && isatty(STDOUT_FILENO) == 1
  }

  func styled(_ text: String, _ style: Style) -> String {
    hasColour ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }

  func act(_ title: String) { print("\n" + styled(title, .bold) + "\n") }

  func say(_ text: String) { print("  " + text) }

  func step(_ device: String, _ time: String, _ what: String) {
    let label = styled(padded(device, 6), device == "phone" ? .cyan : .yellow)
    print("  \(label) \(styled(time, .dim))  \(what)")
  }

  func sync(_ text: String) { print("  " + styled("sync", .bold) + "          \(text)") }

  func check(_ text: String, _ isFulfilled: Bool) {
    print("  " + (isFulfilled ? styled("✓", .green) : styled("✗", .red)) + " \(text)")
  }

  func complain(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
}

/// The text with spaces after it up to the width.
func padded(_ text: String, _ width: Int) -> String {
  text + String(repeating: " ", count: max(0, width - text.count))
}
