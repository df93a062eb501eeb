import TallyCRDT
import TallyWire

/// Writing states to where they belong: the app's row with its clock, `tally_extra`, `tally_hidden`, `tally_wait`.
extension Engine {
  // MARK: Records

  /// Writes a record's state and, if it is to be seen, its row.
  /// - Parameters:
  ///   - previous: what is stored now, or nil.
  ///   - shown: the values that the row shall have, in the order of the kind's columns; nil to hide the record.
  ///   - rowIsCurrent: the app itself has already written these values to the row.
  func put(
    _ name: AnyRecordName, _ kind: RecordKind, _ state: RecordState, previous: StoredRecord?, shown: [Value]?,
    rowIsCurrent: Bool = false
  ) throws {
    isChanged = true
    try putWaits(for: name, kind, state, shown, previous)
    try putSeeded(name, kind, state, isShown: shown != nil, previous)
    guard let shown else { return try hide(name, kind, state, previous) }
    let clock = try clock(state, kind, shown, previous?.place)
    switch previous?.place {
    case .row(let row, let old):
      // A further part of one large record has the stamp of the first. With the same clock before and after, the triggers would take the
      // write for the app's.
      if old == clock { try writeClock(kind.number, kind.type, row: row, .leaving) }
      try update(kind, row: row, clock: clock, from: rowIsCurrent ? shown : previous?.values ?? [], to: shown)
    case .hidden(let number):
      try deleteHidden(number)
      try insert(name, kind, clock, shown)
    case .nowhere, nil:
      try insert(name, kind, clock, shown)
    }
  }

  /// Writes the state of a record whose row the app has just inserted.
  func adopt(
    row: Int, _ name: AnyRecordName, _ kind: RecordKind, _ state: RecordState, hidden: StoredRecord?, shown: [Value]
  ) throws {
    if case .hidden(let number) = hidden?.place { try deleteHidden(number) }
    let previous = StoredRecord(
      state: hidden?.state ?? RecordState(), place: .row(id: row, clock: .unstamped), values: shown)
    try putWaits(for: name, kind, state, shown, hidden)
    try putSeeded(name, kind, state, isShown: true, hidden)
    let clock = try clock(state, kind, shown, previous.place)
    isChanged = true
    try writeClock(kind.number, kind.type, row: row, clock)
  }

  private func clock(
    _ state: RecordState, _ kind: RecordKind, _ shown: [Value], _ place: Place?
  ) throws -> InlineClock {
    let old: (number: Int, revision: UInt32)?
    if case .row(_, .extra(let number, let revision)) = place { old = (number, revision) } else { old = nil }
    if let uniform = try uniformClock(state, kind, shown) {
      if let old { try deleteExtra(old.number) }
      return uniform
    }
    return try putExtra(try encode(state, row: RowValues(kind: kind, values: shown)), old)
  }

  private func uniformClock(_ state: RecordState, _ kind: RecordKind, _ shown: [Value]) throws -> InlineClock? {
    guard let stamp = state.uniformStamp else { return nil }
    var next = 0
    for (index, column) in kind.columns.enumerated() {
      let isDefault = shown[index] == column.defaultValue
      if next < state.fields.count, state.fields[next].field == column.field {
        guard !isDefault, state.fields[next].value == shown[index] else { return nil }
        next += 1
      } else if !isDefault {
        return nil
      }
    }
    return next == state.fields.count ? InlineClock(stamp, replica: try number(of: stamp.dot.replica)) : nil
  }

  private func insert(_ name: AnyRecordName, _ kind: RecordKind, _ clock: InlineClock, _ values: [Value]) throws {
    touchedTables.insert(kind.type)
    let insert = try connection.statement(kind.insert)
    insert.bind(1, name.text)
    insert.bind(2, clock)
    for (index, value) in values.enumerated() { insert.bind(3 + index, value) }
    try insert.run()
  }

  private func update(_ kind: RecordKind, row: Int, clock: InlineClock, from old: [Value], to new: [Value]) throws {
    let changed = old == new ? [] : kind.columns.indices.filter { old[$0] != new[$0] }
    guard !changed.isEmpty else { return try writeClock(kind.number, kind.type, row: row, clock) }
    touchedTables.insert(kind.type)
    let update: SQLStatement
    if changed.count == 1 {
      update = try connection.statement(kind.updates[changed[0]])
    } else {
      let columns = changed.map { ", \"\(kind.columns[$0].name)\" = ?" }.joined()
      update = try connection.statement(
        text: "UPDATE \"\(kind.type)\" SET tally_clock = ?\(columns) WHERE rowid = ?")
    }
    update.bind(1, clock)
    for (position, index) in changed.enumerated() { update.bind(2 + position, new[index]) }
    update.bind(2 + changed.count, row)
    try update.run()
  }

  private func hide(_ name: AnyRecordName, _ kind: RecordKind, _ state: RecordState, _ previous: StoredRecord?) throws {
    if case .row(let row, let clock) = previous?.place { try deleteRow(kind.number, kind.type, row: row, clock) }
    try putHidden(kind.number, name.text, try encode(state, row: nil), previous?.place)
  }

  /// The body of a record; what its deletes had seen is stored first.
  private func encode(_ state: RecordState, row: RowValues?) throws -> [UInt8] {
    try storeContexts(of: state)
    return try StateCoding.encode(
      state, row: row, isShared: { reader.knows(context: $0.context, of: $0.stamp) }, replicaNumber: number(of:))
  }

