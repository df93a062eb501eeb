import TallyCRDT
import TallyWire

/// The short way for the commonest write: the app has changed fields of a record that is seen, was never deleted, and is no seed's.
///
/// What the long way does to a whole state is done here to the stamps of the changed fields (`StampedState`), with the same result. Where
/// anything is out of the ordinary, it writes nothing and leaves the row to the long way.
extension Capture {
  /// One register that was written.
  private struct Edit {
    var column: Column
    var before: Value
    var after: Value
    var old: Stamp?
    var new: Stamp
  }

  /// - Returns: whether the write is captured.
  func captureEdit(_ write: PendingWrite, _ kind: RecordKind) throws -> Bool {
    guard origin == .app, write.key == nil, write.except.isEmpty, let row = write.row, let before = write.before,
      !before.written.isEmpty, hasOrdinaryRows(kind), before.written.allSatisfy({ kind.isPlain(column: $0.place) })
    else { return false }
    let needsOwners = !kind.ownerColumns.isEmpty && transaction.facts.hasDeletes
    guard let row = try editedRow(row, kind, before.written, readsOwners: needsOwners), row.clock == before.clock,
      var state = try transaction.reader.stampedState(before.clock)
    else { return false }
    var edits: [Edit] = []
    for (index, (place, value)) in before.written.enumerated() where value != row.values[index] {
      let column = kind.columns[place]
      guard Refusals.fault(of: row.values[index], in: column, row.name) == nil else { return false }
      let old = state.stamp(of: column.field, isDefault: column.isDefault(value))
      let new = try transaction.stamp(over: old?.time)
      // Over a time that nothing exceeds, the greater replica wins, and that may be the other one.
      if let old, new <= old { return false }
      edits.append(Edit(column: column, before: value, after: row.values[index], old: old, new: new))
    }
    guard let dot = edits.first?.new.dot else { return true }
    let touches = state.supersededTouches
    for edit in edits { state.set(edit.column.field, to: edit.new, over: edit.old) }
    try transaction.writer.putEdited(state, kind, row.id, row.clock)
    try transaction.edited(
      row.name, kind, dot, owners: row.owners, Self.difference(row.name, edits, touches, state.supersededTouches))
    return true
  }

  /// Whether no row of the kind can be anything but what its state says.
  private func hasOrdinaryRows(_ kind: RecordKind) -> Bool {
    namesBefore == nil && transaction.reader.aside.isEmpty && !transaction.session.refusals.hasAny && !kind.mayCycle
      && kind.forwardField == nil
  }

  private static func difference(
    _ name: AnyRecordName, _ edits: [Edit], _ old: StateVector, _ new: StateVector
  ) -> Fingerprint {
    let hash = SipHash.hash(name.text)
    var sum = Fingerprint()
    for edit in edits {
      if let old = edit.old { sum -= .field(name: hash, field: edit.column.hash, stamp: old, value: edit.before) }
      sum += .field(name: hash, field: edit.column.hash, stamp: edit.new, value: edit.after)
    }
    if old != new { sum += .touches(new, replacing: old, name: hash) }
    return sum
  }

  // MARK: The row

  private struct EditedRow {
    var id: RowID
    var name: AnyRecordName
    var clock: InlineClock
    /// Of the columns that were written, in their order.
    var values: [Value]
    /// The records that own it, where that matters.
    var owners: [AnyRecordName] = []
  }

  /// The row, if it can go the short way.
  private func editedRow(
    _ row: RowID, _ kind: RecordKind, _ written: [(place: Int, value: Value)], readsOwners: Bool
  ) throws -> EditedRow? {
    // A number is all that need be read: neither it nor the row can have become too large, however large the other columns are.
    if written.count == 1, written[0].value.isNumber, !readsOwners {
      let query = try connection.statement(kind.columnByNumber[written[0].place])
      query.bind(1, row)
      defer { query.reset() }
      guard try query.step(), let name = name(in: query, kind), let clock = try? query.clock(2) else { return nil }
      let value = query.value(3)
      guard value.byteCount <= 8 else { return nil }
      return EditedRow(id: row, name: name, clock: clock, values: [value])
    }
    let query = try connection.statement(kind.rowByNumber)
    query.bind(1, row)
    defer { query.reset() }
    guard try query.step(), let name = name(in: query, kind), let clock = try? query.clock(2),
      kind.columns.indices.reduce(0, { $0 + query.byteCount(3 + $1) }) <= WireLimits.recordBytes
    else { return nil }
    let values = written.map { query.value(3 + $0.place) }
    var result = EditedRow(id: row, name: name, clock: clock, values: values)
    guard readsOwners else { return result }
    for (index, column) in kind.columns.enumerated() where column.reference?.onDelete == .cascade {
      // What the row shows is what the register holds, unless it shows nothing, or a seed in place of its duplicate.
      guard let owner = column.target(of: query.value(3 + index)),
        catalog.kind(of: owner.type)?.forwardField == nil
      else { return nil }
      result.owners.append(owner)
    }
    return result
  }

  private func name(in query: SQLStatement, _ kind: RecordKind) -> AnyRecordName? {
    guard let text = query.text(1), let name = try? AnyRecordName(text), name.hasType(kind.type) else { return nil }
    return name
  }
}

extension RecordKind {
  /// Whether a column holds neither a reference nor anything that a newer schema has.
  fileprivate func isPlain(column: Int) -> Bool { column < columns.count && columns[column].reference == nil }
}

extension Value {
  fileprivate var isNumber: Bool {
    switch self {
    case .integer, .real: true
    default: false
    }
  }
}
