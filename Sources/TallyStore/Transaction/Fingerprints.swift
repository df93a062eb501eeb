import TallyCRDT

extension Catalog {
  /// What a changed record changes in the fingerprint.
  func fingerprint(_ name: AnyRecordName, _ kind: RecordKind, from old: RecordState?, to new: RecordState)
    -> Fingerprint
  {
    let hash = SipHash.hash(name.text)
    guard let old else { return new.fingerprint(name: hash) { self.hash(of: $0, kind) } }
    return new.fingerprint(replacing: old, name: hash) { self.hash(of: $0, kind) }
  }

  /// The hash of a field's wire name.
  private func hash(of field: FieldID, _ kind: RecordKind) -> UInt64 {
    kind.index(of: field).map { kind.columns[$0].hash } ?? hash(of: field)
  }

  /// What a changed link changes in the fingerprint.
  func fingerprint(_ key: LinkKey, _ kind: LinkKind, from old: ORSetElement, to new: ORSetElement) -> Fingerprint {
    let hashes = linkHashes(key, kind)
    return new.fingerprint(replacing: old, link: hashes.link, target: hashes.target)
  }
}

/// What the fingerprint calls a link: the hash of relationship and source, and that of the target.
func linkHashes(_ key: LinkKey, _ kind: LinkKind) -> (link: UInt64, target: UInt64) { linkHashes(key, kind.wireName) }

/// The same, by the wire name of the relationship.
func linkHashes(_ key: LinkKey, _ wireName: String) -> (link: UInt64, target: UInt64) {
  var hash = SipHash()
  hash.combine(text: wireName)
  hash.combine(byte: 0)
  hash.combine(text: key.source.text)
  return (hash.finalized(), SipHash.hash(key.target.text))
}

extension StateReader {
  /// Whether what is stored can be read and fits the sum that is kept of it. Cost: reads the whole store.
  func fitsItsSum() throws -> Bool {
    do {
      return try vectorFitsItsSum() && recomputedFingerprint() == fingerprint()
    } catch let error as StoreError where error.code == .corrupt {
      return false
    }
  }

  /// The sum over everything in the state, from the state itself. Cost: reads the whole store, one state at a time.
  func recomputedFingerprint() throws -> Fingerprint {
    var sum = Fingerprint()
    for kind in catalog.records.values.sorted(by: { $0.number < $1.number }) {
      func add(_ name: AnyRecordName, _ stored: StoredRecord) {
        sum += catalog.fingerprint(name, kind, from: nil, to: stored.state)
      }
      if kind.isKnown { try forEachRow(kind, add) }
      try forEachHiddenRecord(kind.number, add)
    }
    for kind in catalog.links.values.sorted(by: { $0.number < $1.number }) {
      func add(_ key: LinkKey, _ stored: StoredLink) {
        sum += catalog.fingerprint(key, kind, from: ORSetElement(), to: stored.element)
      }
      if kind.isKnown { try forEachRow(kind, add) }
      try forEachHiddenLink(kind.number, add)
    }
    return sum
  }
}
