import TallyCRDT
import TallyWire

#if PlantedFaults
  import TallyFaults
#endif

/// The short way for a delete that a peer sends: of a record that is seen here, that was not written to since, and that
/// nothing can keep, neither what it owns nor a relationship. See `SharedDelete`; the result is that of the long way.
///
/// Where triggers of the app's may run it is not taken: they could move the row away before SQLite deletes it, and what
/// they do depends on the order in which rows go.
extension Join {
  /// - Returns: whether the record is joined. Otherwise nothing was written.
  mutating func joinDelete(_ name: AnyRecordName, _ kind: RecordKind, _ received: RecordState) throws -> Bool {
    guard received.deletes.count == 1, let delete = received.deletes.first, received.existence == nil,
      received.fields.isEmpty, received.seed == nil, received.life == nil, received.supersededTouches.isEmpty
    else { return false }
    var name = name.text
    return try name.withUTF8 { try joinDelete($0, kind, delete) }
  }

  /// Joins a packed record's delete, without making a state of it.
  mutating func joinDelete(_ item: PackedRecords.Item, of changes: PackedChanges) throws -> Bool {
    let delete = changes.packed.delete(item)
    return try delete.stamp.rank == .user && joinDelete(changes.name(of: item), changes.kind, delete)
  }

  private mutating func joinDelete(
    _ name: UnsafeBufferPointer<UInt8>, _ kind: RecordKind, _ delete: Delete
  ) throws -> Bool {
    guard !isRepair, delete.stamp.rank >= .user, isNew(delete.stamp.dot), transaction.plain.takesPresence(kind),
      try !transaction.mayRunTriggers(), let row = try deletedRow(name, kind, delete)
    else { return false }
    // First what can say no: foreign keys of the app's own tables.
    do {
      try writer.deleteRow(kind.number, kind.type, kind.deleteByNumber, row: row.id, row.clock)
    } catch is RowRefusal {
      return false
    }
    try writer.putDeleted(row.body, kind, name)
    noteChange()
    try transaction.deleted(row.key, kind, delete, row.difference, owners: row.owners)
    transaction.view.noteGone()
    try writer.onRowWritten?()
    return true
  }

  /// A delete that was received, with what it had seen stored. Most come together with others of one transaction.
  private mutating func shared(_ delete: Delete) throws -> SharedDelete {
    if let known = sharedDeletes[delete.stamp], known.delete == delete { return known }
    let shared = try SharedDelete(delete, writer)
    sharedDeletes[delete.stamp] = shared
    return shared
  }

  /// A row that is to go.
  private struct DeletedRow {
    var id: RowID
    var key: RecordKey
    var clock: InlineClock
    /// The amount to add to the fingerprint.
    var difference: Fingerprint
    /// The body of the hidden record.
    var body: [UInt8]
    /// The records that own it.
    var owners: [AnyRecordName]
  }

  private mutating func deletedRow(
    _ name: UnsafeBufferPointer<UInt8>, _ kind: RecordKind, _ delete: Delete
  ) throws -> DeletedRow? {
    try transaction.connection.row(kind.rowByName, name) { query -> DeletedRow? in
      guard let (key, hash) = kind.hashedKey(in: query), let clock = try? query.clock(2),
        let owners = Ownership(reader: reader).owners(kind, in: query),
        try transaction.plain.isPlain(key, kind) && !transaction.plain.isKept(name, kind),
        var state = try writer.stampedState(clock), state.listsOnly(kind)
      else { return nil }
      let shared = try shared(delete)
      #if PlantedFaults
        let hasSeen = shared.hasSeen(state.dots) || reader.planted.contains(.deleteHidesUnseen)
      #else
        let hasSeen = shared.hasSeen(state.dots)
      #endif
      guard hasSeen else { return nil }
      let difference = shared.fingerprint(name: hash)
      state.add(difference)
      let body = try state.encoded(deleted: shared, kind, transaction.session.numbers.number(of:)) { body in
        for place in kind.columns.indices { try query.withPacked(3 + place) { try body(place, $0) } }
      }
      return DeletedRow(
        id: query.number(0), key: key, clock: clock, difference: difference, body: body, owners: owners)
    } ?? nil
  }
}

extension Join {
  /// Notes the edits that a delete has beaten, where one came from here and the other from the sender.
  mutating func noteBeaten(
    _ name: AnyRecordName, _ kind: RecordKind, _ state: RecordState, over stored: RecordState
  ) throws {
    func isBeaten(_ state: RecordState) -> Bool { RecordFacts(state: state, deleteWins: true).isBeaten }
    guard !state.deletes.isEmpty, isBeaten(state) else { return }
    let (seen, wasBeaten) = (state.personalContext, isBeaten(stored))
    for cell in state.fields where cell.stamp.rank >= .user && !seen.covers(cell.stamp.dot) {
      let isOurs = stored.fields.contains { $0.stamp == cell.stamp && $0.field == cell.field }
      if cell.field.isTotal || isOurs && wasBeaten || kind.lenses.isFollowed(cell, in: state, kind) { continue }
      let deletes = state.deletes.filter { $0.stamp.rank >= .user && stored.deletes.contains($0) != isOurs }
      guard let delete = deletes.map(\.stamp).max() else { continue }
      try journal.note(cell, beatenBy: delete, name)
    }
  }
}
