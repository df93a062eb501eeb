#if Relay
  import Foundation
  import TallyRelay
  import TallyRelayServer
  import TallySync
  import Testing

  /// Limits that count for all spaces: a quota for those without one of their own, and the size of the file.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct LimitTests {
    private func problem(_ body: () async throws -> Void) async -> RelayError? {
      await #expect(throws: RelayError.self) { try await body() }
    }

    /// Whole entries and pieces alike; what is there already is known, reading and removing go on, and room counts
    /// again.
    @Test(arguments: StorageKind.available) func aSpaceWithoutAQuotaHasTheRelays(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) {
        $0.limits.spaceBytes = 9_000_000
      } _: { relay in
        let mailbox = try relay.mailbox(try await relay.token())
        #expect(try await mailbox.status().quota == 9_000_000)
        func upload(_ name: String, _ count: Int) -> MailboxUpload {
          MailboxUpload(name: name, bytes: [UInt8](repeating: 1, count: count))
        }
        _ = try await mailbox.put(upload("a", 8_000_000))
        for size in [1_000_000, 5_000_000] {
          let error = await problem { _ = try await mailbox.put(upload("b", size)) }
          #expect(error?.problem == .quotaExceeded)
        }
        _ = try await mailbox.put(upload("small", 900_000))
        // A client that puts again what is there is told so.
        _ = try await mailbox.put(upload("a", 8_000_000))
        _ = try await mailbox.put(upload("small", 900_000))
        #expect(try await mailbox.changes(after: nil).items.map(\.name) == ["a", "small"])
        try await mailbox.remove(["a"])
        _ = try await mailbox.put(upload("b", 5_000_000))

        let large = try relay.mailbox(try await relay.token(quota: 50_000_000))
        #expect(try await large.status().quota == 50_000_000)
        _ = try await large.put(upload("a", 10_000_000))
      }
    }

    /// An upload that was begun when there was room is finished: its rest was accounted for.
    @Test func anUploadThatIsUnderWayIsFinished() async throws {
      try await RelayFixture.run(.sqlite) {
        $0.limits.spaceBytes = 9_000_000
      } _: { relay in
        let mailbox = try relay.mailbox(try await relay.token())
        _ = try await mailbox.put(MailboxUpload(name: "a", bytes: [UInt8](repeating: 1, count: 8_900_000)))
        #expect(try await mailbox.status().entries == 1)
      }
    }

    /// A file that may not grow takes nothing more and says so; what is there can be read and removed, and what was
    /// removed makes room.
    @Test func aFileDoesNotGrowBeyondItsLimit() async throws {
      let limit: Int64 = 8 << 20
      try await RelayFixture.run(.sqlite) {
        $0.limits.fileBytes = limit
      } _: { relay in
        let mailbox = try relay.mailbox(try await relay.token())
        var count = 0
        var refusal: RelayError?
        while refusal == nil, count < 20 {
          do {
            _ = try await mailbox.put(MailboxUpload(name: "n\(count)", bytes: [UInt8](repeating: 1, count: 1 << 20)))
            count += 1
          } catch let error as RelayError {
            refusal = error
          }
        }
        #expect(refusal?.problem == .storageFull && (5..<8).contains(count), "\(count)")
        #expect(try await mailbox.changes(after: nil).items.count == count)
        let size = try #require(FileManager.default.attributesOfItem(atPath: relay.place.path)[.size] as? Int)
        #expect(Int64(size) <= limit)
        // To the last page: what is removed is noted first.
        var small = 0
        while small < 2_000,
          (try? await mailbox.put(MailboxUpload(name: "s\(small)", bytes: [UInt8](repeating: 1, count: 3_000)))) != nil
        { small += 1 }
        #expect(small < 2_000)
        for number in 0..<small { try await mailbox.remove(["s\(number)"]) }
        try await mailbox.remove(["n0", "n1"])
        let again = MailboxUpload(name: "again", bytes: [UInt8](repeating: 1, count: 1 << 20))
        try await Looking.until("there is room", within: .seconds(60)) { (try? await mailbox.put(again)) != nil }
      }
    }

    @Test func theToolTakesLimitsAndRefusesWhatIsNone() async throws {
      let folder = try RelayFixture.newFolder()
      for (option, value) in [("--quota", "0"), ("--quota", "5X"), ("--file-limit", "-1")] {
        let refused = try await Tool.run("relay", "--data", "r", option, value, in: folder)
        #expect(refused.status == 64, "\(refused)")
      }
      let database = try await Tool.run("relay", "--postgres", "postgres://x", "--file-limit", "5G", in: folder)
      #expect(database.status == 64 && database.errors.contains("--file-limit is for a file"), "\(database)")
      let (relay, line) = try await RelayProcess.start(
        "relay", "--data", "r", "--listen", "127.0.0.1:0", "--quota", "1M", "--file-limit", "5M", in: folder)
      let base = "http://\(line.dropFirst("listening on ".count))"
      let made = try await Tool.run("relay", "token", "--data", "r", "--url", base, in: folder)
      let mailbox = try RelayMailbox(try #require(made.lines.first), token: try #require(made.lines.last))
      #expect(try await mailbox.status().quota == 1 << 20)
      #expect(await relay.end(SIGTERM) == 0)
    }
  }
#endif
