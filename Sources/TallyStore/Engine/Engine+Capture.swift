import TallyCRDT
import TallyWire

/// The stamps of one local transaction. The dot is taken when the first cell needs it.
struct LocalTransaction {
  let now: HybridTime
  /// The writes were committed by somebody else's connection, perhaps without enforcing foreign keys.
  let isForeign: Bool
  /// See `Engine.recordsBefore`.
  var recordsBefore: Set<String>?
  private(set) var dot: Dot?

  init(now: HybridTime, isForeign: Bool = false) {
    self.now = now
    self.isForeign = isForeign
  }

  mutating func stamp(
    _ engine: Engine, over overwritten: HybridTime? = nil, rank: Rank = .user
  ) throws -> Stamp {
    let dot = try self.dot ?? engine.nextDot()
    self.dot = dot
    let seen = engine.environment.planted.contains(.clockMayGoBack) ? nil : overwritten
    return Stamp(rank: rank, time: .next(now: now, over: seen), dot: dot)
  }
}

/// Turning what the app wrote into cells.
extension Engine {
  func nextDot() throws -> Dot {
    let replica = try ownReplica()
    guard vector[replica] < UInt64(Int64.max) else { throw StoreError(.corrupt, "the sequence is at its end") }
    return Dot(replica: replica, sequence: vector[replica] + 1)
  }

  /// Captures what was written since the last capture, as one transaction of this replica.
  /// - Parameter isForeign: the writes were committed by somebody else's connection. What cannot be replicated is then refused and
  ///   logged, since there is nobody to tell; otherwise it fails the transaction.
  /// - Returns: the transaction's dot, or nil if nothing has changed.
  @discardableResult
  func capture(isForeign: Bool = false) throws -> Dot? {
    guard try reader.hasPendingWrites() else { return nil }
    let writes = try pendingWrites(isForeign: isForeign)
    try forgetPendingWrites()
    var transaction = LocalTransaction(now: environment.now(), isForeign: isForeign)
    if !isForeign { transaction.recordsBefore = try recordsBefore(writes) }
    // The last rows first: of a large transaction they are the ones that SQLite's cache still has.
    for write in writes.records.reversed() { try captureOrRefuse(write, &transaction) }
    for write in writes.links.reversed() { try captureOrRefuse(write, &transaction) }
    if let dot = transaction.dot, try usesUp(dot, writes) {
      var target = StateVector()
      target.include(dot)
      try raiseVector(to: target)
    }
    try settle()
    try checkReferences()
    return transaction.dot
  }

  private func captureOrRefuse(_ write: PendingWrite, _ transaction: inout LocalTransaction) throws {
    do {
      try capture(write, &transaction)
    } catch let error as StoreError where transaction.isForeign && error.code == .invalidName {
      try refuse(RowAddress(kind: write.kind, key: write.key), error)
    }
  }

  private func capture(_ write: PendingWrite, _ transaction: inout LocalTransaction) throws {
    if let kind = catalog.records[write.kind] {
      try captureRecord(write, kind, &transaction)
      if transaction.isForeign, let name = try? AnyRecordName(write.key) { dirty.insert(name) }
    } else if let kind = catalog.links[write.kind] {
      try captureLink(write, kind, &transaction)
      if transaction.isForeign, let key = try? LinkKey(write.key) { dirty.insert(kind.number, key) }
    }
    if log.isFull { try log.flush(self) }
  }

  // MARK: Records

  private func captureRecord(
    _ write: PendingWrite, _ kind: RecordKind, _ transaction: inout LocalTransaction
  ) throws {
    let after = try row(write, kind)
    guard after != nil || write.before != nil else { return }
    let name = try recordName(write.key, kind)
    guard let after else {
      if let before = write.before { try captureDelete(name, kind, before, &transaction) }
      return
    }
    let earlier = refused.isEmpty ? [] : refused[RowAddress(kind: kind.number, key: write.key)] ?? []
    let left = try refusedColumns(of: after, write, name, kind, earlier: earlier, isForeign: transaction.isForeign)
    if let records = transaction.recordsBefore {
      try checkReferences(kind, after.values, over: write.before?.values, whereThereWere: records)
    }
    if let before = write.before {
      try captureUpdate(name, kind, before, after, left, earlier, &transaction)
    } else {
      try captureInsert(name, kind, after, left, &transaction)
    }
  }

  /// The columns of a row that cannot be replicated.
  private func refusedColumns(
    of after: WrittenRow, _ write: PendingWrite, _ name: AnyRecordName, _ kind: RecordKind, earlier: Set<FieldID>,
    isForeign: Bool
  ) throws -> Set<Int> {
    let faults = faults(of: after.values, over: write.before?.values, name, kind, earlier: earlier)
    guard !faults.isEmpty else { return [] }
    // A value that somebody else wrote before does not keep the app from changing another one.
    let own = faults.filter { write.before?.values[$0.key] != after.values[$0.key] }
    if !isForeign, let first = own.min(by: { $0.key < $1.key }) { throw first.value }
    try refuse(RowAddress(kind: kind.number, key: write.key), faults, kind)
    return Set(faults.keys)
  }

