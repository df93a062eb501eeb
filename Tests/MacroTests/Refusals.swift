#if Macros && PlantedFaults
  import Foundation
  import Synchronization
  import Testing

  /// Macros as the compiler runs them, on text: the plugin that the tests were built with expands it.
  enum Refusals {
    struct Answer: Decodable {
      var text: String
      var syntaxErrors: [String]
      var diagnostics: [Diagnostic]
    }

    struct Diagnostic: Decodable, Equatable {
      var message: String
      var severity: String
      var line: Int
      var column: Int
      var notes: [String]
      var fixIts: [FixIt]
    }

    struct FixIt: Decodable, Equatable {
      var message: String
      var edits: [Edit]
    }

    struct Edit: Decodable, Equatable {
      var start: Int
      var end: Int
      var replacement: String
    }

    private static let plugin = Mutex<Plugin?>(nil)

    /// What a text expands to, and what is said of it. What comes out is Swift.
    static func expand(_ source: String, location: SourceLocation = #_sourceLocation) throws -> Answer {
      let answer = try plugin.withLock { plugin in
        let running = try plugin ?? Plugin()
        plugin = running
        return try running.expand(source)
      }
      #expect(answer.syntaxErrors == [], "\(answer.text)", sourceLocation: location)
      return answer
    }
  }

  /// A plugin that is asked one text after the other, and ends with the tests, when its input ends.
  private final class Plugin: @unchecked Sendable {
    private let input = Pipe()
    private let output = Pipe()
    private let process = Process()
    private var unread = Data()

    init() throws {
      process.executableURL = try BuildProducts().plugin
      process.arguments = ["--expand"]
      process.standardInput = input
      process.standardOutput = output
      try process.run()
    }

    func expand(_ source: String) throws -> Refusals.Answer {
      try input.fileHandleForWriting.write(contentsOf: JSONEncoder().encode(source) + Data("\n".utf8))
      while true {
        if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
          let line = Data(unread[..<end])
          unread = Data(unread[unread.index(after: end)...])
          return try JSONDecoder().decode(Refusals.Answer.self, from: line)
        }
        let more = output.fileHandleForReading.availableData
        try #require(!more.isEmpty, "the plugin has ended at \(source)")
        unread += more
      }
    }
  }

  /// Expects one error, its fix-its, and what the first of them (or the one of a name) makes of the text; which then
  /// has no error, unless somebody has to fill it in.
  func expectRefused(
    _ source: String, at line: Int, _ column: Int, _ message: String, fix: String, _ fixed: String,
    others: [String] = [], location: Testing.SourceLocation = #_sourceLocation
  ) throws {
    let said = try Refusals.expand(source, location: location).diagnostics
    #expect(said.map(\.message) == [message], sourceLocation: location)
    let error = try #require(said.first, sourceLocation: location)
    #expect((error.line, error.column) == (line, column), sourceLocation: location)
    #expect(error.severity == "error" && error.notes == [], sourceLocation: location)
    #expect(error.fixIts.map(\.message) == [fix] + others, sourceLocation: location)

    // From the end, so that what comes before stays where it is; without those that change nothing.
    let edits = error.fixIts.filter { $0.message == fix }.flatMap(\.edits)
      .filter { $0.start < $0.end || !$0.replacement.isEmpty }.sorted { $0.start > $1.start }
    var bytes = Array(source.utf8)
    for (later, edit) in zip([nil] + edits, edits) {
      #expect(later.map { edit.end <= $0.start } ?? true, "two edits of one place", sourceLocation: location)
      bytes.replaceSubrange(edit.start..<edit.end, with: Array(edit.replacement.utf8))
    }
    #expect(String(decoding: bytes, as: UTF8.self) == fixed, sourceLocation: location)

    guard !fixed.contains("<#") else { return }
    let left = try Refusals.expand(fixed, location: location).diagnostics.map(\.message)
    #expect(left.isEmpty, "\(fixed)", sourceLocation: location)
  }
#endif
