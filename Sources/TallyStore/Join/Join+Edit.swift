import TallyCRDT

/// The short way for the commonest change that a peer sends: later writes to fields of a record that is seen here, was
/// never deleted, and is no seed's. See `StampedState`; the result is that of the long way.
extension Join {
  /// - Returns: whether the record is joined. Otherwise nothing was written.
  mutating func joinEdit(_ name: AnyRecordName, _ kind: RecordKind, _ received: RecordState) throws -> Bool {
    guard !isRepair, received.existence == nil, received.deletes.isEmpty, received.seed == nil, received.life == nil,
      received.supersededTouches.isEmpty, !received.fields.isEmpty, transaction.hasPlainRows(kind),
      let places = places(of: received.fields, kind), let row = try transaction.editedRow(name, kind, places),
      let state = try writer.stampedState(row.clock)
    else { return false }
    var edits: [FieldEdit] = []
    var whole = StampedEdit(state, row.hash)
    var dots: [Dot] = []
    for (index, cell) in received.fields.enumerated() {
      let column = kind.columns[places[index]]
      let old = state.stamp(of: cell.field, isDefault: column.isDefault(row.values[index]))
      guard old.map({ $0 < cell.stamp }) ?? true, isNew(cell.stamp.dot) else { return false }
      let edit = FieldEdit(
        column: column, old: old, oldValue: row.values[index], new: cell.stamp, newValue: cell.value)
      edits.append(edit)
      whole.write(column, over: old, edit.oldValue, edit.new, edit.newValue)
      if !dots.contains(cell.stamp.dot) { dots.append(cell.stamp.dot) }
    }
    whole.end()
    let changed = edits.indices.filter { edits[$0].oldValue != edits[$0].newValue }
    guard
      try transaction.writer.showEdited(
        whole.state, kind, row.id, row.clock, changed.map { (places[$0], edits[$0].newValue) })
    else { return false }
    for edit in changed.map({ edits[$0] }) {
      guard let old = edit.old else { continue }
      let loser = FieldCell(field: edit.column.field, stamp: old, value: edit.oldValue)
      let winner = FieldCell(field: edit.column.field, stamp: edit.new, value: edit.newValue)
      try note(LostWrite(loser: loser, winner: winner, wasLocal: true), name)
    }
    noteChange()
    try transaction.edited(row.key, kind, dots, whole, received.fields, owners: row.owners)
    return true
  }

  /// The columns of the fields, if each has one that holds no reference and takes the value.
  private func places(of cells: [FieldCell], _ kind: RecordKind) -> [Int]? {
    var places: [Int] = []
    for cell in cells {
      guard cell.stamp.rank >= .user, let place = kind.index(of: cell.field), kind.isPlain(column: place),
        kind.columns[place].accepts(cell.value)
      else { return nil }
      places.append(place)
    }
    return places
  }
}
