#if Relay
  import TallyRelayProtocol

  /// Who writes into a space. The token is looked up in the write's own transaction, so nothing is put with one that
  /// was revoked before, however long the write has waited.
  package struct RelayWriter: Sendable, Hashable {
    let space: Int64
    /// The hash of the token; nil for the relay's owner, who needs none.
    let token: [UInt8]?
    /// The most bytes of the space if it has no quota of its own; nil for no limit.
    let quota: Int64?

    /// Somebody who writes into a space.
    package init(space: Int64, token: [UInt8]? = nil, quota: Int64? = nil) {
      (self.space, self.token, self.quota) = (space, token, quota)
    }

    /// The same writer where spaces without a quota of their own have one.
    func limited(to quota: Int64?) -> RelayWriter {
      RelayWriter(space: space, token: token, quota: self.quota ?? quota)
    }

    /// A token, as the transaction finds it.
    struct Found: Sendable {
      let space: Int64
      let role: RelayRole
      let expires: Int64?
      let isRevoked: Bool
    }

    /// Whether what was found under the token's hash permits it to write at a time.
    /// - Throws: `RelayProblem` of status 401, 403 or 404.
    func check(_ found: Found?, _ time: Int64) throws(RelayProblem) {
      guard token != nil else { return }
      guard let found else { throw RelayProblem(.unauthenticated, "a token is needed, in Authorization: Bearer") }
      if found.isRevoked { throw RelayProblem(.tokenRevoked, "the token was revoked") }
      if let expires = found.expires, expires <= time { throw RelayProblem(.tokenExpired, "the token has expired") }
      guard found.space == space else { throw Authorization.noSuchSpace }
      guard found.role.mayWrite else { throw RelayProblem(.forbidden, "the token's role does not allow that") }
    }
  }

  extension RelayStore {
    /// The outcome of one of several writes.
    package enum Outcome: Sendable, Hashable {
      /// It is there.
      case put(Put)
      /// Whether it was there, and was removed.
      case removed(Bool)
      /// It has changed nothing.
      case refused(RelayProblem)
    }

    /// What is found under a name that is asked for.
    package enum Content: Sendable, Hashable {
      case whole([UInt8])
      /// An entry of so many bytes that is too large, or for which there is no room.
      case elsewhere(Int)
      case missing
    }
  }

  extension RelayStorage {
    /// Appends an entry, unless one of that name is there.
    package func put(
      _ name: String, _ body: [UInt8], by writer: RelayWriter, after cursor: RelayCursor?
    ) async throws -> RelayStore.Put {
      switch try await write([.put(name: name, content: body)], by: writer, after: cursor).first {
      case .put(let put): return put
      case .refused(let problem): throw problem
      case .removed, nil: throw Self.mismatch
      }
    }

    /// Removes an entry: its place stays, without content.
    /// - Returns: whether it was there.
    package func remove(_ name: String, by writer: RelayWriter) async throws -> Bool {
      switch try await write([.removal(name: name)], by: writer, after: nil).first {
      case .removed(let wasThere): return wasThere
      case .refused(let problem): throw problem
      case .put, nil: throw Self.mismatch
      }
    }

    private static var mismatch: RelayProblem { RelayProblem(.internal, "a write was answered as another") }

    // MARK: Without a token

    /// Appends an entry for the owner.
    package func put(_ name: String, _ body: [UInt8], in space: Int64, after cursor: RelayCursor?) async throws
      -> RelayStore.Put
    { try await put(name, body, by: RelayWriter(space: space), after: cursor) }

    /// Takes a piece of an upload for the owner.
    package func put(
      piece: [UInt8], at offset: Int, of length: Int, _ name: String, in space: Int64, after cursor: RelayCursor?
    ) async throws -> RelayStore.Piece {
      try await put(piece: piece, at: offset, of: length, name, by: RelayWriter(space: space), after: cursor)
    }

    /// Removes an entry for the owner.
    package func remove(_ name: String, in space: Int64) async throws -> Bool {
      try await remove(name, by: RelayWriter(space: space))
    }

    /// A token with its space, whatever its state; nil if nobody has made it.
    package func bearer(_ token: String) async throws -> RelayStore.Bearer? {
      try await bearer(hash: RelayStore.hash(token))
    }
  }
#endif
