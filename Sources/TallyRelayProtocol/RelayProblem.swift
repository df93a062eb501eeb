import Foundation

/// The answer of a relay that refuses a request: a stable code, and a description for people.
///
/// As `application/problem+json` (RFC 9457): `{"code":"quotaExceeded","status":507,"title":"…"}`. Readers go by the
/// code and ignore members that they do not know.
public struct RelayProblem: Error, Sendable, Hashable, Codable {
  /// The kind of problem. A code is never used for anything else.
  public enum Code: String, Sendable, Hashable, Codable, CaseIterable {
    /// No token, no token of this form, or an unknown one.
    case unauthenticated
    /// The token's time is over.
    case tokenExpired
    /// The token was revoked.
    case tokenRevoked
    /// The token's role does not allow it.
    case forbidden
    /// There is no such space, or it is not the token's.
    case noSuchSpace
    /// There is no such entry, or no longer.
    case noSuchEntry
    /// There is no such upload, or no longer.
    case noSuchUpload
    /// There is nothing at that path.
    case noSuchPath
    /// The resource at that path does not support the method.
    case methodNotAllowed
    /// A part of the request is malformed.
    case badRequest
    /// The request has no `Content-Digest` with `sha-256`.
    case digestMissing
    /// The body is not what `Content-Digest` says.
    case digestMismatch
    /// A body, or an entry, is larger than the relay takes.
    case tooLarge
    /// There are too many header fields, or too many bytes of them.
    case headersTooLarge
    /// A piece of an upload does not begin where the relay stands: `Upload-Offset` says where.
    case offsetMismatch
    /// A range begins beyond the entry's end.
    case rangeNotSatisfiable
    /// The space has no room left. Reading goes on.
    case quotaExceeded
    /// The token asks too often: `Retry-After`.
    case tooManyRequests
    /// The token waits in too many requests at once.
    case tooManyWaiting
    /// The relay has too much to do, or is about to end: `Retry-After`.
    case busy
    /// The relay's disk is full. Reading goes on.
    case storageFull
    /// The relay cannot read or write its file.
    case storageFailed
    /// A fault of the relay.
    case `internal`
  }

  /// The kind of problem, to decide what to do about it.
  public let code: Code
  /// The status of the answer.
  public let status: Int
  /// A description of the problem, for people; it never contains a secret.
  public let title: String
  /// After how many seconds to try again.
  public var retryAfter: Int?

  /// Creates a problem from its kind and a title for people.
  public init(_ code: Code, _ title: String, retryAfter: Int? = nil) {
    (self.code, self.title, self.retryAfter) = (code, title, retryAfter)
    status = code.status
  }

  /// The JSON, always the same bytes for the same problem.
  public func json() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(self))
  }
}

extension RelayProblem.Code {
  /// The status of an answer with this code.
  public var status: Int {
    switch self {
    case .badRequest, .digestMissing: 400
    case .unauthenticated, .tokenExpired, .tokenRevoked: 401
    case .forbidden: 403
    case .noSuchSpace, .noSuchEntry, .noSuchUpload, .noSuchPath: 404
    case .methodNotAllowed: 405
    case .offsetMismatch: 409
    case .tooLarge: 413
    case .rangeNotSatisfiable: 416
    case .digestMismatch: 422
    case .tooManyRequests, .tooManyWaiting: 429
    case .headersTooLarge: 431
    case .internal: 500
    case .busy, .storageFailed: 503
    case .quotaExceeded, .storageFull: 507
    }
  }
}
