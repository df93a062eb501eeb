import Foundation
import TallyRig
import TallyTesting
import Testing

/// What `Docs/Testing.md` and `Docs/PlantedFaults.md` show is what runs.
@Suite struct PageTests {
  private static func text(_ path: String) throws -> String {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  @Test func theExampleOfThePageIsTheOneThatRuns() throws {
    let source = try Self.text("Tests/SimulatorTests/ExampleTests.swift")
    let parts = source.components(separatedBy: "// example\n")
    let example = try #require(parts.last?.components(separatedBy: "// end of example").first)
    #expect(try Self.text("Docs/Testing.md").contains("```swift\n\(example)```"))
  }

  @Test func thePageHasEveryPlantedFault() throws {
    let page = try Self.text("Docs/PlantedFaults.md")
    for bug in PlantedBug.all { #expect(page.contains("| `\(bug.name)` |"), "\(bug.name) is not in the table") }
  }
}
