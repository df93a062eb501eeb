import TallySync

/// Checks that a mailbox satisfies the contract of `Mailbox`. Run it in the tests of your own `Mailbox` or
/// `FileMailbox`.
///
/// ```swift
/// @Test func myMailboxConforms() async throws {
///   try await MailboxConformance.check { try await MyMailbox.empty() }
/// }
/// ```
///
/// It needs no test framework: a failure is an error that names the broken rule and describes how it was broken. To see
/// each rule as a case of its own, run the `rules` one by one. Rules put deltas of up to 1.5 MiB under the names that a
/// pass would use. A rule waits only for the mailbox; it takes up to a few seconds and by default gives up after two
/// minutes. Logs must satisfy more rules than folders: see `Mailbox.kind`.
public enum MailboxConformance {
  /// A function that creates an empty mailbox.
  public typealias Place = @Sendable () async throws -> any Mailbox

  /// One sentence of the contract.
  public struct Rule: Sendable, CustomStringConvertible {
    /// The name of the rule, in camel case.
    public let name: String
    let body: @Sendable (MailboxUnderTest) async throws -> Void

    /// The rule's name, for the name of a test case.
    public var description: String { name }

    /// Checks this rule on a new mailbox.
    /// - Parameters:
    ///   - limit: the time after which the rule counts as broken.
    ///   - makePlace: creates an empty mailbox.
    /// - Throws: `ConformanceFailure`.
    public func check(within limit: Duration = .seconds(120), _ makePlace: @escaping Place) async throws {
      let place = MailboxUnderTest(rule: name, limit: limit, mailbox: try await makePlace())
      do {
        try await place.within(limit, name) { try await body(place) }
      } catch {
        throw (error as? ConformanceFailure) ?? ConformanceFailure(name, "the mailbox threw: \(error)")
      }
    }
  }

  /// All rules, in the order in which it is best to implement them.
  public static let rules: [Rule] = entryRules + cursorRules + waitingRules + passRules

  /// Checks all rules, and stops at the first broken one.
  /// - Throws: `ConformanceFailure`.
  public static func check(within limit: Duration = .seconds(120), _ makePlace: @escaping Place) async throws {
    for rule in rules { try await rule.check(within: limit, makePlace) }
  }
}
