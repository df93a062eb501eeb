import TallyCRDT
import TallyWire

extension Store {
  /// Applies a seed set to the store. Call it at every launch.
  ///
  /// ```swift
  /// let toast = SeedRecord("toast", of: SpeechType.self, ["name": "Toast", "seconds": 120])
  /// try store.seed(SeedSet("speeches", version: 1, records: [toast]))
  /// ```
  ///
  /// The first time, the whole set appears in one transaction. After that, the call reads and writes only what the
  /// set's adoptions find. A record that a person edited does not change; one that they deleted does not return. Peers
  /// without the set receive it by sync; peers that have it exchange nothing about it.
  ///
  /// Cost: hashing the set; with adoptions, and if the set differs from the last call's, generating it too; if it is
  /// new, the cost of applying a delta with its content.
  /// - Returns: whether the version was new here, and which records gave way to seeds by ``SeedSet/adoptions``.
  /// - Throws: `StoreError.invalidSeeds` if the set breaks a rule or does not fit the schema, `.seedVersionBackwards`
  ///   if this store has applied a newer version; GRDB's `DatabaseError`. The store is unchanged.
  @discardableResult
  public func seed(_ set: SeedSet) throws -> SeedReport {
    let found: (digest: SeedDigest?, applied: AppliedSeed?, isHere: Bool) = try snapshot { reader in
      let digest = try SeedDigest(set, reader, options.environment)
      guard let digest, let applied = try reader.appliedSeed(set.name), applied.digest == digest else {
        return (digest, nil, false)
      }
      return (digest, applied, try reader.vector().covers(Dot(replica: applied.replica, sequence: 1)))
    }
    if let applied = found.applied, found.isHere { return SeedReport(replica: applied.replica) }
    let (history, isHere, isNoted) = try snapshot { reader in
      let checked = try CheckedSeedSet(set, reader.catalog.schema)
      #if PlantedFaults
        let history = SeedHistory(checked, options.environment)
      #else
        let history = SeedHistory(checked)
      #endif
      let noted = try reader.appliedSeed(set.name)
      try noted?.check(set, history, options.logger)
      return (
        history, try reader.vector().covers(history.vector),
        noted?.replica == history.replica && noted?.digest == found.digest
      )
    }
    var report = SeedReport(replica: history.replica)
    if !isHere || !isNoted {
      report.isNew = try replicate { try $0.seed(set, history, found.digest) }.value
    }
    if try !set.adoptions.isEmpty && snapshot({ try set.finds($0) }) {
      report.adopted = try replicate { try $0.adopt(set) }.value
    }
    return report
  }

  /// Returns the seed sets that this store knows, with their versions: those that its app has seeded, and those of
  /// peers.
  ///
  /// ```swift
  /// for set in try store.seedSets() { print(set.name, set.versions.map(\.version), set.applied ?? 0) }
  /// ```
  /// - Returns: the sets, in the order of their names.
  /// - Throws: `StoreError.closed`; GRDB's `DatabaseError`.
  public func seedSets() throws -> [SeedSetStatus] { try snapshot { try $0.seedSets() } }
}
