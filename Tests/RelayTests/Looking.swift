#if Relay
  /// Waits for what can only be looked at.
  enum Looking {
    struct TooLate: Error, CustomStringConvertible {
      let what: String
      let limit: Duration
      var description: String { "not within \(limit): \(what)" }
    }

    /// Looks again and again until something is so.
    /// - Throws: `TooLate`, and what looking throws.
    static func until(_ what: String, within limit: Duration, _ condition: () async throws -> Bool) async throws {
      let end = ContinuousClock.now + limit
      while try await !condition() {
        guard ContinuousClock.now < end else { throw TooLate(what: what, limit: limit) }
        // So that looking leaves the processor to what is looked at.
        try await Task.sleep(for: .milliseconds(20))
      }
    }
  }
#endif
