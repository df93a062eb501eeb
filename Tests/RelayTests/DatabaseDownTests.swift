#if Postgres
  import Foundation
  import Testing

  /// A database that is not there when a relay starts.
  @Suite(.cleansUp, .serialized, .timeLimit(.minutes(5))) struct DatabaseDownTests {
    /// What the tool's processes in a folder have said on standard error.
    private func errors(in folder: URL) throws -> String {
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix("errors-") }
      return try names.map { try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8) }.joined()
    }

    /// A relay that starts before its database serves as soon as that is there; other commands do not wait.
    @Test(.enabled(if: PostgresCluster.isAvailable, "no PostgreSQL server is installed (Debian: postgresql)"))
    func aRelayWaitsForItsDatabase() async throws {
      let cluster = try await PostgresCluster.start()
      let place = try await StoragePlace(.postgres, in: cluster)
      let options = try place.options()
      try await cluster.crash()
      async let start = RelayProcess.start(
        "relay", options[0], options[1], "--listen", "127.0.0.1:0", in: place.folder)
      try await Looking.until("the relay says that it waits", within: .seconds(60)) {
        try errors(in: place.folder).contains("waits for the database, which cannot be reached: PostgreSQL: ")
      }
      for command in ["list", "token"] {
        let refused = try await Tool.run("relay", command, options[0], options[1], in: place.folder)
        #expect(refused.status == 69 && refused.output.isEmpty, "\(refused)")
      }
      try await cluster.startAgain()
      let (relay, line) = try await start
      let port = try #require(Int(line.split(separator: ":").last ?? ""))
      let made = try await Tool.run("relay", "token", options[0], options[1], in: place.folder)
      let (address, token) = (try #require(made.lines.first), try #require(made.lines.last))
      let space = try #require(address.split(separator: "/").last)
      let status = try await RawHTTP.send(
        "GET", "/v1/spaces/\(space)", ["Authorization": "Bearer \(token)"], port: port)
      #expect(status.status == 200, "\(status.head)")
      // However often it has tried, it has said so once.
      #expect(relay.errorText.components(separatedBy: "waits for the database").count == 2, "\(relay.errorText)")
      #expect(await relay.end(SIGTERM) == 0, "\(relay.errorText)")
    }

    @Test func aRelayThatWaitsEndsWhenItIsAskedTo() async throws {
      let folder = try RelayFixture.newFolder()
      let relay = try RelayProcess.launch(
        "relay", "--postgres", "postgres://tally@127.0.0.1:1/tally", "--listen", "127.0.0.1:0", in: folder)
      try await Looking.until("the relay waits", within: .seconds(60)) {
        relay.errorText.contains("waits for the database")
      }
      #expect(relay.isRunning)
      #expect(await relay.end(SIGTERM) == 0, "\(relay.errorText)")
    }

    /// A server that is there and refuses is not waited for: time does not help.
    @Test(
      .enabled(if: PostgresCluster.isAvailable, "no PostgreSQL server is installed (Debian: postgresql)"),
      arguments: ["postgresql:///postgres?user=stranger", "postgresql:///missing?user=tally"])
    func whatADatabaseRefusesIsNotWaitedFor(_ address: String) async throws {
      let cluster = try await PostgresCluster.shared()
      let folder = try RelayFixture.newFolder()
      let url = "\(address)&host=\(cluster.folder)"
      let refused = try await Tool.run("relay", "--postgres", url, "--listen", "127.0.0.1:0", in: folder)
      #expect(refused.status == 77 && refused.output.isEmpty && !refused.errors.contains("waits"), "\(refused)")
    }

    /// A standby takes no writes, and may be promoted.
    @Test(.enabled(if: PostgresCluster.isAvailable, "no PostgreSQL server is installed (Debian: postgresql)"))
    func aStandbyIsWaitedFor() async throws {
      let primary = try await PostgresCluster.start()
      let standby = try await PostgresCluster.start(following: primary)
      let folder = try RelayFixture.newFolder()
      async let start = RelayProcess.start(
        "relay", "--postgres", "\(standby.url("postgres"))&target_session_attrs=read-write", "--listen", "127.0.0.1:0",
        in: folder)
      try await Looking.until("the relay says that it waits", within: .seconds(60)) {
        try errors(in: folder).contains("waits for the database")
      }
      try await primary.crash()
      try await standby.promote()
      let (relay, line) = try await start
      #expect(line.hasPrefix("listening on "))
      #expect(await relay.end(SIGTERM) == 0, "\(relay.errorText)")
    }
  }
#endif
