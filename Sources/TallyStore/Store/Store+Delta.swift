import Foundation
import GRDB
import TallyCRDT
import TallyWire

extension Store {
  /// Returns the state vector, the fingerprint and the replica's id from one snapshot, with outside writes captured.
  ///
  /// Two stores with equal vectors and fingerprints have the same content. Cost: a few small reads for any size, or
  /// none if this store's last transaction was the last one of the file.
  /// - Throws: `StoreError.closed`; GRDB's `DatabaseError`.
  public func summary() throws -> StoreSummary { try unchanged?.summary ?? capturedSnapshot(Self.summary) }

  static func summary(_ reader: StateReader) throws -> StoreSummary {
    StoreSummary(
      vector: try reader.vector(), fingerprint: try reader.fingerprint(),
      replica: try reader.ownNumber().flatMap { reader.catalog.replicas[$0] })
  }

  /// The state vector: the transactions of each replica that the store has. A store whose vector covers another's has
  /// everything that the other has.
  ///
  /// ```swift
  /// let news = try phone.delta(since: tablet.vector)
  /// ```
  public var vector: StateVector { get throws { try summary().vector } }

  // MARK: Giving

  /// Writes a delta of everything that `base` does not cover, with the vector of the same snapshot.
  ///
  /// One change costs the same in a store of any size; memory use is bounded by one block of about a mebibyte. Other
  /// reads and writes proceed meanwhile. A delta for which the whole store is read is checked against the store's sum.
  /// The header contains the sum, so receivers can check it too, unless the content of this store is in doubt.
  /// - Parameters:
  ///   - base: the vector of the receiver, which gets what it does not cover; by default everything.
  ///   - sink: receives the bytes in order; an error that it throws ends the delta and is rethrown.
  /// - Returns: the header, with the base that the receiver must cover and the target that it has afterwards.
  /// - Throws: `StoreError.damaged`, possibly after bytes were written: receivers refuse an incomplete delta.
  @discardableResult
  public func writeDelta(
    since base: StateVector = StateVector(), to sink: @escaping ([UInt8]) throws -> Void
  ) throws -> DeltaHeader {
    try noticingDamage {
      if let (header, latest, buffer) = buffered(since: base) {
        try makeDurable(latest.summary)
        var writer = try DeltaWriter(header: header, to: sink)
        try buffer.forEachBlock(header, latest.outcome.catalog) { try writer.append($0) }
        try writer.finish()
        recent.noteTold(header.target)
        return header
      }
      return try capturedSnapshot { reader in
        let doubt = try reader.doubt()
        if let doubt, doubt.level == .damaged { throw damaged(doubt.reason) }
        guard try reader.vectorFitsItsSum() else { throw StoreError(.damaged, StoreError.unfit) }
        let kept = try reader.fingerprint()
        let header = DeltaHeader(
          base: base, target: try reader.vector(), fingerprint: doubt == nil ? kept : nil,
          version: reader.catalog.marks.wireVersion)
        try makeDurable(try reader.ownDot(in: header.target), reader.connection)
        var writer = try DeltaWriter(header: header, to: sink)
        let sum = ContentSum()
        let edits = doubt == nil ? edits(reader, header.target, kept) : nil
        let source = DeltaSource(reader: reader, base: base, isPacking: true, sum: sum, edits: edits)
        let isEverything: Bool
        do {
          isEverything = try source.forEachBlock(of: header.target) { try writer.append($0) }
        } catch let error as WireError where error.code == .malformed {
          // No block of what the store has written is, unless the disk has changed it.
          throw StoreError(stored: error)
        }
        guard !isEverything || sum.sum == kept else { throw StoreError(.damaged, StoreError.unfit) }
        try writer.finish()
        recent.noteTold(header.target)
        return header
      }
    }
  }

  /// Returns a delta of everything that `base` does not cover, as bytes; by default of everything.
  ///
  /// ```swift
  /// let news = try phone.delta(since: try tablet.vector)
  /// try tablet.apply(news)
  /// ```
  ///
  /// The whole delta is in memory. For large deltas prefer `writeDelta(since:to:)`, whose rules apply here too.
  /// - Throws: `StoreError.damaged`; GRDB's `DatabaseError`.
  public func delta(since base: StateVector = StateVector()) throws -> [UInt8] {
    let bytes = ByteSink()
    try writeDelta(since: base) { bytes.bytes += $0 }
    return bytes.bytes
  }

  // MARK: Taking

  /// Joins a delta into the store, as a whole or not at all. Applying it a second time changes nothing.
  ///
  /// A delta that contains everything is checked against its sender's sum. If this store's content is damaged, such a
  /// delta replaces it: see `ApplyResult.isHealed`. The first delta of a day also tells which deletes the sender has;
  /// restore windows are counted from there.
  /// - Parameters:
  ///   - source: returns the next bytes, in pieces of any size; nil at the end.
  ///   - isRepair: whether to join cells even if the vector already covers them. Use it for a full delta from a peer
  ///     with an equal vector and a different fingerprint.
  ///   - byteLimit: the maximum size, in bytes, of all blocks of the delta together before compression; see
  ///     `DeltaReader`. Raise it for a larger store, if you trust the sender.
  /// - Returns: the numbers of changes and conflicts, and whether damage was found or healed.
  /// - Throws: `WireError` for damaged bytes, and of code `limitExceeded` above `byteLimit`, before the block that
  ///   would exceed it is decompressed; `StoreError.damagedSender`; `StoreError.damaged` if this store's content is
  ///   damaged and the delta does not contain everything; `StoreError.baseNotCovered` with the vector since which to
  ///   ask for a delta; `StoreError.wrongZone`; GRDB's `DatabaseError`; errors of the source. The store is unchanged.
  @discardableResult
  public func apply(
    from source: @escaping () throws -> [UInt8]?, isRepair: Bool = false, byteLimit: UInt64 = WireLimits.deltaBytes
  ) throws -> ApplyResult {
    let reader = try DeltaReader(byteLimit: byteLimit, from: source)
    let result = try join(reader, isRepair: isRepair, refusesMismatch: false, nil)
    noteHeard(reader.header.target)
    return result
  }

