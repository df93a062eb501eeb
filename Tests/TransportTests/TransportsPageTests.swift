import Foundation
import Tally
import TallySync
import TallyTesting
import Testing

/// What `Docs/Transports.md` shows compiles, and keeps the contract.
@Suite(.serialized, .timeLimit(.minutes(5))) struct TransportsPageTests {
  @Test func theExampleIsTheFileThatIsCompiledHere() throws {
    let page = try text("Docs/Transports.md")
    let example = try text("Tests/TransportTests/UnixSocketTransport.swift")
    #expect(page.contains("```swift\n\(example)```"))
  }

  @Test(arguments: TransportConformance.rules)
  func theExampleConforms(_ rule: TransportConformance.Rule) async throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("tally-\(UUID().uuidString)").path
    defer { unlink(path) }
    let (accepted, feed) = AsyncStream.makeStream(of: (any SyncConnection).self)
    let isChecked = Latch()
    let listener = try UnixSocketListener(path: path) { connection in
      feed.yield(connection)
      // A busy machine takes minutes for some rules, and a handler that returns ends its connection.
      await isChecked.wait(atMost: .seconds(280))
    }
    defer { isChecked.open() }
    try await rule.check {
      let here = try await UnixSocketTransport(path: path).open()
      for await there in accepted { return (here, there) }
      throw SyncError(.disconnected, "nobody came")
    }
    withExtendedLifetime(listener) {}
  }

  private func text(_ path: String) throws -> String {
    var url = URL(fileURLWithPath: #filePath)
    for _ in 0..<3 { url.deleteLastPathComponent() }
    return try String(contentsOf: url.appendingPathComponent(path), encoding: .utf8)
  }
}
