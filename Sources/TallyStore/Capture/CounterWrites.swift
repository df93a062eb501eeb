import TallyCRDT
import TallyWire

#if PlantedFaults
  import TallyFaults
#endif

/// What this replica writes to counters.
///
/// Plain SQL writes numbers. What it meant by them, nothing tells, so every change of a column is the difference
/// between the row before the transaction and after it, which the total of this replica takes. An insert sets, and so
/// does who asks for it.
struct CounterWrites {
  let transaction: WriteTransaction

  init(_ transaction: WriteTransaction) { self.transaction = transaction }

  private var catalog: Catalog { transaction.catalog }

  enum Counted {
    case nothing
    case cell(FieldCell)
    case overflow
  }

  /// The register that a changed counter gets. `before` is what the row showed; nil where that is not known, and the
  /// number of the state counts.
  func counted(
    _ column: Column, _ kind: RecordKind, from before: Value?, to number: Int64, _ state: RecordState
  ) throws -> Counted {
    let old = if case .integer(let number) = before { number } else { column.number(in: state, kind) }
    guard number != old else { return .nothing }
    let field = try transaction.session.numbers.total(of: column, by: transaction.ownReplica(), kind)
    let known = state[field]
    let total = if case .integer(let number) = known?.value { number } else { Int64(0) }
    guard let sum = Int64(exactly: Int128(total) + Int128(number) - Int128(old)) else { return .overflow }
    return .cell(
      FieldCell(field: field, stamp: try transaction.stamp(over: known?.stamp.time), value: .integer(sum)))
  }

  /// What brings a deleted record back as it stands: an existence. Where numbers stand in for a lost state, another
  /// existence would make them count beside what a peer still has of the record. Then it is an edit that changes
  /// nothing, this replica's total as it is; or, where only an existence undoes a delete, they become what is set.
  func bringingBack(_ state: RecordState, _ kind: RecordKind, _ stamp: Stamp) throws -> RecordState {
    let numbers = state.standIns
    let first = numbers.first.flatMap { cell in kind.columns.first { $0.field == cell.field } }
    if let first, kind.entity?.deleteWins == false {
      let field = try transaction.session.numbers.total(of: first, by: transaction.ownReplica(), kind)
      let (known, value) = (state[field]?.stamp.time, state[field]?.value ?? .integer(0))
      return state.written([FieldCell(field: field, stamp: try transaction.stamp(over: known), value: value)])
    }
    let offsets = try numbers.map { cell in
      FieldCell(
        field: cell.field, stamp: try transaction.stamp(over: state.overwrittenTime(cell.field)), value: cell.value)
    }
    var written = RecordState(inserted: stamp, fields: offsets)
    var known = state
    known.existence = nil
    written.seed = known.basis(for: stamp, kind)
    return written
  }

  /// Adds to a counter what a change of its column means, in memory.
  /// - Returns: the register that says so; nil if the short way does not apply.
  func count(
    _ change: RowChange, _ column: Column, _ kind: RecordKind, _ edit: inout StampedEdit
  ) throws -> FieldCell? {
    // What showed may not have been all of the sum.
    guard case .integer(let old) = change.old, case .integer(let new) = change.new, old != .min, old != .max
    else { return nil }
    let field = try transaction.session.numbers.total(of: column, by: transaction.ownReplica(), kind)
    let before = edit.state.stamp(of: field, isDefault: true)
    let total = if case .integer(let number) = edit.state.number(of: field) { number } else { Int64(0) }
    let (amount, isTooMuch) = new.subtractingReportingOverflow(old)
    let (sum, isOver) = total.addingReportingOverflow(amount)
    guard !isTooMuch, !isOver else { return nil }
    let stamp = try transaction.stamp(over: before?.time)
    if let before, stamp <= before { return nil }
    edit.count(column, change.old, total: field, hash: catalog.hash(of: field), over: before, stamp, sum)
    return FieldCell(field: field, stamp: stamp, value: .integer(sum))
  }

