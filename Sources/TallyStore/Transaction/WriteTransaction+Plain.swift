import TallyCRDT
import TallyWire

#if PlantedFaults
  import TallyFaults
#endif

/// What a plain row's change is to the whole, and to other records: see `PlainRows`.
extension WriteTransaction {
  /// Says that a record has come that was never here, and that adds `sum` to the fingerprint. `owners` are the records
  /// that own it, if any record was ever deleted. `state` is given if it was made already.
  func inserted(
    _ key: RecordKey, _ kind: RecordKind, _ dot: Dot, _ sum: Fingerprint, owners: [AnyRecordName],
    _ state: RecordState? = nil
  ) throws {
    #if PlantedFaults
      let isListed = isCapturing || !environment.planted.contains(.packedRowUnlisted)
    #else
      let isListed = true
    #endif
    if isListed { log.note(dot, kind: kind.number, key, isNew: true) }
    if let state { try session.buffer?.note(key, kind, added: state) } else { session.buffer?.giveUp() }
    writer.seenAbove?.forget()
    if kind.isKnown { try writer.touches?.note(key, kind) }
    standing.fingerprint += sum
    view.mark(owners: owners, .revivesOnly)
    if catalog.hasStubs { for owner in owners { try writer.listStub(owner, isAwaited: true) } }
    if facts.hasWaits || plain.hidesLinks(of: kind) { try view.markWaiting(for: key.name(type: kind.type)) }
    try flushIfFull()
  }

  /// Says that fields of a record that is seen, and was never deleted, have got later writes, of `dots`: the registers
  /// `cells`. `owners` are the records that own it, if any record was ever deleted; `moved` are those that own it no
  /// longer, or have not before. `isNoted` says that `RecentEdits` knows.
  func edited(
    _ key: RecordKey, _ kind: RecordKind, _ dots: some Sequence<Dot>, _ edit: StampedEdit, _ cells: [FieldCell],
    owners: [AnyRecordName], moved: [AnyRecordName], isNoted: Bool = false
  ) throws {
    if !isNoted { session.noteOtherChange(key, kind) }
    if isBuffered {
      try session.buffer?.note(key, kind, added: RecordState(fields: cells.sorted { $0.field < $1.field }))
    }
    if kind.isKnown { try writer.touches?.note(key, kind) }
    try view.watch.note(key, kind)
    for dot in dots { log.note(dot, kind: kind.number, key, isNew: false) }
    standing.fingerprint += edit.difference
    view.mark(owners: owners, .revivesOnly)
    if !moved.isEmpty {
      if facts.hasDeletes { view.mark(owners: moved, .anything) }
      if catalog.hasStubs { for owner in moved { try writer.listStub(owner, isAwaited: true) } }
    }
    try flushIfFull()
  }

  /// Says that a record that was seen has got its first delete, which has seen all of it, and that its row is gone.
  /// `difference` is added to the fingerprint. `owners` are the records that own it.
  func deleted(
    _ key: RecordKey, _ kind: RecordKind, _ delete: Delete, _ difference: Fingerprint, owners: [AnyRecordName]
  ) throws {
    if isBuffered { try session.buffer?.note(key, kind, added: RecordState(delete: delete)) }
    session.noteOtherChange(key, kind)
    log.note(delete.stamp.dot, kind: kind.number, key, isNew: false)
    try writer.touches?.note(key, kind)
    try view.watch.note(key, kind)
    standing.fingerprint += difference
    view.mark(owners: owners, .sameEdges)
    if !owners.isEmpty { try writer.replaceWaits([], with: Set(owners), kind.number, key.name(type: kind.type).text) }
    if catalog.referredKinds.contains(kind.number) { try view.markReferrers(of: key.name(type: kind.type)) }
    try flushIfFull()
  }
}
