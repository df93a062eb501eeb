import Foundation
import Observation
import Tally
import Testing

/// What the README and the pages show is what is compiled and run.
@Suite(.timeLimit(.minutes(5))) struct ReadmeTests {
  @MainActor @Test func theReadmesListSyncs() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    let shared = folder.appendingPathComponent("shared")
    try FileManager.default.createDirectory(at: shared, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let phone = try await Groceries(file: folder.path + "/phone.tally", shared: shared)
    let tablet = try await Groceries(file: folder.path + "/tablet.tally", shared: shared)
    try await phone.add("Milk")
    try await tablet.add("Bread")
    for list in [phone, tablet] {
      while list.items.value.map(\.title) != ["Bread", "Milk"] {
        await withCheckedContinuation { wait in
          withObservationTracking({ _ = list.items.value }, onChange: { wait.resume() })
        }
      }
    }
    for list in [phone, tablet] { await list.engine.pause() }
  }

  @Test func everyQuotedSampleIsInTheFileThatItNames() throws {
    var quotes = 0
    for page in try pages() {
      for quote in try text(page).matches(of: /<!-- quoted from (?<file>\S+) -->\n```swift\n(?<code>(?s:.*?))```\n/) {
        quotes += 1
        #expect(try isPart(String(quote.code), of: text(String(quote.file))), "\(page) misquotes \(quote.file)")
      }
    }
    #expect(quotes > 0)
  }

  @Test func everyFileThatAPageLinksIsThere() throws {
    var links = 0
    for page in try pages() {
      let folder = Self.repository.appendingPathComponent(page).deletingLastPathComponent()
      for link in try text(page).matches(of: /\]\((?<path>[^)#:\s]+)(?:#[^)]*)?\)/) {
        links += 1
        let path = folder.appendingPathComponent(String(link.path)).standardizedFileURL.path
        #expect(FileManager.default.fileExists(atPath: path), "\(page) links \(link.path)")
      }
    }
    #expect(links > 0)
  }

  /// A page that repeats lines of another's table, or its figures of 100,000 records in a sentence, says so in the line
  /// above.
  @Test func figuresAreThoseOfTheBenchmark() throws {
    var quotes = 0
    for page in try pages() {
      for quote in try text(page).matches(
        of: /<!-- figures of (?<file>[^\s:]+)(?:: (?<ids>[^>]+))? -->\n(?<block>(?s:.*?))(?:\n\n|$)/)
      {
        quotes += 1
        let lines = Set(try text(String(quote.file)).split(separator: "\n"))
        for id in (quote.ids ?? "").split(separator: " ") {
          let cells = lines.first { $0.hasPrefix("| \(id) |") }?.split(separator: "|") ?? []
          let figure = cells.dropLast().last.map { $0.trimmingPrefix(" ").prefix { $0 != " " } }
          #expect(figure.map { quote.block.contains($0) } == true, "\(page) has another figure of \(id)")
        }
        guard quote.ids == nil else { continue }
        for line in quote.block.split(separator: "\n") { #expect(lines.contains(line), "\(page) has another line") }
      }
    }
    #expect(quotes > 1)
  }

  @Test func theReadmeIsShort() throws {
    #expect(try text("README.md").split(separator: "\n", omittingEmptySubsequences: false).count <= 151)
  }

  /// The same app by hand and with the macro, in Tests/DocExamples: the page has the numbers of lines, and of names of
  /// Tally's.
  @Test func theCountedAppHasAsManyLinesAsThePageSays() throws {
    let page = try text("Sources/Tally/Tally.docc/HowItCompares.md")
    let apps = try ["AppByHand", "AppWithMacro"].map { try countedParts("Tests/DocExamples/\($0).swift") }
    let (byHand, withMacro) = (apps[0], apps[1])
    #expect(byHand.map(\.name) == withMacro.map(\.name) && !byHand.isEmpty)
    for (one, other) in zip(byHand, withMacro) {
      #expect(page.contains("| \(one.name) | \(one.lines.count) | \(other.lines.count) |"), "\(one.name)")
    }
    let sums = apps.map { parts in parts.map(\.lines.count).reduce(0, +) }
    #expect(page.contains("| **sum** | **\(sums[0])** | **\(sums[1])** |"), "\(sums)")
    let words = try apps.map { try names(in: $0).count }
    #expect(page.contains("| names of Tally's | \(words[0]) | \(words[1]) |"), "\(words)")
    #expect(sums[0] <= 110 && sums[1] <= 85 && words[1] <= 13)
  }

  /// With iCloud in the place of a folder, the same app is no longer, and has as many names.
  @Test func theCountedAppIsAsShortOverICloud() throws {
    let folder = try countedParts("Tests/DocExamples/AppWithMacro.swift")
    let iCloud = try #require(try countedParts("Tests/DocExamples/AppOverICloud.swift").first)
    let app = folder.filter { $0.name != iCloud.name } + [iCloud]
    let lines = app.map(\.lines.count).reduce(0, +)
    #expect(lines <= 85 && folder.contains { $0.name == iCloud.name })
    let page = try text("Sources/Tally/Tally.docc/HowItCompares.md")
    #expect(page.contains("over iCloud it has \(lines) lines and as many names"))
    #expect(try names(in: app).count == names(in: folder).count)
  }

  /// The names of Tally's in these parts.
  private func names(in parts: [(name: String, lines: [Substring])]) throws -> Set<String> {
    let face = try text("Sources/Tally/Tally.swift").matches(of: /import (?:struct|class|enum|protocol) \w+\.(\w+)/)
    let known = face.map { String($0.1) } + ["@Entity", "@Field", "@Members", "CloudKitAccount"]
    let code = parts.flatMap(\.lines).joined(separator: "\n")
    return Set(code.split { !($0.isLetter || $0.isNumber || $0 == "@") }.map(String.init)).intersection(known)
  }

  /// The parts of a file that begin with `// counted: NAME`, without empty lines and comments.
  private func countedParts(_ path: String) throws -> [(name: String, lines: [Substring])] {
    let parts = try text(path).components(separatedBy: "// counted: ").dropFirst()
    return parts.map { part in
      let lines = part.split(separator: "\n")
      let code = lines.dropFirst().filter { line in
        let code = line.trimmingPrefix { $0 == " " }
        // The end of the enum that everything is in, and of `#if`.
        return !code.isEmpty && !code.hasPrefix("//") && !code.hasPrefix("#endif")
      }
      return (String(lines.first ?? ""), part == parts.last ? Array(code.dropLast()) : Array(code))
    }
  }

  /// Whether the lines of a sample are in a file one after another, whatever their common indentation.
  private func isPart(_ sample: String, of file: String) -> Bool {
    func lines(_ text: String) -> [String] {
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
      let indents = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }
      return lines.map { String($0.dropFirst(indents.min() ?? 0)) }
    }
    let (sample, file) = (
      Array(lines(sample).dropLast()), file.split(separator: "\n", omittingEmptySubsequences: false)
    )
    guard !sample.isEmpty, sample.count <= file.count else { return false }
    return (0...file.count - sample.count).contains { start in
      lines(file[start..<start + sample.count].joined(separator: "\n")) == sample
    }
  }

  /// The README, what programs read in its place, and the pages of all kinds.
  private func pages() throws -> [String] {
    try ["", "Docs", "Docs/Benchmarks", "Docs/Decisions", "Sources/Tally/Tally.docc"].flatMap { folder in
      try FileManager.default.contentsOfDirectory(atPath: Self.repository.appendingPathComponent(folder).path)
        .filter { $0.hasSuffix(".md") || $0 == "llms.txt" }.sorted().map { folder.isEmpty ? $0 : "\(folder)/\($0)" }
    }
  }

  private func text(_ path: String) throws -> String {
    try String(contentsOf: Self.repository.appendingPathComponent(path), encoding: .utf8)
  }

  private static var repository: URL {
    var url = URL(fileURLWithPath: #filePath)
    for _ in 0..<3 { url.deleteLastPathComponent() }
    return url
  }
}
