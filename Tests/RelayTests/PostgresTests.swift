#if Postgres
  import Foundation
  import Synchronization
  import TallyRelay
  import TallyRelayProtocol
  @testable import TallyRelayServer
  import TallySync
  import Testing

  /// What only a database has: several instances, a server that goes away, tables that others may have made.
  @Suite(
    .cleansUp,
    .enabled(if: PostgresCluster.isAvailable, "no PostgreSQL server is installed (Debian: postgresql)"), .serialized,
    .timeLimit(.minutes(10)))
  struct PostgresTests {
    private func upload(_ name: String) -> MailboxUpload { MailboxUpload(name: name, bytes: Array(name.utf8)) }

    /// A relay that compares as seldom, or as often, as said.
    private func relay(_ place: StoragePlace, comparing: Duration = .seconds(3_600)) async throws -> RelayFixture {
      let database = try #require(place.database)
      return try await RelayFixture.start(
        in: place,
        open: { _, state in
          var settings = PostgresRelayStore.Settings()
          settings.comparison = comparing
          settings.time = { state.now }
          return try await PostgresRelayStore(database, for: .serving, settings)
        })
    }

    /// Returns when so many requests wait.
    private func untilWaiting(_ relay: RelayFixture) async throws {
      for _ in 0..<5_000 {
        let metrics = try await RawHTTP.send("GET", "/metrics", port: relay.adminPort).text
        if metrics.contains("\ntally_relay_waiting 1\n") { return }
      }
      Issue.record("nobody waits")
    }

    private func remove(_ relays: RelayFixture...) async throws {
      for relay in relays { try await relay.stop() }
    }

    // MARK: Plans

    /// Plans are made while there is nothing, and kept. An append looks up its name, and reads no other entry for it.
    @Test func anAppendReadsAsLittleOfALongLogAsOfAShortOne() async throws {
      let place = try await StoragePlace(.postgres)
      let database = try #require(place.database)
      let storage = try await place.open(.serving)
      let token = try await storage.makeToken(space: nil, role: .writer, quota: nil, expires: nil)
      let space = try #require(try await storage.bearer(token.token)).space
      for number in 0..<200 { _ = try await storage.put("n\(number)", [1], in: space, after: nil) }
      try storage.close()
      // What a session has counted is there when the server has ended it.
      for _ in 0..<5_000 {
        let counts = try await PostgresCluster.sql(
          """
          SELECT n_tup_ins || ' ' || (SELECT SUM(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'entry')
          FROM pg_stat_user_tables WHERE schemaname = 'tally_relay' AND relname = 'entry'
          """, in: database
        ).split(separator: " ").compactMap { Int($0) }
        guard counts.first == 200 else { continue }
        return #expect(try #require(counts.last) <= 400)
      }
      Issue.record("the server has not counted 200 appends")
    }

    // MARK: Instances

    /// Neither instance compares during the test: what wakes is the notification.
    @Test(arguments: [true, false]) func aPutOnOneInstanceWakesAWaitOnTheOther(_ polls: Bool) async throws {
      let place = try await StoragePlace(.postgres)
      let (one, other) = (try await relay(place), try await relay(place))
      let token = try await one.token()
      let (here, there) = (try one.mailbox(token), try other.mailbox(token) { $0.usesLongPolling = polls })
      for name in ["a", "b", "c"] {
        let cursor = try await there.changes(after: nil).cursor
        let waiting = Task { try await there.wait(after: cursor) }
        try await untilWaiting(other)
        let start = ContinuousClock.now
        _ = try await here.put(upload(name))
        try await waiting.value
        // A poll of thirty seconds that was not woken would take longer.
        #expect(ContinuousClock.now - start < .seconds(10))
        #expect(try await there.changes(after: cursor).items.map(\.name) == [name])
      }
      try await here.remove(["a"])
      #expect(try await there.status().entries == 2)
      try await remove(one, other)
    }

    /// An instance that ends between its commit and its notification has told nobody.
    @Test func whatNobodyTellsOfIsFoundByComparing() async throws {
      let place = try await StoragePlace(.postgres)
      let relay = try await relay(place, comparing: .milliseconds(200))
      // An administrator's storage tells nobody.
      let silent = try await place.open(.administration)
      let token = try await relay.token()
      let mailbox = try relay.mailbox(token) { $0.usesLongPolling = true }
      let space = try #require(try await silent.bearer(token.token)).space
      for name in ["a", "b", "c"] {
        let cursor = try await mailbox.changes(after: nil).cursor
        let waiting = Task { try await mailbox.wait(after: cursor) }
        try await untilWaiting(relay)
        let start = ContinuousClock.now
        _ = try await silent.put(name, [1], in: space, after: nil)
        try await waiting.value
        #expect(ContinuousClock.now - start < .seconds(10))
      }
      try silent.close()
      try await remove(relay)
    }

    /// All connections are cut, those that listen and notify too, and others take their place; what came meanwhile is
    /// not missed.
    @Test func whoIsCutConnectsAgain() async throws {
      let place = try await StoragePlace(.postgres)
      let database = try #require(place.database)
      let (one, other) = (try await relay(place), try await relay(place))
      let token = try await one.token()
      let (here, there) = (try one.mailbox(token), try other.mailbox(token) { $0.usesLongPolling = true })
      for round in 0..<3 {
        let cursor = try await there.changes(after: nil).cursor
        let waiting = Task { try await there.wait(after: cursor) }
        try await untilWaiting(other)
        let cut = try await PostgresCluster.sql(
          """
          SELECT COUNT(*) FILTER (WHERE query LIKE 'LISTEN%') FROM (
            SELECT query, pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
          ) AS cut
          """, in: database)
        // Both instances listen, or just connect again.
        #expect(round > 0 || cut == "2")
        let start = ContinuousClock.now
        _ = try await here.put(upload("r\(round)"))
        try await waiting.value
        #expect(ContinuousClock.now - start < .seconds(10))
        #expect(try await there.changes(after: cursor).items.map(\.name) == ["r\(round)"])
      }
      try await remove(one, other)
    }

    /// Three instances with writers in the same spaces: groups lock several spaces, and none waits in a circle. There
    /// is no gap, and the chain is the one of the names in their order.
    @Test func instancesAppendToTheSameSpaces() async throws {
      let place = try await StoragePlace(.postgres)
      var stores: [any RelayStorage] = []
      for _ in 0..<3 { stores.append(try await place.open(.serving)) }
      var spaces: [SpaceRow] = []
      for _ in 0..<4 {
        let token = try await stores[0].makeToken(space: nil, role: .writer, quota: nil, expires: nil)
        let bearer = try #require(try await stores[0].bearer(token.token))
        spaces.append(try await stores[0].space(bearer.space))
      }
      let numbers = spaces.map(\.number)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (index, store) in stores.enumerated() {
          for writer in 0..<8 {
            group.addTask {
              for number in 0..<24 {
                let space = numbers[(number * (writer % 3 + 1) + index) % numbers.count]
                let name = number % 6 == 5 ? "shared-\(number)" : "i\(index)-w\(writer)-\(number)"
                _ = try await store.put(name, [1], in: space, after: nil)
                if number % 8 == 7 { _ = try await store.remove(name, in: space) }
              }
            }
          }
        }
        try await group.waitForAll()
      }
      for space in spaces {
        let after = try await stores[1].space(space.number)
        let rows = try await PostgresCluster.sql(
          "SELECT position, kind, name FROM tally_relay.entry WHERE space = \(space.number) ORDER BY position",
          in: try #require(place.database)
        ).split(separator: "\n").map { $0.split(separator: "|") }
        #expect(rows.map { $0[0] } == (1...rows.count).map { "\($0)" })
        var chain = RelayChain.start(of: space.id)
        for row in rows {
          let name = String(row[2])
          chain = row[1] == "2" ? RelayChain.next(chain, removal: name) : RelayChain.next(chain, entry: name)
        }
        #expect(after.chain == chain && after.head == Int64(rows.count))
        let entries = rows.filter { $0[1] == "1" }
        #expect(after.entries == entries.count && Set(entries.map { $0[2] }).count == entries.count)
        #expect(after.bytes == Int64(entries.count + 256 * rows.count))
      }
      for store in stores { try store.close() }
    }

    // MARK: Failures

    private final class Names: Sendable {
      private let names = Mutex<Set<String>>([])
      var all: Set<String> { names.withLock { $0 } }
      func add(_ name: String) { names.withLock { _ = $0.insert(name) } }
    }

    /// Puts one entry after the other until the database is gone.
    private func write(
      _ names: some Sequence<String>, _ mailbox: RelayMailbox, _ onAcknowledged: @Sendable (String) -> Void
    ) async throws {
      for name in names {
        do {
          let size = name.hasSuffix("6") ? 70_000 : 200
          _ = try await mailbox.put(MailboxUpload(name: name, bytes: Array(repeating: 7, count: size)))
        } catch let error as RelayError {
          #expect(error.problem == .storageFailed || error.problem == .busy, "\(error)")
          return
        }
        onAcknowledged(name)
      }
      Issue.record("the database was not ended")
    }

    /// `pg_ctl stop -m immediate` under eight writers and two instances, and a start: what was acknowledged is there,
    /// once, and the instances go on by themselves.
    @Test func theDatabaseCrashesUnderWriters() async throws {
      let cluster = try await PostgresCluster.start()
      let place = try await StoragePlace(.postgres, in: cluster)
      let (one, other) = (try await relay(place), try await relay(place))
      let token = try await one.token()
      let mailboxes = try [one, other].map { try $0.mailbox(token) { $0.retries = 0 } }
      let acknowledged = Names()
      for round in 0..<Rounds.crashes {
        let (done, feed) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
          for writer in 0..<8 {
            group.addTask {
              let names = (0..<100_000).lazy.map { "r\(round)-w\(writer)-\($0)" }
              try await write(names, mailboxes[writer % 2]) {
                acknowledged.add($0)
                feed.yield()
              }
            }
          }
          // At another moment in each round.
          var count = 0
          for await _ in done {
            count += 1
            if count == 20 + 7 * round % 50 { break }
          }
          try await cluster.crash()
          try await group.waitForAll()
        }
        let away = try await RawHTTP.send("GET", "/readyz", port: one.adminPort)
        #expect(away.status == 503)
        #expect(one.log.contains { $0.contains("fault=PostgreSQL: ") })
        #expect(!one.log.contains { $0.contains("postgresql:") || $0.contains("user=") })
        try await cluster.startAgain()
        for relay in [one, other] {
          let back = try await RawHTTP.send("GET", "/readyz", port: relay.adminPort)
          #expect(back.status == 200)
        }
      }
      let mailbox = try one.mailbox(token)
      var (there, cursor): ([String], MailboxCursor?) = ([], nil)
      for _ in 0..<10_000 {
        let page = try await mailbox.changes(after: cursor)
        there += page.items.map(\.name)
        cursor = page.cursor
        if !page.hasMore { break }
      }
      #expect(cursor?.position == UInt64(there.count))
      #expect(Set(there).count == there.count)
      let expected = acknowledged.all
      #expect(expected.count >= 20 * Rounds.crashes)
      #expect(expected.subtracting(there).isEmpty, "lost: \(expected.subtracting(there).sorted())")
      // What was not acknowledged may be there: at most what each writer had under way.
      #expect(there.count <= expected.count + 8 * Rounds.crashes)
      try await remove(one, other)
    }

    /// Whoever owns the database may have chosen speed for others. The relay still waits for the commit to be durable.
    @Test func commitsAreDurableWhateverTheDatabasePrefers() async throws {
      let place = try await StoragePlace(.postgres)
      let database = try #require(place.database)
      let name = try await PostgresCluster.sql("SELECT current_database()", in: database)
      try await PostgresCluster.sql("ALTER DATABASE \(name) SET synchronous_commit = off", in: database)
      let store = try await PostgresRelayStore(database, for: .serving)
      let setting = try await store.commits.threads.run { session in
        try session.execute("SELECT current_setting('synchronous_commit')").first?.text(0)
      }
      #expect(setting == "on")
      store.close()
    }

    // MARK: Tables

    @Test func tablesAreMadeOnceByProcessesThatBeginAtOnce() async throws {
      let place = try await StoragePlace(.postgres)
      let options = try place.options()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<4 {
          group.addTask {
            let made = try await Tool.run("relay", "token", options[0], options[1], in: place.folder)
            #expect(made.status == 0 && made.lines.count == 2, "\(made)")
          }
          group.addTask { try await place.open(.administration).close() }
        }
        try await group.waitForAll()
      }
      let list = try await Tool.run("relay", "list", options[0], options[1], in: place.folder)
      #expect(list.lines.count == 4)
      let migrations = "SELECT array_agg(number ORDER BY number) FROM tally_relay.migration"
      #expect(try await PostgresCluster.sql(migrations, in: try #require(place.database)) == "{1,2,3}")
    }

    @Test func tablesOfNewerVersionsAndOfOthersAreRefusedAndLeftAlone() async throws {
      let place = try await StoragePlace(.postgres)
      let database = try #require(place.database)
      func refusal() async -> RelayStoreError.Code? {
        await #expect(throws: RelayStoreError.self) { try await PostgresRelayStore(database, for: .serving) }?.code
      }
      await #expect(throws: RelayStoreError.self) {
        try await PostgresRelayStore(database, for: .administration, mayCreate: false)
      }
      try await PostgresCluster.sql("CREATE SCHEMA tally_relay; CREATE TABLE tally_relay.notes(x text)", in: database)
      #expect(await refusal() == .notARelay)
      #expect(try await PostgresCluster.sql("SELECT COUNT(*) FROM tally_relay.notes", in: database) == "0")
      try await PostgresCluster.sql("DROP TABLE tally_relay.notes", in: database)
      // A schema that was made beforehand is taken.
      try await place.open(.serving).close()
      try await PostgresCluster.sql("INSERT INTO tally_relay.migration VALUES(1000, 0)", in: database)
      #expect(await refusal() == .newerFormat)
      let tool = try await Tool.run("relay", "list", "--postgres", database, in: place.folder)
      #expect(tool.status == 78 && tool.errors.contains("a newer version"), "\(tool)")
    }

    /// A user who may use the tables, and make none, is enough once they are there.
    @Test func aUserWithoutTheRightToMakeTablesServes() async throws {
      let place = try await StoragePlace(.postgres)
      let database = try #require(place.database)
      let user = "clerk\(UUID().uuidString.prefix(8).lowercased())"
      try await PostgresCluster.sql("CREATE USER \(user)", in: database)
      let address = database.replacingOccurrences(of: "user=tally", with: "user=\(user)")
      let refused = await #expect(throws: RelayStoreError.self) { try await PostgresRelayStore(address, for: .serving) }
      #expect(refused?.code == .refused)
      try await place.open(.administration).close()
      try await PostgresCluster.sql(
        """
        GRANT USAGE ON SCHEMA tally_relay TO \(user);
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tally_relay TO \(user)
        """, in: database)
      let store = try await PostgresRelayStore(address, for: .serving)
      let token = try await store.makeToken(space: nil, role: .writer)
      let space = try #require(try await store.bearer(token.token)).space
      #expect(try await store.put("a", [1], in: space, after: nil).position == 1)
      store.close()
    }

    // MARK: Addresses

    @Test(arguments: [
      "postgres://tally:canary@127.0.0.1:1/tally", "postgres://tally:canary@127.0.0.1:1/tally?nonsense=canary",
      "postgres//tally:canary@h", "canary", "postgresql:///canary?host=/nowhere-canary&password=canary",
    ])
    func addressesAreNotShown(_ address: String) async throws {
      let error = await #expect(throws: RelayStoreError.self) { try await PostgresRelayStore(address, for: .serving) }
      let code = try #require(error?.code)
      #expect([.badAddress, .unreachable].contains(code))
      #expect("\(try #require(error))".contains("canary") == false)
      if let parsed = try? PostgresAddress(address) {
        var shown = "\(parsed)"
        dump(parsed, to: &shown)
        #expect(!shown.contains("canary"))
        #expect(parsed.masked("it was canary") == "it was ***")
      }
      let folder = try RelayFixture.newFolder()
      let tool = try await Tool.run("relay", "list", "--postgres", address, in: folder)
      #expect(tool.status == (code == .badAddress ? 64 : 69), "\(tool)")
      #expect(tool.errors.hasPrefix("tally: ") && !tool.errors.contains("canary"), "\(tool)")
    }

    @Test func notificationsAreShortAndReadStrictly() {
      let heads = Dictionary(uniqueKeysWithValues: (0..<2_000).map { (Int64($0), Int64($0) << 20) })
      let texts = PostgresNotifier.texts(heads)
      #expect(texts.count > 1 && texts.allSatisfy { $0.utf8.count <= 7_900 })
      #expect(texts.reduce(into: [:]) { $0.merge(PostgresNotifier.heads($1)) { $1 } } == heads)
      #expect(PostgresNotifier.heads("x,1.2,3,4.,-1.5,1.2.3, 7.8,9.99999999999999999999") == [1: 2, -1: 5])
      #expect(PostgresNotifier.texts([:]).isEmpty)
    }
  }
#elseif Relay
  import Testing

  @Suite struct PostgresTests {
    @Test(.disabled("this build is without the trait Postgres: make test-relay has it where libpq is"))
    func aDatabaseKeepsWhatAFileKeeps() { Issue.record("there is no database in this build") }
  }
#endif
