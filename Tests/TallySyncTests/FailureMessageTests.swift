import TallySync
import Testing

/// What one side says when it gives up must reach the other.
@Suite struct FailureMessageTests {
  /// One character of a family has 25 bytes.
  @Test func aLongTextIsCutToWhatThePeerReads() throws {
    let family = "👨‍👩‍👧‍👦"
    let said = SyncMessage.failure(code: "peerFailed", message: String(repeating: family, count: 500))
    guard case .failure(let code, let message) = try SyncMessage(said.encoded()) else {
      Issue.record("a failure reads back as something else")
      return
    }
    #expect(code == "peerFailed")
    #expect(message.utf8.count <= 2048 && message.utf8.count > 2040)
    #expect(message.hasPrefix(String(repeating: family, count: 80)))
  }

  @Test func whatFitsIsNotCut() throws {
    let (code, text) = (String(repeating: "c", count: 256), String(repeating: "é", count: 1024))
    let said = SyncMessage.failure(code: code, message: text)
    #expect(try SyncMessage(said.encoded()) == said)
  }
}
