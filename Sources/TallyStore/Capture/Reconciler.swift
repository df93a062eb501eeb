import TallyCRDT
import TallyWire

/// Brings states in line with rows that were written without a note: the triggers of their tables were missing, or a
/// tool has made the tables again.
///
/// It goes by the change log, which says of which transactions a record or link has cells, and by the checksums of
/// states. Rows that came are captured, and so are those that went. If the values of a row of these tables do not fit
/// its checksum, all of them are captured as edits, since the checksum does not say which have changed. In any other
/// table that is damage; it is noted, and the next sync with an intact device heals it.
struct Reconciler {
  private let transaction: WriteTransaction
  private var reader: StateReader { transaction.reader }
  private var catalog: Catalog { transaction.catalog }
  private var connection: Connection { transaction.connection }

  init(_ transaction: WriteTransaction) { self.transaction = transaction }

  /// Looks once, for what was written to these tables meanwhile.
  func reconcile(_ tables: Set<String>) throws {
    transaction.environment.logger.warning(
      "capture triggers were missing or a table was made again; looking once for what was written meanwhile")
    try noteRowsThatCame()
    try transaction.capture(.outside, lost: transaction.findLostRows(nil))
    // What may not be readable healing sees to.
    guard try reader.doubt()?.level != .damaged else { return }
    do {
      try lookAtValues(of: tables)
    } catch let error as StoreError where error.code == .corrupt {
      try transaction.note(doubt: .damaged, because: error.message)
    }
  }

  private func lookAtValues(of tables: Set<String>) throws {
    try noteShownValues(tables)
    try transaction.capture(.outside, lost: nil)
    guard try transaction.isSumLost || reader.recomputedFingerprint() != transaction.standing.fingerprint else {
      return try transaction.renewWhatFollows()
    }
    let unfit = try UnfitStates(reader)
    let changed = unfit.records.filter { tables.contains($0.kind.type) }
    for (name, kind, place) in changed {
      transaction.loseSum()
      if case .row(let row, let clock) = place {
        try note(kind.number, PendingTable.unnotedChange, name.text, row.rawValue, clock)
      } else if let stored = try reader.record(name, kind) {
        // Changed before it was deleted with a note: taken as it is. Where peers differ, the next sync joins both.
        try transaction.writer.putSum(name, kind, stored)
      }
    }
    // Of a link an app's SQL can have changed the position alone.
    let moved = unfit.links.filter { tables.contains($0.kind.table) && $0.kind.isOrdered && $0.place.isVisible }
    for (key, kind, place) in moved {
      transaction.loseSum()
      guard case .row(let row, let clock) = place else { continue }
      try note(kind.number, PendingTable.unnotedChange, key.text, row.rawValue, clock)
    }
    try transaction.capture(.outside, lost: nil)
    guard changed.count == unfit.records.count, moved.count == unfit.links.count, transaction.isSumLost else {
      transaction.losses.areUnfit = true
      return try transaction.note(doubt: .damaged, because: StoreError.unfit)
    }
  }

  /// Notes values that no checksum is about, since the row does not show what its state holds: of counters, and of
  /// values that another record has. What such a column showed follows from the state, so what stands there now is a
  /// change like any other.
  private func noteShownValues(_ tables: Set<String>) throws {
    for kind in catalog.orderedKinds where tables.contains(kind.type) {
      var changes: [(name: AnyRecordName, row: RowID, clock: InlineClock, before: [Int: Value])] = []
      try reader.forEachRow(kind) { name, stored in
        guard case .row(let row, let clock) = stored.place, clock.extra != nil,
          catalog.sum(of: stored, name, kind) == stored.sum
        else { return }
        var before = try changedValues(name, kind, stored)
        if !before.isEmpty, kind.columns.count > PendingTable.mostMarked {
          for (place, value) in stored.values.enumerated() where before[place] == nil { before[place] = value }
        }
        if !before.isEmpty { changes.append((name, row, clock, before)) }
      }
      for (name, row, clock, before) in changes { try note(kind, name, row, clock, before) }
    }
  }

