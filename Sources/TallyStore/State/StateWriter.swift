import GRDB
import TallyCRDT
import TallyWire

/// Writes states to where they belong: the app's row with its clock, `tally_extra`, `tally_hidden`, `tally_stub` or
/// `tally_cut`, `tally_wait`.
///
/// It may change rows and bodies and nothing else: what a change means for vector, log and fingerprint is for
/// `WriteTransaction`.
final class StateWriter {
  let connection: Connection
  let reader: StateReader
  let numbers: CatalogWriter
  let facts: FileFacts
  /// The tables whose rows were written, for their observers.
  private(set) var touchedTables = Set<String>()
  /// Whether a hidden record was written, or until when one can be restored, for observers of deleted records.
  var touchesDeleted = false
  /// The stubs for which something began or ceased to wait: see `listAwaited`.
  var awaited: [AnyRecordName] = []
  /// Whether `listAwaited` is at work: what it lists is looked at by the same call.
  var isListing = false
  /// Kept where `WriteTransaction.changed` tells of each change of deletes and owners; nil elsewhere: see `SeenAbove`.
  var seenAbove: SeenAbove?
  /// Whether rows of `tally_hidden` were emptied that the end of the transaction deletes: see `deleteBlanks`.
  var hasBlanks = false
  /// The kind whose table was noted last.
  private var lastTouched: RecordKind? {
    didSet { if let kind = lastTouched, kind !== oldValue { touchedTables.insert(kind.type) } }
  }
  private(set) var isChanged = false
  /// The records that are touched; nil where it is not needed.
  var touches: Touches?
  @exclusivity(unchecked) private var clocks: [KindNumber: BlobHandle] = [:]
  /// The one that was used last.
  @exclusivity(unchecked) private var lastClock: (kind: KindNumber, handle: BlobHandle)?
  /// The bodies in `tally_extra`, and how many edits have wanted one.
  private var bodies: BlobHandle?
  private var edits = 0
  var overwritesDeleted = false
  /// Whether the triggers that capture fire for the store's own writes too.
  var announcesRows = false
  private var announced: InlineClock?
  /// Runs something with the file's triggers switched off. Costs that SQLite prepares all statements again.
  var withoutTriggers: (() throws -> Void) throws -> Void = { try $0() }
  /// Called after each write of a row that can have fired triggers of the app's.
  var onRowWritten: (() throws -> Void)?
  /// Told of each record whose state is written as a whole, be it only to another place.
  var onRecordPut: ((AnyRecordName, RecordKind) -> Void)?

  init(_ reader: StateReader, _ numbers: CatalogWriter, _ facts: FileFacts) {
    (self.reader, self.numbers, self.facts) = (reader, numbers, facts)
    connection = reader.connection
  }

  /// Closes what keeps SQLite from committing.
  func closeRows() { (clocks, lastClock, bodies, edits) = ([:], nil, nil, 0) }

  /// Forgets what the transaction did.
  func reset() {
    (touchedTables, lastTouched, touchesDeleted, awaited, hasBlanks) = ([], nil, false, [], false)
    isChanged = false
    onRowWritten = nil
    closeRows()
    // A transaction that was rolled back has taken its announcement along.
    announced = nil
  }

  /// Notes that something is being written.
  func change() { isChanged = true }

  /// Notes a change in a table that the store keeps for the app.
  func touch(_ table: String) {
    touchedTables.insert(table)
    isChanged = true
  }

  // MARK: Records

