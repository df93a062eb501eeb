#if Relay
  import HTTPTypes
  import Hummingbird
  import TallyRelayProtocol

  /// Who asks, and whether they may.
  struct Authorization: Sendable {
    let store: any RelayStorage

    /// The token of a request.
    /// - Throws: `RelayProblem` of status 401 if there is none that counts.
    func bearer(of request: Request) async throws -> RelayStore.Bearer {
      let scheme = "Bearer "
      guard let field = request.headers[.authorization], field.hasPrefix(scheme),
        RelayNames.isToken(field.dropFirst(scheme.count)),
        let bearer = try await store.bearer(String(field.dropFirst(scheme.count)))
      else { throw RelayProblem(.unauthenticated, "a token is needed, in Authorization: Bearer") }
      try check(bearer)
      return bearer
    }

    /// Whether a token counted when it was looked up.
    func check(_ bearer: RelayStore.Bearer) throws {
      if bearer.isRevoked { throw RelayProblem(.tokenRevoked, "the token was revoked") }
      if let expires = bearer.expires, expires <= bearer.time {
        throw RelayProblem(.tokenExpired, "the token has expired")
      }
    }

    /// Whether the token is for a space. A space that is not there and one that is another's look alike.
    func check(_ bearer: RelayStore.Bearer, for space: some StringProtocol) throws {
      guard bearer.spaceID == space else { throw RelayProblem(.noSuchSpace, "there is no such space") }
    }
  }
#endif