  /// What columns showed that show something else now, by their places.
  private func changedValues(_ name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord) throws -> [Int: Value] {
    let address = RowAddress(kind: kind.number, key: name.text)
    guard reader.aside[address] == nil else { return [:] }
    let refused = transaction.session.refusals.fields(address) ?? []
    let plain = kind.plainValues(of: stored.state)
    let contested = reader.aside.contested[address] ?? [:]
    var before: [Int: Value] = [:]
    for (place, column) in kind.columns.enumerated() where !refused.contains(column.field) {
      let (shown, own) = (stored.values[place], plain[place])
      guard shown != own else { continue }
      guard column.reference == nil else {
        // Null, or what a duplicate gave way to, stands for a record that is not shown.
        let successor = try column.target(of: own).flatMap { try reader.successor(of: $0) }
        if !shown.isNull, shown != successor.map({ Value.text($0.text) }) { before[place] = .null }
        continue
      }
      if contested[column.name]?.shown != shown { before[place] = contested[column.name]?.shown ?? own }
    }
    return before
  }

  private func note(
    _ kind: RecordKind, _ name: AnyRecordName, _ row: RowID, _ clock: InlineClock, _ before: [Int: Value]
  ) throws {
    let places = before.keys.sorted()
    let columns = places.map { ", c\($0)" }.joined()
    let insert = try SQLStatement(
      connection,
      """
      INSERT INTO tally_pending(kind, op, key, clock, number, changed\(columns))
        VALUES(?, 1, ?, ?, ?, ?\(String(repeating: ", ?", count: places.count)))
      """)
    insert.bind(1, kind.number)
    insert.bind(2, name.text)
    insert.bind(3, clock)
    insert.bind(4, row)
    if kind.columns.count <= PendingTable.mostMarked {
      insert.bind(5, places.reduce(into: Int64(0)) { $0 |= Int64(bitPattern: 1 << UInt64($1)) })
    } else {
      insert.bind(5, Value.null)
    }
    for (position, place) in places.enumerated() { insert.bind(6 + position, before[place] ?? .null) }
    try insert.run()
  }

  /// Notes rows without a clock, and those that carry the clock of another: they were copied or renamed.
  private func noteRowsThatCame() throws {
    for (table, key, kind) in catalog.orderedKinds.map({ ($0.type, "id", $0.number) })
      + catalog.knownLinks.map({ ($0.table, "source || char(10) || target", $0.number) })
    {
      try connection.execute(
        """
        INSERT INTO tally_pending(kind, op, key, number) SELECT \(kind), 0, \(key), rowid FROM main."\(table)"
          WHERE (tally_clock = \(InlineClock.unstampedSQL) OR tally_clock IS NULL)
        """)
    }
    // Of what may not be readable healing sees to all.
    guard try reader.doubt()?.level != .damaged, let listed = try ListedItems(reader) else { return }
    for kind in catalog.orderedKinds {
      var strays: [(String, Int)] = []
      try reader.forEachRow(kind) { query in
        // What cannot be read is damaged, and not written by anybody.
        guard let name = try? reader.name(in: query), let stored = try? reader.record(in: query, kind) else { return }
        if try listed.isStray(
          ListedItems.address(kind.number, name), try reader.listedDots(stored.state),
          isHidden: { try reader.record(hidden: name, kind) != nil })
        {
          strays.append((name.text, query.int(0)))
        }
      }
      for (key, row) in strays { try note(kind.number, 0, key, row) }
    }
    for link in catalog.knownLinks {
      var strays: [(String, Int)] = []
      let query = try SQLStatement(connection, link.rowSQL)
      while try query.step() {
        guard let key = try? reader.key(in: query), let stored = try? reader.link(in: query, link) else { continue }
        if try listed.isStray(
          ListedItems.address(link.number, key.source, key.target), stored.element.dots,
          isHidden: { try reader.link(hidden: key, link) != nil })
        {
          strays.append((key.text, query.int(0)))
        }
      }
      for (key, row) in strays { try note(link.number, 0, key, row) }
    }
  }

  private func note(
    _ kind: KindNumber, _ operation: Int, _ key: String, _ row: Int, _ clock: InlineClock? = nil
  ) throws {
    try connection.run(
      "INSERT INTO tally_pending(kind, op, key, clock, number, changed) VALUES(?, ?, ?, ?, ?, 0)", kind, operation, key,
      clock, row)
  }
}

