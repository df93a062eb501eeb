import TallyCRDT

/// Keeping the fingerprint up to date with each state that is written.
extension Engine {
  func updateFingerprint(
    _ name: AnyRecordName, _ kind: RecordKind, from old: RecordState?, to new: RecordState
  ) throws {
    let hash = SipHash.hash(name.text)
    if let old, old.deletes.isEmpty, new.deletes.isEmpty { return updateCells(hash, kind, from: old, to: new) }
    if let old { fingerprint -= old.fingerprint(name: hash) { self.hash(of: $0, kind) } }
    fingerprint += new.fingerprint(name: hash) { self.hash(of: $0, kind) }
    if old?.deletes ?? [] != new.deletes {
      try updateLinks(of: name, from: old?.deletedContext ?? StateVector(), to: new.deletedContext)
    }
  }

  /// The hash of a field's wire name.
  private func hash(of field: FieldID, _ kind: RecordKind) -> UInt64 {
    kind.index(of: field).map { kind.columns[$0].hash } ?? catalog.hash(of: field)
  }

  /// Neither state has a delete: only the cells that differ count.
  private func updateCells(_ hash: UInt64, _ kind: RecordKind, from old: RecordState, to new: RecordState) {
    if old.existence != new.existence {
      if let stamp = old.existence { fingerprint -= .existence(name: hash, stamp: stamp) }
      if let stamp = new.existence { fingerprint += .existence(name: hash, stamp: stamp) }
    }
    func hashed(_ cell: FieldCell) -> Fingerprint {
      .field(name: hash, field: self.hash(of: cell.field, kind), stamp: cell.stamp, value: cell.value)
    }
    for cell in new.fields {
      let before = old[cell.field]
      guard before != cell else { continue }
      if let before { fingerprint -= hashed(before) }
      fingerprint += hashed(cell)
    }
    guard old.seed != new.seed else { return }
    if let seed = old.seed { fingerprint -= seed.fingerprint(name: hash) { self.hash(of: $0, kind) } }
    if let seed = new.seed { fingerprint += seed.fingerprint(name: hash) { self.hash(of: $0, kind) } }
  }

  /// A delete covers the tags that the deleter had seen as well.
  private func updateLinks(of name: AnyRecordName, from old: StateVector, to new: StateVector) throws {
    for (kind, key, link) in try reader.links(from: name) {
      let hashes = linkHashes(key, kind)
      fingerprint -= link.element.fingerprint(link: hashes.link, target: hashes.target, deletedContext: old)
      fingerprint += link.element.fingerprint(link: hashes.link, target: hashes.target, deletedContext: new)
    }
  }

  func updateFingerprint(_ key: LinkKey, _ kind: LinkKind, from old: ORSetElement, to new: ORSetElement) throws {
    if environment.planted.contains(.fingerprintForgetsRemovals), old.isMember, !new.isMember { return }
    let context = try deletedContext(of: key.source)
    let hashes = linkHashes(key, kind)
    fingerprint -= old.fingerprint(link: hashes.link, target: hashes.target, deletedContext: context)
    fingerprint += new.fingerprint(link: hashes.link, target: hashes.target, deletedContext: context)
  }

  private func deletedContext(of name: AnyRecordName) throws -> StateVector {
    guard hasDeletes, let kind = catalog.kind(of: name.type) else { return StateVector() }
    return try reader.record(name, kind)?.state.deletedContext ?? StateVector()
  }
}

/// What the fingerprint calls a link: the hash of relationship and source, and that of the target.
func linkHashes(_ key: LinkKey, _ kind: LinkKind) -> (link: UInt64, target: UInt64) {
  var hash = SipHash()
  hash.combine(text: kind.wireName)
  hash.combine(byte: 0)
  hash.combine(text: key.source.text)
  return (hash.finalized(), SipHash.hash(key.target.text))
}
