/// The text of help as a terminal of 80 columns shows it.
enum HelpText {
  static let width = 80
  private static let label = "USAGE: "

  /// The text with its synopsis in lines of this width; everything else is so already.
  static func wrapped(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      line.hasPrefix(label) && line.count > width ? synopsis(line) : String(line)
    }.joined(separator: "\n")
  }

  private static func synopsis(_ line: Substring) -> String {
    let indent = String(repeating: " ", count: label.count + 2)
    var lines: [String] = []
    var current = ""
    for item in items(line) {
      if !current.isEmpty, current.count + 1 + item.count > width {
        lines.append(current)
        current = indent + item
      } else {
        current += (current.isEmpty ? "" : " ") + item
      }
    }
    return (lines + [current]).joined(separator: "\n")
  }

  /// The words of a synopsis, of which an option and its value are one.
  private static func items(_ line: Substring) -> [String] {
    var items: [String] = []
    var depth = 0
    for word in line.split(separator: " ") {
      let isValue = depth == 0 && word.hasPrefix("<") && items.last?.hasPrefix("-") == true
      if depth > 0 || isValue || word == "..." {
        items[items.count - 1] += " " + word
      } else {
        items.append(String(word))
      }
      depth += word.count { $0 == "[" } - word.count { $0 == "]" }
    }
    return items
  }
}
