import TallyCRDT

/// The short way for the commonest write: the app has changed fields of a record that is seen, was never deleted, and
/// is no seed's.
///
/// What the long way does to a whole state is done here to the stamps of the changed fields (`StampedState`), with the
/// same result. Where anything is out of the ordinary, it writes nothing and leaves the row to the long way.
extension Capture {
  /// - Returns: whether the write is captured.
  func captureEdit(_ write: PendingWrite, _ kind: RecordKind) throws -> Bool {
    guard origin == .app, namesBefore == nil, write.key == nil, !write.isOfNewSchema, write.except.isEmpty,
      let row = write.row, let clock = write.before?.clock, transaction.plain.takes(kind)
    else { return false }
    var changes: [RowChange] = []
    swap(&changes, &progress.changes)
    changes.removeAll(keepingCapacity: true)
    defer { swap(&changes, &progress.changes) }
    guard let row = try edited(row, kind, write, &changes), row.clock == clock,
      try transaction.plain.isPlain(row.key, kind)
    else { return false }
    guard !changes.isEmpty else { return true }
    var moved: [AnyRecordName] = []
    for change in changes {
      guard change.place < kind.columns.count else { return false }
      let column = kind.columns[change.place]
      guard transaction.plain.isPlain(column, of: kind, from: change.old, to: change.new, moved: &moved) else {
        return false
      }
    }
    guard let state = try transaction.writer.stampedState(clock),
      let older = try LensCapture(transaction: transaction, kind: kind).follow(row, &changes, over: state)
    else { return false }
    var edit = StampedEdit(state, row.hash)
    var stamp: Stamp?
    let isBuffered = transaction.isBuffered
    var cells: [FieldCell] = []
    var added: FieldCell?
    for change in changes {
      let column = kind.columns[change.place]
      guard column.admits(change.new), column.lists(change.new) else { return false }
      if column.isCounter {
        guard let cell = try CounterWrites(transaction).count(change, column, kind, &edit) else { return false }
        if isBuffered { cells.append(cell) }
        (stamp, added) = (cell.stamp, cell)
        continue
      }
      let old = edit.state.stamp(of: column.field, isDefault: column.isDefault(change.old))
      if let extremum = column.field.extremum {
        // One edit has one stamp here. A value that goes no further takes no dot, and is put back by the long way.
        guard changes.count == 1, extremum.prefers(change.new, over: change.old) else { return false }
      }
      var new = try transaction.stamp(over: change.floor ?? old?.time)
      if column.field.extremum != nil {
        new = ExtremumWrites.raise(over: old, new.dot)
      } else if let old, new <= old {
        // Over a time that nothing exceeds, the greater replica wins, and that may be the other one.
        return false
      }
      edit.write(column, over: old, change.old, new, change.new)
      if isBuffered { cells.append(FieldCell(field: column.field, stamp: new, value: change.new)) }
      stamp = new
    }
    guard let stamp else { return true }
    edit.end()
    if older.isEmpty {
      try transaction.writer.putEdited(edit.state, kind, row.id, row.clock)
    } else {
      guard try transaction.writer.showEdited(edit.state, kind, row.id, row.clock, older) else { return false }
    }
    try transaction.edited(
      row.key, kind, CollectionOfOne(stamp.dot), edit, cells, owners: row.owners, moved: moved, isNoted: true)
    if let added {
      if changes.count == 1 {
        transaction.session.edits?.note(row.key, kind, added: added, edit.state)
      } else {
        transaction.session.edits?.forget(row.key, kind)
      }
    } else {
      transaction.session.edits?.note(row.key, kind, stamp, changes, edit.state)
    }
    edit.leave(to: transaction.reader.spare)
    return true
  }

  /// The row as it is; `changes` gets what an edit has changed. Returns nil if the short way does not apply to it.
  private func edited(
    _ row: RowID, _ kind: RecordKind, _ write: PendingWrite, _ changes: inout [RowChange]
  ) throws -> EditedRow? {
    if let whole = write.before?.whole { return try transaction.plain.editedRow(row, kind, since: whole, &changes) }
    guard let written = write.before?.written, let first = written.first,
      written.allSatisfy({ $0.place < kind.columns.count }),
      let row = try transaction.plain.editedRow(row, kind, written.map(\.place), isNumber: first.value.isNumber)
    else { return nil }
    for (before, new) in zip(written, row.values) where before.value != new {
      changes.append(RowChange(place: before.place, old: before.value, new: new))
    }
    return row
  }
}

extension Value {
  fileprivate var isNumber: Bool {
    switch self {
    case .integer, .real: true
    default: false
    }
  }
}
