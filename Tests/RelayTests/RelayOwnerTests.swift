#if Relay
  import Foundation
  import RelayRig
  @testable import TallyCLI
  import TallyRelay
  import TallyRelayServer
  import TallySync
  import Testing

  /// What whoever runs a relay does beside serving: `tally relay init`, `token --output`, `spaces`, `backup`.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct RelayOwnerTests {
    private let folder: URL

    init() throws { folder = try RelayFixture.newFolder() }

    private func mode(_ name: String) throws -> Int {
      let attributes = try FileManager.default.attributesOfItem(atPath: folder.appendingPathComponent(name).path)
      return try #require(attributes[.posixPermissions] as? Int) & 0o777
    }

    private func exists(_ name: String) -> Bool {
      FileManager.default.fileExists(atPath: folder.appendingPathComponent(name).path)
    }

    // MARK: Beginning

    /// The first token is good, nobody else can read anything, and a second relay does not take the first one's place.
    @Test func initMakesARelayForItsOwnerAlone() async throws {
      let made = try await Tool.run(
        "relay", "init", "--data", "there/relay.sqlite", "--url", "https://relay.example/", "--quota", "5M", "--role",
        "admin", "--output", "token", in: folder)
      #expect(made.status == 0 && made.errors.isEmpty && made.lines.count == 1, "\(made)")
      #expect(try mode("there") == 0o700 && mode("there/relay.sqlite") == 0o600 && mode("token") == 0o600)
      let space = try #require(made.lines.first?.dropFirst("https://relay.example/s/".count))
      let kept = try String(contentsOf: folder.appendingPathComponent("token"), encoding: .utf8).split(separator: "\n")
      #expect(kept.count == 2 && kept.first.map(String.init) == made.lines.first)
      let spaces = try await Tool.run("relay", "spaces", "--data", "there/relay.sqlite", in: folder)
      #expect(spaces.lines.count == 1 && spaces.output.hasPrefix("\(space) entries=0 bytes=0 quota=5242880 devices=0"))
      let tokens = try await Tool.run("relay", "list", "--data", "there/relay.sqlite", in: folder)
      #expect(tokens.lines.count == 1 && tokens.output.contains("role=admin"))

      for output in ["token", "other"] {
        let again = try await Tool.run(
          "relay", "init", "--data", "there/relay.sqlite", "--output", output, in: folder)
        #expect(again.status == 73 && again.output.isEmpty, "\(again)")
      }
      // Nothing is half made: the token's file was taken, so there is no relay either.
      let taken = try await Tool.run("relay", "init", "--data", "new.sqlite", "--output", "token", in: folder)
      #expect(taken.status == 73 && !exists("new.sqlite") && !exists("other"), "\(taken)")
      #expect(try await Tool.run("relay", "list", "--data", "there/relay.sqlite", in: folder).lines == tokens.lines)

      let printed = try await Tool.run("relay", "init", "--data", "printed.sqlite", in: folder)
      #expect(printed.status == 0 && printed.lines.last?.hasPrefix("tally1_") == true, "\(printed)")
      let refused = try await Tool.run("relay", "init", "--data", "x", "--unit", "unit", in: folder)
      #expect(refused.status == 64 && !exists("x") && !exists("unit"))
    }

    @Test(.enabled(if: PostgresCluster.isAvailable, "no PostgreSQL server is installed (Debian: postgresql)"))
    func initMakesTheTablesOfADatabaseOnce() async throws {
      let place = try await StoragePlace(.postgres)
      let options = try place.options()
      let made = try await Tool.run(
        "relay", "init", options[0], options[1], "--output", "token", in: place.folder)
      #expect(made.status == 0 && made.lines.count == 1, "\(made)")
      let again = try await Tool.run("relay", "init", options[0], options[1], in: place.folder)
      #expect(again.status == 73 && again.output.isEmpty, "\(again)")
      #expect(try await Tool.run("relay", "list", options[0], options[1], in: place.folder).lines.count == 1)
    }

    private static let canMakeUsers: Bool = {
      guard getuid() == 0, FileManager.default.isExecutableFile(atPath: "/usr/sbin/useradd") else { return false }
      do {
        try Program.run("unshare", ["-m", "true"])
        return true
      } catch {
        return false
      }
    }()

    /// As root makes a service: the user that its unit names is there afterwards, and can do all that a relay does.
    /// The system's users are a copy here.
    @Test(.enabled(if: canMakeUsers, "needs root, useradd and unshare"))
    func initMakesTheUserThatItsUnitNames() async throws {
      let script = """
        set -e
        cd '\(folder.path)'
        chmod 755 .
        mount --make-rprivate /
        cp -a /etc etc
        mount --bind etc /etc
        ! id tally-trial 2>/dev/null
        '\(Tool.path)' relay init --data "$PWD/state/relay.sqlite" --user tally-trial --unit "$PWD/unit" --output token
        stat -c '%n %U %a' state state/relay.sqlite token unit
        cp '\(Tool.path)' tool
        runuser -u tally-trial -- ./tool relay list --data state/relay.sqlite
        getent passwd tally-trial
        """
      let output = try await RawHTTP.onThread { try Program.run("unshare", ["-m", "bash", "-c", script]) }
      for line in [
        "state tally-trial 700", "state/relay.sqlite tally-trial 600", "token root 600", "unit root 644",
      ] { #expect(output.contains("\n\(line)\n"), "\(line): \(output)") }
      #expect(output.contains("role=writer") && output.hasSuffix("\(folder.path)/state:/usr/sbin/nologin"), "\(output)")
      let unit = try String(contentsOf: folder.appendingPathComponent("unit"), encoding: .utf8)
      #expect(unit.contains("\nUser=tally-trial\n") && unit.contains("\nReadWritePaths=\(folder.path)/state\n"))
    }

    /// What people copy is what `init` writes.
    @Test func theUnitOfTheExamplesIsTheOneThatInitWrites() throws {
      let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Examples/Relay/Hosting/tally-relay.service")
      let text = try String(contentsOf: file, encoding: .utf8)
      let unit = RelayUnit(
        user: "tally-relay", tool: "/usr/local/bin/tally", data: "/var/lib/tally-relay/relay.sqlite", database: nil,
        listen: "127.0.0.1:8480", admin: "127.0.0.1:9464")
      let body = try #require(text.range(of: "[Unit]")).lowerBound
      let written = try unit.text()
      #expect(String(text[body...]) == written)
      // A database that is away for long is no reason for systemd to give up.
      let service = try #require(written.range(of: "\n[Service]\n"))
      #expect(written[..<service.lowerBound].contains("\nStartLimitIntervalSec=0\n"))
      #expect(written[service.upperBound...].contains("\nRestart=on-failure\nRestartSec=2\n"))
      #expect(throws: Failure.self) {
        try RelayUnit(
          user: "a", tool: "/a", data: "/var/lib/tally relay/relay.sqlite", database: nil, listen: "", admin: ""
        ).text()
      }
    }

    // MARK: Tokens

    /// The next command takes what `--output` has made without a warning; nothing is overwritten, and no token is made
    /// that nobody gets to see.
    @Test func aTokenInAFileIsForItsOwnerAlone() async throws {
      try await RelayFixture.run { relay in
        let first = try await Tool.run(
          "relay", "token", "--data", "r", "--url", relay.base, "--output", "token", in: folder)
        #expect(first.status == 0 && first.lines.count == 1 && !first.output.contains("tally1_"), "\(first)")
        #expect(try mode("token") == 0o600)
        let json = try await Tool.run("relay", "token", "--data", "r", "--json", "--output", "second", in: folder)
        #expect(json.status == 0 && !json.output.contains("tally1_") && json.output.contains("\"space\""), "\(json)")
        for output in ["token", "missing/token"] {
          let refused = try await Tool.run("relay", "token", "--data", "r", "--output", output, in: folder)
          #expect(refused.status == 73 && refused.output.isEmpty, "\(refused)")
        }
        #expect(try await Tool.run("relay", "list", "--data", "r", in: folder).lines.count == 2)
        let unknown = try await Tool.run(
          "relay", "token", "--data", "r", "--space", "0000", "--output", "third", in: folder)
        #expect(unknown.status == 66 && !exists("third"), "\(unknown)")
      }
    }

    // MARK: Spaces

    @Test(arguments: StorageKind.available) func spacesAreListedWithWhatTheyHold(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        let (full, empty) = (try await relay.token(quota: 50_000_000), try await relay.token())
        _ = try await relay.token(full.space, .reader)
        let gone = try await relay.token(full.space)
        try await relay.store.revoke(gone.id)
        _ = try await relay.token(full.space, .reader, expires: relay.now)
        let stores = [try Scores.store("one"), try Scores.store("two")]
        relay.now += 100
        try await Scores.settle(stores, try relay.mailbox(full))
        let written = relay.now
        // One that is no store's is no device's.
        _ = try await relay.mailbox(full).put(MailboxUpload(name: "other", bytes: [1, 2, 3]))
        relay.now += 1_000
        try await relay.store.deleteSpace(empty.space)

        let spaces = try await relay.store.spaces()
        let status = try await relay.mailbox(full).status()
        let first = try #require(spaces.first { $0.id == full.space })
        #expect(first.entries == status.entries && first.bytes == Int64(status.bytes) && first.quota == 50_000_000)
        #expect(first.devices == 2 && first.tokens == 2 && first.lastWrite == written && first.deleted == nil)
        let other = try #require(spaces.first { $0.id == empty.space })
        #expect(other.entries == 0 && other.devices == 0 && other.lastWrite == nil && other.deleted == relay.now)

        let options = try relay.place.options()
        let lines = try await Tool.run("relay", "spaces", options[0], options[1], in: relay.folder)
        #expect(lines.lines.count == 2 && lines.output.contains("\(full.space) entries=\(status.entries) bytes="))
        let json = try await Tool.run("relay", "spaces", options[0], options[1], "--json", in: relay.folder)
        #expect(json.output.contains(#""space":"\#(full.space)""#) && json.output.contains(#""deleted":"#))
      }
    }

    // MARK: Copies

    /// A copy that is made while others write has all that was acknowledged before, is sound, needs nothing beside it,
    /// and a relay serves from it.
    @Test func aCopyOfARelayThatServesHasWhatWasAcknowledged() async throws {
      try await RelayFixture.run { relay in
        let token = try await relay.token()
        let mailbox = try relay.mailbox(token)
        let large = [UInt8](repeating: 7, count: 3 << 20)
        _ = try await mailbox.put(MailboxUpload(name: "large", bytes: large))
        let writing = Task {
          var count = 0
          while !Task.isCancelled {
            _ = try await mailbox.put(MailboxUpload(name: "n\(count)", bytes: [1]))
            count += 1
          }
          return count
        }
        defer { writing.cancel() }
        var before = 0
        for number in 0..<3 {
          before = try await mailbox.status().entries
          let copy = try await Tool.run(
            "relay", "backup", "--data", "relay.sqlite", "--output", "copy\(number)", in: relay.folder)
          #expect(copy.status == 0 && copy.output.isEmpty && copy.errors.isEmpty, "\(copy)")
        }
        writing.cancel()
        let names = try FileManager.default.contentsOfDirectory(atPath: relay.folder.path)
        #expect(names.filter { $0.hasPrefix("copy") || $0.hasPrefix(".") }.sorted() == ["copy0", "copy1", "copy2"])
        let attributes = try FileManager.default.attributesOfItem(
          atPath: relay.folder.appendingPathComponent("copy2").path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let check = try await Tool.run("relay", "check", "--data", "copy2", in: relay.folder)
        #expect(check.status == 0 && check.lines == ["copy2 is sound"], "\(check)")

        let store = try RelayStore(path: relay.folder.appendingPathComponent("copy2").path, for: .serving)
        let space = try #require(try await store.bearer(token.token)).space
        #expect(try await store.space(space).entries >= before)
        #expect(try await store.entry("large", in: space).size == large.count)
        _ = try await store.put("after", [1], in: space, after: nil)
        try store.close()
      }
    }

    @Test func nothingElseIsCopiedAndNothingIsOverwritten() async throws {
      #expect(try await Tool.run("relay", "init", "--data", "r", in: folder).status == 0)
      try Data("something".utf8).write(to: folder.appendingPathComponent("text"))
      let schema = #"{"entities":[{"type":"Score","fields":{"name":"text"}}]}"#
      try Data(schema.utf8).write(to: folder.appendingPathComponent("schema.json"))
      #expect(try await Tool.run("new", "store", "--schema", "schema.json", in: folder).status == 0)
      let cases: [(data: String, output: String, status: Int32)] = [
        ("text", "copy", 65), ("store", "copy", 65), ("missing", "copy", 66), ("r", "text", 73), ("r", "store", 73),
        ("r", "r", 73), ("r", "missing/copy", 73),
      ]
      for (data, output, status) in cases {
        let refused = try await Tool.run("relay", "backup", "--data", data, "--output", output, in: folder)
        #expect(refused.status == status, "\(data) \(output): \(refused)")
      }
      #expect(!exists("copy"))
      #expect(try String(contentsOf: folder.appendingPathComponent("text"), encoding: .utf8) == "something")
    }
  }
#endif
