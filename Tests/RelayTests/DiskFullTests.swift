#if Relay
  import Foundation
  import TallyRelay
  import TallyRelayProtocol
  import TallyRelayServer
  import TallySync
  import TallyWire
  import Testing

  /// A disk that is full, and has room again.
  @Suite(
    .cleansUp,
    .enabled(if: SmallDisk.isAvailable, "only root may mount the small disk"), .serialized, .timeLimit(.minutes(5)))
  struct DiskFullTests {
    private static let body = (0..<60_000).map { UInt8(truncatingIfNeeded: $0 &* 37) }

    private func put(_ name: String, _ relay: RelayFixture, _ token: RelayStore.NewToken) async throws
      -> RawHTTP.Answer
    {
      try await RawHTTP.send(
        "PUT", "/v1/spaces/\(token.space)/entries/\(name)",
        [
          "Authorization": "Bearer \(token.token)",
          "Content-Digest": RelayDigest.field(SHA256.hash(Self.body)),
        ], Self.body, port: relay.port)
    }

    /// Writing is refused with 507 or 503, reading goes on, and writing too as soon as there is room, in the same
    /// process. What was acknowledged before, between and after is there, once.
    @Test(arguments: StorageKind.available) func aFullDiskIsSurvived(_ kind: StorageKind) async throws {
      let disk = try SmallDisk(mebibytes: 16)
      let cluster = kind == .postgres ? try await PostgresCluster.start() : nil
      let relay = try await start(on: disk, cluster)
      let token = try await relay.token()
      var there: [String] = []
      for round in 0..<3 {
        try disk.fill(leaving: 2 - round)
        var refusal: RawHTTP.Answer?
        for number in 0..<2_000 where refusal == nil {
          let name = "r\(round)-\(number)"
          let answer = try await put(name, relay, token)
          if answer.status == 201 { there.append(name) } else { refusal = answer }
        }
        let refused = try #require(refusal)
        #expect([507, 503].contains(refused.status), "\(refused.head)")
        #expect(["storageFull", "storageFailed"].contains(refused.problem))
        // Reading goes on.
        let last = try #require(there.last)
        let read = try await RawHTTP.send(
          "GET", "/v1/spaces/\(token.space)/entries/\(last)", ["Authorization": "Bearer \(token.token)"],
          port: relay.port)
        #expect(read.status == 200 && read.body == Self.body)
        #expect(Set(there).isSubset(of: try await names(relay, token)))
        try disk.empty()
        let name = "room-\(round)"
        let answer = try await put(name, relay, token)
        #expect(answer.status == 201, "\(answer.head) \(answer.text)")
        there.append(name)
      }
      let names = try await names(relay, token)
      #expect(Set(names).count == names.count)
      // What was refused may be there if nobody knows whether its commit has come to the disk.
      #expect(Set(there).subtracting(names).isEmpty && names.count <= there.count + 3)
      try await relay.stop()
    }

    private func names(_ relay: RelayFixture, _ token: RelayStore.NewToken) async throws -> [String] {
      let mailbox = try relay.mailbox(token)
      var (names, cursor): ([String], MailboxCursor?) = ([], nil)
      for _ in 0..<1_000 {
        let page = try await mailbox.changes(after: cursor)
        names += page.items.map(\.name)
        cursor = page.cursor
        if !page.hasMore { break }
      }
      return names
    }

    /// A relay whose file, or the table of whose entries, is on the small disk. PostgreSQL's log is elsewhere: a server
    /// that cannot write its log ends itself.
    private func start(on disk: SmallDisk, _ cluster: PostgresCluster?) async throws -> RelayFixture {
      guard let cluster else {
        return try await RelayFixture.start(open: { _, _ in
          try RelayStore(path: disk.folder.appendingPathComponent("relay.sqlite").path, for: .serving)
        })
      }
      let relay = try await RelayFixture.start(in: StoragePlace(.postgres, in: cluster))
      let database = try #require(relay.place.database)
      let space = disk.folder.appendingPathComponent("entries").path
      try FileManager.default.createDirectory(atPath: space, withIntermediateDirectories: true)
      try FileManager.default.setAttributes([.ownerAccountName: "postgres"], ofItemAtPath: space)
      try await PostgresCluster.sql("CREATE TABLESPACE small LOCATION '\(space)'", in: database)
      try await PostgresCluster.sql("ALTER TABLE tally_relay.entry SET TABLESPACE small", in: database)
      return relay
    }
  }
#endif
