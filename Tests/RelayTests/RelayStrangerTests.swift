#if Relay
  import Foundation
  import RelayRig
  import TallyRelay
  import TallyRelayServer
  import TallySync
  import Testing

  /// A client that was written from `Docs/RelayProtocol.md` alone: `Tests/Stranger/relay.py`.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct RelayStrangerTests {
    private static let client = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../Stranger/relay.py").standardizedFileURL.path

    private func run(_ relay: RelayFixture, _ token: RelayStore.NewToken, _ arguments: String...) async throws
      -> [String]
    {
      let address = "\(relay.base)/s/\(token.space)"
      let output = try await RawHTTP.onThread {
        try Program.run(
          "env", ["TALLY_TOKEN=\(token.token)", "python3", "-B", Self.client, address] + arguments)
      }
      return output.split(separator: "\n").map(String.init)
    }

    @Test func aStrangerPutsReadsAndRemovesSeveral() async throws {
      try await RelayFixture.run { relay in
        let token = try await relay.token()
        let mailbox = try relay.mailbox(token)
        let file = relay.folder.appendingPathComponent("content").path
        try Data([7, 8]).write(to: URL(fileURLWithPath: file))
        _ = try await mailbox.put(MailboxUpload(name: "ours", bytes: [1, 2, 3]))
        _ = try await mailbox.put(MailboxUpload(name: "large", bytes: Array(repeating: 1, count: 70_000)))
        let put = try await run(relay, token, "put", "theirs=\(file)", "ours=\(file)")
        #expect(put == [#"{"is": "put", "position": 3}"#, #"{"is": "known", "position": 1}"#])
        #expect(try await mailbox.contents(of: ["theirs", "ours"]) == ["theirs": [7, 8], "ours": [1, 2, 3]])
        let got = try await run(relay, token, "get", "theirs", "large", "none", "ours")
        #expect(
          got == [
            #"{"content": "0708", "is": "whole"}"#, #"{"is": "elsewhere", "size": 70000}"#, #"{"is": "missing"}"#,
            #"{"content": "010203", "is": "whole"}"#,
          ])
        let removed = try await run(relay, token, "remove", "theirs", "none")
        #expect(
          removed == [#"{"is": "removed"}"#, #"{"code": "noSuchEntry", "is": "refused", "retryAfter": 0}"#])
        let list = try await run(relay, token, "list")
        #expect(
          list == [
            #"{"content": "010203", "kind": 2, "name": "ours", "position": 1, "size": 3}"#,
            #"{"kind": 1, "name": "large", "position": 2, "size": 70000}"#,
          ])
      }
    }

    /// An entry that is removed and put again has another tag, so its parts are not taken for those of the former.
    @Test func aStrangerReadsPartsOfOneContent() async throws {
      try await RelayFixture.run { relay in
        let token = try await relay.token()
        let mailbox = try relay.mailbox(token)
        for (content, position) in [([1, 2, 3, 4, 5], 1), ([6, 7, 8, 9], 3)] as [([UInt8], Int)] {
          _ = try await mailbox.put(MailboxUpload(name: "one", bytes: content))
          let hex = content.map { "0\($0)" }.joined()
          let got = try await run(relay, token, "parts", "one", "2")
          #expect(got == ["{\"content\": \"\(hex)\", \"tag\": \"\\\"\(position).one\\\"\"}"])
          try await mailbox.remove(["one"])
        }
      }
    }
  }
#endif