  /// Writes a record's state and, if it is to be seen, its row. A row that SQLite refuses is set aside. `previous` is
  /// what is stored now. `shown` are the values that the row shall have, in the order of the kind's columns; nil hides
  /// the record. If `rowIsCurrent`, the app itself has already written these values to the row. `difference` is what
  /// the change of the state adds to the fingerprint; it is computed unless given.
  /// - Returns: whether the view is as asked.
  @discardableResult
  func put(
    _ name: AnyRecordName, _ kind: RecordKind, _ state: RecordState, previous: StoredRecord?, shown: [Value]?,
    rowIsCurrent: Bool = false, difference: Fingerprint? = nil
  ) throws -> Bool {
    isChanged = true
    onRecordPut?(name, kind)
    let sum = sum(name, kind, state, previous, difference)
    let address = RowAddress(kind: kind.number, key: name.text)
    let refusal: SetAside.Entry?
    var seen = shown
    if let shown {
      refusal = try show(name, kind, state, sum, shown, previous, rowIsCurrent)
      if refusal?.mode == .withheld { seen = nil }
      if let refusal, refusal.mode == .kept { seen = refusal.parked ?? previous?.values }
    } else {
      refusal = try hide(name, kind, state, sum, previous)
      // Of what it refers to, which is what matters here, nothing goes.
      if refusal != nil { seen = previous?.values }
    }
    try putWaits(for: name, kind, state, seen, previous)
    try putSeeded(name, kind, state, isShown: seen != nil, previous)
    try note(refusal, address)
    if !reader.aside.isEmpty { reader.aside.contested.noteChange(kind, from: previous?.state, to: state) }
    if shown != nil || previous?.place.isVisible == true { try onRowWritten?() }
    return refusal == nil
  }

  /// Writes the state of a record whose row the app has just inserted. `difference` is what that adds to the
  /// fingerprint.
  func adopt(
    row: RowID, _ name: AnyRecordName, _ kind: RecordKind, _ state: RecordState, hidden: StoredRecord?, shown: [Value],
    difference: Fingerprint
  ) throws {
    isChanged = true
    let sum = sum(name, kind, state, hidden, difference)
    try removeHidden(hidden?.place, name, kind.number)
    try putWaits(for: name, kind, state, shown, hidden)
    try putSeeded(name, kind, state, isShown: true, hidden)
    try writeClock(kind.number, kind.type, row: row, try clock(state, sum, kind, shown, nil))
    try note(nil, RowAddress(kind: kind.number, key: name.text))
    if !reader.aside.isEmpty { reader.aside.contested.noteChange(kind, from: hidden?.state, to: state) }
  }

  /// The clock of a record that one transaction inserts and that adds this much to the fingerprint; nil if the stamp
  /// does not fit into it.
  func clock(of stamp: Stamp, _ sum: Fingerprint = Fingerprint()) throws -> InlineClock? {
    InlineClock(stamp, replica: try numbers.number(of: stamp.dot.replica), sum: StateSum(sum))
  }

  /// Writes what an edit of the app's has made of a state whose row is there; nothing of the row but its clock changes.
  func putEdited(_ state: StampedState, _ kind: RecordKind, _ row: RowID, _ clock: InlineClock) throws {
    isChanged = true
    let next = try state.withEncoded(reader.spare, numbers.number(of:)) { try putExtra($0, clock.extra) }
    // Where the body stays, the clock need change only for triggers, which tell the store's writes by it.
    if announcesRows || clock.extra == nil { try writeClock(kind.number, kind.type, row: row, next) }
  }

  /// Returns the state that a row's clock encodes, if that is stamps alone: for an edit, which `putEdited` or
  /// `showEdited` writes.
  func stampedState(_ clock: InlineClock) throws -> StampedState? {
    guard case .extra(let place) = clock, opensBodies() else { return try reader.stampedState(clock) }
    let handle = bodies ?? BlobHandle(connection.handle, table: "tally_extra", column: "body")
    bodies = handle
    // What cannot be sought is read the other way, which says why, unless the transaction is rolled back.
    do { try handle.seek(place.number) } catch is DatabaseError where connection.isInTransaction {
      return try reader.stampedState(clock)
    }
    return try handle.read { try StampedState($0, reader, reader.spare) }
  }

  /// Whether there are so many edits that opening a blob pays.
  private func opensBodies() -> Bool {
    edits += 1
    return edits > 4
  }

