#if Relay
  import Crypto
  import Foundation
  import GRDB
  import TallyRelayProtocol

  extension RelayStore {
    /// A token that was made just now. The relay keeps its hash, so nobody can ask for it again.
    public struct NewToken: Sendable {
      /// The token itself, which is shown this once and not stored.
      public let token: String
      /// The name of the token in `tally relay list` and `revoke`: the beginning of its hash.
      public let id: String
      /// The space that it is for.
      public let space: String
    }

    /// The facts that are known about a token.
    public struct TokenInfo: Sendable, Hashable {
      /// The beginning of its hash.
      public let id: String
      /// The space that it is for.
      public let space: String
      /// The role that the token grants.
      public let role: RelayRole
      /// When it was made, when it ends and when it was revoked, in seconds since 1970.
      public let created: Int64, expires: Int64?, revoked: Int64?
      /// When its space was deleted, in seconds since 1970; nil if it was not.
      public let spaceDeleted: Int64?
    }

    /// A token, as a request needs it.
    package struct Bearer: Sendable, Hashable {
      let hash: [UInt8]
      package let space: Int64
      let spaceID: String
      let role: RelayRole
      let expires: Int64?
      let isRevoked: Bool
      /// Whether the token's space is deleted.
      let isSpaceDeleted: Bool
      /// When it was looked up, by the clock that `expires` goes by.
      let time: Int64
    }

    /// Makes a token, and a space if there is to be a new one.
    /// - Parameters:
    ///   - space: the id of a space; nil makes one.
    ///   - role: the role that the token grants.
    ///   - quota: the most bytes of the space from now on; nil leaves it as it is, or without a limit.
    ///   - expires: the end of the token, in seconds since 1970; nil for none.
    /// - Returns: the token, which nobody can ask for again.
    /// - Throws: `RelayStoreError` if there is no such space; `DatabaseError`.
    public func makeToken(space: String?, role: RelayRole, quota: Int64? = nil, expires: Int64? = nil) async throws
      -> NewToken
    {
      let (draft, time) = (TokenDraft(random), now())
      let id = try await writing { db in
        if space == nil { try Self.insertSpace(db, draft.space, quota, time) }
        let id = space ?? draft.space
        let live = "SELECT number FROM space WHERE id = ? AND deleted IS NULL"
        guard let number = try Int64.fetchOne(db, sql: live, arguments: [id]) else {
          throw RelayStoreError(.noSuchSpace, "there is no such space")
        }
        if space != nil, let quota {
          try db.execute(literal: "UPDATE space SET quota = \(quota) WHERE number = \(number)")
        }
        try db.execute(
          sql: "INSERT INTO token(hash, space, role, created, expires) VALUES(?, ?, ?, ?, ?)",
          arguments: [Data(draft.hash), number, role.rawValue, time, expires])
        return id
      }
      return NewToken(token: draft.token, id: Self.shortID(draft.hash), space: id)
    }

    /// Writes beside the groups, also from processes that do not serve; on a full disk with the reserve's room.
    private func writing<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
      do {
        return try await pool.write(body)
      } catch let error as DatabaseError where reserve.isFull(error) && reserve.release() {
        return try await pool.write(body)
      }
    }

    private static func insertSpace(_ db: Database, _ id: String, _ quota: Int64?, _ time: Int64) throws {
      try db.execute(
        sql: "INSERT INTO space(id, head, chain, entries, bytes, quota, created) VALUES(?, 0, ?, 0, 0, ?, ?)",
        arguments: [id, Data(RelayChain.start(of: id)), quota, time])
    }

    /// All tokens, the oldest first, without the secrets.
    public func tokens() async throws -> [TokenInfo] {
      try await pool.read { db in
        let rows = try Row.fetchAll(
          db,
          sql: """
            SELECT token.*, space.id, space.deleted FROM token JOIN space ON space.number = token.space
            ORDER BY token.created, hash
            """)
        return rows.map { row in
          TokenInfo(
            id: Self.shortID(Array(row["hash"] as Data)), space: row["id"],
            role: RelayRole(rawValue: row["role"]) ?? .reader, created: row["created"], expires: row["expires"],
            revoked: row["revoked"], spaceDeleted: row["deleted"])
        }
      }
    }

    /// Revokes a token. A process that serves refuses it from its next request on, and what it has not put by then it
    /// does not put.
    /// - Parameter id: as `tokens()` has it, or the beginning of that.
    /// - Throws: `RelayStoreError` if there is none, or more than one.
    public func revoke(_ id: String) async throws {
      let time = now()
      try await writing { db in
        let hashes = try Data.fetchAll(db, sql: "SELECT hash FROM token").map(Array.init)
        let hash = try Self.meant(id, among: hashes)
        try db.execute(
          sql: "UPDATE token SET revoked = ? WHERE hash = ? AND revoked IS NULL", arguments: [time, Data(hash)])
      }
    }

    /// A token, by its hash, with its space, whatever its state; nil if nobody has made it.
    package func bearer(hash: [UInt8]) async throws -> Bearer? { try await lookups.bearer(hash) }

    static func bearer(_ db: Database, _ hash: [UInt8], _ time: Int64) throws -> Bearer? {
      let statement = try db.cachedStatement(
        sql: """
          SELECT token.space, space.id, token.role, token.expires, token.revoked, space.deleted
          FROM token JOIN space ON space.number = token.space WHERE hash = ?
          """)
      return try Row.fetchOne(statement, arguments: [Data(hash)]).map { row in
        Bearer(
          hash: hash, space: row[0], spaceID: row[1], role: RelayRole(rawValue: row[2]) ?? .reader, expires: row[3],
          isRevoked: row[4] as Int64? != nil, isSpaceDeleted: row[5] as Int64? != nil, time: time)
      }
    }

    /// The random part of a new token, and the id of a new space.
    struct TokenDraft: Sendable {
      let token: String
      let hash: [UInt8]
      let space: String

      init(_ random: Random) {
        token = RelayNames.tokenPrefix + RelayStore.base64url(random(32))
        hash = RelayStore.hash(token)
        space = random(16).map { RelayStore.hexadecimal($0) }.joined()
      }
    }

    /// The one hash that an id, or the beginning of one, means.
    static func meant(_ id: String, among hashes: [[UInt8]]) throws -> [UInt8] {
      let meant = hashes.filter { shortID($0).hasPrefix(id) }
      guard let hash = meant.first, meant.count == 1, !id.isEmpty else {
        throw RelayStoreError(.noSuchToken, meant.isEmpty ? "there is no such token" : "several tokens begin so")
      }
      return hash
    }

    static func hash(_ token: String) -> [UInt8] { Array(SHA256.hash(data: Data(token.utf8))) }

    static func shortID(_ hash: [UInt8]) -> String { hash.prefix(8).map { hexadecimal($0) }.joined() }

    private static func hexadecimal(_ byte: UInt8) -> String {
      let digits = Array("0123456789abcdef")
      return String([digits[Int(byte >> 4)], digits[Int(byte & 15)]])
    }

    private static func base64url(_ bytes: [UInt8]) -> String {
      Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
        .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }
  }
#endif
