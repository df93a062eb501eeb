/// One version of a seeded record: default data that every installation writes for itself.
///
/// A layer is the whole content of the record in one version of its seed set. All of it has one stamp of rank `.seed`,
/// whose time is the version and whose dot belongs to the version's virtual replica. Every installation that generates
/// the version generates the same stamp, so the layer has one identity wherever it comes from.
public struct SeedLayer: Hashable, Sendable {
  /// The stamp: rank `.seed`, the version as time, the virtual replica's dot.
  public var stamp: Stamp
  /// Whether the version withdraws the record. A retired layer has no fields.
  public var isRetired: Bool
  /// The values, ascending by field; their stamps are the layer's.
  public var fields: [FieldCell]

  /// A layer. The fields' stamps are set to `stamp`.
  public init(stamp: Stamp, isRetired: Bool = false, fields: [FieldCell] = []) {
    self.stamp = stamp
    self.isRetired = isRetired
    self.fields = fields.map { FieldCell(field: $0.field, stamp: stamp, value: $0.value) }
  }

  /// The version of the seed set.
  public var version: UInt64 { stamp.time.milliseconds }

  /// The value of a field, or nil if the version leaves it open.
  public subscript(field: FieldID) -> FieldCell? { fields.first { $0.field == field } }

  /// Two copies of one layer. They are equal unless a peer is broken; then the greater of each part, so that all agree;
  /// the greatest of all withdraws the record.
  func merging(_ other: SeedLayer) -> SeedLayer {
    guard self != other else { return self }
    guard !isRetired, !other.isRetired else { return SeedLayer(stamp: max(stamp, other.stamp), isRetired: true) }
    var cells: [FieldID: FieldCell] = [:]
    for cell in fields + other.fields {
      cells[cell.field] = cells[cell.field].map { $0.value < cell.value ? cell : $0 } ?? cell
    }
    return SeedLayer(
      stamp: max(stamp, other.stamp), fields: cells.values.sorted { $0.field < $1.field })
  }
}

/// Which version of a seed a person had in front of them when they first edited the record.
public struct SeedBasis: Hashable, Sendable {
  /// The stamp of the edit.
  public var stamp: Stamp
  /// The stamp of the layer that they saw.
  public var layer: Stamp

  /// Creates a basis from the stamp of the first edit and the layer beneath it.
  public init(stamp: Stamp, layer: Stamp) {
    self.stamp = stamp
    self.layer = layer
  }

  /// Of two concurrent ones the newer version counts.
  static func < (lhs: SeedBasis, rhs: SeedBasis) -> Bool {
    lhs.layer == rhs.layer ? lhs.stamp < rhs.stamp : lhs.layer < rhs.layer
  }
}

/// The contribution of seeds to one record: a join semilattice beside the user's own cells.
///
/// The layers of all versions are kept side by side. Until a user edits the record the newest shows; from then on the
/// one that they had in front of them. A layer is never a touch: seeds neither revive a record nor survive its delete.
public struct SeedState: Hashable, Sendable {
  // One word in every `RecordState`, most of which have no seeds. Never mutated.
  private final class Storage: Sendable {
    let layers: [SeedLayer]
    let basis: SeedBasis?
    init(_ layers: [SeedLayer], _ basis: SeedBasis?) {
      self.layers = layers
      self.basis = basis
    }
  }
  private let storage: Storage

  /// The versions, ascending by stamp: by version, then by virtual replica.
  public var layers: [SeedLayer] { storage.layers }
  /// The version that belongs to the person's edits; nil if the record was never edited.
  public var basis: SeedBasis? { storage.basis }

  /// A state of these layers, in any order.
  public init(layers: [SeedLayer], basis: SeedBasis? = nil) {
    storage = Storage(layers.sorted { $0.stamp < $1.stamp }, basis)
  }

  /// The layer of the newest version that is here.
  public var newest: SeedLayer? { layers.last }

  /// The layer that goes with the person's edits, or the newest if there are none.
  ///
  /// A retired record that is there all the same, for what a person put into it, looks as it did before.
  /// - Parameter followsNewest: whether edits leave the record following new versions, field by field.
  /// - Returns: the layer; nil if all versions are retirements, or if a partial state has neither the layer that
  ///   belongs to the edits nor an older one.
  public func shown(followsNewest: Bool) -> SeedLayer? {
    guard let basis, !followsNewest else { return newestContent }
    // A partial state may lack the layer that its basis names; a store never does.
    return layers.last { $0.stamp == basis.layer } ?? layers.last { $0.stamp < basis.layer }
  }

  /// The newest version that is not a retirement.
  public var newestContent: SeedLayer? { layers.last { !$0.isRetired } }

