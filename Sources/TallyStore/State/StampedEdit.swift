import TallyCRDT
import TallyWire

/// A column whose value in a row has changed.
struct RowChange {
  var place: Int
  var old: Value
  var new: Value
}

/// The parts of a row that an edit of some of its fields reads.
struct EditedRow {
  var id: RowID
  var key: RecordKey
  /// The hash of its name, for the fingerprint.
  var hash: UInt64
  var clock: InlineClock
  /// Of the columns that were asked for, in their order; none where changes were asked for.
  var values: [Value]
  /// The records that own it, where that matters.
  var owners: [AnyRecordName] = []
}

/// Gives registers of one visible record later stamps, in memory. The file does not change, so the edit can be dropped
/// at any point. See `StampedState` for when that is all there is to an edit.
struct StampedEdit {
  private(set) var state: StampedState
  private let touches: StateVector
  private let hash: UInt64
  private var gone: CellHashers
  private var new: CellHashers
  /// The amount to add to the fingerprint.
  private(set) var difference = Fingerprint()
  /// Whether a stamp that was there before has gone.
  private var hasOverwritten = false

  /// The hash is that of the record's name.
  init(_ state: StampedState, _ hash: UInt64) {
    (self.state, self.hash, touches) = (state, hash, state.supersededTouches)
    (gone, new) = (CellHashers(name: hash), CellHashers(name: hash))
  }

  /// Gives a register a later stamp.
  mutating func write(_ column: Column, over old: Stamp?, _ oldValue: Value, _ stamp: Stamp, _ value: Value) {
    state.set(column.field, to: stamp, over: old)
    difference += new[stamp].field(column.hash, value)
    guard let old else { return }
    difference -= gone[old].field(column.hash, oldValue)
    hasOverwritten = true
  }

  /// Leaves a register as it is, over an earlier stamp that has come.
  mutating func keep(_ stamp: Stamp, over loser: Stamp) { state.keep(stamp, over: loser) }

  /// Whether the state differs from the one before.
  var changesState: Bool { hasOverwritten || difference != Fingerprint() || touches != state.supersededTouches }

  /// Ends the edit: gives the state its checksum.
  mutating func end() {
    let now = state.supersededTouches
    if touches != now { difference += .touches(now, replacing: touches, name: hash) }
    state.add(difference)
  }

  /// Leaves its memory to the next one.
  mutating func leave(to spare: StampedState.Spare) { spare.take(&state) }
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
      return try connection.row(kind.rowByNumber, row.rawValue) { editedRow($0, kind, places) } ?? nil
    }
    // A number is all that need be read: neither it nor the row can have become too large, however large the other
    // columns are.
    let query = try connection.statement(kind.columnByNumber[places[0]])
    query.bind(1, row)
    defer { query.reset() }
    guard try query.step(), let (key, hash) = kind.hashedKey(in: query), let clock = try? query.clock(2) else {
      return nil
    }
    let value = query.value(3)
    guard value.byteCount <= 8 else { return nil }
    return EditedRow(id: row, key: key, hash: hash, clock: clock, values: [value])
  }

  /// Reads a row by its number, and adds what has changed since it was noted. Returns nil if the short way does not
  /// apply.
  func editedRow(
    _ row: RowID, _ kind: RecordKind, since note: PendingWrite.WholeRow, _ changes: inout [RowChange]
  ) throws -> EditedRow? {
    try connection.row(kind.rowByNumber, row.rawValue) { query -> EditedRow? in
      guard let (key, hash) = kind.hashedKey(in: query), let clock = try? query.clock(2) else { return nil }
      try note.bytes.addChanges(ofWholeRowAt: note.position, query, from: 3, to: &changes)
      // What has not changed is small.
      guard changes.reduce(NoteBytes.smallRow, { $0 + $1.new.byteCount }) <= WireLimits.recordBytes,
        let owners = owners(query, kind)
      else { return nil }
      return EditedRow(id: row, key: key, hash: hash, clock: clock, values: [], owners: owners)
    } ?? nil
  }

  /// Reads a row by its name. Returns nil if there is no such row, or if the short way does not apply to it.
  func editedRow(_ name: AnyRecordName, _ kind: RecordKind, _ places: [Int]) throws -> EditedRow? {
    try connection.row(kind.rowByName, name.text) { editedRow($0, kind, places) } ?? nil
  }

  /// The same by the bytes of the name.
  func editedRow(_ name: UnsafeBufferPointer<UInt8>, _ kind: RecordKind, _ places: [Int]) throws -> EditedRow? {
    try connection.row(kind.rowByName, name) { editedRow($0, kind, places) } ?? nil
  }

  private func needsOwners(_ kind: RecordKind) -> Bool { !kind.ownerColumns.isEmpty && facts.hasDeletes }

  private func editedRow(_ query: SQLStatement, _ kind: RecordKind, _ places: [Int]) -> EditedRow? {
    guard let (key, hash) = kind.hashedKey(in: query), let clock = try? query.clock(2),
      kind.columns.indices.reduce(0, { $0 + query.byteCount(3 + $1) }) <= WireLimits.recordBytes
    else { return nil }
    guard let owners = owners(query, kind) else { return nil }
    return EditedRow(
      id: query.number(0), key: key, hash: hash, clock: clock,
      values: places.map { query.value(3 + $0) }, owners: owners)
  }

  /// The records that own the one whose row a query is at, where that matters; nil if the row does not say which.
  private func owners(_ query: SQLStatement, _ kind: RecordKind) -> [AnyRecordName]? {
    guard needsOwners(kind) else { return [] }
    var owners: [AnyRecordName] = []
    for (index, column) in kind.columns.enumerated() where column.reference?.onDelete == .cascade {
      // What the row shows is what the register holds, unless it shows nothing, or a seed in place of its duplicate.
      guard let owner = column.target(of: query.value(3 + index)),
        catalog.kind(of: owner.type)?.forwardField == nil
      else { return nil }
      owners.append(owner)
    }
    return owners
  }
}

extension RecordKind {
  /// The key of the record whose row a query for the kind's rows is at; nil if it is not named as one.
  func key(in query: SQLStatement) -> RecordKey? {
    if let (high, low) = query.withBytes(ofText: 1, uuid) { return .uuid(high: high, low: low) }
    guard let text = query.text(1), let name = try? AnyRecordName(text), name.hasType(type) else { return nil }
    return RecordKey(name)
  }

  /// The same with the hash of the record's name.
  func hashedKey(in query: SQLStatement) -> (key: RecordKey, hash: UInt64)? {
    let found = query.withBytes(ofText: 1) { bytes in
      uuid(in: bytes).map {
        (RecordKey.uuid(high: $0.high, low: $0.low), SipHash13.hash(UnsafeRawBufferPointer(bytes)))
      }
    }
    return found ?? key(in: query).map { ($0, query.hash(ofText: 1)) }
  }

  /// Whether a column is there and holds no reference.
  func isPlain(column: Int) -> Bool { column < columns.count && columns[column].reference == nil }
}
