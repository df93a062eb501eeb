#if Relay
  import Foundation
  import RelayRig
  import TallyRelay
  import Testing

  /// SIGHUP: a relay reads its certificate again and opens its log again, and goes on.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct HangupTests {
    private let folder: URL

    init() throws { folder = try RelayFixture.newFolder() }

    private func text(_ name: String) -> String {
      guard let data = FileManager.default.contents(atPath: folder.appendingPathComponent(name).path) else { return "" }
      return String(decoding: data, as: UTF8.self)
    }

    private func use(_ name: String) throws {
      let certificates = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../TransportTests/Certificates")
      for end in ["pem", "key"] {
        let data = try Data(contentsOf: certificates.appendingPathComponent("\(name).\(end)"))
        try data.write(to: folder.appendingPathComponent("relay.\(end)"))
      }
    }

    /// Whom a relay says that it is.
    private func subject(_ port: Int) async throws -> String {
      try await RawHTTP.onThread {
        try Program.run(
          "/bin/bash",
          [
            "-c",
            "openssl s_client -connect 127.0.0.1:\(port) </dev/null 2>/dev/null | openssl x509 -noout -subject",
          ])
      }
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl"), "needs openssl"))
    func aRenewedCertificateIsReadAgain() async throws {
      try use("server")
      let (relay, line) = try await RelayProcess.start(
        "relay", "--data", "r", "--listen", "127.0.0.1:0", "--certificate", "relay.pem", "--key", "relay.key",
        in: folder)
      let port = try #require(Int(line.split(separator: ":").last ?? ""))
      #expect(try await subject(port).hasSuffix("tally test server"))

      // One that cannot be used is said, and the one from before stays.
      try Data("nonsense".utf8).write(to: folder.appendingPathComponent("relay.pem"))
      kill(relay.pid, SIGHUP)
      try await Looking.until("the refusal is said", within: .seconds(60)) {
        relay.errorText.contains("the certificate relay.pem and the key relay.key cannot be used")
      }
      #expect(try await subject(port).hasSuffix("tally test server"))

      try use("stranger")
      kill(relay.pid, SIGHUP)
      try await Looking.until("the new one is used", within: .seconds(60)) {
        try await subject(port).hasSuffix("tally test stranger")
      }
      #expect(await relay.end(SIGTERM) == 0)
    }

    /// No line is lost: those before the signal are in the renamed file, those after it in the new one.
    @Test func aLogThatWasRenamedIsBegunAgain() async throws {
      let (relay, line) = try await RelayProcess.start(
        "relay", "--data", "r", "--listen", "127.0.0.1:0", "--log-file", "log", in: folder)
      let port = try #require(Int(line.split(separator: ":").last ?? ""))
      func ask(_ count: Int) async throws {
        for _ in 0..<count { _ = try await RawHTTP.send("GET", "/nothing", port: port) }
      }
      func lines(_ name: String) -> Int { text(name).split(separator: "\n").count }
      try await ask(5)
      try await Looking.until("the lines are there", within: .seconds(60)) { lines("log") == 5 }
      let attributes = try FileManager.default.attributesOfItem(atPath: folder.appendingPathComponent("log").path)
      #expect(try #require(attributes[.posixPermissions] as? Int) & 0o007 == 0)
      try FileManager.default.moveItem(
        at: folder.appendingPathComponent("log"), to: folder.appendingPathComponent("log.1"))
      try await ask(3)
      try await Looking.until("the renamed file goes on", within: .seconds(60)) { lines("log.1") == 8 }
      kill(relay.pid, SIGHUP)
      try await Looking.until("a new file is there", within: .seconds(60)) {
        FileManager.default.fileExists(atPath: folder.appendingPathComponent("log").path)
      }
      try await ask(4)
      try await Looking.until("the new file is used", within: .seconds(60)) { lines("log") == 4 }
      #expect(lines("log.1") == 8)
      #expect(await relay.end(SIGTERM) == 0)
      #expect(!relay.errorText.contains("route="), "\(relay.errorText)")
    }

    @Test func aLogFileThatCannotBeMadeIsAnErrorAtTheStart() async throws {
      let refused = try await Tool.run(
        "relay", "--data", "r", "--listen", "127.0.0.1:0", "--log-file", "missing/log", in: folder)
      #expect(refused.status == 73 && refused.output.isEmpty, "\(refused)")
    }

    /// Without anything to read again it goes on as well.
    @Test func aHangupEndsNothing() async throws {
      let (relay, line) = try await RelayProcess.start("relay", "--data", "r", "--listen", "127.0.0.1:0", in: folder)
      let port = try #require(Int(line.split(separator: ":").last ?? ""))
      for _ in 0..<3 {
        kill(relay.pid, SIGHUP)
        #expect(try await RawHTTP.send("GET", "/nothing", port: port).status == 401)
      }
      #expect(await relay.end(SIGTERM) == 0)
    }
  }
#endif