/// Rows that were deleted without a note: the change log lists them, and neither a row nor a hidden body is stored.
struct LostRows {
  /// A link without a row, and the transactions that the log lists it under.
  struct Link {
    var kind: LinkKind
    var dots: [Dot]

    /// Captures the removal, and with it the times of the adds. In their place stands the least, which gives way to the
    /// true one as soon as a peer has told it.
    func captureRemoval(of key: LinkKey, _ transaction: WriteTransaction) throws {
      var before = ORSetElement()
      for dot in dots { before.add(Stamp(rank: .adopted, time: HybridTime(milliseconds: 0), dot: dot)) }
      var element = before
      let stamp = try transaction.stamp()
      element.remove(stamp)
      transaction.view.mark(kind.number, key)
      try transaction.writer.put(key, kind, element, previous: nil, isShown: false)
      try transaction.changed(key, kind, from: before, to: element, dots: CollectionOfOne(stamp.dot))
    }
  }

  /// The records without a row.
  private(set) var gone = Set<AnyRecordName>()
  /// The records that were deleted and inserted again, by a row that is not captured yet.
  private(set) var returned = Set<RowAddress>()
  /// The links without a row whose tags the log lists.
  private(set) var links: [LinkKey: Link] = [:]
  /// Whether other links were deleted. That is not captured: peers restore them.
  private(set) var hasLinks = false

  var isEmpty: Bool { gone.isEmpty && returned.isEmpty && links.isEmpty && !hasLinks }

  /// Searches for such rows, of these kinds, or of all if `kinds` is nil. Must run before pending writes are captured.
  /// Cost: reads the change log and looks up each row that it lists; memory for the keys of the pending writes.
  init(_ kinds: Set<KindNumber>?, _ reader: StateReader) throws {
    let notes = try Self.firstNotes(reader.connection)
    // What a damaged row lists may be there or not.
    _ = try ChangeLog.forEachItem(reader) { kind, name, target, entry in
      guard kinds?.contains(kind) ?? true else { return }
      let link = target.map { LinkKey(source: name, target: $0) }
      let address = RowAddress(kind: kind, key: link?.text ?? name.text)
      // If the row was there when it was first noted, the note says how it was.
      guard notes[address] != true else { return }
      if let link, let kind = reader.catalog.links[kind] {
        let hasRow = try reader.hasRow(link, kind)
        guard !hasRow || notes[address] != nil, try reader.link(hidden: link, kind) == nil else { return }
        // Of an ordered relationship the log may list a move alone.
        guard !hasRow, !kind.isOrdered, let replica = reader.catalog.replicas[entry.replica] else {
          hasLinks = true
          return
        }
        links[link, default: Link(kind: kind, dots: [])].dots.append(Dot(replica: replica, sequence: entry.sequence))
      } else if link == nil, let kind = reader.catalog.records[kind] {
        let hasRow = try reader.hasRow(name)
        guard !hasRow || notes[address] != nil, try reader.record(hidden: name, kind) == nil else { return }
        if hasRow { returned.insert(address) } else { gone.insert(name) }
      }
    }
  }

  /// The keys of the pending writes, and whether the row was there when it was first noted.
  private static func firstNotes(_ connection: Connection) throws -> [RowAddress: Bool] {
    let query = try SQLStatement(
      connection,
      """
      SELECT kind, key, clock IS NOT NULL FROM tally_pending
      WHERE n IN (SELECT min(n) FROM tally_pending WHERE op < 4 GROUP BY kind, key)
      """)
    var notes: [RowAddress: Bool] = [:]
    while try query.step() {
      if let key = query.text(1) { notes[RowAddress(kind: query.number(0), key: key)] = query.int(2) == 1 }
    }
    return notes
  }
}

extension WriteTransaction {
  /// Finds rows that were deleted without a note; nil if there are none. `kinds` are those whose tables may have lost
  /// rows; nil for all.
  func findLostRows(_ kinds: Set<KindNumber>?) throws -> LostRows? {
    // What a disk has lost was not deleted by anyone.
    guard try kinds?.isEmpty != true && reader.doubt()?.level != .damaged else { return nil }
    let lost = try LostRows(kinds, reader)
    return lost.isEmpty ? nil : lost
  }

