import Foundation
import Testing

/// What the README shows compiles, runs and prints what it says.
@Suite struct ReadmeTests {
  @Test func theExampleIsTheFileThatIsCompiledHere() throws {
    let example = try blocks("swift").filter { $0.contains("func twoReplicas()") }
    #expect(example == [try text("Tests/ReadmeTests/Replicas.swift")])
  }

  @Test func theExamplePrintsWhatTheReadmeSays() throws {
    let printed = try twoReplicas() + "\n"
    #expect(try blocks("").contains(printed), "\(printed)")
  }

  @Test func everyDocumentThatTheReadmeLinksIsThere() throws {
    let links = try text("README.md").matches(of: /\]\((?<path>[^)#:]+)\)/).map { String($0.path) }
    #expect(!links.isEmpty)
    for link in links {
      #expect(FileManager.default.fileExists(atPath: Self.repository.appendingPathComponent(link).path), "\(link)")
    }
  }

  /// The README's code blocks of one language.
  private func blocks(_ language: String) throws -> [String] {
    var blocks: [String] = []
    var current: (language: String, text: String)?
    for line in try text("README.md").split(separator: "\n", omittingEmptySubsequences: false) {
      if !line.hasPrefix("```") {
        current?.text += line + "\n"
      } else if let block = current {
        if block.language == language { blocks.append(block.text) }
        current = nil
      } else {
        current = (String(line.dropFirst(3)), "")
      }
    }
    return blocks
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
