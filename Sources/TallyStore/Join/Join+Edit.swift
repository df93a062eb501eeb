import TallyCRDT
import TallyWire

/// The short way for the commonest change that a peer sends: writes to fields of a record that is seen here, was never
/// deleted, and is no seed's, later than those that are here or earlier. See `StampedState`; the result is that of the
/// long way.
extension Join {
  /// - Returns: whether the record is joined. Otherwise nothing was written.
  mutating func joinEdit(_ name: AnyRecordName, _ kind: RecordKind, _ received: RecordState) throws -> Bool {
    guard !isRepair, received.existence == nil, received.deletes.isEmpty, received.seed == nil, received.life == nil,
      received.supersededTouches.isEmpty, !received.fields.isEmpty, transaction.plain.takes(kind),
      let places = places(of: received.fields, kind), let row = try transaction.plain.editedRow(name, kind, places)
    else { return false }
    return try joinEdit(row, kind, received.fields, places) { name }
  }

  /// Joins registers of a packed record, without making a state of them.
  mutating func joinEdit(_ item: PackedRecords.Item, of changes: PackedChanges) throws -> Bool {
    let kind = changes.kind
    guard !isRepair, let (cells, places) = try changes.cells(of: item), transaction.plain.takes(kind),
      let row = try transaction.plain.editedRow(changes.name(of: item), kind, places)
    else { return false }
    return try joinEdit(row, kind, cells, places) { try changes.packed.name(of: item) }
  }

  private mutating func joinEdit(
    _ row: EditedRow, _ kind: RecordKind, _ received: [FieldCell], _ places: [Int], _ name: () throws -> AnyRecordName
  ) throws -> Bool {
    guard try transaction.plain.isPlain(row.key, kind), let state = try writer.stampedState(row.clock) else {
      return false
    }
    var shown: [(place: Int, value: Value)] = []
    var lost: [LostWrite] = []
    var edit = StampedEdit(state, row.hash)
    var dots: [Dot] = []
    var (keepsOwn, moved) = (false, [AnyRecordName]())
    if received.count > 1 {
      shown.reserveCapacity(received.count)
      lost.reserveCapacity(received.count)
    }
    for (index, cell) in received.enumerated() {
      let (column, value) = (kind.columns[places[index]], row.values[index])
      if column.isCounter {
        // Several registers of one counter make one number.
        guard places.count(where: { $0 == places[index] }) == 1 else { return false }
        if cell.field.isTotal {
          let hash = transaction.catalog.hash(of: cell.field)
          guard isNew(cell.stamp.dot), let number = edit.count(received: cell, hash: hash, column, value) else {
            return false
          }
          shown.append((places[index], number))
          if !dots.contains(cell.stamp.dot) { dots.append(cell.stamp.dot) }
          continue
        }
        guard !state.hasTotals(of: cell.field) else { return false }
      }
      let old = state.stamp(of: cell.field, isDefault: column.isDefault(value))
      guard old != cell.stamp, isNew(cell.stamp.dot) else { return false }
      let mine = old.map { FieldCell(field: cell.field, stamp: $0, value: value) }
      if let mine, !cell.wins(over: mine) {
        keepsOwn = true
        edit.keep(mine.stamp, over: cell.stamp)
        if cell.isConflict(with: mine) { lost.append(LostWrite(loser: cell, winner: mine, wasLocal: false)) }
      } else {
        edit.write(column, over: old, value, cell.stamp, cell.value)
        if cell.value != value {
          guard transaction.plain.isPlain(column, of: kind, from: value, to: cell.value, moved: &moved),
            try column.target(of: cell.value).map(reader.hasRow) ?? true
          else { return false }
          shown.append((places[index], cell.value))
          if let mine, mine.isConflict(with: cell) {
            lost.append(LostWrite(loser: mine, winner: cell, wasLocal: true))
          }
        }
      }
      if !dots.contains(cell.stamp.dot) { dots.append(cell.stamp.dot) }
    }
    // What stays of a write that lost is a touch, or nothing, and a buffer takes registers.
    guard !keepsOwn || edit.changesState && !transaction.isBuffered else { return false }
    if places.contains(where: { kind.lenses.involves($0) }) {
      let state = edit.state
      let showsOlder = kind.lenses.showOlder(kind) { place in
        shown.first { $0.place == place }?.value ?? row.lensed[place]
      } _: {
        state.stamp(of: $0.field, isDefault: $0.isDefault($1))
      }
      guard !showsOlder else { return false }
    }
    edit.end()
    guard try transaction.writer.showEdited(edit.state, kind, row.id, row.clock, shown) else { return false }
    noteChange()
    try transaction.edited(row.key, kind, dots, edit, received, owners: row.owners, moved: moved)
    for write in lost where !kind.lenses.isFollowed(write, in: lost, kind) { try note(shown: write, name()) }
    return true
  }

  /// The columns of the fields, if each has one that takes the value. A total's is that of its counter.
  private func places(of cells: [FieldCell], _ kind: RecordKind) -> [Int]? {
    var places: [Int] = []
    for cell in cells {
      guard cell.stamp.rank >= .user, let place = kind.index(of: cell.field.counter ?? cell.field),
        kind.columns[place].accepts(cell.value)
      else { return nil }
      places.append(place)
    }
    return places
  }
}
