#if PlantedFaults
  import TallyCRDT
  import TallyWire

  extension Store {
    /// Ends the process if what is known in memory is not what the file says. All tests run so.
    func check(_ latest: LatestCommit) {
      checkFile(of: latest) { reader in
        let summary = try Self.summary(reader)
        return try !reader.vectorFitsItsSum() || summary == latest.summary ? nil : "\(latest.summary), not \(summary)"
      }
    }

    /// Ends the process if the blocks out of memory are not those that the file gives, byte by byte.
    func check(_ buffer: DeltaBuffer, _ latest: LatestCommit, _ header: DeltaHeader) {
      checkFile(of: latest) { reader in
        guard try reader.vectorFitsItsSum() else { return nil }
        var (kept, stored): ([DeltaBlock], [DeltaBlock]) = ([], [])
        try DeltaSource(reader: reader, base: header.base).forEachBlock(of: header.target) { stored.append($0.block) }
        try buffer.forEachBlock(header, latest.outcome.catalog) { kept.append($0.block) }
        let replicas = header.target.entries.map(\.replica)
        let isRight = kept.map { $0.encoded(replicas: replicas) } == stored.map { $0.encoded(replicas: replicas) }
        return isRight ? nil : "\(header)\nin memory: \(kept)\nin the file: \(stored)"
      }
    }

    private func checkFile(of latest: LatestCommit, _ difference: (StateReader) throws -> String?) {
      let outcome = Result { try snapshot { reader in try (difference(reader), hasUnseen(reader)) } }
      // Another process has committed meanwhile, or the file is damaged in ways that SQLite knows nothing of.
      guard position == latest.position, case .success(let (difference, hasUnseen)) = outcome else { return }
      guard let difference = difference ?? (hasUnseen ? "something to capture" : nil) else { return }
      preconditionFailure("what is known of a store in memory is not what its file says: \(difference)")
    }
  }
#endif
