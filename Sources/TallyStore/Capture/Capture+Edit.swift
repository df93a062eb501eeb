import TallyCRDT

/// The short way for the commonest write: the app has changed fields of a record that is seen, was never deleted, and
/// is no seed's.
///
/// What the long way does to a whole state is done here to the stamps of the changed fields (`StampedState`), with the
/// same result. Where anything is out of the ordinary, it writes nothing and leaves the row to the long way.
extension Capture {
  /// - Returns: whether the write is captured.
  func captureEdit(_ write: PendingWrite, _ kind: RecordKind) throws -> Bool {
    guard origin == .app, namesBefore == nil, write.key == nil, write.except.isEmpty, let row = write.row,
      let before = write.before, let first = before.written.first, transaction.hasPlainRows(kind),
      before.written.allSatisfy({ kind.isPlain(column: $0.place) }),
      let row = try transaction.editedRow(row, kind, before.written.map(\.place), isNumber: first.value.isNumber),
      row.clock == before.clock, var state = try transaction.writer.stampedState(before.clock)
    else { return false }
    var edits: [FieldEdit] = []
    for (index, (place, value)) in before.written.enumerated() where value != row.values[index] {
      let column = kind.columns[place]
      guard column.admits(row.values[index]) else { return false }
      let old = state.stamp(of: column.field, isDefault: column.isDefault(value))
      let new = try transaction.stamp(over: old?.time)
      // Over a time that nothing exceeds, the greater replica wins, and that may be the other one.
      if let old, new <= old { return false }
      edits.append(FieldEdit(column: column, old: old, oldValue: value, new: new, newValue: row.values[index]))
    }
    guard let dot = edits.first?.new.dot else { return true }
    let touches = state.supersededTouches
    let difference = edits.apply(to: &state, row.hash)
    try transaction.writer.putEdited(state, kind, row.id, row.clock)
    try transaction.edited(
      row.key, kind, [dot], replaced: edits.replaced(in: state, touches: touches), owners: row.owners, difference)
    return true
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
