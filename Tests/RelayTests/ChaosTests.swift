#if Relay
  import Foundation
  import Synchronization
  import TallyRelay
  import TallyRelayServer
  import TallySync
  import TestEffort
  import Testing

  /// Twenty writers, and a relay and a database that are killed again and again: nothing acknowledged is lost. So it is
  /// with two thousand puts, and in a long run with a hundred thousand, on each storage.
  @Suite(
    .cleansUp, .timeLimit(10, perHundred: (Effort.isLong ? Rounds.longChaos : Rounds.chaos) / 200), .serialized)
  struct ChaosTests {
    private static let writers = 20
    private static let batch = 8

    /// The acknowledged entries, and how many of them, and how many kills, a run needs.
    private final class Ledger: Sendable {
      private let names = Mutex<Set<String>>([])
      private let kills = Mutex(0)
      let target: Int
      /// Between two kills there are some hundreds of puts, and more where the machine is busy.
      private var leastKills: Int { max(10, target / 2_000) }
      /// How many there are now, each time that there are more.
      let counts: AsyncStream<Int>
      private let feed: AsyncStream<Int>.Continuation

      init(_ target: Int) {
        self.target = target
        (counts, feed) = AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingNewest(1))
      }

      var all: Set<String> { names.withLock { $0 } }
      var isFull: Bool { names.withLock { $0.count >= target } && kills.withLock { $0 >= leastKills } }

      func addKill() { kills.withLock { $0 += 1 } }

      func add(_ name: String) {
        feed.yield(
          names.withLock { names in
            names.insert(name)
            return names.count
          })
      }
    }

    private func content(_ name: String) -> [UInt8] {
      let seed = name.utf8.reduce(11) { $0 &* 31 &+ Int($1) }
      // Some stand in rows of their own.
      return (0..<(seed & 63 == 0 ? 70_000 : 100)).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ seed) }
    }

    /// Puts entries until there are enough, alone and together in turn, each until it is acknowledged. A relay that is
    /// gone comes back.
    private func write(_ writer: Int, _ mailbox: RelayMailbox, _ ledger: Ledger) async throws {
      var number = 0
      while !ledger.isFull {
        let count = number % 2 == 0 ? 1 : Self.batch
        var rest = (0..<count).map { "w\(writer)-\(number)-\($0)" }
        number += 1
        while !rest.isEmpty, !ledger.isFull {
          let results = try await mailbox.put(rest.map { MailboxUpload(name: $0, bytes: content($0)) })
          var left: [String] = []
          for (name, result) in zip(rest, results) {
            switch result {
            case .success: ledger.add(name)
            case .failure(let error as RelayError):
              // Nothing else may happen to it.
              #expect(
                error.code == .unreachable || error.code == .busy || error.problem == .storageFailed, "\(error)")
              left.append(name)
            case .failure(let error): throw error
            }
          }
          rest = left
          if !rest.isEmpty { try await Task.sleep(for: .milliseconds(50)) }
        }
      }
    }

    private func relay(_ place: StoragePlace, _ port: Int = 0) async throws -> (process: RelayProcess, port: Int) {
      let options = try place.options()
      let (process, line) = try await RelayProcess.start(
        "relay", options[0], options[1], "--listen", "127.0.0.1:\(port)", "--rate", "1000000", in: place.folder)
      return (process, try #require(Int(line.split(separator: ":").last ?? "")))
    }

    @Test(arguments: StorageKind.available) func nothingAcknowledgedIsLost(_ kind: StorageKind) async throws {
      try await expectNothingLost(Rounds.chaos, kind)
    }

    @Test(.enabled(if: Effort.isLong, "a long test"), arguments: StorageKind.available)
    func noneOfAHundredThousandIsLost(_ kind: StorageKind) async throws {
      try await expectNothingLost(Rounds.longChaos, kind)
    }

    /// Puts until so many are acknowledged, and kills meanwhile, ten times at least.
    private func expectNothingLost(_ count: Int, _ kind: StorageKind) async throws {
      let cluster = kind == .postgres ? try await PostgresCluster.start() : nil
      let place = try await StoragePlace(kind, in: cluster)
      let owner = try await place.open(.administration)
      let token = try await owner.makeToken(space: nil, role: .writer, quota: nil, expires: nil)
      try owner.close()
      var (process, port) = try await relay(place)
      let ledger = Ledger(count)
      var settings = RelayClient.Settings()
      (settings.retries, settings.timeout) = (0, .seconds(20))
      var kills = 0
      try await withThrowingTaskGroup(of: Void.self) { [settings] group in
        for writer in 0..<Self.writers {
          let mailbox = try RelayMailbox("http://127.0.0.1:\(port)/s/\(token.space)", token: token.token, settings)
          group.addTask { try await write(writer, mailbox, ledger) }
        }
        // At another moment each time, also before much has come since the last.
        var next = 40
        for await count in ledger.counts where count >= next || ledger.isFull {
          if ledger.isFull { break }
          next = count + min(ledger.target / 20, 500) + 17 * (kills % 7)
          if let cluster, kills % 2 == 1 {
            try await cluster.crash()
            try await cluster.startAgain()
          } else {
            #expect(await process.end(SIGKILL) == -SIGKILL)
            (process, port) = try await relay(place, port)
          }
          kills += 1
          ledger.addKill()
          if ledger.isFull { break }
        }
        try await group.waitForAll()
      }
      #expect(await process.end(SIGTERM) == 0, "\(process.errorText)")
      if kind == .sqlite {
        let check = try await Tool.run("relay", "check", "--data", "relay.sqlite", in: place.folder)
        #expect(check.status == 0, "\(check.output)")
      }
      try await expectAll(ledger, place, token)
    }

    /// All that was acknowledged is there, once and whole, and little else.
    private func expectAll(_ ledger: Ledger, _ place: StoragePlace, _ token: RelayStore.NewToken) async throws {
      let relay = try await RelayFixture.start(in: place)
      let mailbox = try relay.mailbox(token)
      var (there, cursor): (Set<String>, MailboxCursor?) = ([], nil)
      var count = 0
      while true {
        let page = try await mailbox.changes(after: cursor)
        for item in page.items {
          count += 1
          there.insert(item.name)
          let bytes = if let content = item.content { content } else { try await read(item.name, mailbox) }
          #expect(bytes == content(item.name), "\(item.name)")
        }
        cursor = page.cursor
        if !page.hasMore { break }
      }
      let expected = ledger.all
      #expect(expected.count >= ledger.target)
      #expect(expected.isSubset(of: there), "lost: \(expected.subtracting(there).sorted().prefix(20))")
      #expect(count == there.count && cursor?.position == UInt64(count))
      // What was under way when there was enough.
      #expect(there.count <= expected.count + Self.writers * Self.batch)
      try await relay.stop()
    }

    private func read(_ name: String, _ mailbox: RelayMailbox) async throws -> [UInt8] {
      var bytes: [UInt8] = []
      for try await piece in try await mailbox.get(name, from: 0) { bytes += piece }
      return bytes
    }
  }
#endif
