#if Relay
  import Foundation
  import TallyRelay
  import TallyRelayProtocol
  import TallyRelayServer
  import TallySync
  import Testing

  /// What answers in a relay's place is told apart from one, and costs nothing.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct ImpostorTests {
    private let token = "tally1_" + String(repeating: "A", count: 43)

    private func mailbox(_ server: CannedServer) throws -> RelayMailbox {
      var settings = RelayClient.Settings()
      settings.sleep = { _ in }
      return try RelayMailbox("http://127.0.0.1:\(server.port)/s/abc", token: token, settings)
    }

    private static func answer(_ status: String, _ fields: [String] = [], _ body: [UInt8] = []) -> [UInt8] {
      let head = ["HTTP/1.1 \(status)"] + fields + ["Content-Length: \(body.count)", "Connection: close"]
      return Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body
    }

    /// No engine tries an address again that cannot become right.
    @Test(arguments: ["relay.example/s/abc", "https://relay.example/abc", "ftp://relay.example/s/abc", ""])
    func aMalformedAddressIsPermanent(_ address: String) throws {
      let error = #expect(throws: RelayError.self) { try RelayMailbox(address, token: token) }
      #expect(error?.code == .invalidAddress && error?.isPermanent == true)
    }

    /// Whoever is sent on would take the token along.
    @Test func aRedirectionIsNotFollowed() async throws {
      try await RelayFixture.run { relay in
        let target = "http://127.0.0.1:\(relay.port)/v1/spaces/abc"
        let server = try CannedServer(Self.answer("302 Found", ["Location: \(target)"]))
        defer { server.stop() }
        let mailbox = try mailbox(server)
        let error = await #expect(throws: RelayError.self) { try await mailbox.status() }
        #expect(error?.code == .notARelay && server.requests.count == 1)
        #expect(relay.log.isEmpty)
      }
    }

    private static let cases: [(what: String, answer: [UInt8], code: RelayError.Code)] = [
      ("a page of HTML", answer("200 OK", ["Content-Type: text/html"], Array("<p>Hello</p>".utf8)), .notARelay),
      ("a page that is cut", answer("200 OK", [], [0x54, 0x52, 0x50, 1, 0]), .notARelay),
      ("more than a page may have", answer("200 OK", [], Array(repeating: 0x54, count: 5 << 20)), .notARelay),
      ("a proxy's error", answer("502 Bad Gateway"), .busy),
      ("a proxy's refusal", answer("403 Forbidden"), .notARelay),
      ("no HTTP", Array("SSH-2.0-OpenSSH_9.2\r\n".utf8), .unreachable),
      ("nothing", [], .unreachable),
      ("a code of a later version", answer("409 Conflict", ["Tally-Problem: somethingNew"]), .notARelay),
    ]

    @Test(arguments: cases.indices) func whatIsNoRelayIsToldApart(_ index: Int) async throws {
      let (what, answer, code) = Self.cases[index]
      let server = try CannedServer(answer)
      defer { server.stop() }
      let mailbox = try mailbox(server)
      let error = await #expect(throws: RelayError.self, "\(what)") { try await mailbox.changes(after: nil) }
      #expect(
        error?.code == code || what == "no HTTP" && error?.code == .notARelay, "\(what): \(error.map { "\($0)" } ?? "")"
      )
      #expect(error.map { "\($0)".contains("tally1_") } == false)
    }

    /// A part that is not the one that was asked for is not taken for it.
    @Test func anotherPartIsRefused() async throws {
      for range in ["bytes 1-3/10", "bytes 0-2/2", "bytes 0-3/10", "bytes */3", "0-2/10"] {
        let server = try CannedServer(Self.answer("206 Partial Content", ["Content-Range: \(range)"], [1, 2, 3]))
        defer { server.stop() }
        let mailbox = try mailbox(server)
        let error = await #expect(throws: RelayError.self, "\(range)") {
          for try await _ in try await mailbox.get("a", from: 0) {}
        }
        #expect(error?.code == .notARelay, "\(range)")
      }
    }
  }
#endif
