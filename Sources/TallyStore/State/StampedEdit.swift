import TallyCRDT
import TallyWire

/// A column whose value in a row has changed.
struct RowChange {
  var place: Int
  var old: Value
  var new: Value
  /// The time that the write must exceed, where that is not only the register's own: see `LensColumns`.
  var floor: HybridTime?
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
  /// The values of the columns between which lenses lead, by the places of all columns.
  var lensed: [Value] = []
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

  /// Gives a counter's total, whose key has this hash, a later stamp and another number. `column` is the counter's, and
  /// `shown` what its row has shown.
  mutating func count(
    _ column: Column, _ shown: Value, total field: FieldID, hash: UInt64, over old: Stamp?, _ stamp: Stamp,
    _ number: Int64
  ) {
    if !state.hasTotals(of: column.field) {
      let offset = state.stamp(of: column.field, isDefault: column.isDefault(shown))
      state.hold(column.field, offset.map { ($0, shown) })
    }
    if let old, case .integer(let before) = state.number(of: field) {
      difference -= gone[old].field(hash, integer: before)
      hasOverwritten = true
    }
    difference += new[stamp].field(hash, integer: number)
    state.set(total: field, to: stamp, over: old, number)
  }

  /// Takes in what a replica has added to a counter.
  /// - Returns: what the row shows then; nil if that is not sure, or the total not later than the one that is here.
  mutating func count(received cell: FieldCell, hash: UInt64, _ column: Column, _ shown: Value) -> Value? {
    let old = state.stamp(of: cell.field, isDefault: true)
    let known = if case .integer(let number) = state.number(of: cell.field) { number } else { Int64(0) }
    guard old.map({ $0 < cell.stamp }) ?? true, case .integer(let total) = cell.value,
      case .integer(let number) = shown,
      number != .min, number != .max
    else { return nil }
    let (amount, isTooMuch) = total.subtractingReportingOverflow(known)
    let (sum, isOver) = number.addingReportingOverflow(amount)
    // What shows may not be all of the sum.
    guard !isTooMuch, !isOver, sum != .min, sum != .max else { return nil }
    count(column, shown, total: cell.field, hash: hash, over: old, cell.stamp, total)
    return .integer(sum)
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
}
