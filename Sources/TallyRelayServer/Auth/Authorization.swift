#if Relay
  import HTTPTypes
  import Hummingbird
  import TallyRelayProtocol

  /// The identity of the requester, and whether the request is allowed.
  struct Authorization: Sendable {
    let store: any RelayStorage
    let known: KnownTokens

    /// The token of a request.
    /// - Throws: `RelayProblem` of status 401 if there is none that counts.
    func bearer(of request: Request) async throws -> RelayStore.Bearer {
      let hash = try hash(of: request)
      guard let bearer = try await store.bearer(hash: hash) else { throw Self.unauthenticated }
      try check(bearer)
      return bearer
    }

    /// The token of a request that writes: what counts is what the write itself finds in its transaction. One that was
    /// looked up lately need not be looked up before that too, only to know whose body is taken in.
    /// - Throws: `RelayProblem` of status 401 if there is none that counts.
    func writer(of request: Request) async throws -> RelayStore.Bearer {
      let hash = try hash(of: request)
      if let bearer = known[hash] { return bearer }
      let bearer = try await bearer(of: request)
      if bearer.role.mayWrite, !bearer.isSpaceDeleted { known[hash] = bearer }
      return bearer
    }

    /// The hash of a request's token.
    private func hash(of request: Request) throws -> [UInt8] {
      let scheme = "Bearer "
      // The scheme is the same in either case: RFC 9110, section 11.1.
      guard let field = request.headers[.authorization],
        field.prefix(scheme.count).lowercased() == scheme.lowercased(),
        RelayNames.isToken(field.dropFirst(scheme.count))
      else { throw Self.unauthenticated }
      return RelayStore.hash(String(field.dropFirst(scheme.count)))
    }

    /// Whether a token counted when it was looked up.
    func check(_ bearer: RelayStore.Bearer) throws {
      if bearer.isRevoked { throw RelayProblem(.tokenRevoked, "the token was revoked") }
      if let expires = bearer.expires, expires <= bearer.time {
        throw RelayProblem(.tokenExpired, "the token has expired")
      }
    }

    /// Whether the token is for a space. One that is not there, one that is another's and one that was deleted look
    /// alike.
    func check(_ bearer: RelayStore.Bearer, for space: some StringProtocol) throws {
      guard bearer.spaceID == space, !bearer.isSpaceDeleted else { throw Self.noSuchSpace }
    }

    /// Looks a token up again for somebody who has waited with it.
    /// - Throws: `RelayProblem` if the token counts no longer, or its space was deleted.
    func checkAgain(_ bearer: RelayStore.Bearer) async throws {
      // A token goes only with its space.
      guard let again = try await store.bearer(hash: bearer.hash) else { throw Self.noSuchSpace }
      try check(again)
      try check(again, for: bearer.spaceID)
    }

    private static var unauthenticated: RelayProblem {
      RelayProblem(.unauthenticated, "a token is needed, in Authorization: Bearer")
    }

    static var noSuchSpace: RelayProblem { RelayProblem(.noSuchSpace, "there is no such space") }
  }
#endif
