import TallySync

/// The rules that concern the ends of connections.
extension TransportConformance {
  private static let soon: Duration = .seconds(60)

  static let endingRules = [
    Rule(name: "closingIsAnOrderlyEndAfterTheLastMessage") { ends in
      for number in 0..<3 { try await ends.here.send(Ends.sample(number, 1_000)) }
      let closing = Task { await ends.here.close() }
      for number in 0..<3 { try await ends.expect(Ends.sample(number, 1_000), at: ends.there, "message \(number)") }
      for _ in 0..<2 {
        let end = try await ends.there.receive()
        try ends.expect(end == nil, "a message came after the last")
      }
      await ends.there.close()
      await closing.value
    },
    Rule(name: "sendingAfterCloseThrows") { ends in
      await ends.here.close()
      do {
        try await ends.here.send([1])
      } catch { return }
      throw ends.fail("a message was taken after close")
    },
    Rule(name: "receivingAfterCloseEnds") { ends in
      try await ends.there.send([1])
      await ends.here.close()
      let end = try await ends.within(soon, "receive") { try await ends.here.receive() }
      try ends.expect(end == nil, "a message came after close")
    },
    Rule(name: "closingTwiceIsHarmless") { ends in
      await ends.here.close()
      await ends.here.close()
      await ends.there.close()
    },
    Rule(name: "sendingToAPeerThatHasClosedFailsSoon") { ends in
      await ends.there.close()
      try await ends.within(soon, "sending") {
        do {
          for number in 0..<Ends.flood { try await ends.here.send(Ends.sample(number, 65_536)) }
        } catch { return }
        throw ends.fail("64 MiB were taken for a peer that has closed")
      }
    },
    Rule(name: "closeEndsAWaitingReceive") { ends in
      let receiving = try await ends.waitingReceive()
      await ends.here.close()
      try await ends.within(soon, "receive") { _ = await receiving.result }
    },
    Rule(name: "closeEndsAWaitingSend") { ends in
      let (_, sending) = try await ends.fill(ends.here) { Ends.sample($0, 65_536) }
      try await ends.within(soon, "close") { await ends.here.close() }
      try await ends.within(soon, "send") { _ = await sending.result }
    },
    Rule(name: "cancellingEndsAWaitingReceive") { ends in
      let receiving = try await ends.waitingReceive()
      receiving.cancel()
      try await ends.within(soon, "receive") { _ = await receiving.result }
    },
    Rule(name: "cancellingEndsAWaitingSend") { ends in
      let (_, sending) = try await ends.fill(ends.here) { Ends.sample($0, 65_536) }
      sending.cancel()
      try await ends.within(soon, "send") { _ = await sending.result }
    },
  ]
}
