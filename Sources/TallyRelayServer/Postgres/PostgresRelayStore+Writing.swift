#if Postgres
  import TallyRelayProtocol

  extension PostgresRelayStore {
    /// Appends an entry, unless one of that name is there.
    package func put(_ name: String, _ body: [UInt8], in space: Int64, after cursor: RelayCursor?) async throws
      -> RelayStore.Put
    {
      guard case .put(let put) = try await write(.put(EntryKey(space: space, name: name), body: body, after: cursor))
      else { throw Self.mismatch }
      return put
    }

    /// Takes a piece of an upload; the last makes it an entry.
    package func put(
      piece: [UInt8], at offset: Int, of length: Int, _ name: String, in space: Int64, after cursor: RelayCursor?
    ) async throws -> RelayStore.Piece {
      let key = EntryKey(space: space, name: name)
      guard case .piece(let piece) = try await write(.piece(key, piece, offset: offset, length: length, after: cursor))
      else { throw Self.mismatch }
      return piece
    }

    /// Removes an entry: its place stays, without content.
    /// - Returns: whether it was there.
    package func remove(_ name: String, in space: Int64) async throws -> Bool {
      guard case .removed(let wasThere) = try await write(.remove(EntryKey(space: space, name: name))) else {
        throw Self.mismatch
      }
      return wasThere
    }

    private func write(_ write: PostgresWrite) async throws -> PostgresWrite.Outcome {
      try await commits.write(write)
    }

    private static var mismatch: RelayProblem { RelayProblem(.internal, "a write was answered as another") }
  }
#endif
