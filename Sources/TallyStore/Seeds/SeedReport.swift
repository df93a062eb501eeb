import Logging
import TallyCRDT
import TallyWire

/// The outcome of seeding: whether the version was new, and which records it replaced.
public struct SeedReport: Sendable, Equatable {
  /// Whether this call added the version to the store; false if the store had it from an earlier call or a peer.
  public var isNew = false
  /// The records of older app versions that were recognized as duplicates and gave way to their seeds.
  public var adopted: [AnyRecordName] = []
  /// The virtual replica of this version.
  public var replica: ReplicaID
}

/// The outcome of ``Store/mergeDuplicates()``: which records gave way to which others, and which came back.
public struct DuplicateReport: Sendable, Equatable {
  /// The records that gave way, each with the one that stands for it now.
  public var merged: [AnyRecordName: AnyRecordName] = [:]
  /// The records that had given way and are back, since the one that stood for them was deleted by somebody who did not
  /// know of the merge.
  public var restored: [AnyRecordName] = []
  /// The number of members that came to records after these had given way, and that the others have now.
  public var members = 0

  /// Whether there was nothing to do.
  public var isEmpty: Bool { merged.isEmpty && restored.isEmpty && members == 0 }
}

/// The status of a seed set that a store knows.
public struct SeedSetStatus: Sendable, Equatable {
  /// One version of the set that the store has.
  public struct Version: Sendable, Equatable {
    /// The number of the version, counted from 1.
    public var version: Int
    /// The virtual replica of the version. Two builds that ship different content under one version have two.
    public var replica: ReplicaID
    /// The number of records in the set.
    public var records: Int
  }

  /// The name of the seed set.
  public var name: String
  /// The versions that the store has, ascending.
  public var versions: [Version]
  /// The version that this store's app has seeded; nil if all versions came from peers.
  public var applied: Int?
}

extension SeedDigest {
  /// Nil for a set that must be generated all the same.
  init?(_ set: SeedSet, _ reader: StateReader, _ environment: StoreEnvironment) throws {
    #if PlantedFaults
      guard environment.planted.isEmpty else { return nil }
    #endif
    guard set.adoptions.isEmpty, let schema = try reader.connection.meta("schema", { $0.blob(0) }) else { return nil }
    self.init(set, schema: schema)
  }
}

extension AppliedSeed {
  /// Checks that a set may come after this one.
  /// - Throws: `StoreError.seedVersionBackwards`.
  func check(_ set: SeedSet, _ history: SeedHistory, _ logger: Logger) throws {
    guard set.version >= version else {
      throw StoreError(
        .seedVersionBackwards,
        "\(set.name) has version \(set.version), but this store has applied version \(version)")
    }
    if set.version == version, history.replica != replica {
      logger.warning(
        "a seed set has other content than before under the same version; raise the version",
        metadata: ["set": "\(set.name)", "version": "\(set.version)"])
    }
  }
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
    try connection.run(
      "INSERT OR REPLACE INTO tally_meta VALUES(?, ?)", StateReader.appliedKey(set.name),
      AppliedSeed(version: set.version, replica: history.replica, digest: digest).text)
    return isNew
  }
}

extension StateReader {
  static func appliedKey(_ set: String) -> String { "seeds \(set)" }

  /// The version of a set that this store's own app has applied.
  func appliedSeed(_ set: String) throws -> AppliedSeed? {
    try connection.meta(Self.appliedKey(set)) { try AppliedSeed($0.text(0) ?? "") }
  }

  func seedSets() throws -> [SeedSetStatus] {
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
