import TallyCRDT

/// Keeping the fingerprint up to date with each state that is written.
extension Engine {
  func updateFingerprint(_ name: AnyRecordName, _ kind: RecordKind, from old: RecordState?, to new: RecordState) {
    let hash = SipHash.hash(name.text)
    guard let old else {
      fingerprint += new.fingerprint(name: hash) { self.hash(of: $0, kind) }
      return
    }
    fingerprint += new.fingerprint(replacing: old, name: hash) { self.hash(of: $0, kind) }
  }

  /// The hash of a field's wire name.
  private func hash(of field: FieldID, _ kind: RecordKind) -> UInt64 {
    kind.index(of: field).map { kind.columns[$0].hash } ?? catalog.hash(of: field)
  }

  func updateFingerprint(_ key: LinkKey, _ kind: LinkKind, from old: ORSetElement, to new: ORSetElement) {
    if environment.planted.contains(.fingerprintForgetsRemovals), old.isMember, !new.isMember { return }
    let hashes = linkHashes(key, kind)
    fingerprint += new.fingerprint(replacing: old, link: hashes.link, target: hashes.target)
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
