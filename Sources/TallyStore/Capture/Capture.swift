import GRDB
import TallyCRDT
import TallyWire

/// Turns what was written to the app's tables into cells.
///
/// It compares each written row as it was with the row as it is. While it runs, rows are newer than the states of their
/// neighbors, so it looks at no state but that of the row in hand; what a change means for others is marked, and
/// looked at when all are captured.
struct Capture {
  /// The author of the writes, which decides what becomes of those that cannot be replicated.
  enum Origin {
    /// The app, in the transaction that is captured: what cannot be replicated fails it.
    case app
    /// Another connection, which has committed, perhaps without enforcing foreign keys. There is no caller to tell, so
    /// what cannot be replicated is refused and logged.
    case outside
    /// A trigger of the app's, fired by a write of the store's own: treated as `outside`, since a merge must go on.
    case trigger
  }

  let transaction: WriteTransaction
  let origin: Origin
  /// The records that were there before; nil if no reference is open. See `References.swift`.
  private(set) var namesBefore: Set<String>?
  /// Records that were deleted unnoticed and inserted again.
  let returned: Set<RowAddress>
  let progress = Progress()

  final class Progress {
    /// Extra bodies of rows that are gone. Until all is captured, a row under another name may still carry their
    /// number.
    var orphans: [Int] = []
    /// The delete that all deletes of the transaction are, if there was one.
    var delete: SharedDelete?
    /// The links that came without a place into an ordered relationship.
    var appended: [LinkCapture.Appended] = []
    /// The changes of the last edit, whose memory the next one uses.
    @exclusivity(unchecked) var changes: [RowChange] = []
  }

  private var reader: StateReader { transaction.reader }
  private var writer: StateWriter { transaction.writer }
  var catalog: Catalog { transaction.catalog }
  private var connection: Connection { transaction.connection }
  private var refusals: Refusals { transaction.session.refusals }
  var environment: StoreEnvironment { transaction.environment }

  init(_ transaction: WriteTransaction, _ origin: Origin, returned: Set<RowAddress>) {
    self.transaction = transaction
    self.origin = origin
    self.returned = returned
  }

  /// Captures everything that was written since the last capture.
  func run() throws {
    guard let rows = try transaction.session.takeWrites(origin) else { return }
    var capture = self
    if origin == .app, try transaction.session.mayHaveOpenReferences() {
      capture.namesBefore = try rows.namesBefore()
    }
    let captureAll = {
      try connection.lookingUp {
        try transaction.session.withoutHook {
          try rows.forEachWrite(records: capture.captureOrRefuse, links: capture.captureOrRefuse)
          guard !progress.appended.isEmpty else { return }
          try transaction.session.withHook { try LinkCapture(capture).append() }
        }
      }
    }
    // Where clocks cannot be written in place, triggers would fire for each of them.
    if catalog.updatesClocks.isEmpty { try captureAll() } else { try transaction.session.withoutTriggers(captureAll) }
    for number in progress.orphans { try writer.deleteExtra(number) }
    try rows.end()
  }

  private func captureOrRefuse(_ write: PendingWrite) throws {
    do {
      // A trigger that the clock of another row has fired may have written to this one.
      if let row = write.row { try transaction.session.recorder?.forgetUpdates(write.kind, row) }
      // GRDB sees the app's own statements and tells observers of the table; other writes are told here.
      if origin != .app, let table = catalog.table(of: write.kind) { writer.touch(table) }
      if let kind = catalog.records[write.kind] {
        // The short ways write to the store's own tables and to clocks, which fires no trigger.
        if try captureShortly(write, kind) { return }
        try transaction.session.withHook { try capture(write, kind) }
      } else if let kind = catalog.links[write.kind] {
        try transaction.session.withHook { try LinkCapture(self).capture(write, kind) }
      }
    } catch let error as StoreError where origin != .app && error.code == .invalidName {
      if let key = write.key { try refusals.refuse(RowAddress(kind: write.kind, key: key), error) }
    }
  }

  // MARK: Records

  /// - Returns: whether the write is captured.
  private func captureShortly(_ write: PendingWrite, _ kind: RecordKind) throws -> Bool {
    try !write.isLost && !write.isUnnoted && transaction.session.applying.setting == nil
      && (captureEdit(write, kind) || captureInsert(write, kind) || captureDelete(write, kind))
  }

