import TallyCRDT

/// Takes the whole content of an intact peer in the place of what is damaged here.
///
/// What the peer's vector covers, the peer says: cells, and that there are none. What lies beyond, only this store has,
/// and it stays. That is the join of the two stores as if nothing had been damaged: a delta since the peer's vector
/// joins like the whole state. Whether what stays is sound shows the sum that was kept of what was here before, where
/// the peer brings nothing that was not.
final class Healing {
  /// What came of it.
  struct Outcome {
    /// Records and links that hold something else now.
    var changes = 0
    /// Those of which this store alone has writes that nothing vouches for, or of which a write could not be read. At
    /// most a hundred.
    var inDoubt: [String] = []
    /// How much of the doubt is left.
    var level: StoreDoubt.Level?
  }

  private static let limit = 100

  private let transaction: WriteTransaction
  private let target: StateVector
  private let voucher: Fingerprint?
  /// What was here, and the sum of it while it was sound.
  private let own: StateVector
  private let kept: Fingerprint
  private let rebuild: Rebuild
  /// Hashes of the addresses that the peer has.
  private var seen = Set<UInt64>()
  private var remains: [String] = []
  private var outcome = Outcome()
  private var reader: StateReader { transaction.reader }
  private var catalog: Catalog { transaction.catalog }

  init(_ transaction: WriteTransaction, target: StateVector, voucher: Fingerprint?) throws {
    (self.transaction, self.target, self.voucher) = (transaction, target, voucher)
    (own, kept) = (transaction.standing.vector, transaction.standing.fingerprint)
    rebuild = Rebuild(transaction, unreadable: .dropped)
    try rebuild.makeReadable()
  }

  // MARK: What the peer has

  func take(_ name: AnyRecordName, _ kind: RecordKind, _ received: RecordState) throws {
    let stored = try reader.record(name, kind)
    var new = received
    if seen.insert(Self.address(kind.number, name.text)).inserted {
      if let rest = stored.flatMap(rest) { new.merge(rest) }
      if let stored { note(stored, name.text) }
    } else if let stored {
      // A further part of one large record.
      new.merge(stored.state)
    }
    if new != stored?.state { try write(name, kind, new, stored) }
  }

  func take(_ key: LinkKey, _ kind: LinkKind, _ received: ORSetElement) throws {
    let stored = try reader.link(key, kind)
    seen.insert(Self.address(kind.number, key.text))
    var new = received
    if let rest = stored.flatMap(rest) {
      new.merge(rest)
      note(rest: key.text)
    }
    if new != stored?.element { try write(key, kind, new, stored) }
  }

  // MARK: What the peer does not have

  /// Ends healing, when everything has come.
  func end() throws -> Outcome {
    try sweep()
    try rebuild.derive()
    outcome.inDoubt = Array(
      (rebuild.report.losses + remains.map { "\($0): this device alone has writes of it" }).prefix(Self.limit))
    let isExpected = transaction.standing.fingerprint == (remains.isEmpty ? voucher : kept)
    let isSound = isExpected && (remains.isEmpty || own.covers(target))
    if isSound { outcome.inDoubt = [] }
    outcome.level = isSound && voucher != nil ? nil : .unvouched
    return outcome
  }

  private func sweep() throws {
    for kind in catalog.records.values.sorted(by: { $0.number < $1.number }) {
      var found: [AnyRecordName] = []
      func look(_ name: AnyRecordName, _: StoredRecord) {
        if !seen.contains(Self.address(kind.number, name.text)) { found.append(name) }
      }
      if kind.isKnown { try reader.forEachRow(kind, look) }
      try reader.forEachHiddenRecord(kind.number, look)
      for name in found { if let stored = try reader.record(name, kind) { try keepRest(name, kind, stored) } }
    }
    for kind in catalog.links.values.sorted(by: { $0.number < $1.number }) {
      var found: [LinkKey] = []
      func look(_ key: LinkKey, _: StoredLink) {
        if !seen.contains(Self.address(kind.number, key.text)) { found.append(key) }
      }
      if kind.isKnown { try reader.forEachRow(kind, look) }
      try reader.forEachHiddenLink(kind.number, look)
      for key in found { if let stored = try reader.link(key, kind) { try keepRest(key, kind, stored) } }
    }
  }

