import GRDB
import TallyCRDT

/// What `rebuild` found and did.
public struct RebuildReport: Sendable, Equatable {
  /// One line for each record or link of which something was lost.
  public var losses: [String] = []
  /// Records and links that were gone through.
  public var checked = 0
  /// Whether the sum of the content was another than the one that was kept.
  public var hadOtherFingerprint = false
}

extension Store {
  /// Makes everything that follows from the states anew: change log, waits, fingerprint, view. For a store in which
  /// `verify` finds problems; a sound one stays as it is, but for the time it takes.
  ///
  /// A row whose state cannot be read keeps what it shows, as a new write of this replica. A state without a row that
  /// cannot be read is gone from here and comes again from a peer by a repair. Both are in the report. The vector, and
  /// so what peers believe to be here, is not changed.
  ///
  /// Cost: reads everything and writes the log anew; one transaction.
  /// - Throws: GRDB's `DatabaseError`; the store is then as it was.
  public func rebuild() throws -> RebuildReport { try replicate { try Rebuild($0).run() }.value }
}

/// One rebuilding of everything that follows from the states.
private final class Rebuild {
  private let transaction: WriteTransaction
  private var report = RebuildReport()
  private var connection: Connection { transaction.connection }
  private var reader: StateReader { transaction.reader }
  private var catalog: Catalog { transaction.catalog }

  init(_ transaction: WriteTransaction) { self.transaction = transaction }

  func run() throws -> RebuildReport {
    try dropUnreadable()
    try connection.execute("DELETE FROM tally_wait")
    try connection.execute("DELETE FROM tally_seeded")
    try connection.execute("DELETE FROM tally_log")
    for kind in catalog.records.values.sorted(by: { $0.number < $1.number }) { try rebuild(kind) }
    for kind in catalog.links.values.sorted(by: { $0.number < $1.number }) { try rebuild(kind) }
    let kept = transaction.standing.fingerprint
    try transaction.recomputeFingerprint()
    report.hadOtherFingerprint = kept != transaction.standing.fingerprint
    return report
  }

  // MARK: What cannot be read

  private func dropUnreadable() throws {
    for kind in catalog.records.values {
      if kind.isKnown { try dropUnreadableRows(kind.type, kind.number, "id") }
      try dropUnreadableBodies(kind.number) { try StateCoding.decodeRecord($0, self.reader, row: nil) }
    }
    for kind in catalog.links.values {
      if kind.isKnown { try dropUnreadableRows(kind.table, kind.number, "source || char(10) || target") }
      try dropUnreadableBodies(kind.number) { try StateCoding.decodeLink($0, self.reader) }
    }
    if try reader.hasPendingWrites() { try transaction.capture(.outside) }
    try dropOrphans()
  }

  /// Rows whose state is gone are written anew, as they stand.
  private func dropUnreadableRows(_ table: String, _ kind: KindNumber, _ key: String) throws {
    let query = try SQLStatement(connection.handle, "SELECT rowid, \(key), tally_clock FROM main.\"\(table)\"")
    var unreadable: [(row: Int, key: String)] = []
    while try query.step() {
      guard (try? isReadable(query, kind)) != true else { continue }
      unreadable.append((query.int(0), query.text(1) ?? ""))
    }
    query.reset()
    for (row, key) in unreadable {
      report.losses.append("\(printable(key)): who wrote it was lost; its values are written anew")
      try connection.execute(
        "UPDATE main.\"\(table)\" SET tally_clock = \(InlineClock.unstampedSQL) WHERE rowid = \(row)")
      let note = try connection.statement("INSERT INTO tally_pending(kind, op, key, number) VALUES(?, 0, ?, ?)")
      note.bind(1, kind)
      note.bind(2, key)
      note.bind(3, row)
      try note.run()
    }
  }

  private func isReadable(_ query: SQLStatement, _ kind: KindNumber) throws -> Bool {
    let clock = try query.clock(2)
    if clock == .leaving { return false }
    if let record = catalog.records[kind], let name = try? AnyRecordName(query.text(1) ?? "") {
      return try reader.record(name, record) != nil
    }
    _ = try reader.element(clock)
    return true
  }

  private func dropUnreadableBodies<State>(
    _ kind: KindNumber, _ decode: @escaping (UnsafeRawBufferPointer) throws -> State
  ) throws {
    let query = try SQLStatement(connection.handle, "SELECT n, key, body FROM tally_hidden WHERE kind = \(kind)")
    var unreadable: [Int] = []
    while try query.step() {
      guard (try? query.withBlob(2, decode)) == nil else { continue }
      unreadable.append(query.int(0))
      report.losses.append("\(printable(query.text(1) ?? "")): the state of what is not shown was lost")
    }
    query.reset()
    for number in unreadable { try connection.execute("DELETE FROM tally_hidden WHERE n = \(number)") }
  }

  /// Bodies that no row carries.
  private func dropOrphans() throws {
    var known = Set<Int>()
    let tables = catalog.orderedKinds.map(\.type) + catalog.knownLinks.map(\.table)
    for table in tables {
      let query = try SQLStatement(
        connection.handle, "SELECT tally_clock FROM main.\"\(table)\" WHERE substr(tally_clock, 1, 2) = x'FFFF'")
      while try query.step() { if let extra = try query.clock(0).extra { known.insert(extra.number) } }
    }
    let query = try SQLStatement(connection.handle, "SELECT n FROM tally_extra")
    var orphans: [Int] = []
    while try query.step() { if !known.contains(query.int(0)) { orphans.append(query.int(0)) } }
    query.reset()
    for number in orphans { try transaction.writer.deleteExtra(number) }
  }

  // MARK: What follows

  private func rebuild(_ kind: RecordKind) throws {
    var found: [AnyRecordName] = []
    if kind.isKnown { try reader.forEachRow(kind) { name, _ in found.append(name) } }
    try reader.forEachHiddenRecord(kind.number) { name, _ in found.append(name) }
    for name in found {
      guard let stored = try reader.record(name, kind) else { continue }
      report.checked += 1
      let shown = stored.place.isVisible ? stored.values : nil
      try transaction.writer.putWaits(for: name, kind, stored.state, shown, nil)
      try transaction.writer.putSeeded(name, kind, stored.state, isShown: shown != nil, nil)
      try transaction.list(name, kind, stored.state.dots)
      transaction.view.mark(name)
    }
  }

  private func rebuild(_ kind: LinkKind) throws {
    var found: [LinkKey] = []
    if kind.isKnown { try reader.forEachRow(kind) { key, _ in found.append(key) } }
    try reader.forEachHiddenLink(kind.number) { key, _ in found.append(key) }
    for key in found {
      guard let stored = try reader.link(key, kind) else { continue }
      report.checked += 1
      try transaction.writer.putWaits(for: key, kind, stored.element, stored.place.isVisible, nil)
      try transaction.list(key, kind, stored.element.dots)
      transaction.view.mark(kind.number, key)
    }
  }
}
