/// Columns of even width for a terminal, or a table in Markdown.
struct TextTable {
  var headings: [String]
  var rows: [[String]]

  var text: String {
    let widths = headings.indices.map { column in ([headings] + rows).map { $0[column].count }.max() ?? 0 }
    return ([headings] + rows).map { row in
      zip(row, widths).map { cell, width in cell + String(repeating: " ", count: width - cell.count) }
        .joined(separator: "  ") + "\n"
    }.joined()
  }

  var markdown: String {
    ([headings, headings.map { _ in "---" }] + rows).map { "| " + $0.joined(separator: " | ") + " |\n" }.joined()
  }
}
