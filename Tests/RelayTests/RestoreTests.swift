#if Relay
  import Foundation
  import TallyRelay
  import TallyRelayProtocol
  import TallyRelayServer
  import TallyStore
  import TallySync
  import TallyWire
  import Testing

  /// A relay whose file or database is set back.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct RestoreTests {
    /// Writes would go into a file that has no name any more, and end with the process.
    @Test func nothingIsAcknowledgedIntoAFileThatIsGone() async throws {
      try await RelayFixture.run { relay in
        let token = try await relay.token()
        let path = relay.place.path
        func put(_ name: String) async throws -> RawHTTP.Answer {
          try await RawHTTP.send(
            "PUT", "/v1/spaces/\(token.space)/entries/\(name)",
            ["Authorization": "Bearer \(token.token)", "Content-Digest": RelayDigest.field(SHA256.hash([1]))], [1],
            port: relay.port)
        }
        #expect(try await put("a").status == 201)
        try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
        #expect(try await put("b").problem == "storageFailed")
        try FileManager.default.copyItem(atPath: path + ".away", toPath: path)
        #expect(try await put("c").problem == "storageFailed")
        #expect(try await RawHTTP.send("GET", "/readyz", port: relay.adminPort).status == 503)
        #expect(relay.log.contains { $0.contains("was removed, renamed or replaced") })
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
        #expect(try await [put("a").status, put("b").status, put("c").status] == [200, 201, 201])
        #expect(try await RawHTTP.send("GET", "/readyz", port: relay.adminPort).status == 200)
      }
    }

    /// A backup is restored, and somebody new writes before those come by whose entries were lost. Positions alone
    /// would skip what has taken the place of the lost entries.
    @Test(arguments: StorageKind.available) func whatARestoredRelayLacksIsPutAgain(_ kind: StorageKind) async throws {
      var relay = try await RelayFixture.start(kind)
      let (place, port) = (relay.place, relay.port)
      let token = try await relay.token()
      let (one, two) = (try Scores.store("one"), try Scores.store("two"))
      try await Scores.settle([one, two], try relay.mailbox(token))
      try await relay.stop()
      try await place.backUp()

      relay = try await RelayFixture.start(in: place, port: port)
      try Scores.insert("lost-1", into: one)
      try await Scores.settle([one, two], try relay.mailbox(token))
      try Scores.insert("lost-2", into: two)
      try await Scores.settle([one, two], try relay.mailbox(token))
      try await relay.stop()
      try await place.restore()

      relay = try await RelayFixture.start(in: place, port: port)
      let mailbox = try relay.mailbox(token)
      let three = try Scores.store("three")
      for number in 0..<4 {
        try Scores.insert("new-\(number)", into: three)
        try await three.sync(through: mailbox)
      }
      try await Scores.settle([one, two, three], mailbox)
      let late = try Scores.store("late")
      try await Scores.settle([one, two, three, late], mailbox)
      let expected = ["late", "lost-1", "lost-2", "new-0", "new-1", "new-2", "new-3", "one", "three", "two"]
      for store in [one, two, three, late] {
        #expect(try Scores.names(store) == expected)
        #expect(try Scores.dump(store) == Scores.dump(one))
      }
      try await relay.stop()
    }

    /// A relay that begins anew has the space's id and token, and nothing else.
    @Test(arguments: StorageKind.available) func anEmptyRelayIsFilledAgain(_ kind: StorageKind) async throws {
      var relay = try await RelayFixture.start(kind)
      let (place, port) = (relay.place, relay.port)
      let token = try await relay.token()
      try await relay.stop()
      try await place.backUp()
      relay = try await RelayFixture.start(in: place, port: port)
      let (one, two) = (try Scores.store("one", noise: 100_000), try Scores.store("two"))
      try await Scores.settle([one, two], try relay.mailbox(token))
      try await relay.stop()
      try await place.restore()
      relay = try await RelayFixture.start(in: place, port: port)
      let late = try Scores.store("late")
      try await Scores.settle([late, one, two], try relay.mailbox(token))
      for store in [one, two, late] { #expect(try Scores.names(store) == ["late", "one", "two"]) }
      try await relay.stop()
    }
  }
#endif
