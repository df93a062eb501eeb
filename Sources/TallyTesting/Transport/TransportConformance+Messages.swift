import TallySync

/// Whole messages, in order, each once.
extension TransportConformance {
  private static let limit = SyncLimits.messageBytes
  private static let sizes = [
    1, 2, 127, 128, 129, 4095, 4096, 4097, 16_383, 16_384, 16_385, 65_535, 65_536, 65_537, limit - 1, limit,
  ]

  static let messageRules = [
    Rule(name: "messagesKeepTheirOrder") { ends in
      let sending = Task { for number in 0..<300 { try await ends.here.send(Ends.sample(number, 1 + number % 50)) } }
      for number in 0..<300 {
        try await ends.expect(Ends.sample(number, 1 + number % 50), at: ends.there, "message \(number)")
      }
      try await sending.value
    },
    Rule(name: "everySizeUpToTheLimitIsWhole") { ends in
      let sending = Task { for size in sizes { try await ends.here.send(Ends.sample(size, size)) } }
      for size in sizes { try await ends.expect(Ends.sample(size, size), at: ends.there, "a message of \(size) bytes") }
      try await sending.value
    },
    Rule(name: "anOversizedMessageIsRefused") { ends in
      try await refuse(Ends.sample(0, limit + 1), ends)
      try await ends.here.send([1, 2, 3])
      try await ends.expect([1, 2, 3], at: ends.there, "the message after the refused one")
    },
    Rule(name: "anEmptyMessageIsRefused") { ends in
      try await refuse([], ends)
      try await ends.here.send([4])
      try await ends.expect([4], at: ends.there, "the message after the refused one")
    },
    Rule(name: "thousandsOfSmallMessagesArrive") { ends in
      let sending = Task { for number in 0..<5_000 { try await ends.here.send(Ends.sample(number, 1 + number % 16)) } }
      for number in 0..<5_000 {
        try await ends.expect(Ends.sample(number, 1 + number % 16), at: ends.there, "message \(number)")
      }
      try await sending.value
    },
    Rule(name: "bothDirectionsWorkAtOnce") { ends in
      @Sendable func talk(_ own: any SyncConnection, _ from: Int, _ other: Int) async throws {
        let sending = Task {
          for number in 0..<100 { try await own.send(Ends.sample(from + number, 65_536)) }
        }
        for number in 0..<100 {
          try await ends.expect(Ends.sample(other + number, 65_536), at: own, "message \(number)")
        }
        try await sending.value
      }
      async let one: Void = talk(ends.here, 1_000, 2_000)
      async let two: Void = talk(ends.there, 2_000, 1_000)
      _ = try await (one, two)
    },
  ]

  private static func refuse(_ message: [UInt8], _ ends: Ends) async throws {
    do {
      try await ends.here.send(message)
    } catch is SyncError {
      return
    } catch {
      throw ends.fail("a message of \(message.count) bytes was refused with \(type(of: error)), not SyncError")
    }
    throw ends.fail("a message of \(message.count) bytes was taken")
  }
}
