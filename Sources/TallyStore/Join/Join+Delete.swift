import TallyCRDT

#if PlantedFaults
  import TallyFaults
#endif

/// The short way for a delete that a peer sends: of a record that is seen here, that nobody has written to since, and
/// with which nothing else is seen or hidden. See `SharedDelete`; the result is that of the long way.
///
/// Where triggers of the app's may run it is not taken: they could move the row away before SQLite deletes it, and what
/// they do depends on the order in which rows go.
extension Join {
  /// - Returns: whether the record is joined. Otherwise nothing was written.
  mutating func joinDelete(_ name: AnyRecordName, _ kind: RecordKind, _ received: RecordState) throws -> Bool {
    guard !isRepair, received.deletes.count == 1, let delete = received.deletes.first, delete.stamp.rank >= .user,
      received.existence == nil, received.fields.isEmpty, received.seed == nil, received.life == nil,
      received.supersededTouches.isEmpty, isNew(delete.stamp.dot), transaction.hasPlainDeletes(kind),
      try !transaction.mayRunTriggers(), let row = try deletedRow(name, kind),
      var state = try writer.stampedState(row.clock),
      state.listsOnly(kind)
    else { return false }
    let shared = try shared(delete)
    let replaced = state.dots
    #if PlantedFaults
      let hasSeen = shared.hasSeen(replaced) || reader.planted.contains(.deleteHidesUnseen)
    #else
      let hasSeen = shared.hasSeen(replaced)
    #endif
    guard hasSeen else { return false }
    let difference = shared.fingerprint(name: row.hash)
    state.add(difference)
    // First what can say no: foreign keys of the app's own tables.
    do {
      try writer.deleteRow(kind.number, kind.type, kind.deleteByNumber, row: row.id, row.clock)
    } catch is RowRefusal {
      return false
    }
    try writer.putDeleted(state, kind, name.text, row.values, shared)
    noteChange()
    try transaction.deleted(row.key, kind, delete, replaced: replaced, difference)
    transaction.view.noteGone()
    try writer.onRowWritten?()
    return true
  }

  private func deletedRow(_ name: AnyRecordName, _ kind: RecordKind) throws -> EditedRow? {
    let query = try transaction.connection.statement(kind.rowByName)
    query.bind(1, name.text)
    defer { query.reset() }
    guard try query.step(), let (key, hash) = kind.hashedKey(in: query), let clock = try? query.clock(2) else {
      return nil
    }
    return EditedRow(
      id: query.number(0), key: key, hash: hash, clock: clock,
      values: query.values(3..<3 + kind.columns.count))
  }
}
