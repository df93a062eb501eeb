import TallySync

/// Checks that a transport satisfies the contract of `SyncConnection`. Run it in the tests of your own transport.
///
/// ```swift
/// @Test func myTransportConforms() async throws {
///   try await TransportConformance.check { try await MyTransport.connectedPair() }
/// }
/// ```
///
/// It needs no test framework: a failure is an error that names the broken rule and describes how it was broken. To see
/// each rule as a case of its own, run the `rules` one by one. A rule opens connections of its own and closes them; it
/// takes up to a few seconds and by default gives up after two minutes.
public enum TransportConformance {
  /// A function that creates two connected ends, new ones for each rule.
  public typealias Pair = @Sendable () async throws -> (any SyncConnection, any SyncConnection)

  /// One sentence of the contract.
  public struct Rule: Sendable, CustomStringConvertible {
    /// The name of the rule, in camel case.
    public let name: String
    let body: @Sendable (Ends) async throws -> Void

    /// The rule's name, for the name of a test case.
    public var description: String { name }

    /// Checks this rule on a new pair of ends.
    /// - Parameters:
    ///   - limit: the time after which the rule counts as broken.
    ///   - makePair: creates two connected ends; called once. They are closed at the end.
    /// - Throws: `ConformanceFailure`, also for errors of the connection; the errors of `makePair`.
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

  /// All rules, in the order in which it is best to implement them.
  public static let rules: [Rule] = messageRules + endingRules + pacingRules

  /// Checks all rules, and stops at the first broken one.
  /// - Throws: `ConformanceFailure`.
  public static func check(within limit: Duration = .seconds(120), _ makePair: @escaping Pair) async throws {
    for rule in rules { try await rule.check(within: limit, makePair) }
  }
}

/// A rule that a transport or mailbox breaks.
public struct ConformanceFailure: Error, Sendable, CustomStringConvertible {
  /// The name of the broken rule.
  public let rule: String
  /// A sentence that describes how the rule was broken.
  public let message: String

  init(_ rule: String, _ message: String) {
    self.rule = rule
    self.message = message
  }

  /// The rule's name and the description.
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