  /// A row as it stands.
  private struct WrittenRow {
    var id: Int
    var clock: InlineClock
    var values: [Value]

    init(_ query: SQLStatement, _ kind: RecordKind, before: PendingWrite.Image?) throws {
      id = query.int(0)
      clock = try query.clock(2)
      values = query.values(3..<3 + kind.columns.count, like: before?.values ?? [])
    }
  }

  /// By its number, if it still has that name, which spares a search by name; else by its name.
  private func row(_ write: PendingWrite, _ kind: RecordKind) throws -> WrittenRow? {
    if let number = write.row {
      let query = try connection.statement(kind.rowByNumber)
      query.bind(1, number)
      query.bind(2, write.key)
      defer { query.reset() }
      if try query.step() { return try WrittenRow(query, kind, before: write.before) }
    }
    let query = try connection.statement(kind.rowByName)
    query.bind(1, write.key)
    defer { query.reset() }
    return try query.step() ? try WrittenRow(query, kind, before: write.before) : nil
  }

  private func recordName(_ key: String, _ kind: RecordKind) throws(StoreError) -> AnyRecordName {
    let name: AnyRecordName
    do {
      name = try AnyRecordName(key)
    } catch {
      throw StoreError(.invalidName, "\(printable(key)) is not a record name: \(error)")
    }
    guard name.hasType(kind.type) else {
      throw StoreError(.invalidName, "\(name) is in the table of \(kind.type)")
    }
    return name
  }

  private func captureInsert(
    _ name: AnyRecordName, _ kind: RecordKind, _ after: WrittenRow,
    _ refused: Set<Int>, _ transaction: inout LocalTransaction
  ) throws {
    let hidden = hiddenKinds.contains(kind.number) ? try reader.record(hidden: name, kind) : nil
    let stamp = try transaction.stamp(self, over: hidden?.state.existence?.time)
    var values = after.values
    for index in refused { values[index] = kind.columns[index].defaultValue }
    let keepsOld = environment.planted.contains(.newLifeKeepsOld)
    let earlier = keepsOld ? RecordState() : hidden?.state ?? RecordState()
    let cells = try newLife(kind, values, earlier, stamp, &transaction)
    var state = RecordState(inserted: stamp, fields: cells)
    if let hidden { state = hidden.state.merging(state) }
    try adopt(row: after.id, name, kind, state, hidden: hidden, shown: after.values)
    try note(name, kind, from: hidden?.state, to: state, stamp.dot)
    if hidden != nil, !keepsOld { try endMemberships(of: name, &transaction) }
    if hasWaits { try markWaitingDirty(name) }
  }

  /// The cells of an insert: every value that differs from its default, and the default over every register of an earlier life and
  /// over what a seed says.
  private func newLife(
    _ kind: RecordKind, _ values: [Value], _ earlier: RecordState, _ stamp: Stamp,
    _ transaction: inout LocalTransaction
  ) throws -> [FieldCell] {
    var cells: [FieldCell] = []
    cells.reserveCapacity(values.count)
    guard !earlier.isEmpty else {
      for (column, value) in zip(kind.columns, values) where value != column.defaultValue {
        cells.append(FieldCell(field: column.field, stamp: stamp, value: value))
      }
      return cells
    }
    for (column, value) in zip(kind.columns, values) {
      let old = earlier[column.field]
      let isSeeded = earlier.seed?.layers.contains { $0[column.field] != nil } ?? false
      guard value != column.defaultValue || isSeeded || (old != nil && old?.value != value) else { continue }
      let stamp = old == nil ? stamp : try transaction.stamp(self, over: old?.stamp.time)
      cells.append(FieldCell(field: column.field, stamp: stamp, value: value))
    }
    for cell in earlier.fields where !kind.columns.contains(where: { $0.field == cell.field }) && !cell.value.isNull {
      let stamp = try transaction.stamp(self, over: cell.stamp.time)
      cells.append(FieldCell(field: cell.field, stamp: stamp, value: .null))
    }
    return cells.sorted { $0.field < $1.field }
  }

