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

    /// With a standby that each commit waits for, a promotion loses nothing that was acknowledged, under writers; the
    /// relay goes on with it by itself.
    @Test func aSynchronousStandbyHasWhatWasAcknowledged() async throws {
      let primary = try await PostgresCluster.start()
      let place = try await StoragePlace(.postgres, in: primary)
      let database = try #require(place.database)
      let name = try await PostgresCluster.sql("SELECT current_database()", in: database)
      let standby = try await PostgresCluster.start(following: primary)
      try await PostgresCluster.sql("ALTER SYSTEM SET synchronous_standby_names = '*'", in: database)
      try await PostgresCluster.sql("SELECT pg_reload_conf()", in: database)
      try await Looking.until("the standby is waited for", within: .seconds(60)) {
        try await PostgresCluster.sql("SELECT sync_state FROM pg_stat_replication", in: database) == "sync"
      }
      let either = "postgresql:///\(name)?host=\(primary.folder),\(standby.folder)&user=tally"
      let relay = try await RelayFixture.start(
        in: place,
        open: { _, _ in
          try await PostgresRelayStore("\(either)&target_session_attrs=read-write", for: .serving)
        })
      let token = try await relay.token()
      let (acknowledgements, acknowledge) = AsyncStream.makeStream(of: String.self)
      let writing = Task {
        await withTaskGroup(of: Void.self) { group in
          for writer in 0..<4 {
            group.addTask {
              for number in 0... {
                let entry = "w\(writer)-\(number)"
                do {
                  _ = try await relay.mailbox(token) { $0.retries = 0 }.put(
                    MailboxUpload(name: entry, bytes: Array(entry.utf8)))
                } catch {
                  // The server has gone; whether this one is there is not known.
                  return
                }
                acknowledge.yield(entry)
              }
            }
          }
        }
        acknowledge.finish()
      }
      var acknowledged: [String] = []
      for await entry in acknowledgements {
        acknowledged.append(entry)
        if acknowledged.count == 200 { try await primary.crash() }
      }
      await writing.value
      #expect(acknowledged.count >= 200)
      try await standby.promote()
      // What a standby waits for itself is for whoever promotes it to set.
      try await PostgresCluster.sql("ALTER SYSTEM RESET synchronous_standby_names", in: standby.url(name))
      try await PostgresCluster.sql("SELECT pg_reload_conf()", in: standby.url(name))

      let mailbox = try relay.mailbox(token)
      try await Looking.until("the relay goes on", within: .seconds(60)) {
        (try? await mailbox.put(MailboxUpload(name: "after", bytes: [1]))) != nil
      }
      var (there, cursor): (Set<String>, MailboxCursor?) = ([], nil)
      var hasMore = true
      while hasMore {
        let page = try await mailbox.changes(after: cursor)
        there.formUnion(page.items.map(\.name))
        (cursor, hasMore) = (page.cursor, page.hasMore)
      }
      #expect(Set(acknowledged).subtracting(there).isEmpty)
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
