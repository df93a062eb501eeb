#if Postgres
  import Foundation
  import TallyRelay
  import TallyRelayServer
  import TallyStore
  import TallySync
  import Testing

  /// A standby takes the place of a server that is gone for good.
  @Suite(
    .cleansUp,
    .enabled(if: PostgresCluster.isAvailable, "no PostgreSQL server is installed (Debian: postgresql)"), .serialized,
    .timeLimit(.minutes(5)))
  struct StandbyTests {
    /// The last rows, which were acknowledged, never came to the standby. The relay goes on with it in the same
    /// process, and devices put again what it lacks, also when somebody else has taken the lost positions.
    @Test func whatAPromotedStandbyLacksIsPutAgain() async throws {
      let primary = try await PostgresCluster.start()
      let place = try await StoragePlace(.postgres, in: primary)
      let database = try #require(place.database)
      let name = try await PostgresCluster.sql("SELECT current_database()", in: database)
      let standby = try await PostgresCluster.start(following: primary)
      let either = "postgresql:///\(name)?host=\(primary.folder),\(standby.folder)&user=tally"
      let relay = try await RelayFixture.start(
        in: place,
        open: { _, _ in
          try await PostgresRelayStore("\(either)&target_session_attrs=read-write", for: .serving)
        })
      let token = try await relay.token()
      let mailbox = try relay.mailbox(token)
      let (one, two) = (try Scores.store("one"), try Scores.store("two"))
      try await Scores.settle([one, two], mailbox)

      try await untilCaughtUp(standby.url(name), with: database)
      try await stopFollowing(standby.url(name))
      for number in 0..<5 {
        try Scores.insert("lost-\(number)", into: number % 2 == 0 ? one : two)
        try await Scores.settle([one, two], mailbox)
      }
      let before = try await mailbox.status()
      try await primary.crash()
      try await standby.promote()

      // Somebody new writes before those come by whose entries were lost.
      let three = try Scores.store("three")
      try await three.sync(through: mailbox)
      #expect(try await mailbox.status().entries < before.entries)
      try await Scores.settle([three, one, two], mailbox)
      let expected = (0..<5).map { "lost-\($0)" } + ["one", "three", "two"]
      for store in [one, two, three] {
        #expect(try Scores.names(store) == expected)
        #expect(try Scores.dump(store) == Scores.dump(one))
      }
      try await relay.stop()
    }

    /// Waits until a standby has replayed what its server has written.
    private func untilCaughtUp(_ standby: String, with server: String) async throws {
      let end = try await PostgresCluster.sql("SELECT pg_current_wal_lsn()", in: server)
      for _ in 0..<1_000 {
        let has = try await PostgresCluster.sql("SELECT pg_last_wal_replay_lsn() >= '\(end)'", in: standby)
        if has == "t" { return }
      }
      Issue.record("the standby does not catch up")
    }

    /// Cuts a standby off from its server, as a network would.
    private func stopFollowing(_ standby: String) async throws {
      try await PostgresCluster.sql("ALTER SYSTEM SET primary_conninfo = ''", in: standby)
      try await PostgresCluster.sql("SELECT pg_reload_conf()", in: standby)
      for _ in 0..<1_000 {
        if try await PostgresCluster.sql("SELECT COUNT(*) FROM pg_stat_wal_receiver", in: standby) == "0" { return }
      }
      Issue.record("the standby goes on following")
    }
  }
#endif
