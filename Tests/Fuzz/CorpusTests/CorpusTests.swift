import Foundation
import Testing

/// Every input that fuzzing has kept, and every one that once broke something, in an ordinary build.
@Suite struct CorpusTests {
  private static let corpus = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Corpus")

  private static func inputs(_ target: String) throws -> [(name: String, bytes: [UInt8])] {
    let folder = corpus.appendingPathComponent(target)
    return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map { name in
      (name, Array(try Data(contentsOf: folder.appendingPathComponent(name))))
    }
  }

  @Test(arguments: FuzzTarget.all.map(\.name)) func everyKeptInputIsHandled(_ name: String) throws {
    let target = try #require(FuzzTarget.named(name))
    let inputs = try Self.inputs(name)
    #expect(!inputs.isEmpty, "the corpus of \(name) is missing")
    for input in inputs {
      #expect(throws: Never.self, "\(name)/\(input.name)") { try target.run(input.bytes) }
    }
  }

  @Test(arguments: FuzzTarget.all.map(\.name)) func everySeedIsAccepted(_ name: String) throws {
    let target = try #require(FuzzTarget.named(name))
    for bytes in try target.seeds() { try target.run(bytes) }
  }

  /// A target whose promise is broken says so.
  @Test func aBrokenPromiseIsAnError() {
    #expect(throws: Broken.self) { try claim(1 == 2, "one is two") }
    #expect(throws: Broken.self) { try accepted(Broken.self) { throw CocoaError(.fileNoSuchFile) } }
  }

  @Test func theCorpusIsOfTheseTargets() throws {
    let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpus.path).sorted()
    #expect(folders == FuzzTarget.all.map(\.name).sorted())
  }
}