  /// Writes what an edit of a peer's has made of a state whose row is there, and shows it.
  /// - Returns: whether SQLite took it; otherwise nothing has changed.
  func showEdited(
    _ state: StampedState, _ kind: RecordKind, _ row: RowID, _ clock: InlineClock,
    _ changed: [(place: Int, value: Value)]
  ) throws -> Bool {
    let body = try state.withEncoded(reader.spare, numbers.number(of:)) { $0 }
    let next = try clock.extra.map { InlineClock.extra($0.next) } ?? putExtra(body, nil)
    do {
      try update(kind, row: row, clock: next, changed)
    } catch is RowRefusal {
      // A body that was there before is written when the row has been.
      if clock.extra == nil, let new = next.extra { try deleteExtra(new.number) }
      return false
    }
    isChanged = true
    if let old = clock.extra { _ = try putExtra(body, old) }
    try onRowWritten?()
    return true
  }

  /// - Returns: nil if the row is there as asked.
  private func show(
    _ name: AnyRecordName, _ kind: RecordKind, _ state: RecordState, _ sum: StateSum, _ shown: [Value],
    _ previous: StoredRecord?, _ rowIsCurrent: Bool
  ) throws -> SetAside.Entry? {
    let clock = try clock(state, sum, kind, shown, previous?.place)
    do {
      switch previous?.place {
      case .row(let row, let old):
        // A further part of one large record has the stamp of the first. With the same clock before and after, the
        // triggers would take the write for the app's, and one that was refused could not be told.
        if old == clock { try writeClock(kind.number, kind.type, row: row, .leaving) }
        try update(kind, row: row, clock: clock, from: rowIsCurrent ? shown : previous?.values ?? [], to: shown)
      case .hidden, .stub:
        // Before the row, since triggers of the app's may do anything with the row at once.
        try removeHidden(previous?.place, name, kind.number)
        try insert(name, kind, clock, shown)
      case .nowhere, .cut, nil:
        try insert(name, kind, clock, shown)
      }
      return nil
    } catch let refusal as RowRefusal {
      if let new = clock.extra, new.number != previous?.place.extra?.number { try deleteExtra(new.number) }
      if refusal.isUnique, kind.entity?.unique.isEmpty == false,
        let cleared = try UniqueParking(writer: self).cleared(shown, name, kind)
      {
        if previous?.isVisible != true { return try show(name, kind, state, sum, cleared, previous, false)?.unique }
        if try park(kind, state, sum, cleared, previous) { return nil }
      }
      if refusal.isUnique, case .row(let row, _) = previous?.place, let before = previous?.values {
        let parked = kind.parked(shown, over: before, name, row, reader.catalog.uniqueColumns[kind.number])
        if try park(kind, state, sum, parked, previous) {
          return SetAside.Entry(mode: .kept, reason: refusal.reason, isUnique: true, parked: parked)
        }
      }
      return try withhold(name, kind, state, sum, previous, refusal)
    }
  }

  /// Takes a record out of the view that cannot be shown as its state says.
  private func withhold(
    _ name: AnyRecordName, _ kind: RecordKind, _ state: RecordState, _ sum: StateSum, _ previous: StoredRecord?,
    _ refusal: RowRefusal
  ) throws -> SetAside.Entry {
    let isGone = previous?.place.isVisible != true
    if let refused = try hide(name, kind, state, sum, previous, isGone: isGone) { return refused }
    return SetAside.Entry(mode: .withheld, reason: refusal.reason, isUnique: refusal.isUnique)
  }

  /// Hides a record. If `isGone`, there is no row, and no hidden body either.
  /// - Returns: nil if the row is gone.
  private func hide(
    _ name: AnyRecordName, _ kind: RecordKind, _ state: RecordState, _ sum: StateSum, _ previous: StoredRecord?,
    isGone: Bool = false
  ) throws -> SetAside.Entry? {
    if case .row(let row, let clock) = previous?.place, let previous {
      do {
        try deleteRow(kind.number, kind.type, kind.deleteByNumber, row: row, clock)
      } catch let refusal as RowRefusal {
        try keep(row, kind, state, sum, previous)
        return SetAside.Entry(mode: .kept, reason: refusal.reason)
      }
    }
    try putHidden(name, kind, state, sum, isGone ? nil : previous?.place)
    return nil
  }

