#if Postgres
  import TallyRelayProtocol

  extension PostgresRelayStore {
    /// Puts and removes entries, one after the other in one transaction.
    package func write(_ writes: [RelayWrites.Write], by writer: RelayWriter, after cursor: RelayCursor?) async throws
      -> [RelayStore.Outcome]
    {
      let own = writes.map { write -> PostgresWrite in
        let key = EntryKey(space: writer.space, name: write.name)
        return switch write {
        case .put(_, let content): .put(key, body: content, after: cursor)
        case .removal: .remove(key)
        }
      }
      return try await commits.write(own, by: writer).map { result in
        switch result {
        case .success(.put(let put)): .put(put)
        case .success(.removed(let wasThere)): .removed(wasThere)
        case .success(.piece): .refused(Self.mismatch)
        case .failure(let problem): .refused(problem)
        }
      }
    }

    /// Takes a piece of an upload; the last makes it an entry.
    package func put(
      piece: [UInt8], at offset: Int, of length: Int, _ name: String, by writer: RelayWriter, after cursor: RelayCursor?
    ) async throws -> RelayStore.Piece {
      let key = EntryKey(space: writer.space, name: name)
      let own = PostgresWrite.piece(key, piece, offset: offset, length: length, after: cursor)
      guard case .piece(let outcome) = try await commits.write([own], by: writer).first?.get() else {
        throw Self.mismatch
      }
      return outcome
    }

    private static var mismatch: RelayProblem { RelayProblem(.internal, "a write was answered as another") }
  }
#endif