  /// Captures the deletes of records and links that are gone.
  func captureGone(_ lost: LostRows) throws {
    for name in lost.gone.sorted() {
      if let kind = catalog.kind(of: name.type) { try captureVanished(name, kind) }
    }
    for (key, link) in lost.links.sorted(by: { $0.key.text < $1.key.text }) { try link.captureRemoval(of: key, self) }
    loseSum()
  }

  /// Captures the delete of a record whose row is gone, and with it what the state was.
  func captureVanished(_ name: AnyRecordName, _ kind: RecordKind) throws {
    let stamp = try stamp()
    var state = RecordState()
    state.deletes = [Delete(stamp: stamp, context: context)]
    try writer.put(name, kind, state, previous: nil, shown: nil)
    try changed(name, kind, from: nil, to: state, dots: CollectionOfOne(stamp.dot))
    try view.markReferrers(of: name)
    if !kind.counters.isEmpty { losses.mayHoldTotals = true }
    loseSum()
  }

  /// Rebuilds what is derived from the states of all records. After a state is lost, `tally_wait` and
  /// `tally_seeded` may still list it, and deleted records may still be visible for its sake. Cost: reads the whole
  /// store.
  func renewWhatFollows() throws {
    try connection.execute("DELETE FROM tally_wait")
    try connection.execute("DELETE FROM tally_seeded")
    view.changeVisibility()
    try AllStates(reader).forEachRecord { name, kind, stored in
      let shown = stored.place.isVisible ? stored.values : nil
      try writer.putWaits(for: name, kind, stored.state, shown, nil)
      try writer.putSeeded(name, kind, stored.state, isShown: shown != nil, nil)
      // Only these can be visible, or hidden, because of what they own.
      if !stored.state.deletes.isEmpty || stored.state.seed != nil { view.mark(name) }
    }
  }
}

/// The states that do not match the checksums that are stored with them.
struct UnfitStates {
  private(set) var records: [(name: AnyRecordName, kind: RecordKind, place: Place)] = []
  private(set) var links: [(key: LinkKey, kind: LinkKind, place: Place)] = []

  /// Searches all states. Cost: reads the whole store.
  init(_ reader: StateReader) throws {
    let catalog = reader.catalog
    try AllStates(reader).forEachRecord { name, kind, stored in
      if catalog.sum(of: stored, name, kind) != stored.sum { records.append((name, kind, stored.place)) }
    }
    try AllStates(reader).forEachLink { key, kind, stored in
      if catalog.sum(of: stored, key, kind) != stored.sum { links.append((key, kind, stored.place)) }
    }
  }
}

extension ChangeLog {
  /// Calls `body` with each item that the log lists.
  /// - Returns: whether all of the log could be read.
  fileprivate static func forEachItem(
    _ reader: StateReader, _ body: (KindNumber, AnyRecordName, AnyRecordName?, LogEntry) throws -> Void
  ) throws -> Bool {
    var isReadable = true
    try reader.forEachLogEntry { entry in
      guard let items = try? items(entry.items, reader.catalog) else {
        isReadable = false
        return
      }
      for (kind, name, target) in items { try body(kind, name, target, entry) }
    } unreadable: { _ in
      isReadable = false
    }
    return isReadable
  }
}

extension ListedItems {
  /// Returns nil for a log that cannot be read, or lists nothing.
  fileprivate init?(_ reader: StateReader) throws {
    self.init()
    let isReadable = try ChangeLog.forEachItem(reader) { kind, name, target, entry in
      if let replica = reader.catalog.replicas[entry.replica] {
        add(replica, entry.sequence, Self.address(kind, name, target))
      }
    }
    guard isReadable, try !reader.tail().isDamaged, !isEmpty else { return nil }
    sort()
  }

  /// Whether a row that has cells of these transactions is not the one that the log lists. One without any is not
  /// captured yet.
  ///
  /// A record's own row is listed under all of its clock's transactions, and nothing is hidden under its name. Two
  /// records that one transaction made, and that were not written to since, are listed alike: if one has taken the
  /// other's name, it is taken for the other with changed values.
  fileprivate func isStray(_ address: String, _ dots: Set<Dot>, isHidden: () throws -> Bool) rethrows -> Bool {
    guard !dots.isEmpty else { return false }
    return try !dots.allSatisfy { lists($0, address) } || isHidden()
  }
}