  /// Makes the clock of a row. `place` is where the state is now; its extra body is used again.
  private func clock(
    _ state: RecordState, _ sum: StateSum, _ kind: RecordKind, _ shown: [Value], _ place: Place?
  ) throws -> InlineClock {
    let old = place?.extra
    if let uniform = try uniformClock(state, kind, shown)?.with(sum) {
      if let old { try deleteExtra(old.number) }
      return uniform
    }
    return try putExtra(try encode(state, sum, row: RowValues(kind: kind, values: shown)), old)
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
    return next == state.fields.count ? try clock(of: stamp) : nil
  }

  /// Runs a statement that inserts the row of a new record, with one stamp, unless a row has its name. Nothing else may
  /// follow from the row, and no trigger of the app's run.
  /// - Returns: whether the row was inserted; nil if SQLite refuses it.
  func insert(_ insert: SQLStatement, _ kind: RecordKind) throws -> Bool? {
    do {
      try insert.run()
    } catch let error as DatabaseError where error.isRefusal(on: connection) {
      return nil
    }
    guard connection.changes > 0 else { return false }
    isChanged = true
    lastTouched = kind
    return true
  }

  private func insert(_ name: AnyRecordName, _ kind: RecordKind, _ clock: InlineClock, _ values: [Value]) throws {
    let insert = try rowStatement(kind.insert, kind.number)
    lastTouched = kind
    insert.bind(1, name.text)
    insert.bind(2, clock)
    for (index, value) in values.enumerated() { insert.bind(3 + index, value) }
    try announce(clock)
    do {
      try insert.runOnRow(connection)
    } catch let refusal as RowRefusal {
      // As in `taking`: an AFTER trigger has complained, and the row stays.
      let query = try connection.statement(kind.clockByName)
      query.bind(1, name.text)
      defer { query.reset() }
      guard try query.step(), try query.clock(0) == clock else { throw refusal }
    }
  }

  func update(_ kind: RecordKind, row: RowID, clock: InlineClock, from old: [Value], to new: [Value]) throws {
    let changed = old == new ? [] : kind.columns.indices.filter { old[$0] != new[$0] }
    try update(kind, row: row, clock: clock, changed.map { ($0, new[$0]) })
  }

  func update(
    _ kind: RecordKind, row: RowID, clock: InlineClock, _ changed: [(place: Int, value: Value)]
  ) throws {
    guard !changed.isEmpty else { return try writeClock(kind.number, kind.type, row: row, clock) }
    let update = try rowStatement(kind.updates[changed], kind.number)
    lastTouched = kind
    update.bind(1, clock)
    for (position, column) in changed.enumerated() { update.bind(2 + position, column.value) }
    update.bind(2 + changed.count, row)
    try announce(clock)
    try taking(kind.type, row, clock) { try update.runOnRow(connection) }
  }

  /// Runs a write of a row. RAISE(FAIL) in an AFTER trigger of the app's complains of what has been written by then,
  /// and stays: then the row is taken, and nothing refused.
  private func taking(_ table: String, _ row: RowID, _ clock: InlineClock, _ write: () throws -> Void) throws {
    do {
      try write()
    } catch let refusal as RowRefusal {
      let query = try connection.statement(text: "SELECT 1 FROM main.\"\(table)\" WHERE rowid = ? AND tally_clock = ?")
      query.bind(1, row)
      query.bind(2, clock)
      defer { query.reset() }
      guard try query.step() else { throw refusal }
    }
  }

  /// Says which clock the store is about to write, so that the triggers that capture know its writes from any other.
  func announce(_ clock: InlineClock) throws {
    guard announcesRows, announced != clock else { return }
    let update = try connection.statement("UPDATE tally_zone SET own = ? WHERE n = 0")
    update.bind(1, clock)
    try update.run()
    announced = clock
  }

  /// Takes back what was announced, before anybody else writes.
  func endAnnouncing() throws {
    guard announced != nil else { return }
    try connection.execute("UPDATE tally_zone SET own = NULL WHERE n = 0")
    announced = nil
  }

