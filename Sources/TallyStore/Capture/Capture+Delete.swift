import TallyCRDT
import TallyWire

/// The short way for a delete of the app's: of a record that was never deleted before and is no seed's.
///
/// Its state becomes what it was and one delete, so none is made: the body of the hidden record is put together from
/// its stamps and from the values that its row had. Where anything is out of the ordinary, this writes nothing and
/// leaves the row to the long way.
extension Capture {
  /// - Returns: whether the write is captured.
  func captureDelete(_ write: PendingWrite, _ kind: RecordKind) throws -> Bool {
    guard origin == .app, var text = write.key, let before = write.before, transaction.plain.takesPresence(kind),
      before.isComplete(kind.columns.count), let key = kind.key(text),
      case let values = try kind.ownerColumns.isEmpty ? [] : before.read.values(kind.columns.count, over: []),
      let owners = Ownership(reader: transaction.reader).owners(kind, { values[$0] }),
      try !isThere(text, write.deletedRow, kind) && transaction.plain.isPlain(key, kind),
      var state = try transaction.writer.stampedState(before.clock), state.listsOnly(kind)
    else { return false }
    if catalog.referredKinds.contains(kind.number) { try checkDenied(key.name(type: kind.type)) }
    let shared = try sharedDelete()
    guard shared.hasSeen(state.dots) else { return false }
    let difference = shared.fingerprint(name: SipHash13.hash(text))
    state.add(difference)
    let numbers = transaction.session.numbers
    let body = try state.encoded(deleted: shared, kind, numbers.number(of:), before.forEachValue)
    try text.withUTF8 { try transaction.writer.putDeleted(body, kind, $0) }
    if let extra = before.clock.extra { progress.orphans.append(extra.number) }
    try transaction.deleted(key, kind, shared.delete, difference, owners: owners)
    return true
  }

  /// The delete of this transaction, which has seen everything that is here.
  private func sharedDelete() throws -> SharedDelete {
    if let known = progress.delete { return known }
    let delete = Delete(stamp: try transaction.stamp(), context: transaction.context)
    let shared = try SharedDelete(delete, transaction.writer)
    progress.delete = shared
    return shared
  }

  /// Whether a row has this name again. `row` is the number that it would have, if that is known, in the same table.
  private func isThere(_ name: String, _ row: RowID?, _ kind: RecordKind) throws -> Bool {
    let connection = transaction.connection
    guard let row, !transaction.session.changesSchema else {
      return try connection.row(kind.numberByName, name) { _ in } != nil
    }
    return try connection.row(kind.numberByNumber, row.rawValue) { _ in } != nil
  }
}

extension PendingWrite.Image {
  /// Whether the values of all columns are there, in their order.
  fileprivate func isComplete(_ count: Int) -> Bool {
    whole.map { $0.columns == count } ?? written.lazy.map(\.place).elementsEqual(0..<count)
  }

  fileprivate func forEachValue(_ body: (Int, PackedValue) throws -> Void) throws {
    if let whole { return try whole.bytes.forEachValue(ofWholeRowAt: whole.position, body) }
    for (place, value) in written { try value.withPacked { try body(place, $0) } }
  }
}

extension RecordKind {
  /// The key of the record with this name; nil if it is not named as one of the kind.
  fileprivate func key(_ name: String) -> RecordKey? {
    var text = name
    if let (high, low) = text.withUTF8(uuid) { return .uuid(high: high, low: low) }
    guard let name = try? AnyRecordName(name), name.hasType(type) else { return nil }
    return RecordKey(name)
  }
}

#if PlantedFaults
  extension Capture {
    /// Writes a delete to what a record owns, as SQL's own cascade would.
    func deleteWhatIsOwned(by owner: AnyRecordName, _ delete: RecordState) throws {
      for name in try SnapshotFacts(transaction.reader).owned(by: owner) where name != owner {
        guard let kind = catalog.kind(of: name.type), let stored = try transaction.reader.record(name, kind),
          stored.place.isVisible
        else { continue }
        let state = stored.state.merging(delete)
        try transaction.writer.put(name, kind, state, previous: stored, shown: nil)
        try transaction.changed(
          name, kind, from: stored.state, to: state, dots: delete.deletes.map { $0.stamp.dot })
        try transaction.view.markReferrers(of: name)
        try deleteWhatIsOwned(by: name, delete)
      }
    }
  }
#endif

extension Capture {
  /// Captures a delete whose record is not plain, or whose author was not the app.
  func captureDelete(_ name: AnyRecordName, _ kind: RecordKind, _ before: PendingWrite.Image) throws {
    // The row was deleted unnoticed: its table was dropped, or REPLACE removed it.
    guard before.written.count == kind.columns.count else {
      if let extra = before.clock.extra { progress.orphans.append(extra.number) }
      try checkDenied(name)
      return try transaction.captureVanished(name, kind)
    }
    let values = before.values(kind.columns.count, over: [])
    let (old, sum) = try transaction.reader.state(before.clock, values, kind)
    try checkDenied(name)
    let stamp = try transaction.stamp()
    let context = transaction.context
    var written = RecordState()
    written.deletes = [Delete(stamp: stamp, context: context)]
    let state = old.merging(written)
    if let extra = before.clock.extra { progress.orphans.append(extra.number) }
    let difference = catalog.fingerprint(name, kind, from: old, to: state)
    let previous = StoredRecord(state: old, place: .nowhere, values: values, sum: sum)
    try transaction.writer.put(name, kind, state, previous: previous, shown: nil, difference: difference)
    // The delete has seen everything that is here, so the record needs no second look; what is above and below it does.
    try transaction.changed(
      name, kind, from: old, to: state, dots: CollectionOfOne(stamp.dot),
      effect: origin == .app && kind.forwardField == nil ? .others : .anything, fingerprint: difference)
    try transaction.view.markReferrers(of: name)
    #if PlantedFaults
      if environment.planted.contains(.cascadeWritesDeletes) { try deleteWhatIsOwned(by: name, written) }
    #endif
  }
}