  /// The join of both: all layers, and the basis of the newer version.
  public func merging(_ other: SeedState) -> SeedState {
    if self == other { return self }
    var byDot: [Dot: SeedLayer] = [:]
    for layer in layers + other.layers {
      byDot[layer.stamp.dot] = byDot[layer.stamp.dot].map { $0.merging(layer) } ?? layer
    }
    let bases = [basis, other.basis].compactMap { $0 }
    return SeedState(layers: Array(byDot.values), basis: bases.max(by: <))
  }

  /// The part that a peer with the vector `vector` lacks; nil if it lacks nothing.
  public func delta(since vector: StateVector) -> SeedState? {
    let missing = layers.filter { !vector.covers($0.stamp.dot) }
    let basis = basis.flatMap { vector.covers($0.stamp.dot) ? nil : $0 }
    return missing.isEmpty && basis == nil ? nil : SeedState(layers: missing, basis: basis)
  }

  /// Every dot in the state.
  public var dots: [Dot] { layers.map { $0.stamp.dot } + (basis.map { [$0.stamp.dot] } ?? []) }

  /// Whether both hold the same.
  public static func == (lhs: SeedState, rhs: SeedState) -> Bool {
    lhs.storage === rhs.storage || (lhs.basis == rhs.basis && lhs.layers == rhs.layers)
  }

  /// Feeds the layers and the basis into a hasher.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(layers)
    hasher.combine(basis)
  }
}

// MARK: - Records and links

extension RecordState {
  /// The register that the app sees of a field: what a person wrote, else what the shown seed version says, else what
  /// adoption carried over.
  /// - Parameters:
  ///   - field: the number by which this replica knows the field.
  ///   - followsNewest: whether edits leave the record following new versions; see `SeedState.shown(followsNewest:)`.
  /// - Returns: the register; nil if none of them says anything of the field.
  @inlinable
  public func cell(_ field: FieldID, followsNewest: Bool) -> FieldCell? {
    guard seed != nil else { return self[field] }
    return seededCell(field, followsNewest)
  }

  @usableFromInline
  func seededCell(_ field: FieldID, _ followsNewest: Bool) -> FieldCell? {
    let own = self[field]
    if let own, own.stamp.rank >= .user { return own }
    return shownSeed(followsNewest: followsNewest)?[field] ?? own
  }

  /// The seed layer that the app sees beneath the person's cells; nil if there is none.
  ///
  /// A record that a person inserted without having the seed in front of them shows nothing of it.
  public func shownSeed(followsNewest: Bool) -> SeedLayer? {
    guard let seed else { return nil }
    if let existence, existence.rank >= .user, seed.basis == nil { return nil }
    return seed.shown(followsNewest: followsNewest)
  }

  /// Whether a person has edited the record: from then on it is theirs.
  public var belongsToUser: Bool { seed?.basis != nil || !touches.isEmpty }

  /// Whether seeds alone make the record present: the newest version has it and it was never deleted.
  public var isOfferedBySeed: Bool {
    guard let newest = seed?.newest, deletes.isEmpty else { return false }
    return !newest.isRetired
  }
}

extension ORSetElement {
  /// Whether the element may be a member, with any version of a seed at its source.
  public var mayBeMember: Bool { isMemberWithoutSeed || (hasSeedTags && !hasRemovedSeed) }

  /// Whether the element is a member.
  ///
  /// A person's add counts until it is removed. A seed's add counts while the source shows that version and the element
  /// was never removed as a seed's: what a person took out stays out in every later version.
  /// - Parameter shownSeed: the dot of the seed layer that the source shows, asked for only if it matters.
  /// - Returns: whether an add by a person counts, or one by the seed version that the source shows.
  /// - Throws: what `shownSeed` throws.
  public func isMember<Failure: Error>(shownSeed: () throws(Failure) -> Dot?) throws(Failure) -> Bool {
    if isMemberWithoutSeed { return true }
    guard mayBeMember, let dot = try shownSeed() else { return false }
    return tags.contains { $0.added.rank == .seed && $0.added.dot == dot }
  }

  /// Whether a person took out what a seed had put in, and it was not put in again since.
  public var isRefused: Bool { hasRemovedSeed && !isMemberWithoutSeed }

  /// Whether any tag comes from a seed.
  public var hasSeedTags: Bool { tags.contains { $0.added.rank == .seed } }

  private var isMemberWithoutSeed: Bool { tags.contains { $0.removed == nil && $0.added.rank > .seed } }
  private var hasRemovedSeed: Bool { tags.contains { $0.removed != nil && $0.added.rank == .seed } }
}
