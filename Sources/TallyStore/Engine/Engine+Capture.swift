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
    return Stamp(rank: rank, time: .next(now: now, over: overwritten), dot: dot)
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
    for links in [false, true] {
      for write in writes where (catalog.links[write.kind] != nil) == links {
        do {
          try capture(write, &transaction)
        } catch let error as StoreError where isForeign && error.code == .invalidName {
          try refuse(RowAddress(kind: write.kind, key: write.key), error)
        }
      }
    }
    if let dot = transaction.dot {
      var target = StateVector()
      target.include(dot)
      try raiseVector(to: target)
    }
    try settle()
    try checkReferences()
    return transaction.dot
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
    let after = try row(write.key, kind)
    guard after != nil || write.before != nil else { return }
    let name = try recordName(write.key, kind)
    guard let after else {
      if let before = write.before { try captureDelete(name, kind, before, &transaction) }
      return
    }
    let address = RowAddress(kind: kind.number, key: write.key)
    let earlier = refused.isEmpty ? [] : refused[address] ?? []
    let faults = faults(of: after.values, over: write.before?.values, name, kind, earlier: earlier)
    if !faults.isEmpty {
      // A value that somebody else wrote before does not keep the app from changing another one.
      let own = faults.filter { write.before?.values[$0.key] != after.values[$0.key] }
      if !transaction.isForeign, let first = own.min(by: { $0.key < $1.key }) { throw first.value }
      try refuse(address, faults, kind)
    }
    if let records = transaction.recordsBefore {
      try checkReferences(kind, after.values, over: write.before?.values, whereThereWere: records)
    }
    let left = Set(faults.keys)
    if let before = write.before {
      try captureUpdate(name, kind, before, after, left, earlier, &transaction)
    } else {
      try captureInsert(name, kind, after, left, &transaction)
    }
  }

  private func row(_ key: String, _ kind: RecordKind) throws -> (id: Int, clock: InlineClock, values: [Value])? {
    let query = try connection.statement(kind.rowByNameSQL)
    query.bind(1, key)
    defer { query.reset() }
    guard try query.step() else { return nil }
    var values: [Value] = []
    values.reserveCapacity(kind.columns.count)
    for index in kind.columns.indices { values.append(query.value(3 + index)) }
    return (query.int(0), try InlineClock(query.blob(2)), values)
  }

  private func recordName(_ key: String, _ kind: RecordKind) throws(StoreError) -> AnyRecordName {
    let name: AnyRecordName
    do {
      name = try AnyRecordName(key)
    } catch {
      throw StoreError(.invalidName, "\(printable(key)) is not a record name: \(error)")
    }
    guard name.type == kind.type else {
      throw StoreError(.invalidName, "\(name) is in the table of \(kind.type)")
    }
    return name
  }

  private func captureInsert(
    _ name: AnyRecordName, _ kind: RecordKind, _ after: (id: Int, clock: InlineClock, values: [Value]),
    _ refused: Set<Int>, _ transaction: inout LocalTransaction
  ) throws {
    let hidden = try reader.record(hidden: name, kind)
    let stamp = try transaction.stamp(self, over: hidden?.state.existence?.time)
    var values = after.values
    for index in refused { values[index] = kind.columns[index].defaultValue }
    let cells = try newLife(kind, values, hidden?.state ?? RecordState(), stamp, &transaction)
    var state = RecordState(inserted: stamp, fields: cells)
    if let hidden { state = hidden.state.merging(state) }
    try adopt(row: after.id, name, kind, state, hidden: hidden, shown: after.values)
    try note(name, kind, from: hidden?.state, to: state, stamp.dot)
    if hidden != nil { try endMemberships(of: name, &transaction) }
    if hasWaits { try markWaitingDirty(name) }
  }

  /// The cells of an insert: every value that differs from its default, and the default over every register of an earlier life and
  /// over what a seed says.
  private func newLife(
    _ kind: RecordKind, _ values: [Value], _ earlier: RecordState, _ stamp: Stamp,
    _ transaction: inout LocalTransaction
  ) throws -> [FieldCell] {
    var cells: [FieldCell] = []
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
    _ after: (id: Int, clock: InlineClock, values: [Value]), _ refused: Set<Int>, _ earlier: Set<FieldID>,
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
    if let first = cells.first { written.seed = old.basis(for: first.stamp, kind) }
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
    try note(name, kind, from: old, to: state, stamp.dot)
    try markReferrersDirty(name)
  }

  /// Marks what the change means for the rest: log, fingerprint, ancestors, links.
  func note(
    _ name: AnyRecordName, _ kind: RecordKind, from old: RecordState?, to new: RecordState, _ dot: Dot
  ) throws {
    log.note(dot, kind: kind.number, name)
    try updateFingerprint(name, from: old, to: new)
    try markDirty(name, kind, from: old, to: new)
  }

  private func checkDenied(_ name: AnyRecordName) throws {
    for (number, column) in catalog.referrers[name.type] ?? [] where column.reference?.onDelete == .deny {
      guard let kind = catalog.records[number] else { continue }
      let query = try connection.statement("SELECT id FROM \"\(kind.type)\" WHERE \"\(column.name)\" = ? LIMIT 1")
      query.bind(1, name.text)
      defer { query.reset() }
      if try query.step() {
        throw StoreError(
          .deleteDenied, "\(name) cannot be deleted: \(query.text(0) ?? "a record").\(column.name) refers to it")
      }
    }
  }

  // MARK: Links

  private func captureLink(_ write: PendingWrite, _ kind: LinkKind, _ transaction: inout LocalTransaction) throws {
    guard let key = try? LinkKey(write.key) else {
      throw StoreError(.invalidName, "\(kind.table) links what are no record names")
    }
    guard key.source.type == kind.source, key.target.type == kind.target else {
      throw StoreError(.invalidName, "\(kind.table) links a \(kind.source) with a \(kind.target)")
    }
    let query = try connection.statement(StateReader.rowQuery(kind) + " WHERE source = ? AND target = ?")
    query.bind(1, key.source.text)
    query.bind(2, key.target.text)
    let after = try query.step() ? (id: query.int(0), clock: try InlineClock(query.blob(3))) : nil
    query.reset()
    let old: ORSetElement
    var element: ORSetElement
    switch (write.before, after) {
    case (nil, nil): return
    case (let before?, let after?):
      guard before.clock != after.clock else { return }
      old = try reader.element(before.clock)
      let previous = StoredLink(element: old, place: .row(id: after.id, clock: before.clock))
      return try put(key, kind, old, previous: previous, isShown: true)
    case (let before?, nil):
      old = try reader.element(before.clock)
      element = old
      element.remove(try transaction.stamp(self, over: old.latestTime))
      if case .extra(let number, _) = before.clock { try deleteExtra(number) }
      try put(key, kind, element, previous: StoredLink(element: old, place: .nowhere), isShown: false)
    case (nil, let after?):
      if let records = transaction.recordsBefore { try checkEnds(key, kind, whereThereWere: records) }
      let hidden = try reader.link(hidden: key, kind)
      old = hidden?.element ?? ORSetElement()
      element = old
      element.add(try transaction.stamp(self, over: old.latestTime))
      try adopt(row: after.id, key, kind, element, hidden: hidden)
    }
    if let dot = transaction.dot { log.note(dot, kind: kind.number, key) }
    try updateFingerprint(key, kind, from: old, to: element)
    if hasDeletes { try climb(from: [key.source]) }
  }

  /// A record that begins a new life starts with empty relationships, on both sides.
  private func endMemberships(of name: AnyRecordName, _ transaction: inout LocalTransaction) throws {
    var ended = try reader.links(from: name)
    for waiting in try reader.waiting(for: name) {
      guard let kind = catalog.links[waiting.kind], let key = try? LinkKey(waiting.key), key.target == name,
        let link = try reader.link(hidden: key, kind), key.source != name
      else { continue }
      ended.append((kind, key, link))
    }
    for (kind, key, link) in ended where link.element.mayBeMember && !link.place.isVisible {
      var element = link.element
      let stamp = try transaction.stamp(self, over: element.latestTime)
      element.remove(stamp)
      try put(key, kind, element, previous: link, isShown: false)
      log.note(stamp.dot, kind: kind.number, key)
      try updateFingerprint(key, kind, from: link.element, to: element)
    }
  }
}