  /// The register with which a counter shows a number; nil if there is none.
  func setting(_ number: Int64, _ column: Column, _ state: RecordState) throws -> FieldCell? {
    #if PlantedFaults
      let state = transaction.environment.planted.contains(.setIsRegister) ? state.withoutTotals : state
    #endif
    guard let offset = state.offset(showing: number, of: column.field) else { return nil }
    let stamp = try transaction.stamp(over: state.overwrittenTime(column.field))
    return FieldCell(field: column.field, stamp: stamp, value: .integer(offset))
  }

  /// The register with which a column of a record shows a value that is asked for.
  func setting(
    _ value: Value, _ column: Column, of name: AnyRecordName, _ state: RecordState
  ) throws -> FieldCell {
    try Self.check(value, column, of: name)
    if column.isCounter, case .integer(let number) = value {
      guard let cell = try setting(number, column, state) else { throw StoreError.overflow(name, column) }
      return cell
    }
    let stamp = try transaction.stamp(over: state.settingTime(column.field))
    return FieldCell(field: column.field, stamp: stamp, value: value)
  }

  /// The offsets that an insert says of an earlier life's counters which this schema does not have: none of what was
  /// added shows in the new life. Their defaults are not known here, and count as 0.
  func newOffsets(of earlier: RecordState, besides kind: RecordKind) throws -> [FieldCell] {
    var seen: [FieldID] = []
    var cells: [FieldCell] = []
    for cell in earlier.fields.reversed() {
      guard let counter = cell.field.counter else { break }
      guard kind.index(of: counter) == nil, !seen.contains(counter) else { continue }
      seen.append(counter)
      let stamp = try transaction.stamp(over: earlier.overwrittenTime(counter))
      let offset = Int64(clamping: -earlier.added(to: counter))
      cells.append(FieldCell(field: counter, stamp: stamp, value: .integer(offset)))
    }
    return cells
  }

  private static func check(_ value: Value, _ column: Column, of name: AnyRecordName) throws(StoreError) {
    guard column.isCounter || column.field.extremum != nil else {
      throw StoreError(
        .typeMismatch, "\(name.type).\(column.name) is no counter and keeps no extremum: write its value")
    }
    guard column.accepts(value) else {
      throw StoreError(.typeMismatch, "\(name.type).\(column.name) cannot be set to \(value)")
    }
  }

  /// Finds the column of a field that can be set, and to this value.
  /// - Throws: `StoreError.unknownType`, `.unknownField`, `.typeMismatch`.
  static func settable(
    _ column: String, of name: AnyRecordName, to value: Value, _ catalog: Catalog
  ) throws(StoreError) -> (kind: RecordKind, place: Int) {
    guard let kind = catalog.kind(of: name.type), let entity = kind.entity else {
      throw StoreError(.unknownType, "the type \(printable(name.type)) is not in the schema")
    }
    guard let place = kind.columns.firstIndex(where: { $0.name == column }) else {
      throw StoreError(.unknownField, "\(name.type) has no field \(printable(column))\(entity.hint(forField: column))")
    }
    try check(value, kind.columns[place], of: name)
    return (kind, place)
  }

  /// Sets a column whose row shows the value already.
  /// - Throws: `StoreError.typeMismatch`, `.noSuchRecord`, `.valueTooLarge`.
  func set(_ place: Int, of name: AnyRecordName, _ kind: RecordKind, to value: Value) throws {
    guard let stored = try transaction.reader.record(name, kind), stored.place.isVisible else {
      throw StoreError(.noSuchRecord, "no record named \(name)")
    }
    let cell = try setting(value, kind.columns[place], of: name, stored.state)
    var written = stored.state.written([cell])
    written.seed = stored.state.basis(for: cell.stamp, kind)
    let state = stored.state.merging(written)
    var shown = stored.values
    shown[place] = kind.plainValues(of: state)[place]
    transaction.view.appeared.isLocal = true
    transaction.markIfSetAside(name, kind)
    let difference = catalog.fingerprint(name, kind, from: stored.state, to: state)
    let isTaken = try transaction.writer.put(
      name, kind, state, previous: stored, shown: shown, difference: difference)
    if !isTaken { transaction.view.mark(name) }
    try transaction.changed(
      name, kind, from: stored.state, to: state, dots: CollectionOfOne(cell.stamp.dot), fingerprint: difference)
  }
}
