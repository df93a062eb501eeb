import GRDB
import TallyCRDT
import TallyWire

/// The outcome of seeding: whether it was new, and what it replaced.
public struct SeedReport: Sendable, Equatable {
  /// Whether this call brought the version into the store; false if it was here, from an earlier call or from a peer.
  public var isNew = false
  /// Records of older app versions that were taken for duplicates and gave way to their seeds.
  public var adopted: [AnyRecordName] = []
  /// The virtual replica of this version.
  public var replica: ReplicaID
}

/// A seed set that a store knows of.
public struct SeedSetStatus: Sendable, Equatable {
  /// One version of the set that is known here.
  public struct Version: Sendable, Equatable {
    /// The number of the version, counted from 1.
    public var version: Int
    /// Its virtual replica. Two builds that ship different content under one version have two.
    public var replica: ReplicaID
    /// The number of records in the set.
    public var records: Int
  }

  /// The name of the seed set.
  public var name: String
  /// The versions that are here, ascending.
  public var versions: [Version]
  /// The version that this store's app seeded; nil if all came from peers.
  public var applied: Int?
}

extension Store {
  /// Brings a seed set into the store: call it at every launch.
  ///
  /// ```swift
  /// let toast = SeedRecord("toast", of: SpeechType.self, ["name": "Toast", "seconds": 120])
  /// try store.seed(SeedSet("speeches", version: 1, records: [toast]))
  /// ```
  ///
  /// The first time, all of it appears in one transaction. From then on the call reads and writes nothing but what the
  /// set's adoptions find. A record that a person edited does not change; one that they deleted does not return. Peers
  /// that have no such set get it by sync; peers that have it exchange nothing about it.
  ///
  /// Cost: hashing the set; with adoptions, and if it is another than at the last call, generating it as well; if it is
  /// new, like applying a delta of it.
  /// - Returns: whether the version was new here, and which records gave way to seeds by ``SeedSet/adoptions``.
  /// - Throws: `StoreError.invalidSeeds` if the set breaks a rule or does not fit the schema, `.seedVersionBackwards`
  ///   if this store has applied a newer version; GRDB's `DatabaseError`. The store is as it was.
  @discardableResult
  public func seed(_ set: SeedSet) throws -> SeedReport {
    let found: (digest: SeedDigest?, applied: AppliedSeed?, isHere: Bool) = try snapshot { reader in
      let digest = try digest(of: set, reader)
      guard let digest, let applied = try reader.appliedSeed(set.name), applied.digest == digest else {
        return (digest, nil, false)
      }
      return (digest, applied, try reader.vector().covers(Dot(replica: applied.replica, sequence: 1)))
    }
    if let applied = found.applied, found.isHere { return SeedReport(replica: applied.replica) }
    let (history, isHere, isNoted) = try snapshot { reader in
      let checked = try CheckedSeedSet(set, reader.catalog.schema)
      #if PlantedFaults
        let history = SeedHistory(checked, options)
      #else
        let history = SeedHistory(checked)
      #endif
      let noted = try reader.appliedSeed(set.name)
      try check(noted, set, history)
      return (
        history, try reader.vector().covers(history.vector),
        noted?.replica == history.replica && noted?.digest == found.digest
      )
    }
    var report = SeedReport(replica: history.replica)
    if !isHere || !isNoted {
      report.isNew = try replicate { try $0.seed(set, history, found.digest) }.value
    }
    if !set.adoptions.isEmpty { report.adopted = try adopt(set) }
    return report
  }

  /// Nil for a set that must be generated all the same.
  private func digest(of set: SeedSet, _ reader: StateReader) throws -> SeedDigest? {
    #if PlantedFaults
      guard options.planted.isEmpty else { return nil }
    #endif
    guard set.adoptions.isEmpty, let schema = try reader.connection.meta("schema", { $0.blob(0) }) else { return nil }
    return SeedDigest(set, schema: schema)
  }

  private func check(_ applied: AppliedSeed?, _ set: SeedSet, _ history: SeedHistory) throws {
    guard let applied else { return }
    guard set.version >= applied.version else {
      throw StoreError(
        .seedVersionBackwards,
        "\(set.name) has version \(set.version), but this store has applied version \(applied.version)")
    }
    if set.version == applied.version, history.replica != applied.replica {
      options.logger.warning(
        "a seed set has other content than before under the same version; raise the version",
        metadata: ["set": "\(set.name)", "version": "\(set.version)"])
    }
  }

  /// The seed sets that this store knows of, with their versions: those that its app has seeded, and those that came
  /// from peers.
  ///
  /// ```swift
  /// for set in try store.seedSets() { print(set.name, set.versions.map(\.version), set.applied ?? 0) }
  /// ```
  /// - Returns: the sets, by name.
  /// - Throws: `StoreError.closed`; GRDB's `DatabaseError`.
  public func seedSets() throws -> [SeedSetStatus] { try snapshot { try $0.seedSets() } }
}

extension WriteTransaction {
  /// - Returns: whether the version was not here.
  func seed(_ set: SeedSet, _ history: SeedHistory, _ digest: SeedDigest?) throws -> Bool {
    let isNew = !standing.vector.covers(history.vector)
    if isNew {
      // Replays the history of the set's virtual replica.
      var blocks = [BlockDraft(history.block)][...]
      let header = DeltaHeader(base: StateVector(), target: history.vector)
      _ = try apply(header, isRepair: false, isFromPeer: false) { blocks.popFirst() }
    }
    let note = try connection.statement("INSERT OR REPLACE INTO tally_meta VALUES(?, ?)")
    note.bind(1, StateReader.appliedKey(set.name))
    note.bind(2, AppliedSeed(version: set.version, replica: history.replica, digest: digest).text)
    try note.run()
    return isNew
  }
}

extension StateReader {
  static func appliedKey(_ set: String) -> String { "seeds \(set)" }

  /// The version of a set that this store's own app has applied.
  func appliedSeed(_ set: String) throws -> AppliedSeed? {
    try connection.meta(Self.appliedKey(set)) { try AppliedSeed($0.text(0) ?? "") }
  }

  fileprivate func seedSets() throws -> [SeedSetStatus] {
    guard let kind = catalog.kind(of: SeedHistory.setType) else { return [] }
    var result: [SeedSetStatus] = []
    try forEachHiddenRecord(kind.number) { _, stored in
      var names = Set<String>()
      let versions = (stored.state.seed?.layers ?? []).map { layer in
        if case .text(let name) = value("name", layer, kind) { names.insert(name) }
        let records = if case .integer(let count) = value("records", layer, kind) { Int(count) } else { 0 }
        return SeedSetStatus.Version(
          version: Int(layer.version), replica: layer.stamp.dot.replica, records: records)
      }
      guard let name = names.min() else { return }
      result.append(SeedSetStatus(name: name, versions: versions, applied: try appliedSeed(name)?.version))
    }
    return result.sorted { $0.name < $1.name }
  }

  private func value(_ field: String, _ layer: SeedLayer, _ kind: RecordKind) -> Value? {
    catalog.fieldOfKey[kind.number]?[field].flatMap { layer[$0]?.value }
  }
}
