#if Postgres
  import TallyRelayProtocol

  /// The name of an entry in its space.
  struct EntryKey: Sendable, Hashable {
    let space: Int64
    let name: String
  }

  /// A write that waits for a transaction.
  enum PostgresWrite: Sendable {
    case put(EntryKey, body: [UInt8], after: RelayCursor?)
    case piece(EntryKey, [UInt8], offset: Int, length: Int, after: RelayCursor?)
    case remove(EntryKey)

    /// The outcome of the write.
    enum Outcome: Sendable {
      case put(RelayStore.Put)
      case piece(RelayStore.Piece)
      case removed(Bool)
    }

    /// What became of it: a problem if it has changed nothing.
    typealias Result = Swift.Result<Outcome, RelayProblem>

    var key: EntryKey {
      switch self {
      case .put(let key, _, _), .piece(let key, _, _, _, _), .remove(let key): key
      }
    }

    /// About how much is written.
    var byteCount: Int {
      switch self {
      case .put(_, let body, _): body.count
      case .piece(_, let piece, _, _, _): piece.count
      case .remove(let key): key.name.utf8.count
      }
    }

    /// The same write after another cursor.
    func after(_ cursor: RelayCursor) -> PostgresWrite {
      switch self {
      case .put(let key, let body, _): .put(key, body: body, after: cursor)
      case .piece(let key, let piece, let offset, let length, _):
        .piece(key, piece, offset: offset, length: length, after: cursor)
      case .remove: self
      }
    }
  }

  /// Writes that one request makes to a space, one after the other.
  struct PostgresRequest: Sendable {
    let writer: RelayWriter
    let writes: [PostgresWrite]

    /// What became of each; a problem if the token did not permit any of them.
    typealias Outcome = Swift.Result<[PostgresWrite.Result], RelayProblem>
  }
#endif
