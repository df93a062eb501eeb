import TallyCRDT
import TallyWire

/// Rows that SQLite does not let go, or does not take with the values that they should have.
extension StateWriter {
  /// Lets a row wait in its place, with other values, for those that other rows still hold: were it to go, and to come
  /// back, whatever the app keeps beside it would go with it.
  /// - Returns: whether SQLite takes that.
  func park(
    _ kind: RecordKind, _ state: RecordState, _ sum: StateSum, _ parked: [Value], _ previous: StoredRecord?
  ) throws -> Bool {
    guard case .row(let row, let clock) = previous?.place, let previous else { return false }
    // Again, no matter what became of the one before, and with a clock that is not what the row has.
    if let old = clock.extra { try deleteExtra(old.number) }
    let body = try encode(state, sum, row: RowValues(kind: kind, values: parked))
    guard var new = try putExtra(body, nil).extra else { return false }
    if let old = clock.extra { new.revision = old.next.revision }
    do {
      try update(kind, row: row, clock: .extra(new), from: previous.values, to: parked)
    } catch is RowRefusal {
      try deleteExtra(new.number)
      return false
    }
    return true
  }

  /// Leaves a row as it stands, under its new state; without its values, if the state was emptied and SQLite takes the
  /// defaults in their place.
  func keep(
    _ row: RowID, _ kind: RecordKind, _ state: RecordState, _ sum: StateSum, _ previous: StoredRecord
  ) throws {
    if state.life != nil, !state.hasContent, try blank(row, kind, state, sum, previous) { return }
    if let old = previous.place.extra { try deleteExtra(old.number) }
    let body = try encode(state, sum, row: RowValues(kind: kind, values: previous.values))
    try writeClock(kind.number, kind.type, row: row, try putExtra(body, nil))
  }

  /// Takes the values out of a row.
  /// - Returns: whether it has none now; otherwise nothing has changed.
  private func blank(
    _ row: RowID, _ kind: RecordKind, _ state: RecordState, _ sum: StateSum, _ previous: StoredRecord
  ) throws -> Bool {
    let blank = kind.blank(previous.values)
    guard blank != previous.values else { return false }
    let body = try encode(state, sum, row: RowValues(kind: kind, values: blank))
    guard var new = try putExtra(body, nil).extra else { return false }
    // A clock that is not what the row has.
    if let old = previous.place.extra { new.revision = old.next.revision }
    do {
      try update(kind, row: row, clock: .extra(new), from: previous.values, to: blank)
    } catch is RowRefusal {
      try deleteExtra(new.number)
      return false
    }
    if let old = previous.place.extra { try deleteExtra(old.number) }
    return true
  }
}
