import TallyRelayProtocol
import TallyStore

/// The reason why a request to a relay failed. It never contains a token.
///
/// ```swift
/// do {
///   let status = try await RelayMailbox("https://relay.example/s/3f2a", token: token).status()
///   print(status)
/// } catch let error as RelayError where error.code == .unauthenticated {
///   print("Ask for another token: \(error.message)")
/// }
/// ```
///
/// An engine catches these errors itself: the peer's status has the code, `isPermanent` decides whether the engine
/// gives up, and the engine respects `retryAfter`. Entries that a pass has already taken in stay, and the next pass
/// does the rest.
public struct RelayError: TallyError {
  /// The kinds of failures that a relay's client reports.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    /// The address is not `https://HOST/s/ID`, or the space's id is malformed. Nothing was sent.
    case invalidAddress
    /// The relay cannot be reached, has disconnected, or has an invalid certificate.
    case unreachable
    /// The answer does not follow the relay's protocol: it comes from another server, or from an intermediary.
    case notARelay
    /// The relay does not know the token, or the token has expired or was revoked.
    case unauthenticated
    /// The token's role does not allow it.
    case forbidden
    /// There is no such space, or the token does not open it.
    case noSuchSpace
    /// There is no such entry in the space.
    case noSuchEntry
    /// The space or the relay's disk has no room left. Reading still works.
    case quotaExceeded
    /// The relay does not accept entries of that size, or a proxy before it accepts no request large enough to carry
    /// part of one.
    case tooLarge
    /// There were too many requests, or the relay is overloaded: retry after `retryAfter`.
    case busy
    /// Bytes were changed in transit.
    case damaged
    /// The relay considered the request malformed, or has an internal fault.
    case failed
  }

  /// The kind of failure, to decide what to do about it.
  public let code: Code
  /// A description of the error, for people.
  public let message: String
  /// The time that the relay asks to wait before the next attempt.
  public let retryAfter: Duration?
  /// The problem that the relay reported; nil if it reported none, or an unknown one.
  public let problem: RelayProblem.Code?

  /// Creates an error from a code and a message.
  public init(
    _ code: Code, _ message: String, retryAfter: Duration? = nil, problem: RelayProblem.Code? = nil
  ) {
    (self.code, self.message, self.retryAfter, self.problem) = (code, message, retryAfter, problem)
  }

  /// True for a malformed address, and for a token that the relay does not know or that does not open this space:
  /// create another token, and a mailbox with it. A read-only token does not count as permanent, because a device with
  /// it continues to receive.
  public var isPermanent: Bool { [.invalidAddress, .unauthenticated, .noSuchSpace].contains(code) }

  /// The message with the code in parentheses.
  public var description: String { "\(message) (\(problem?.rawValue ?? code.rawValue))" }
}

extension RelayError {
  /// Creates the error for a request without an answer.
  init(_ error: RelayTransportError) {
    func unreachable(_ why: String) -> RelayError { RelayError(.unreachable, "the relay cannot be reached: \(why)") }
    self =
      switch error {
      case .noSuchHost: unreachable("no such host")
      case .refused: unreachable("nobody listens there")
      case .noNetwork: unreachable("there is no network")
      case .untrusted: unreachable("its certificate does not hold")
      case .timedOut: unreachable("it does not answer")
      case .tooSlow: unreachable("it answers too slowly")
      case .connectionLost: unreachable("the connection broke")
      case .proxy: unreachable("the proxy that the environment names does not let it through")
      case .other(let name): unreachable(name)
      case .notHTTP: RelayError(.notARelay, "not a relay: the answer is not HTTP")
      case .asksForPassword: RelayError(.notARelay, "not a relay: it asks for a password")
      case .tooLong: RelayError(.notARelay, "not a relay: the answer is longer than the protocol allows")
      case .tooFast: RelayError(.notARelay, "not a relay: events arrive faster than they can be read")
      }
  }

  /// Creates the error for an answer that is not a success.
  init(_ answer: RelayAnswer) {
    let problem = RelayProblem.Code(rawValue: answer.field(RelayHeader.problem) ?? "")
    let retryAfter = answer.field("retry-after").flatMap(Int.init)
    // A relay asks for its token and says so.
    if problem == nil, Self.asksForPassword(answer) {
      self.init(RelayTransportError.asksForPassword)
    } else {
      self.init(
        problem, retryAfter: retryAfter, status: answer.status,
        // A proxy in between answers as it likes.
        otherwise: [429, 502, 503, 504].contains(answer.status)
          ? .busy : Self.isOfProxy(answer) ? .tooLarge : .notARelay)
    }
  }

  /// Creates the error for a problem that a relay reports, or `otherwise` if it is none that is known.
  init(_ problem: RelayProblem.Code?, retryAfter: Int?, status: Int? = nil, otherwise: Code = .failed) {
    let code: Code =
      switch problem {
      case .unauthenticated, .tokenExpired, .tokenRevoked: .unauthenticated
      case .forbidden: .forbidden
      case .noSuchSpace: .noSuchSpace
      case .noSuchEntry: .noSuchEntry
      case .quotaExceeded, .storageFull: .quotaExceeded
      case .tooLarge: .tooLarge
      case .tooManyRequests, .tooManyWaiting, .busy: .busy
      case .digestMismatch: .damaged
      case .noSuchPath, .methodNotAllowed: .notARelay
      case .badRequest, .digestMissing, .headersTooLarge, .offsetMismatch, .rangeNotSatisfiable, .noSuchUpload,
        .storageFailed, .internal:
        .failed
      case nil: otherwise
      }
    self.init(
      code, Self.words(code, problem, status ?? problem?.status ?? 500),
      retryAfter: retryAfter.map { .seconds(min(max($0, 0), 3_600)) }, problem: problem)
  }

  /// Whether something before the relay takes no body of that size: a relay would have said that it is one.
  static func isOfProxy(_ answer: RelayAnswer) -> Bool {
    answer.status == 413 && answer.field(RelayHeader.problem) == nil
  }

  private static func asksForPassword(_ answer: RelayAnswer) -> Bool {
    let field = [401: "www-authenticate", 407: "proxy-authenticate"][answer.status]
    guard let challenge = field.flatMap(answer.field)?.lowercased() else { return false }
    return !challenge.hasPrefix("bearer")
  }

  private static func words(_ code: Code, _ problem: RelayProblem.Code?, _ status: Int) -> String {
    switch problem {
    case .tokenExpired: return "the token has expired"
    case .tokenRevoked: return "the token was revoked"
    case .storageFull: return "the relay's disk is full"
    case .storageFailed: return "the relay cannot read or write its file or database"
    default: break
    }
    switch code {
    case .unauthenticated: return "the relay does not know the token"
    case .forbidden: return "the token's role does not allow that"
    case .noSuchSpace: return "there is no such space on the relay, or it is not the token's"
    case .noSuchEntry: return "there is no such entry"
    case .quotaExceeded: return "the space has no room left"
    case .tooLarge where problem == nil:
      return "a proxy before the relay refuses what is to be put as too large (status 413): its limit for bodies must "
        + "be 4 MiB, client_max_body_size 4m in nginx"
    case .tooLarge: return "the relay does not take entries of that size"
    case .busy: return "the relay is busy"
    case .damaged: return "bytes were changed on the way"
    case .notARelay: return "not a relay: status \(status)"
    case .failed: return "the relay answers with status \(status)"
    case .unreachable: return "the relay cannot be reached"
    case .invalidAddress: return "invalid relay address; expected https://HOST/s/ID"
    }
  }
}
