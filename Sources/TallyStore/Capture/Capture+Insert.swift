import GRDBSQLite
import TallyCRDT
import TallyWire

/// The short way for an insert of the app's: a record that was never here, with values that are plainly what their
/// fields take, into a table that was not made again since.
///
/// Its state is one stamp and what the row shows, so none is made: the row is checked and hashed in SQLite's memory,
/// and gets its clock. Where anything is out of the ordinary, this writes nothing and leaves the row to the long way.
extension Capture {
  /// - Returns: whether the write is captured.
  func captureInsert(_ write: PendingWrite, _ kind: RecordKind) throws -> Bool {
    guard origin == .app, namesBefore == nil, write.key == nil, write.before == nil, write.except.isEmpty,
      returned.isEmpty, !transaction.session.changesSchema, let row = write.row, kind.columns.count < UInt64.bitWidth,
      transaction.plain.takesPresence(kind)
    else { return false }
    let found = try transaction.connection.row(kind.rowByNumber, row.rawValue) { query in
      try inserted(query, kind)
    }
    // The row is written next: nothing may be read from SQLite's memory of it any more.
    guard case .some(.some(let new)) = found, try transaction.writer.adopt(row, kind, new.clock, new.older) else {
      return false
    }
    try transaction.inserted(new.key, kind, new.dot, new.sum, owners: new.owners, new.state)
    return true
  }

  /// A new record whose row a query is at; its state only where it is waited for.
  private struct Inserted {
    var key: RecordKey
    var dot: Dot
    var clock: InlineClock
    var sum: Fingerprint
    /// What newer columns say to older ones.
    var older: [(place: Int, value: Value)]
    /// The records that own it, where that matters.
    var owners: [AnyRecordName]
    var state: RecordState?
  }

  private func inserted(_ query: SQLStatement, _ kind: RecordKind) throws -> Inserted? {
    guard let key = kind.key(in: query),
      let older = try LensCapture(transaction: transaction, kind: kind).follow(new: query),
      let mask = kind.cells(in: query, besides: older),
      let owners = transaction.plain.owners(query, kind),
      try query.withBytes(ofText: 1, { try transaction.plain.isUnknown($0, key, kind) })
    else { return nil }
    let stamp = try transaction.stamp()
    let sum = kind.fingerprint(query, stamp, mask, besides: older)
    guard let clock = try transaction.writer.clock(of: stamp, sum) else { return nil }
    var state: RecordState?
    if transaction.isBuffered {
      var values = query.values(3..<3 + kind.columns.count)
      for (place, value) in older { values[place] = value }
      state = try transaction.reader.state(clock, values, kind).state
    }
    return Inserted(key: key, dot: stamp.dot, clock: clock, sum: sum, older: older, owners: owners, state: state)
  }
}

extension RecordKind {
  /// A bit mask over `wireOrder` of the columns whose value is not the default, without those that get another value;
  /// nil if a value does not fit its field, or needs the slower path to decide.
  fileprivate func cells(in query: SQLStatement, besides older: [(place: Int, value: Value)]) -> UInt64? {
    var mask: UInt64 = 0
    var byteCount = older.reduce(0) { $0 + $1.value.byteCount }
    for (place, index) in wireOrder.enumerated() where !older.contains(where: { $0.place == index }) {
      let (column, position) = (columns[index], 3 + index)
      let type = query.type(position)
      if type == SQLITE_NULL, column.defaultValue.isNull { continue }
      guard column.accepts(query, position, type), column.oneOf == nil || column.lists(query.value(position)) else {
        return nil
      }
      let count = query.byteCount(position)
      guard count <= WireLimits.valueBytes else { return nil }
      byteCount += count
      guard column.defaultValue.isNull || query.value(position) != column.defaultValue else { continue }
      // It has a stamp of its own.
      if column.field.extremum != nil { return nil }
      mask |= 1 << UInt64(place)
    }
    return byteCount <= WireLimits.recordBytes ? mask : nil
  }
}

extension Column {
  /// Whether the value in a query is one that the column takes, as far as can be seen without making a `Value` of it
  /// where that costs much.
  fileprivate func accepts(_ query: SQLStatement, _ position: Int, _ type: Int32) -> Bool {
    switch (kind, type) {
    case (.integer, SQLITE_INTEGER), (.counter, SQLITE_INTEGER), (.real, SQLITE_FLOAT), (.blob, SQLITE_BLOB): true
    case (.text, SQLITE_TEXT):
      query.withBytes(ofText: position) { $0.isASCII || String(validating: $0, as: UTF8.self) != nil }
    case (.date, SQLITE_TEXT): query.withBytes(ofText: position, FieldSyntax.isDate)
    case (nil, SQLITE_TEXT):
      query.withBytes(ofText: position) { RecordKey.uuid(in: $0, after: targetPrefix) != nil }
    default: accepts(query.value(position))
    }
  }
}
