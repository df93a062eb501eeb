import TallySync

/// Checks that a transport keeps the contract of `SyncConnection`: with your own transport, run this in its tests.
///
/// ```swift
/// @Test func myTransportConforms() async throws {
///   try await TransportConformance.check { try await MyTransport.connectedPair() }
/// }
/// ```
///
/// It needs no test framework: a failure is an error that says which rule is broken and how. To see each rule as a case
/// of its own, run the `rules` one by one. A rule opens connections of its own and closes them; it takes up to a few
/// seconds, and gives up after two minutes, unless told otherwise.
public enum TransportConformance {
  /// Makes two connected ends, new ones for each rule.
  public typealias Pair = @Sendable () async throws -> (any SyncConnection, any SyncConnection)

  /// One sentence of the contract.
  public struct Rule: Sendable, CustomStringConvertible {
    /// The name of the rule, in camel case.
    public let name: String
    let body: @Sendable (Ends) async throws -> Void

    /// The rule's name, which names a test's case.
    public var description: String { name }

    /// Checks the rule.
    /// - Parameters:
    ///   - limit: the time after which the rule counts as broken.
    ///   - makePair: makes two connected ends; called once. They are closed at the end.
    /// - Throws: `ConformanceFailure`, also for what the connection throws; what `makePair` throws.
    public func check(within limit: Duration = .seconds(120), _ makePair: @escaping Pair) async throws {
      let pair = try await makePair()
      let ends = Ends(rule: name, here: pair.0, there: pair.1)
      do {
        try await ends.within(limit, name) { try await body(ends) }
      } catch {
        await ends.close()
        throw (error as? ConformanceFailure) ?? ConformanceFailure(name, "the connection threw: \(error)")
      }
      await ends.close()
    }
  }

  /// All rules, in the order in which they are best made to hold.
  public static let rules: [Rule] = messageRules + endingRules + pacingRules

  /// Checks all rules; the first that is broken ends it.
  /// - Throws: `ConformanceFailure`.
  public static func check(within limit: Duration = .seconds(120), _ makePair: @escaping Pair) async throws {
    for rule in rules { try await rule.check(within: limit, makePair) }
  }
}

/// A rule that a transport or mailbox breaks.
public struct ConformanceFailure: Error, Sendable, CustomStringConvertible {
  /// The name of the rule.
  public let rule: String
  /// A description of how the rule was broken, in a sentence.
  public let message: String

  init(_ rule: String, _ message: String) {
    self.rule = rule
    self.message = message
  }

  /// The rule, and how it was broken.
  public var description: String { "\(rule): \(message)" }
}

extension ConformanceFailure {
  /// Runs the body, which must end in time; if not, it is left behind.
  static func unless<T: Sendable>(
    endsWithin limit: Duration, _ what: String, of rule: String, _ body: @escaping @Sendable () async throws -> T
  ) async throws -> T {
    let ended = Latch()
    let task = Task.detached {
      defer { ended.open() }
      return try await body()
    }
    guard await ended.wait(atMost: limit) else {
      task.cancel()
      throw ConformanceFailure(rule, "\(what) did not end within \(limit)")
    }
    return try await task.value
  }
}