  private func storeContexts(of state: RecordState) throws {
    // All deletes of a transaction share one, and the first that comes keeps it: other records' deletes may rely on it. The time tells
    // apart most deletes of a dot that two copies of one store have both issued.
    for delete in state.deletes where !reader.hasContext(of: delete.stamp) {
      let insert = try connection.statement("INSERT OR IGNORE INTO tally_context VALUES(?, ?, ?, ?)")
      var writer = ByteWriter()
      try StateCoding.encode(delete.context, to: &writer, number(of:))
      insert.bind(1, try number(of: delete.stamp.dot.replica))
      insert.bind(2, Int64(delete.stamp.dot.sequence))
      insert.bind(3, Int64(delete.stamp.time.milliseconds))
      insert.bind(4, writer.bytes)
      try insert.run()
      reader.note(
        context: connection.changes == 0 ? try reader.context(of: delete.stamp) : delete.context, of: delete.stamp)
      hasDeletes = true
    }
  }

  // MARK: Links

  /// Writes a link's state and, if it is to be seen, its row.
  func put(
    _ key: LinkKey, _ kind: LinkKind, _ element: ORSetElement, previous: StoredLink?, isShown: Bool
  ) throws {
    isChanged = true
    try putWaits(for: key, kind, element, isShown, previous)
    guard isShown else {
      if case .row(let row, let clock) = previous?.place { try deleteRow(kind.number, kind.table, row: row, clock) }
      let body = try StateCoding.encode(element, replicaNumber: number(of:))
      return try putHidden(kind.number, key.text, body, previous?.place)
    }
    let clock = try clock(element, previous?.place)
    if case .row(let row, _) = previous?.place { return try writeClock(kind.number, kind.table, row: row, clock) }
    if case .hidden(let number) = previous?.place { try deleteHidden(number) }
    touchedTables.insert(kind.table)
    let insert = try connection.statement(kind.insert)
    insert.bind(1, key.source.text)
    insert.bind(2, key.target.text)
    insert.bind(3, clock)
    try insert.run()
  }

  /// Writes the state of a link whose row the app has just inserted.
  func adopt(row: Int, _ key: LinkKey, _ kind: LinkKind, _ element: ORSetElement, hidden: StoredLink?) throws {
    if case .hidden(let number) = hidden?.place { try deleteHidden(number) }
    try putWaits(for: key, kind, element, true, hidden)
    isChanged = true
    try writeClock(kind.number, kind.table, row: row, try clock(element, nil))
  }

  private func clock(_ element: ORSetElement, _ place: Place?) throws -> InlineClock {
    let old: (number: Int, revision: UInt32)?
    if case .row(_, .extra(let number, let revision)) = place { old = (number, revision) } else { old = nil }
    if let stamp = element.uniformStamp,
      let clock = InlineClock(stamp, replica: try number(of: stamp.dot.replica))
    {
      if let old { try deleteExtra(old.number) }
      return clock
    }
    return try putExtra(try StateCoding.encode(element, replicaNumber: number(of:)), old)
  }

  // MARK: Rows of the engine's own tables

  private func putExtra(_ body: [UInt8], _ old: (number: Int, revision: UInt32)?) throws -> InlineClock {
    if let old {
      let update = try connection.statement("UPDATE tally_extra SET body = ? WHERE n = ?")
      update.bind(1, body)
      update.bind(2, old.number)
      try update.run()
      return .extra(number: old.number, revision: (old.revision &+ 1) & 0x7FFF_FFFF)
    }
    let insert = try connection.statement("INSERT INTO tally_extra(body) VALUES(?)")
    insert.bind(1, body)
    try insert.run()
    return .extra(number: connection.lastInsertedRowID, revision: 0)
  }

  private func putHidden(_ kind: Int, _ key: String, _ body: [UInt8], _ place: Place?) throws {
    if case .hidden(let number) = place {
      let update = try connection.statement("UPDATE tally_hidden SET body = ? WHERE n = ?")
      update.bind(1, body)
      update.bind(2, number)
      return try update.run()
    }
    hiddenKinds.insert(kind)
    let insert = try connection.statement("INSERT INTO tally_hidden(kind, key, body) VALUES(?, ?, ?)")
    insert.bind(1, kind)
    insert.bind(2, key)
    insert.bind(3, body)
    try insert.run()
  }

  private func deleteRow(_ kind: Int, _ table: String, row: Int, _ clock: InlineClock) throws {
    touchedTables.insert(table)
    try writeClock(kind, table, row: row, .leaving)
    let delete = try connection.statement(text: "DELETE FROM \"\(table)\" WHERE rowid = ?")
    delete.bind(1, row)
    try delete.run()
    if case .extra(let number, _) = clock { try deleteExtra(number) }
  }

  func deleteExtra(_ number: Int) throws {
    let delete = try connection.statement("DELETE FROM tally_extra WHERE n = ?")
    delete.bind(1, number)
    try delete.run()
  }

  private func deleteHidden(_ number: Int) throws {
    let delete = try connection.statement("DELETE FROM tally_hidden WHERE n = ?")
    delete.bind(1, number)
    try delete.run()
  }

  private func writeClock(_ kind: Int, _ table: String, row: Int, _ clock: InlineClock) throws {
    let handle: BlobHandle
    if let known = blobs[kind] {
      handle = known
    } else {
      handle = BlobHandle(connection.handle, table: table)
      blobs[kind] = handle
    }
    try handle.write(clock, row: row)
  }
}