  /// Joins a delta as the public form does. With `refusesMismatch` it throws `StoreError.contentsDiffer`, and joins
  /// nothing, if both would hold something else at equal vectors. `notes` are noted in the same transaction: both are
  /// there afterwards, or neither. `tell` is called after each block with the number of its records and links.
  package func apply(
    from source: @escaping () throws -> [UInt8]?, isRepair: Bool, refusesMismatch: Bool,
    byteLimit: UInt64 = WireLimits.deltaBytes, noting notes: NoteBatch? = nil, tell: ((Int) -> Void)? = nil
  ) throws -> ApplyResult {
    try join(
      DeltaReader(byteLimit: byteLimit, from: source), isRepair: isRepair, refusesMismatch: refusesMismatch, notes, tell
    )
  }

  private func join(
    _ reader: DeltaReader, isRepair: Bool, refusesMismatch: Bool, _ notes: NoteBatch?, _ tell: ((Int) -> Void)? = nil
  ) throws -> ApplyResult {
    var (reader, count) = (reader, 0)
    return try join(reader.header, isRepair: isRepair, refusesMismatch: refusesMismatch, noting: notes) {
      if count > 0 { tell?(count) }
      let draft = try reader.nextDraft(packs: true)
      count = draft?.count ?? 0
      return draft
    }.value
  }

  /// Joins a delta in memory into the store, as a whole or not at all. Applying it a second time changes nothing.
  ///
  /// ```swift
  /// let result = try tablet.apply(try phone.delta())
  /// ```
  ///
  /// Returns the numbers of changes and conflicts. See `apply(from:isRepair:byteLimit:)` for the parameters and errors.
  @discardableResult
  public func apply(_ bytes: [UInt8], isRepair: Bool = false, byteLimit: UInt64 = WireLimits.deltaBytes) throws
    -> ApplyResult
  {
    var rest: [UInt8]? = bytes
    return try apply(
      from: {
        defer { rest = nil }
        return rest
      }, isRepair: isRepair, byteLimit: byteLimit)
  }

  // MARK: Snapshots

  /// The number of times that a snapshot is taken again because another program has written once more.
  private static let attempts = 100

  /// Reads states in one snapshot that holds nothing uncaptured: a row that another connection has written shows new
  /// values under old stamps until it is captured.
  /// - Throws: `StoreError.notCaptured` if there is something to capture and the store only reads; `DatabaseError` with
  ///   SQLITE_BUSY if other programs write faster than that.
  package func capturedSnapshot<T>(_ body: (StateReader) throws -> T) throws -> T {
    for _ in 0..<Self.attempts {
      let result = try snapshot { reader -> T? in try hasUnseen(reader) ? nil : try body(reader) }
      if let result { return result }
      guard !options.isReadOnly else {
        throw StoreError(.notCaptured, "another program has written to the file; open it for writing to capture that")
      }
      try replicate { _ in }
    }
    throw DatabaseError(resultCode: .SQLITE_BUSY, message: "other programs keep writing")
  }

  /// Whether another program has written something that is not captured: what the triggers have noted, or what they
  /// cannot have, where the schema is another than the one that was last looked at.
  func hasUnseen(_ reader: StateReader) throws -> Bool {
    if try reader.hasPendingWrites() { return true }
    let followed = box.followedSchema.load(ordering: .relaxed)
    guard followed >= 0, let version = try reader.connection.integer("PRAGMA schema_version"), version != followed
    else { return false }
    // Opening a file without a log changes the number as well, and nothing else.
    guard try KnownShape.load(reader.connection) != nil else { return true }
    box.followedSchema.store(version, ordering: .relaxed)
    return false
  }

  /// Reads states in one snapshot.
  ///
  /// A store in a file has connections of its own for this; see `SnapshotReaders`.
  package func snapshot<T>(_ body: (StateReader) throws -> T) throws -> T {
    do {
      guard let snapshots else {
        return try usable.read { db in try read(on: try Connection(db), body) }
      }
      return try snapshots.read { try read(on: $0, body) }
    } catch {
      throw explain(error)
    }
  }

  private func read<T>(on connection: Connection, _ body: (StateReader) throws -> T) throws -> T {
    let catalog: Catalog
    do {
      catalog = try Catalog.load(connection, cached: catalogCache.withLock { $0 })
    } catch {
      // The tables of another format may be others.
      try StoreFile.checkFormat(connection, of: path)
      throw error
    }
    // No other process gets at a store in memory.
    if file != nil { try connection.ifChanged { try StoreFile.checkFormat(connection, of: path) } }
    try catalog.checkSchema()
    catalogCache.withLock { $0 = catalog }
    connection.follow(catalog.version)
    let reader = StateReader(connection, catalog: catalog, isSnapshot: true)
    reader.aside = try SetAside(connection, catalog.schema)
    #if PlantedFaults
      reader.planted = options.planted
    #endif
    return try body(reader)
  }

  /// The schema of the file: everything that this app and its earlier versions have declared.
  ///
  /// ```swift
  /// let types = try store.schema.entities.map(\.type)
  /// ```
  public var schema: Schema { get throws { try snapshot { $0.catalog.schema } } }
}

private final class ByteSink {
  var bytes: [UInt8] = []
}
