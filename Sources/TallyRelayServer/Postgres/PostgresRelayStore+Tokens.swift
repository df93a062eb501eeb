#if Postgres
  import TallyRelayProtocol

  extension PostgresRelayStore {
    /// The time, as the database has it, or a test.
    var givenTime: PostgresValue { .integer(settings.time?()) }

    /// The clock by which tokens expire.
    package func time() async throws -> Int64 {
      let time = givenTime
      return try await reading.run { session in
        try session.execute("SELECT \(PostgresTime.nowOrFirst)", [time]).first?.integer(0) ?? 0
      }
    }

    /// Makes a token, and a space if there is to be a new one.
    /// - Parameters:
    ///   - space: the id of a space; nil makes one.
    ///   - role: the role that the token grants.
    ///   - quota: the most bytes of the space from now on; nil leaves it as it is, or without a limit.
    ///   - expires: the end of the token, in seconds since 1970; nil for none.
    /// - Returns: the token, which nobody can ask for again.
    /// - Throws: `RelayStoreError` if there is no such space.
    public func makeToken(space: String?, role: RelayRole, quota: Int64? = nil, expires: Int64? = nil) async throws
      -> RelayStore.NewToken
    {
      let draft = RelayStore.TokenDraft(random)
      let (time, id) = (givenTime, space ?? draft.space)
      try await reading.run { session in
        try session.transaction {
          let number: Int64
          if space == nil {
            number = try Self.insertSpace(session, id, quota, time)
          } else {
            // Locked, so that the space is not removed before the token is there.
            let found = try session.execute(
              "SELECT number FROM tally_relay.space WHERE id = $1 AND deleted IS NULL FOR UPDATE", [.text(id)])
            guard let row = found.first else { throw RelayStoreError(.noSuchSpace, "there is no such space") }
            number = try row.integer(0)
            if quota != nil {
              try session.execute(
                "UPDATE tally_relay.space SET quota = $1 WHERE number = $2", [.integer(quota), .integer(number)])
            }
          }
          try session.execute(
            """
            INSERT INTO tally_relay.token(hash, space, role, created, expires)
            VALUES($2, $3, $4, \(PostgresTime.nowOrFirst), $5)
            """, [time, .bytes(draft.hash), .integer(number), .text(role.rawValue), .integer(expires)])
        }
      }
      return RelayStore.NewToken(token: draft.token, id: RelayStore.shortID(draft.hash), space: id)
    }

    private static func insertSpace(
      _ session: PostgresSession, _ id: String, _ quota: Int64?, _ time: PostgresValue
    ) throws -> Int64 {
      let rows = try session.execute(
        """
        INSERT INTO tally_relay.space(id, head, chain, entries, bytes, quota, created)
        VALUES($2, 0, $3, 0, 0, $4, \(PostgresTime.nowOrFirst)) RETURNING number
        """, [time, .text(id), .bytes(RelayChain.start(of: id)), .integer(quota)])
      return try rows.first?.integer(0) ?? 0
    }

    /// All tokens, the oldest first, without the secrets.
    public func tokens() async throws -> [RelayStore.TokenInfo] {
      try await reading.run { session in
        let rows = try session.execute(
          """
          SELECT hash, id, role, token.created, expires, revoked, deleted
          FROM tally_relay.token JOIN tally_relay.space ON number = space ORDER BY token.created, hash
          """)
        return try rows.map { row in
          RelayStore.TokenInfo(
            id: RelayStore.shortID(try row.bytes(0)), space: try row.text(1),
            role: RelayRole(rawValue: try row.text(2)) ?? .reader, created: try row.integer(3),
            expires: try row.optionalInteger(4), revoked: try row.optionalInteger(5),
            spaceDeleted: try row.optionalInteger(6))
        }
      }
    }

    /// Revokes a token. Every process that serves refuses it from its next request on, and what it has not put by then
    /// it does not put: the space is locked, as by those who put.
    /// - Parameter id: as `tokens()` has it, or the beginning of that.
    /// - Throws: `RelayStoreError` if there is none, or more than one.
    public func revoke(_ id: String) async throws {
      let time = givenTime
      try await reading.run { session in
        try session.transaction {
          let hashes = try session.execute("SELECT hash FROM tally_relay.token").map { try $0.bytes(0) }
          let hash = try RelayStore.meant(id, among: hashes)
          try session.execute(
            """
            SELECT number FROM tally_relay.space
            WHERE number = (SELECT space FROM tally_relay.token WHERE hash = $1) FOR UPDATE
            """, [.bytes(hash)])
          try session.execute(
            "UPDATE tally_relay.token SET revoked = \(PostgresTime.nowOrFirst) WHERE hash = $2 AND revoked IS NULL",
            [time, .bytes(hash)])
        }
      }
    }

    /// A token, by its hash, with its space, and the database's time; nil if nobody has made it.
    package func bearer(hash: [UInt8]) async throws -> RelayStore.Bearer? {
      let time = givenTime
      return try await reading.run { session in
        let rows = try session.execute(
          """
          SELECT space, id, role, expires, revoked, \(PostgresTime.nowOrFirst), deleted
          FROM tally_relay.token JOIN tally_relay.space ON number = space WHERE hash = $2
          """, [time, .bytes(hash)])
        return try rows.first.map { row in
          RelayStore.Bearer(
            hash: hash, space: try row.integer(0), spaceID: try row.text(1),
            role: RelayRole(rawValue: try row.text(2)) ?? .reader, expires: try row.optionalInteger(3),
            isRevoked: try row.optionalInteger(4) != nil, isSpaceDeleted: try row.optionalInteger(6) != nil,
            time: try row.integer(5))
        }
      }
    }
  }
#endif