  private func keepRest(_ name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord) throws {
    let new = rest(stored) ?? RecordState()
    note(stored, name.text)
    if new != stored.state || new.isEmpty { try write(name, kind, new, stored) }
  }

  private func keepRest(_ key: LinkKey, _ kind: LinkKind, _ stored: StoredLink) throws {
    let new = rest(stored) ?? ORSetElement()
    if !new.tags.isEmpty { note(rest: key.text) }
    if new != stored.element || new.tags.isEmpty { try write(key, kind, new, stored) }
  }

  // MARK: States

  /// What only this store has of a record. A cell beyond the own vector is nobody's.
  private func rest(_ stored: StoredRecord) -> RecordState? {
    stored.state.delta(since: target)?.within(own).nonEmpty
  }

  private func rest(_ stored: StoredLink) -> ORSetElement? {
    guard let rest = stored.element.delta(since: target)?.within(own), !rest.tags.isEmpty else { return nil }
    return rest
  }

  private func note(_ stored: StoredRecord, _ name: String) { if rest(stored) != nil { note(rest: name) } }

  private func note(rest address: String) {
    if remains.count < Self.limit { remains.append(address.replacing("\n", with: " with ")) }
  }

  private static func address(_ kind: KindNumber, _ key: String) -> UInt64 { SipHash.hash("\(kind.rawValue) \(key)") }

  // MARK: Writing

  private func write(_ name: AnyRecordName, _ kind: RecordKind, _ new: RecordState, _ stored: StoredRecord?) throws {
    outcome.changes += 1
    // Shown as it was until all is in; what the view must show is decided then.
    let shown = new.isEmpty || stored?.place.isVisible != true ? nil : stored?.values
    try transaction.writer.put(name, kind, new, previous: stored, shown: shown)
    if new.isEmpty { try removeHidden(kind.number, name.text) }
    try transaction.changed(name, kind, from: stored?.state, to: new, dots: [])
    transaction.view.mark(name)
    if new.isEmpty { try transaction.view.markReferrers(of: name) }
  }

  private func write(_ key: LinkKey, _ kind: LinkKind, _ new: ORSetElement, _ stored: StoredLink?) throws {
    outcome.changes += 1
    let isShown = !new.tags.isEmpty && stored?.place.isVisible == true
    try transaction.writer.put(key, kind, new, previous: stored, isShown: isShown)
    if new.tags.isEmpty { try removeHidden(kind.number, key.text) }
    try transaction.changed(key, kind, from: stored?.element ?? ORSetElement(), to: new, dots: [])
    transaction.view.mark(kind.number, key)
  }

  private func removeHidden(_ kind: KindNumber, _ key: String) throws {
    let delete = try transaction.connection.statement("DELETE FROM tally_hidden WHERE kind = ? AND key = ?")
    delete.bind(1, kind)
    delete.bind(2, key)
    try delete.run()
  }
}

extension RecordState {
  /// What is left without the cells that `vector` does not cover.
  func within(_ vector: StateVector) -> RecordState {
    var result = self
    if let existence, !vector.covers(existence.dot) { result.existence = nil }
    result.fields.removeAll { !vector.covers($0.stamp.dot) }
    result.deletes.removeAll { !vector.covers($0.stamp.dot) }
    result.supersededTouches = StateVector(
      supersededTouches.entries.compactMap { vector.covers($0) ? ($0.replica, $0.sequence) : nil })
    if let seed {
      let layers = seed.layers.filter { vector.covers($0.stamp.dot) }
      let basis = seed.basis.flatMap { vector.covers($0.stamp.dot) ? $0 : nil }
      result.seed = layers.isEmpty && basis == nil ? nil : SeedState(layers: layers, basis: basis)
    }
    return result
  }

  fileprivate var nonEmpty: RecordState? { isEmpty ? nil : self }
}

extension ORSetElement {
  /// What is left without the tags and removals that `vector` does not cover.
  func within(_ vector: StateVector) -> ORSetElement {
    var result = self
    result.tags.removeAll { !vector.covers($0.added.dot) && !($0.removed.map { vector.covers($0.dot) } ?? false) }
    return result
  }
}
