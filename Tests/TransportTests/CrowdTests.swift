#if Network
  import NIOCore
  import Tally
  import TallyNetwork
  import Testing

  /// Many at a listener's door, and who gets in.
  @Suite(.timeLimit(.minutes(5))) struct CrowdTests {
    @Test func aThousandSilentStrangersKeepOutNobodyWithTheSecret() async throws {
      let (a, b) = (try Site(notes: 2, "a"), try Site(notes: 3, "b"))
      let secret = SharedSecret.random()
      var limits = NetworkLimits()
      (limits.connections, limits.strangers, limits.introduction) = (4, 16, .seconds(300))
      try await b.using { [limits] store in
        let listener = try await TCPListener(
          host: "127.0.0.1", port: 0, security: .secret(secret), limits: limits
        ) { connection in
          try await store.sync(over: connection)
        }
        let stranger = TCPTransport(host: "127.0.0.1", port: listener.port, security: .none)
        let friend = TCPTransport(host: "127.0.0.1", port: listener.port, security: .secret(secret))
        var silent: [TCPConnection] = []
        for number in 1...1000 {
          silent.append(try await stranger.connect())
          // More of them stay than there is room for of either kind.
          if silent.count > 200 { await silent.removeFirst().close() }
          if number.isMultiple(of: 250) {
            _ = try await a.using { try await $0.sync(over: try await friend.connect()) }
          }
        }
        for connection in silent { await connection.close() }
        await listener.close()
      }
      try Site.expectEqual(a, b)
    }

    @Test func aStrangerThatIsTurnedOutIsReportedAndGone() async throws {
      var limits = NetworkLimits()
      (limits.strangers, limits.introduction) = (1, .seconds(300))
      let (failures, feed) = AsyncStream.makeStream(of: (any Error).self)
      let listener = try await TCPListener(
        host: "127.0.0.1", port: 0, security: .secret(.random()), limits: limits
      ) {
        feed.yield($1)
      } serve: { _ in
      }
      let stranger = TCPTransport(host: "127.0.0.1", port: listener.port, security: .none)
      let first = try await stranger.connect()
      let second = try await stranger.connect()
      let failure = await failures.first { _ in true } as? SyncError
      #expect(failure?.code == .limitExceeded)
      while let word = try? await first.receive() { #expect(word.isEmpty) }
      await first.close()
      await second.close()
      await listener.close()
    }

    // MARK: Who has to go

    @Test func ofOneCrowdWhoHasWaitedLongestGoes() {
      var room = WaitingRoom(capacity: 3)
      #expect(Self.enter(1...3, from: 1, &room) == [nil, nil, nil])
      #expect(Self.enter(4...4, from: 1, &room) == [1])
      let hasLeft = [room.leave(3), room.leave(1)]
      #expect(hasLeft == [true, false])
      #expect(Self.enter(5...6, from: 1, &room) == [nil, 2])
      #expect(room.count == 3)
    }

    @Test func aCrowdTurnsOutItsOwn() {
      var room = WaitingRoom(capacity: 4)
      _ = Self.enter(0...0, from: 9, &room)
      _ = Self.enter(1...3, from: 1, &room)
      // However many come from there, the one from elsewhere stays.
      #expect(Self.enter(4...1000, from: 1, &room) == (1...997).map { $0 })
      #expect(Self.enter(1001...1001, from: 8, &room) == [998])
      let stayed = [room.leave(0), room.leave(1001)]
      #expect(stayed == [true, true])
    }

    @Test func theNewcomerIsNeverTurnedOut() {
      var room = WaitingRoom(capacity: 0)
      #expect(Self.enter(1...1, from: 1, &room) == [nil])
      #expect(Self.enter(2...3, from: 2, &room) == [1, 2])
    }

    private static func enter(_ ids: ClosedRange<Int>, from place: UInt8, _ room: inout WaitingRoom) -> [Int?] {
      ids.map { room.enter($0, from: [place]) }
    }

    @Test func anIPv6NetworkIsOnePlace() throws {
      func origin(_ text: String) throws -> [UInt8] {
        WaitingRoom.origin(of: try SocketAddress(ipAddress: text, port: 1))
      }
      #expect(try origin("2001:db8:1:2::1") == origin("2001:db8:1:2:ffff::7"))
      #expect(try origin("2001:db8:1:2::1") != origin("2001:db8:1:3::1"))
      #expect(try origin("192.0.2.1") == [192, 0, 2, 1])
      #expect(try origin("::ffff:192.0.2.1") == origin("192.0.2.1"))
      #expect(try origin("192.0.2.1") != origin("192.0.2.2"))
    }
  }
#endif
