#if PlantedFaults
  import TallyCRDT
  import TallyWire

  extension Store {
    /// Ends the process if what is known in memory is not what the file says. Tests run so, whatever they test.
    func check(_ latest: LatestCommit) {
      checkFile(of: latest) { reader in
        guard try reader.vectorFitsItsSum() else { return true }
        return try Self.summary(reader) == latest.summary
      }
    }

    /// Ends the process if the blocks out of memory are not those that the file gives, byte by byte.
    func check(_ buffer: DeltaBuffer, _ latest: LatestCommit, _ header: DeltaHeader) {
      checkFile(of: latest) { reader in
        guard try reader.vectorFitsItsSum() else { return true }
        var (kept, stored): ([[UInt8]], [[UInt8]]) = ([], [])
        let replicas = header.target.entries.map(\.replica)
        func bytes(_ draft: BlockDraft) -> [UInt8] { draft.block.encoded(replicas: replicas) }
        try DeltaSource(reader: reader, base: header.base).forEachBlock(of: header.target) { stored.append(bytes($0)) }
        try buffer.forEachBlock(header, latest.catalog) { kept.append(bytes($0)) }
        return kept == stored
      }
    }

    private func checkFile(of latest: LatestCommit, _ isRight: (StateReader) throws -> Bool) {
      let outcome = Result { try snapshot { reader in try (isRight(reader), hasUnseen(reader)) } }
      // Somebody else has committed meanwhile, or the file is damaged in ways that SQLite knows nothing of.
      guard position == latest.position, case .success(let (isRight, hasUnseen)) = outcome else { return }
      precondition(isRight && !hasUnseen, "what is known of a store in memory is not what its file says")
    }
  }
#endif
