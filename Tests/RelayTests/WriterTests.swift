#if Relay
  import Foundation
  import Synchronization
  import TallyRelay
  import TallyRelayServer
  import TallySync
  import Testing

  /// Many writers at once, and a relay that is killed under them.
  @Suite(.cleansUp, .timeLimit(5, perHundred: Rounds.kills), .serialized) struct WriterTests {
    /// Everything in a log, as frames of positions and names, which must have no gap.
    private func names(_ mailbox: RelayMailbox) async throws -> [String] {
      var (names, cursor): ([String], MailboxCursor?) = ([], nil)
      for _ in 0..<10_000 {
        let page = try await mailbox.changes(after: cursor)
        names += page.items.map(\.name)
        cursor = page.cursor
        if !page.hasMore { break }
      }
      #expect(cursor?.position == UInt64(names.count), "\(names.count) entries up to \(cursor?.position ?? 0)")
      return names
    }

    private func bytes(_ name: String, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: $0) ^ (name.utf8.first ?? 0) }
    }

    @Test(arguments: StorageKind.available) func eightWritersAtOnce(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        let token = try await relay.token()
        let acknowledged = try await withThrowingTaskGroup(of: [String].self) { group in
          for writer in 0..<8 {
            group.addTask {
              let mailbox = try relay.mailbox(token)
              var done: [String] = []
              for number in 0..<40 {
                // Some sizes stand in rows of their own; some names are everybody's.
                let name = number % 8 == 7 ? "shared-\(number)" : "w\(writer)-\(number)"
                let size = number % 10 == 9 ? 70_000 : 100
                _ = try await mailbox.put(MailboxUpload(name: name, bytes: bytes(name, size)))
                done.append(name)
              }
              return done
            }
          }
          return try await group.reduce(into: []) { $0 += $1 }
        }
        let mailbox = try relay.mailbox(token)
        let there = try await names(mailbox)
        #expect(there.count == 8 * 35 + 5 && Set(there).count == there.count)
        #expect(Set(acknowledged) == Set(there))
        for name in ["w3-9", "w7-29", "shared-39"] {
          var read: [UInt8] = []
          for try await piece in try await mailbox.get(name, from: 0) { read += piece }
          #expect(read == bytes(name, name == "shared-39" || name.hasSuffix("9") ? 70_000 : 100), "\(name)")
        }
      }
    }

    private final class Names: Sendable {
      private let names = Mutex<Set<String>>([])
      var all: Set<String> { names.withLock { $0 } }
      func add(_ name: String) -> Bool { names.withLock { $0.insert(name).inserted } }
    }

    /// Puts one entry after the other until the relay is gone.
    private func write(
      _ round: Int, _ writer: Int, _ port: Substring, _ space: String, _ token: String,
      _ onAcknowledged: @Sendable (String) -> Void
    ) async throws {
      var settings = RelayClient.Settings()
      settings.retries = 0
      let mailbox = try RelayMailbox("http://127.0.0.1:\(port)/s/\(space)", token: token, settings)
      for number in 0..<10_000 {
        let name = "r\(round)-w\(writer)-\(number)"
        do {
          _ = try await mailbox.put(MailboxUpload(name: name, bytes: bytes(name, number % 7 == 6 ? 70_000 : 200)))
        } catch let error as RelayError {
          // Only a relay that is gone may refuse.
          #expect(error.code == .unreachable)
          return
        }
        onAcknowledged(name)
      }
    }

    private static let writers = 8

    /// Again and again `kill -9` while eight write: what was acknowledged is there, once.
    @Test(arguments: StorageKind.available) func aRelayIsKilledUnderWriters(_ kind: StorageKind) async throws {
      let place = try await StoragePlace(kind)
      let (folder, options) = (place.folder, try place.options())
      let made = try await Tool.run("relay", "token", options[0], options[1], "--json", in: folder)
      #expect(made.status == 0, "\(made.errors)")
      let token = try JSONDecoder().decode([String: String].self, from: Data(made.output.utf8))
      let (space, secret) = (try #require(token["space"]), try #require(token["token"]))
      let acknowledged = Names()
      for round in 0..<Rounds.kills {
        let (process, line) = try await RelayProcess.start(
          "relay", options[0], options[1], "--listen", "127.0.0.1:0", "--rate", "100000", in: folder)
        let port = try #require(line.split(separator: ":").last)
        let (done, feed) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
          for writer in 0..<Self.writers {
            group.addTask {
              try await write(round, writer, port, space, secret) { if acknowledged.add($0) { feed.yield() } }
            }
          }
          // At another moment in each round.
          var count = 0
          for await _ in done {
            count += 1
            if count == 10 + 3 * (round % 20) { break }
          }
          #expect(await process.end(SIGKILL) == -SIGKILL)
          try await group.waitForAll()
        }
      }
      let relay = try await RelayFixture.start(in: place)
      let there = try await names(try RelayMailbox("\(relay.base)/s/\(space)", token: secret))
      let expected = acknowledged.all
      #expect(expected.count >= (0..<Rounds.kills).reduce(0) { $0 + 10 + 3 * ($1 % 20) })
      #expect(Set(there).count == there.count)
      #expect(expected.subtracting(there).isEmpty, "lost: \(expected.subtracting(there).sorted())")
      // What was not acknowledged may be there: at most what each writer had under way.
      #expect(there.count <= expected.count + Rounds.kills * Self.writers)
      try await relay.stop()
    }
  }
#endif