  private func capture(_ write: PendingWrite, _ kind: RecordKind) throws {
    var write = write
    write.before = try write.before?.read
    let after = try row(write, kind)
    if let after, write.except.contains(Array(after.key.utf8)) { return }
    guard let key = after?.key ?? write.key, after != nil || write.before != nil else { return }
    write.key = key
    if write.isLost, after != nil, let before = write.before {
      // The state of the deleted row is lost; the row that is there now begins a new life.
      if let extra = before.clock.extra { progress.orphans.append(extra.number) }
      write.before = nil
      transaction.loseSum()
    }
    let name: AnyRecordName
    do {
      name = try recordName(key, kind)
    } catch {
      guard origin != .app else { throw error }
      // A row that was renamed still carries the clock of the record that it was.
      if let after { try writer.unstamp(kind.number, kind.type, row: after.id) }
      return try refusals.refuse(RowAddress(kind: kind.number, key: key), error)
    }
    if origin != .app, mayDangle(kind, after) { transaction.view.mark(name) }
    transaction.markIfSetAside(name, kind)
    guard let after else {
      if let before = write.before { try captureDelete(name, kind, before) }
      return
    }
    var before = write.before?.values(kind.columns.count, over: after.values)
    if write.isOfNewSchema {
      let isKnown = (write.before?.clock ?? after.clock).isOf(name, before ?? after.values, kind, reader)
      if before == nil, isKnown { return }
      if !isKnown { before = nil }
    }
    let address = RowAddress(kind: kind.number, key: key)
    let earlier = refusals.fields(address) ?? []
    if origin == .app, !write.isAnew, !write.isLost, !write.isUnnoted {
      try refusals.checkLists(name, kind, after.values, over: before)
    }
    let left = try refusedColumns(of: after, before, address, name, kind, earlier)
    if let namesBefore {
      try checkReferences(name, kind, after.values, over: before, whereThereWere: namesBefore)
    }
    if let before, let clock = write.before?.clock {
      try captureUpdate(name, kind, clock, before, after, left, earlier, isUnnoted: write.isUnnoted)
    } else {
      try captureInsert(name, kind, after, left, isLost: write.isLost, isAnew: write.isAnew)
    }
  }

  /// Whether foreign keys, which others need not enforce, can make the row show something else than the state says.
  private func mayDangle(_ kind: RecordKind, _ after: WrittenRow?) -> Bool {
    guard let after else { return true }
    return kind.columns.indices.contains { kind.columns[$0].reference != nil && !after.values[$0].isNull }
  }

  /// The columns of a row that cannot be replicated.
  private func refusedColumns(
    of after: WrittenRow, _ before: [Value]?, _ address: RowAddress, _ name: AnyRecordName, _ kind: RecordKind,
    _ earlier: Set<FieldID>
  ) throws -> Set<Int> {
    let faults = refusals.faults(of: after.values, over: before, name, kind, earlier: earlier)
    guard !faults.isEmpty else { return [] }
    // A value that another program wrote before does not keep the app from changing another one.
    let own = faults.filter { before?[$0.key] != after.values[$0.key] }
    if origin == .app, let first = own.min(by: { $0.key < $1.key }) { throw first.value }
    try refusals.refuse(address, faults, kind)
    return Set(faults.keys)
  }

  /// A row as it stands.
  private struct WrittenRow {
    var id: RowID
    var key: String
    var clock: InlineClock
    var values: [Value]

    init(_ query: SQLStatement, _ kind: RecordKind, key: String) throws {
      id = query.number(0)
      self.key = key
      // Another program wrote there what is no clock.
      clock = (try? query.clock(2)) ?? .leaving
      values = query.values(3..<3 + kind.columns.count)
    }
  }

  /// By its number, if it still has that name, which spares a search by name; else by its name.
  private func row(_ write: PendingWrite, _ kind: RecordKind) throws -> WrittenRow? {
    if let number = write.row {
      let query = try connection.statement(kind.rowByNumber)
      query.bind(1, number)
      defer { query.reset() }
      if try query.step() {
        guard let key = query.text(1) else {
          guard origin != .app else { throw StoreError(.invalidName, "a record name is not valid UTF-8") }
          try refusals.refuse(kind.number, unreadable: query.blob(1))
          return nil
        }
        if write.key == nil || key == write.key { return try WrittenRow(query, kind, key: key) }
      }
    }
    guard let key = write.key else { return nil }
    let query = try connection.statement(kind.rowByName)
    query.bind(1, key)
    defer { query.reset() }
    return try query.step() ? try WrittenRow(query, kind, key: key) : nil
  }

  private func recordName(_ key: String, _ kind: RecordKind) throws(StoreError) -> AnyRecordName {
    let name: AnyRecordName
    do {
      name = try AnyRecordName(key)
    } catch {
      throw StoreError(.invalidName, "\(printable(key)) is not a record name: \(error)", cause: error)
    }
    guard name.hasType(kind.type) else {
      throw StoreError(.invalidName, "\(name) is in the table of \(kind.type)")
    }
    return name
  }