  private func captureUpdate(
    _ name: AnyRecordName, _ kind: RecordKind, _ before: PendingWrite.Image,
    _ after: WrittenRow, _ refused: Set<Int>, _ earlier: Set<FieldID>,
    _ transaction: inout LocalTransaction
  ) throws {
    let old = try reader.state(before.clock, before.values, kind)
    var cells: [FieldCell] = []
    for (index, column) in kind.columns.enumerated() where !refused.contains(index) {
      let value = after.values[index]
      let wasRefused = earlier.contains(column.field)
      guard wasRefused || before.values[index] != value else { continue }
      // Putting a refused value back to what the register holds writes nothing.
      let register = wasRefused ? old.cell(column.field, followsNewest: kind.followsNewest) : nil
      if wasRefused, (register?.value ?? column.defaultValue) == value { continue }
      let stamp = try transaction.stamp(self, over: old[column.field]?.stamp.time)
      cells.append(FieldCell(field: column.field, stamp: stamp, value: value))
    }
    guard !cells.isEmpty || after.clock != before.clock || !refused.isEmpty || !earlier.isEmpty else { return }
    var written = RecordState()
    written.fields = cells
    if let first = cells.first, !environment.planted.contains(.seedOverwritesEdits) {
      written.seed = old.basis(for: first.stamp, kind)
    }
    let state = old.merging(written)
    let previous = StoredRecord(state: old, place: .row(id: after.id, clock: before.clock), values: before.values)
    try put(name, kind, state, previous: previous, shown: after.values, rowIsCurrent: true)
    if let dot = cells.first?.stamp.dot { try note(name, kind, from: old, to: state, dot) }
  }

  private func captureDelete(
    _ name: AnyRecordName, _ kind: RecordKind, _ before: PendingWrite.Image, _ transaction: inout LocalTransaction
  ) throws {
    let old = try reader.state(before.clock, before.values, kind)
    do {
      try checkDenied(name)
    } catch  where transaction.isForeign {
      // It has happened, and the app sees it: what refers to the record reads as null, here as everywhere.
      environment.logger.warning("a record was deleted from outside", metadata: ["reason": "\(error)"])
    }
    let stamp = try transaction.stamp(self)
    var context = vector
    context.include(stamp.dot)
    var written = RecordState()
    written.deletes = [Delete(stamp: stamp, context: context)]
    let state = old.merging(written)
    if case .extra(let number, _) = before.clock { try deleteExtra(number) }
    let previous = StoredRecord(state: old, place: .nowhere, values: before.values)
    try put(name, kind, state, previous: previous, shown: nil)
    // The delete has seen everything that is here, so the record needs no second look; what is above and below it does.
    try note(name, kind, from: old, to: state, stamp.dot, isSettled: kind.forwardField == nil)
    try markReferrersDirty(name)
    guard environment.planted.contains(.cascadeWritesDeletes) else { return }
    for child in try SnapshotFacts(reader).owned(by: name) { try plantDelete(of: child, stamp, context) }
  }

  /// Marks what the change means for the rest: log, fingerprint, ancestors, links.
  func note(
    _ name: AnyRecordName, _ kind: RecordKind, from old: RecordState?, to new: RecordState, _ dot: Dot,
    isSettled: Bool = false
  ) throws {
    log.note(dot, kind: kind.number, name)
    updateFingerprint(name, kind, from: old, to: new)
    try markDirty(name, kind, from: old, to: new, isSettled: isSettled)
  }

  private func checkDenied(_ name: AnyRecordName) throws {
    for (number, column) in catalog.referrers[name.type] ?? [] where column.reference?.onDelete == .deny {
      guard let kind = catalog.records[number] else { continue }
      let query = try connection.statement(
        text: "SELECT id FROM \"\(kind.type)\" WHERE \"\(column.name)\" = ? LIMIT 1")
      query.bind(1, name.text)
      defer { query.reset() }
      if try query.step() {
        throw StoreError(
          .deleteDenied, "\(name) cannot be deleted: \(query.text(0) ?? "a record").\(column.name) refers to it")
      }
    }
  }
}

// MARK: - Planted faults

extension Engine {
  /// Whether a transaction's number counts as used: always, unless a fault is planted.
  private func usesUp(_ dot: Dot, _ writes: PendingWrites) throws -> Bool {
    guard environment.planted.contains(.counterReused), writes.links.isEmpty else { return true }
    return try writes.records.contains { write in
      try catalog.records[write.kind].map { try row(write, $0) != nil } ?? true
    }
  }

  /// Writes a delete to a record that is owned, as SQL's own cascade would.
  private func plantDelete(of name: AnyRecordName, _ stamp: Stamp, _ context: StateVector) throws {
    guard let kind = catalog.kind(of: name.type), let stored = try reader.record(name, kind), stored.place.isVisible
    else { return }
    var written = RecordState()
    written.deletes = [Delete(stamp: stamp, context: context)]
    let state = stored.state.merging(written)
    try put(name, kind, state, previous: stored, shown: nil)
    try note(name, kind, from: stored.state, to: state, stamp.dot)
    try markReferrersDirty(name)
    for child in try SnapshotFacts(reader).owned(by: name) where child != name {
      try plantDelete(of: child, stamp, context)
    }
  }
}
