import TallyCRDT
import TallyWire

/// One register of a record that is seen gets a later write. See `StampedState` for when that is all there is to an
/// edit.
struct FieldEdit {
  var column: Column
  var old: Stamp?
  var oldValue: Value
  var new: Stamp
  var newValue: Value
}

/// The parts of a row that an edit of some of its fields reads.
struct EditedRow {
  var id: RowID
  var key: RecordKey
  /// The hash of its name, for the fingerprint.
  var hash: UInt64
  var clock: InlineClock
  /// Of the columns that were asked for, in their order.
  var values: [Value]
  /// The records that own it, where that matters.
  var owners: [AnyRecordName] = []
}

extension [FieldEdit] {
  /// Gives the registers their later stamps, and the state its checksum. The hash is that of the record's name.
  /// - Returns: what is added to the fingerprint.
  func apply(to state: inout StampedState, _ hash: UInt64) -> Fingerprint {
    let touches = state.supersededTouches
    var sum = Fingerprint()
    var (gone, new) = (CellHashers(name: hash), CellHashers(name: hash))
    for edit in self {
      state.set(edit.column.field, to: edit.new, over: edit.old)
      if let old = edit.old { sum -= gone[old].field(edit.column.hash, edit.oldValue) }
      sum += new[edit.new].field(edit.column.hash, edit.newValue)
    }
    if touches != state.supersededTouches { sum += .touches(state.supersededTouches, replacing: touches, name: hash) }
    state.add(sum)
    return sum
  }

  /// The transactions of which the record has nothing any more. `touches` are the superseded touches that it had
  /// before.
  func replaced(in state: StampedState, touches: StateVector) -> [Dot] {
    var dots: [Dot] = []
    func add(_ dot: Dot) { if !state.has(dot), !dots.contains(dot) { dots.append(dot) } }
    for edit in self { if let dot = edit.old?.dot { add(dot) } }
    for dot in touches.entries { add(dot) }
    return dots
  }
}

extension WriteTransaction {
  /// Whether no row of a kind can be anything but what its state says, and an edit of a field is nothing but that.
  func hasPlainRows(_ kind: RecordKind) -> Bool {
    #if PlantedFaults
      // Most faults are in the long way.
      guard environment.planted.isSubset(of: .ofShorterWays) else { return false }
    #endif
    return kind.isKnown && reader.aside.isEmpty && !session.refusals.hasAny && !kind.mayCycle
      && kind.forwardField == nil
  }

  /// Reads a row by its number. Returns nil if the short way does not apply to it.
  func editedRow(_ row: RowID, _ kind: RecordKind, _ places: [Int], isNumber: Bool) throws -> EditedRow? {
    guard isNumber, places.count == 1, !needsOwners(kind) else {
      let query = try connection.statement(kind.rowByNumber)
      query.bind(1, row)
      defer { query.reset() }
      return try editedRow(query, kind, places)
    }
    // A number is all that need be read: neither it nor the row can have become too large, however large the other
    // columns are.
    let query = try connection.statement(kind.columnByNumber[places[0]])
    query.bind(1, row)
    defer { query.reset() }
    guard try query.step(), let key = kind.key(in: query), let clock = try? query.clock(2) else { return nil }
    let value = query.value(3)
    guard value.byteCount <= 8 else { return nil }
    return EditedRow(id: row, key: key, hash: query.hash(ofText: 1), clock: clock, values: [value])
  }

  /// Reads a row by its name. Returns nil if there is no such row, or if the short way does not apply to it.
  func editedRow(_ name: AnyRecordName, _ kind: RecordKind, _ places: [Int]) throws -> EditedRow? {
    let query = try connection.statement(kind.rowByName)
    query.bind(1, name.text)
    defer { query.reset() }
    return try editedRow(query, kind, places)
  }

  private func needsOwners(_ kind: RecordKind) -> Bool { !kind.ownerColumns.isEmpty && facts.hasDeletes }

  private func editedRow(_ query: SQLStatement, _ kind: RecordKind, _ places: [Int]) throws -> EditedRow? {
    guard try query.step(), let key = kind.key(in: query), let clock = try? query.clock(2),
      kind.columns.indices.reduce(0, { $0 + query.byteCount(3 + $1) }) <= WireLimits.recordBytes
    else { return nil }
    let values = places.map { query.value(3 + $0) }
    var row = EditedRow(
      id: query.number(0), key: key, hash: query.hash(ofText: 1), clock: clock, values: values)
    guard needsOwners(kind) else { return row }
    for (index, column) in kind.columns.enumerated() where column.reference?.onDelete == .cascade {
      // What the row shows is what the register holds, unless it shows nothing, or a seed in place of its duplicate.
      guard let owner = column.target(of: query.value(3 + index)),
        catalog.kind(of: owner.type)?.forwardField == nil
      else { return nil }
      row.owners.append(owner)
    }
    return row
  }
}

extension RecordKind {
  /// The key of the record whose row a query for the kind's rows is at; nil if it is not named as one.
  func key(in query: SQLStatement) -> RecordKey? {
    if let (high, low) = query.withBytes(ofText: 1, uuid) { return .uuid(high: high, low: low) }
    guard let text = query.text(1), let name = try? AnyRecordName(text), name.hasType(type) else { return nil }
    return RecordKey(name)
  }

  /// Whether a column is there and holds no reference.
  func isPlain(column: Int) -> Bool { column < columns.count && columns[column].reference == nil }
}
