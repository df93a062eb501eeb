import TallySync

/// Checks that a mailbox keeps the contract of `Mailbox`: with your own, or your own `FileMailbox`, run this in its
/// tests.
///
/// ```swift
/// @Test func myMailboxConforms() async throws {
///   try await MailboxConformance.check { try await MyMailbox.empty() }
/// }
/// ```
///
/// It needs no test framework: a failure is an error that says which rule is broken and how. To see each rule as a case
/// of its own, run the `rules` one by one. What rules put are deltas under the names that a pass gives them, up to 1.5
/// MiB. A rule never waits but for the mailbox; it takes up to a few seconds, and gives up after two minutes, unless
/// told otherwise. Logs are held to more than folders: `Mailbox.kind`.
public enum MailboxConformance {
  /// Makes a place with nothing in it.
  public typealias Place = @Sendable () async throws -> any Mailbox

  /// One sentence of the contract.
  public struct Rule: Sendable, CustomStringConvertible {
    /// The name of the rule, in camel case.
    public let name: String
    let body: @Sendable (MailboxUnderTest) async throws -> Void

    /// The rule's name, which names a test's case.
    public var description: String { name }

    /// Checks the rule.
    /// - Parameters:
    ///   - limit: how long it may take.
    ///   - makePlace: makes a place with nothing in it.
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

  /// All rules, in the order in which they are best made to hold.
  public static let rules: [Rule] = entryRules + cursorRules + waitingRules + passRules

  /// Checks all rules; the first that is broken ends it.
  /// - Throws: `ConformanceFailure`.
  public static func check(within limit: Duration = .seconds(120), _ makePlace: @escaping Place) async throws {
    for rule in rules { try await rule.check(within: limit, makePlace) }
  }
}
