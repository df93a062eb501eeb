/// A table as lines of text.
struct TextTable: Equatable {
  var title: String
  var lines: [String]
}

/// Prints the tables of two devices beside each other; lines that differ are marked.
struct SideBySide {
  private static let column = 46
  private let names: (left: String, right: String)
  private let terminal: Terminal

  init(left: String, right: String, _ terminal: Terminal) {
    names = (left, right)
    self.terminal = terminal
  }

  func show(_ left: [TextTable], _ right: [TextTable]) {
    terminal.row(
      "\(terminal.styled(padded(names.left, Self.column), .cyan)) │ \(terminal.styled(names.right, .yellow))")
    for (ours, theirs) in zip(left, right) {
      terminal.row(terminal.styled("\(padded(ours.title, Self.column)) │ \(theirs.title)", .dim))
      for index in 0..<max(ours.lines.count, theirs.lines.count) {
        let pair = (line(ours, index), line(theirs, index))
        let row = "\(padded(pair.0, Self.column)) │ \(pair.1)\(pair.0 == pair.1 ? "" : "  ≠")"
        terminal.row(pair.0 == pair.1 ? row : terminal.styled(row, .red))
      }
    }
  }

  private func line(_ table: TextTable, _ index: Int) -> String {
    index < table.lines.count ? "  " + table.lines[index] : ""
  }
}
