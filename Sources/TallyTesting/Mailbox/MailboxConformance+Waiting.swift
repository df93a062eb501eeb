import TallySync

/// A log tells of news; everybody ends when told to.
extension MailboxConformance {
  private static let soon: Duration = .seconds(60)

  static let waitingRules = [
    Rule(name: "cancellingEndsAWait") { place in
      _ = try await place.put(0..<1)
      let cursor = try await place.news().cursor
      for isEarly in [false, true] {
        let waiting = Task {
          if isEarly { withUnsafeCurrentTask { $0?.cancel() } }
          try await place.mailbox.wait(after: cursor)
        }
        await Task.yield()
        waiting.cancel()
        let result = try await place.within(min(soon, place.limit), "a wait that was cancelled") {
          await waiting.result
        }
        guard case .failure(let error) = result else {
          throw place.fail("a wait that was cancelled says there is news")
        }
        try place.expect(
          error is CancellationError, "a wait that was cancelled throws \(type(of: error)), not CancellationError")
      }
    },
    Rule(name: "aWaitThatIsBehindEndsAtOnce") { place in
      guard place.mailbox.kind == .log else { return }
      let empty = try await place.news().cursor
      _ = try await place.put(0..<1)
      let first = try await place.news().cursor
      _ = try await place.put(1..<2)
      for cursor in [nil, empty, first] {
        try await place.within(min(soon, place.limit), "a wait for what is there already") {
          try await place.mailbox.wait(after: cursor)
        }
      }
    },
    Rule(name: "aWaitEndsWhenSomethingIsPut") { place in
      guard place.mailbox.kind == .log else { return }
      _ = try await place.put(0..<1)
      let cursor = try await place.news().cursor
      let waiting = (0..<3).map { _ in Task { try await place.mailbox.wait(after: cursor) } }
      await Task.yield()
      try await place.put(try SampleEntry(5))
      for task in waiting {
        try await place.within(min(soon, place.limit), "a wait for what was put") { try await task.value }
      }
    },
  ]
}
