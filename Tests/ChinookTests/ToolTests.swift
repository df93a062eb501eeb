import Foundation
import Tally
import Testing

/// The same records through the `tally` tool: the converter writes JSON lines, the tool reads them.
@Suite struct ToolTests {
  @Test(.enabled(if: Tool.isBuilt, "the tool is not built; swift build builds it"))
  func twoStoresThatImportedTheSameFileApartSyncWithoutDuplicates() throws {
    let fixture = try ChinookFixture(contentsOf: ChinookData.extract())
    let tool = try Tool()
    try tool.write(Chinook.schema.json(), to: "schema.json")
    let lines = try fixture.jsonLines()
    try tool.write(Data(lines.utf8), to: "all.jsonl")
    // The other begins with the end of the file, so that references and links lead to later lines.
    let reversed = lines.split(separator: "\n").reversed().joined(separator: "\n")
    try tool.write(Data(reversed.utf8), to: "reversed.jsonl")

    for (store, file) in [("first.tally", "all.jsonl"), ("second.tally", "reversed.jsonl")] {
      try tool.run("new", store, "--schema", "schema.json")
      let answer = try tool.run("import", store, file, "--batch", "20")
      #expect(answer == "imported \(fixture.records.count) lines\n")
    }
    #expect(try tool.run("sync", "first.tally", "second.tally").contains("converged"))
    for store in ["first.tally", "second.tally"] {
      #expect(try tool.run("verify", store).hasPrefix("ok "))
      let store = try Store(existing: tool.path(store))
      try expectContents(store, "imported", equal: fixture.records)
      try store.close()
    }
    #expect(try tool.run("dump", "first.tally") == tool.run("dump", "second.tally"))
  }
}

/// The built tool, in a folder that disappears with the test.
private final class Tool {
  /// What a command that failed said.
  struct Failed: Error {
    var arguments: [String]
    var status: Int32
  }

  /// The tool stands beside the folder of the test's resources.
  private static let executable = Bundle.module.bundleURL.deletingLastPathComponent().appendingPathComponent("tally")
  static var isBuilt: Bool { FileManager.default.isExecutableFile(atPath: executable.path) }

  private let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-tool-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

  func write(_ data: Data, to name: String) throws { try data.write(to: folder.appendingPathComponent(name)) }

  /// Runs a command in the folder; gives what it printed.
  @discardableResult
  func run(_ arguments: String...) throws -> String {
    let process = Process()
    let output = Pipe()
    process.executableURL = Self.executable
    process.arguments = arguments
    process.currentDirectoryURL = folder
    process.standardOutput = output
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failed(arguments: arguments, status: process.terminationStatus) }
    return String(decoding: data, as: UTF8.self)
  }
}
