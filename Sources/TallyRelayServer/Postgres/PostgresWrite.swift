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

    var isPiece: Bool {
      guard case .piece = self else { return false }
      return true
    }
  }
#endif