  /// Captures a new row. If `isLost`, an earlier row of this name was deleted unnoticed, with a state that is not
  /// known. If `isAnew`, the row's own state is not.
  private func captureInsert(
    _ name: AnyRecordName, _ kind: RecordKind, _ after: WrittenRow, _ refused: Set<Int>, isLost: Bool, isAnew: Bool
  ) throws {
    let hidden = transaction.facts.hiddenKinds.contains(kind.number) ? try reader.record(hidden: name, kind) : nil
    let address = RowAddress(kind: kind.number, key: name.text)
    if let hidden, reader.aside[address]?.mode == .withheld {
      return try captureEdit(of: hidden, name, kind, after, refused)
    }
    let stamp = try transaction.stamp(over: hidden?.state.existence?.time)
    var values = try RenamedRow(after.clock, after.values, kind).values(for: name, transaction)
    for index in refused { values[index] = kind.columns[index].defaultValue }
    if !kind.lenses.isEmpty {
      let lens = LensWrites(values, over: nil, kind, except: refused, isAnew: true, environment)
      LensCapture(transaction: transaction, kind: kind).note(lens, over: values, of: name, origin)
      values = lens.values
    }
    #if PlantedFaults
      let isLost = isLost && !environment.planted.contains(.returnedRowIsNew)
      let returned = environment.planted.contains(.returnedRowIsNew) ? [] : returned
    #endif
    let areLost = isLost || returned.contains(address)
    var cells = try newLife(name, kind, values, hidden?.state ?? RecordState(), stamp, areLost: areLost)
    var existence = stamp
    if !kind.counters.isEmpty, areLost || isAnew || hidden?.state.hasLostRegisters == true {
      transaction.losses.mayHoldTotals = true
      if hidden == nil {
        existence = .standIn(stamp.dot)
        cells = kind.counters.standingIn(cells, existence, kind)
      }
    }
    var written = RecordState(inserted: existence, fields: cells)
    written.life = hidden?.state.life?.beginning(saying: stamp.dot)
    let state = hidden?.state.merging(written) ?? written
    // Over a time that nothing exceeds, the greater replica wins, and that may be the other one.
    if hidden != nil, cells.contains(where: { state[$0.field] != $0 }) { transaction.view.mark(name) }
    if kind.lenses.differ(state, kind, from: after.values) { transaction.view.mark(name) }
    let difference = catalog.fingerprint(name, kind, from: hidden?.state, to: state)
    try writer.adopt(
      row: after.id, name, kind, state, hidden: hidden, shown: after.values, difference: difference)
    try transaction.changed(
      name, kind, from: hidden?.state, to: state, dots: CollectionOfOne(stamp.dot), fingerprint: difference)
    if hidden != nil {
      try endMemberships(of: name)
      transaction.view.appeared.note(inserted: name)
    }
    try transaction.view.markWaiting(for: name)
  }

  /// An insert of a record that is not shown only because SQLite did not take its row is no new life: what it says is
  /// edited, the rest stays.
  private func captureEdit(
    of hidden: StoredRecord, _ name: AnyRecordName, _ kind: RecordKind, _ after: WrittenRow, _ refused: Set<Int>
  ) throws {
    var cells: [FieldCell] = []
    let lens = LensWrites(after.values, over: nil, kind, except: refused, isAnew: true, environment)
    LensCapture(transaction: transaction, kind: kind).note(lens, over: after.values, of: name, origin)
    for (index, column) in kind.columns.enumerated() where !refused.contains(index) {
      let (value, old) = (lens.value(index), hidden.state[column.field])
      if column.isCounter {
        // An insert sets, also where it is none.
        guard value != column.defaultValue, case .integer(let number) = value,
          number != column.number(in: hidden.state, kind)
        else { continue }
        guard let cell = try CounterWrites(transaction).setting(number, column, hidden.state) else {
          throw StoreError.overflow(name, column)
        }
        cells.append(cell)
        continue
      }
      guard lens.writes(index) || value != column.defaultValue && old?.value != value else { continue }
      let stamp = try transaction.stamp(over: kind.lenses.settingTime(index, hidden.state, kind))
      cells.append(FieldCell(field: column.field, stamp: stamp, value: value))
    }
    var written = hidden.state.written(cells)
    if let first = cells.first { written.seed = hidden.state.basis(for: first.stamp, kind) }
    let state = hidden.state.merging(written)
    let difference = catalog.fingerprint(name, kind, from: hidden.state, to: state)
    try writer.adopt(
      row: after.id, name, kind, state, hidden: hidden, shown: after.values, difference: difference)
    try transaction.changed(
      name, kind, from: hidden.state, to: state, dots: Set(written.fields.map { $0.stamp.dot }),
      fingerprint: difference)
    transaction.view.mark(name)
    try transaction.view.markWaiting(for: name)
  }

