#if Relay
  import Foundation
  import GRDB
  import Tally
  import TallyAssets
  import TallySync
  import Testing

  /// Files of assets travel over a relay as entries that no listing mentions.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct AssetTests {
    private static let schema = Schema([EntitySchema("Person", .text("name"), .asset("photo", download: .eager))])

    private func store(_ folder: URL, _ name: String) throws -> Store {
      try Store(path: folder.appendingPathComponent(name).path, schema: Self.schema)
    }

    @Test(arguments: StorageKind.available) func aPictureTravels(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        let folder = try RelayFixture.newFolder()
        let mailbox = try relay.mailbox(try await relay.token())
        let (one, other) = (try store(folder, "one"), try store(folder, "other"))
        for count in [0, 1, 100_000, 9_000_000] {
          let bytes = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 13 &+ $0 >> 8) })
          let name = try one.assets.add(bytes, type: "bin")
          try await one.write { db in
            try db.execute(
              sql: "INSERT INTO Person(id, photo) VALUES('Person|~|a', ?1) ON CONFLICT DO UPDATE SET photo = ?1",
              arguments: [name])
          }
          let sent = try await one.sync(through: mailbox)
          #expect(sent.assets.written == [name] && sent.assets.issues == [] && sent.assets.failure == nil)
          let received = try await other.sync(through: mailbox)
          #expect(received.assets.taken == [name] && received.assets.wanted == 0)
          #expect(try Data(contentsOf: #require(try other.assets.url(of: name))) == bytes)
        }
        for store in [one, other] {
          let again = try await store.sync(through: mailbox)
          #expect(again.assets == AssetTransfers() && again.bytesRead == 0 && again.bytesWritten == 0)
        }
      }
    }

    /// A file that is too large for the relay keeps no other from travelling, and the report says so.
    @Test func whatTheRelayRefusesIsReported() async throws {
      try await RelayFixture.run { relay in
        let folder = try RelayFixture.newFolder()
        let mailbox = try relay.mailbox(try await relay.token(quota: 200_000))
        let one = try store(folder, "one")
        var names: [AssetName] = []
        for count in [400_000, 1_000] {
          let name = try one.assets.add(Data(repeating: UInt8(count % 251), count: count), type: "bin")
          names.append(name)
          try await one.write { db in
            try db.execute(
              sql: "INSERT INTO Person(id, photo) VALUES(?, ?)", arguments: ["Person|~|\(count)", name])
          }
        }
        let report = try await one.sync(through: mailbox)
        #expect(report.assets.written == [names[1]] && report.assets.unsent == 1)
        #expect(report.assets.issues.map(\.name) == [names[0]] && report.isComplete)
      }
    }
  }
#endif
