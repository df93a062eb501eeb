import TallySync

/// The rules that concern pace: the slow side sets it.
extension TransportConformance {
  static let pacingRules = [
    Rule(name: "aSlowReaderHoldsUpTheSender") { ends in
      let (sent, sending) = try await ends.fill(ends.here) { Ends.sample($0, 65_536) }
      let ahead = sent.value
      try ends.expect(ahead < Ends.flood, "64 MiB were taken while nobody read")
      for number in 0..<ahead + 5 {
        try await ends.expect(Ends.sample(number, 65_536), at: ends.there, "message \(number)")
      }
      sending.cancel()
      _ = await sending.result
    },
    Rule(name: "aSlowReaderDoesNotHoldUpTheOtherDirection") { ends in
      let (_, sending) = try await ends.fill(ends.here) { Ends.sample($0, 65_536) }
      try await ends.there.send([7])
      try await ends.expect([7], at: ends.here, "the message of the other direction")
      sending.cancel()
      _ = await sending.result
    },
  ]
}