  /// The body of a record; what its deletes and its life had seen is stored first.
  func encode(_ state: RecordState, _ sum: StateSum, row: RowValues?) throws -> [UInt8] {
    try storeContexts(of: state)
    return try StateCoding.encode(
      state, sum, row: row, isShared: { reader.knows(context: $0, of: $1) }, replicaNumber: numbers.number(of:))
  }
}

// MARK: - Rows of the store's own tables

extension StateWriter {
  func putExtra(_ body: [UInt8], _ old: InlineClock.Extra?) throws -> InlineClock {
    if let old {
      if let bodies, bodies.row == old.number, try body.withUnsafeBytes(bodies.write) { return .extra(old.next) }
      let update = try connection.statement("UPDATE tally_extra SET body = ? WHERE n = ?")
      update.bind(1, body)
      update.bind(2, old.number)
      try update.run()
      return .extra(old.next)
    }
    let insert = try connection.statement("INSERT INTO tally_extra(body) VALUES(?)")
    try insert.run(withBlob: body)
    let number = connection.lastInsertedRowID
    guard number <= InlineClock.largestNumber else {
      throw StoreError(.corrupt, "the file has no number left for another state")
    }
    return .extra(InlineClock.Extra(number: number, revision: 0))
  }

  /// - Throws: `RowRefusal`; the row and its clock are then as they were. `StoreError.rowMovedByTrigger`.
  func deleteRow(
    _ kind: KindNumber, _ table: String, _ sql: RowSQL, row: RowID, _ clock: InlineClock
  ) throws {
    let delete = try prepared { try connection.statement(sql) }
    touchedTables.insert(table)
    if announcesRows {
      try announce(.leaving)
      try writeClock(kind, table, row: row, .leaving)
    }
    delete.bind(1, row)
    do {
      try delete.runOnRow(connection)
    } catch let refusal as RowRefusal {
      let isDeleted = connection.changes > 0
      let query = try connection.statement(text: "SELECT 1 FROM main.\"\(table)\" WHERE rowid = ?")
      query.bind(1, row)
      let isThere = try query.step()
      query.reset()
      if isThere {
        if announcesRows { try writeClock(kind, table, row: row, clock) }
        throw refusal
      }
      // Otherwise RAISE(FAIL) in an AFTER trigger of the app's: the row is gone all the same.
      guard isDeleted else {
        throw StoreError(.rowMovedByTrigger, "a BEFORE DELETE trigger of \(table) moves or deletes the row itself")
      }
    }
    if let old = clock.extra { try deleteExtra(old.number) }
  }

  /// Makes a row one that was never captured.
  func unstamp(_ kind: KindNumber, _ table: String, row: RowID) throws {
    try writeClock(kind, table, row: row, .unstamped)
  }

  func writeClock(_ kind: KindNumber, _ table: String, row: RowID, _ clock: InlineClock) throws {
    // SQLite opens no column for writing in a table that has an index on an expression.
    if reader.catalog.updatesClocks.contains(kind) { return try updateClock(table, row, clock) }
    let handle: BlobHandle
    if let lastClock, lastClock.kind == kind {
      handle = lastClock.handle
    } else {
      handle = clocks[kind] ?? BlobHandle(connection.handle, table: table, column: "tally_clock")
      clocks[kind] = handle
      lastClock = (kind, handle)
    }
    // Of another length, or no blob, is only what another program wrote there; and in a row older than the column there
    // is nothing yet to write over.
    guard try handle.seek(toBlobIn: row.rawValue), try clock.withBytes(handle.write) else {
      return try updateClock(table, row, clock)
    }
  }

  private func updateClock(_ table: String, _ row: RowID, _ clock: InlineClock) throws {
    let update = try connection.statement(text: "UPDATE main.\"\(table)\" SET tally_clock = ? WHERE rowid = ?")
    update.bind(1, clock)
    update.bind(2, row)
    try announce(clock)
    // The app did not write, so its triggers must not fire.
    try withoutTriggers { try update.run() }
  }
}
