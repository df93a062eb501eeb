import ArgumentParser
import Tally
import TallyInspection
import TallyStore

struct DiffCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff",
    abstract: "Prints what one store has and another lacks, record by record.",
    discussion: """
      First which transactions of which replicas each lacks, then each record that these have changed, with the reason if one of the \
      two does not show it. It costs what the two do not have in common. Both are only read. 65 if they differ.

      Example: tally diff phone.tally tablet.tally
      """)

  @Argument(help: "One store's file.") var first: String
  @Argument(help: "The other store's file.") var second: String
  @OptionGroup var waiting: WaitingOptions
  @Option(help: "At most this many records.") var limit = 1_000
  @Flag(help: "Print one line of JSON for the difference and one for each record.") var json = false

  func validate() throws {
    guard limit >= 0 else { throw ValidationError("--limit is negative") }
  }

  func run() throws {
    let names = InspectCommand.names(of: [first, second])
    let isEqual = try OpenStore.reading(first, waiting.timeout) { one in
      try OpenStore.reading(second, waiting.timeout) { other in
        try print((names[0], one), (names[1], other))
      }
    }
    if !isEqual { throw Failure(.badData, "the stores differ") }
  }

  /// - Returns: whether the two are equal.
  private func print(_ one: (String, Store), _ other: (String, Store)) throws -> Bool {
    let comparison = StoreComparison(one, other, try ReplicaDirectory([one, other]))
    var page = try comparison.page(limit: min(limit, 100))
    try Output.run { output in
      if json {
        var head = page
        (head.records, head.next) = ([], nil)
        try output.line(InspectionJSON.text(head))
      } else {
        try output.line(printable(page.sentence))
      }
      var left = limit
      // A record that several transactions have changed may be on several pages.
      var named = Set<String>()
      while true {
        for record in page.records.prefix(left) where named.insert(record.name).inserted {
          for line in try json ? [InspectionJSON.text(record)] : Self.lines(record, page).map(printable) {
            try output.line(line)
          }
        }
        left -= page.records.count
        guard left > 0, let next = page.next else { break }
        page = try comparison.page(from: next, limit: min(left, 100))
      }
      if left <= 0, page.next != nil, !json { try output.line("…") }
    }
    return page.isSameVector && page.isSameContent
  }

  private static func lines(_ record: StoreDifference.Record, _ page: StoreDifference) -> [String] {
    var lines = [record.name, "  \(record.sentence)"]
    if let sentence = record.followerSentence(page.first, page.second) { lines.append("  \(sentence)") }
    for field in record.fields {
      var (mine, theirs) = (text(field.first), text(field.second))
      if mine.looks(like: theirs), field.first?.value != field.second?.value {
        (mine, theirs) = (mine.spelledOut, theirs.spelledOut)
      }
      lines.append("  \(field.field): \(page.first) \(mine), \(page.second) \(theirs)")
    }
    if record.otherFields > 0 { lines.append("  and \(record.otherFields) more fields") }
    return lines
  }

  private static func text(_ field: RecordReport.Field?) -> Words { Words(field?.value) }

  /// A value in words.
  private struct Words: CustomStringConvertible {
    private let value: ValuePreview?
    private var isSpelledOut = false

    init(_ value: ValuePreview?) { self.value = value }

    /// Whether a person might take both for the same.
    func looks(like other: Self) -> Bool { Self.visible(description) == Self.visible(other.description) }

    /// The same with each character beyond ASCII as its number.
    var spelledOut: Self {
      var result = self
      result.isSpelledOut = true
      return result
    }

    var description: String {
      guard let value else { return "–" }
      guard isSpelledOut, value.kind == .text else { return shownValue(value) }
      let spelled = value.text.unicodeScalars.map { scalar in
        scalar.isASCII && isPrintable(scalar) ? "\(scalar)" : "\\u{\(String(scalar.value, radix: 16))}"
      }
      return shown(spelled.joined())
    }

    /// The visible part of a text. Swift compares strings by canonical equivalence, so NFC and NFD are equal here.
    private static func visible(_ text: String) -> String {
      let scalars = printable(text).unicodeScalars.filter { scalar in
        !scalar.properties.isDefaultIgnorableCodePoint && scalar.properties.generalCategory != .format && scalar != "?"
      }
      return String(String.UnicodeScalarView(scalars))
    }
  }
}

/// A value for a line on a terminal.
func shownValue(_ value: ValuePreview) -> String {
  switch value.kind {
  case .null: "null"
  case .integer, .real: value.text
  case .text: shown(value.text)
  case .blob: "\(value.bytes) bytes"
  }
}