  private func captureUpdate(
    _ name: AnyRecordName, _ kind: RecordKind, _ clock: InlineClock, _ before: [Value], _ after: WrittenRow,
    _ refused: Set<Int>, _ earlier: Set<FieldID>, isUnnoted: Bool
  ) throws {
    var before = before
    // The checksum is of values that only peers know. What cannot be replicated must not stand under their stamps.
    if isUnnoted { for index in refused { before[index] = kind.columns[index].defaultValue } }
    var (old, sum) = try reader.state(clock, before, kind)
    if isUnnoted { sum = StateSum(catalog.fingerprint(name, kind, from: nil, to: old)) }
    var cells: [FieldCell] = []
    var edited: Set<Int> = []
    var (refused, goesBack) = (refused, false)
    // A row that was inserted again has no clock yet.
    let (lens, shownBefore) = LensCapture(transaction: transaction, kind: kind).update(
      after.values, over: before, old, wereRefused: earlier, except: refused, isAnew: after.clock == .unstamped,
      isUnnoted: isUnnoted)
    LensCapture(transaction: transaction, kind: kind).note(lens, over: after.values, of: name, origin)
    let set = transaction.session.applying.takeSetting(of: RowAddress(kind: kind.number, key: name.text))
    for (index, column) in kind.columns.enumerated() where !refused.contains(index) {
      if index == set {
        cells.append(try CounterWrites(transaction).setting(after.values[index], column, of: name, old))
        edited.insert(index)
        continue
      }
      let (value, wasRefused) = (lens.value(index), earlier.contains(column.field))
      let isNew = isUnnoted && !reader.aside.contested.shows(value, column, kind, after.key)
      guard wasRefused || isNew || before[index] != value || lens.writes(index) else { continue }
      if lens.silent.contains(index) {
        goesBack = true
        continue
      }
      if column.isCounter, !isUnnoted || !old.totals(of: column.field).isEmpty {
        let shown = wasRefused || isUnnoted ? nil : before[index]
        guard case .integer(let number) = value else { continue }
        switch try CounterWrites(transaction).counted(column, kind, from: shown, to: number, old) {
        case .nothing: continue
        case .cell(let cell): cells.append(cell)
        case .overflow:
          guard origin != .app else { throw StoreError.overflow(name, column) }
          try refusals.refuse(
            RowAddress(kind: kind.number, key: name.text), refused, and: index, StoreError.overflow(name, column), kind)
          refused.insert(index)
          continue
        }
        edited.insert(index)
        continue
      }
      if column.field.extremum != nil, !isUnnoted {
        let cell = try ExtremumWrites(transaction).raised(column, kind, to: value, old)
        if let cell { cells.append(cell) } else { goesBack = true }
        edited.insert(index)
        continue
      }
      // Putting a refused value back to what the register holds writes nothing.
      let register = wasRefused ? old.cell(column.field, followsNewest: kind.followsNewest) : nil
      let isAsItWas =
        kind.lenses.involves(index)
        ? shownBefore[index] == value && !lens.writes(index)
        : (register?.value ?? column.defaultValue) == value
      if wasRefused, isAsItWas { continue }
      let stamp = try transaction.stamp(over: kind.lenses.settingTime(index, old, kind))
      cells.append(FieldCell(field: column.field, stamp: stamp, value: value))
      edited.insert(index)
    }
    guard !cells.isEmpty || after.clock != clock || !refused.isEmpty || !earlier.isEmpty || goesBack else { return }
    cells = try sayingWhatShows(cells, name, kind, old, after.values, except: refused.union(edited))
    if !kind.counters.isEmpty { cells.sort { $0.field < $1.field } }
    var written = old.written(cells)
    if let first = cells.first { written.seed = old.basis(for: first.stamp, kind) }
    #if PlantedFaults
      if environment.planted.contains(.seedOverwritesEdits) { written.seed = nil }
    #endif
    let state = old.merging(written)
    // Over a time that nothing exceeds, the greater replica wins, and that may be the other one.
    let isOther = cells.contains { state[$0.field] != $0 }
    if isOther || goesBack || kind.counters.differ(state, kind, from: after.values, edited)
      || kind.lenses.differ(state, kind, from: after.values)
    {
      transaction.view.mark(name)
    }
    let difference = catalog.fingerprint(name, kind, from: old, to: state)
    let previous = StoredRecord(state: old, place: .row(id: after.id, clock: clock), values: before, sum: sum)
    try writer.put(
      name, kind, state, previous: previous, shown: after.values, rowIsCurrent: true, difference: difference)
    guard let dot = cells.first?.stamp.dot else { return }
    try transaction.changed(
      name, kind, from: old, to: state, dots: CollectionOfOne(dot), fingerprint: difference)
  }
}
