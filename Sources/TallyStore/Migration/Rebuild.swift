import GRDB
import TallyCRDT
import TallyWire

/// The findings and actions of `rebuild`.
public struct RebuildReport: Sendable, Equatable {
  /// One line for each record or link of which something was lost.
  public var losses: [String] = []
  /// Records and links that were gone through.
  public var checked = 0
  /// Whether the sum of the content was another than the one that was kept: something had changed or was gone that this
  /// device cannot name. The store is in doubt then; see `Store.doubt()`.
  public var hadOtherFingerprint = false
}

/// One rebuilding of everything that follows from the states.
final class Rebuild {
  /// The treatment of a row whose state cannot be read.
  enum Unreadable {
    /// Its values are written again.
    case writtenAnew
    /// It is as if it had never been captured, and is filled from a peer.
    case dropped
  }

  private let transaction: WriteTransaction
  private let unreadable: Unreadable
  private(set) var report = RebuildReport()
  /// The rows of names whose states could not be read and that are still there, by the hash of their address.
  private(set) var dropped: [UInt64: RowID] = [:]
  /// The rows that point to another's body, by the hash of their address.
  private var strangers = Set<UInt64>()
  /// The states that keep a checksum that they do not match, by the hash of their address.
  private var held = Set<UInt64>()
  private var connection: Connection { transaction.connection }
  private var reader: StateReader { transaction.reader }
  private var catalog: Catalog { transaction.catalog }

  init(_ transaction: WriteTransaction, unreadable: Unreadable) {
    (self.transaction, self.unreadable) = (transaction, unreadable)
  }

  func run() throws -> RebuildReport {
    let kept = transaction.standing.fingerprint
    // Before anything is rewritten: what differs now was changed by no write.
    report.hadOtherFingerprint = (try? reader.recomputedFingerprint()) != kept
    try makeReadable()
    if try reader.hasPendingWrites() { try transaction.capture(.outside) }
    try derive()
    return report
  }

  /// Rebuilds what follows from the states, their checksums too, but for those of the states at these addresses.
  func derive(leaving held: Set<UInt64> = []) throws {
    self.held = held
    try MetaKeys.putRight(connection, removesUnknown: true)
    try StorageClasses.putRight(connection)
    try dropOrphans()
    try connection.execute("DELETE FROM tally_wait")
    try connection.execute("DELETE FROM tally_seeded")
    try connection.execute("DELETE FROM tally_unique")
    reader.aside.contested = ContestedValues()
    try transaction.session.log.forgetAll()
    try Format.createIndexes(connection)
    try AllStates(reader).rewriteRecords(rebuild)
    try AllStates(reader).rewriteLinks(rebuild)
    try transaction.recomputeFingerprint()
  }

  // MARK: What cannot be read

  /// Sees to it that every row and every body can be read, and is found by its name.
  func makeReadable() throws {
    try renewIndexes()
    if try connection.hasStubs() { try sort("tally_stub", by: "key") }
    try sort("tally_cut", by: "source, target")
    try dropUnreadableContexts()
    strangers = Set(try SharedBodies(reader).strangers.map { Self.address($0.kind, $0.key) })
    for kind in catalog.records.values {
      if kind.isKnown {
        try putRight(kind.rowSQL, kind.number, kind.type) { query in
          guard let name = try self.reader.name(in: query) else { return nil }
          try self.catalog.checkNames(in: self.reader.record(in: query, kind).state)
          return name.text
        }
      }
      try dropUnreadableBodies(kind)
      try dropUnreadableStubs(kind)
    }
    for kind in catalog.links.values {
      if kind.isKnown {
        try putRight(kind.rowSQL, kind.number, kind.table) { query in
          guard let key = try self.reader.key(in: query) else { return nil }
          _ = try self.reader.link(in: query, kind)
          return key.text
        }
      }
      try dropUnreadableLinks(kind)
    }
    for (table, isLink) in [("tally_hidden", false), ("tally_stub", false), ("tally_cut", true)] {
      try connection.execute(
        "DELETE FROM \(table) WHERE kind NOT IN (SELECT n FROM tally_kind WHERE (relationship <> '') = \(isLink))")
    }
    try connection.execute("DELETE FROM tally_aside WHERE kind NOT IN (SELECT n FROM tally_kind)")
  }

  /// Drops unreadable delete contexts. One that stayed would be used again when a peer sends the same delete.
  private func dropUnreadableContexts() throws {
    let query = try SQLStatement(connection, "SELECT replica, sequence, time, vector FROM tally_context")
    var unreadable: [(replica: Int, sequence: Int, time: Int)] = []
    while try query.step() {
      if (try? StateCoding.decodeContext(query.blob(3), catalog.replicas)) == nil {
        unreadable.append((query.int(0), query.int(1), query.int(2)))
      }
    }
    query.reset()
    for (replica, sequence, time) in unreadable {
      try connection.run(
        "DELETE FROM tally_context WHERE replica = ? AND sequence = ? AND time = ?", replica, sequence, time)
    }
  }

  /// An index that lost an entry lets a row be written twice.
  private func renewIndexes() throws {
    guard try !transaction.renewIndexes() else { return }
    for (table, key) in catalog.orderedKinds.map({ ($0.type, "id") })
      + catalog.knownLinks.map({ ($0.table, "source, target") })
    {
      try transaction.writer.withoutTriggers {
        try connection.execute(
          """
          DELETE FROM main."\(table)" WHERE rowid IN (SELECT rowid FROM (SELECT rowid, row_number() OVER \
          (PARTITION BY \(key) ORDER BY rowid DESC) AS place FROM main."\(table)" NOT INDEXED) WHERE place > 1)
          """)
      }
    }
    try connection.execute("REINDEX")
  }

  /// Puts the rows of a table in order that are found by their keys without an index, so that one whose key the disk
  /// has changed stands where no lookup finds it.
  private func sort(_ table: String, by key: String) throws {
    // A value of another storage class would be refused.
    try connection.execute(
      """
      CREATE TEMP TABLE tally_rows AS
      SELECT kind, \(key), CAST(body AS BLOB) AS body FROM main.\(table) WHERE typeof(kind) = 'integer';
      DELETE FROM main.\(table); INSERT OR IGNORE INTO main.\(table) SELECT * FROM temp.tally_rows;
      DROP TABLE temp.tally_rows
      """)
  }

  /// Puts the rows right whose state cannot be read. `read` reads a row and gives its key; nil for what was never
  /// captured.
  private func putRight(
    _ sql: String, _ kind: KindNumber, _ table: String, _ read: (SQLStatement) throws -> String?
  ) throws {
    let query = try SQLStatement(connection, sql)
    var rows: [(row: RowID, key: String?, isLeaving: Bool)] = []
    while try query.step() {
      var isLeaving = false
      do {
        let key = try read(query)
        // The store itself was about to delete it.
        isLeaving = try query.clock(catalog.links[kind] == nil ? 2 : 3) == .leaving
        if !isLeaving, key.map({ !strangers.contains(Self.address(kind, $0)) }) ?? true { continue }
      } catch is DatabaseError {} catch {}
      let text =
        catalog.links[kind] == nil
        ? query.text(1) : query.text(1).flatMap { one in query.text(2).map { "\(one)\n\($0)" } }
      rows.append((query.number(0), text, isLeaving))
    }
    query.reset()
    for (row, key, isLeaving) in rows {
      try putRight(row, key, kind, table)
      if isLeaving, let key { dropped[Self.address(kind, key)] = nil }
    }
  }

  private func putRight(_ row: RowID, _ key: String?, _ kind: KindNumber, _ table: String) throws {
    try transaction.writer.unstamp(kind, table, row: row)
    let isName = key.map { key in
      catalog.records[kind].map { (try? AnyRecordName(key))?.type == $0.type } ?? ((try? LinkKey(key)) != nil)
    }
    guard isName == true, let key else {
      report.losses.append("\(printable(key ?? "a row")): its name is no name any more")
      return try transaction.writer.withoutTriggers {
        try connection.execute("DELETE FROM main.\"\(table)\" WHERE rowid = \(row.rawValue)")
      }
    }
    guard unreadable == .writtenAnew else {
      dropped[Self.address(kind, key)] = row
      return report.losses.append("\(printable(key)): what this device had of it could not be read")
    }
    report.losses.append("\(printable(key)): who wrote it was lost; its values are written anew")
    try writeAnew(row, key, kind)
  }

  /// Captures a row as if it had just been inserted: with the next capture of what others wrote.
  func writeAnew(_ row: RowID, _ key: String, _ kind: KindNumber) throws {
    try connection.run(
      "INSERT INTO tally_pending(kind, op, key, number) VALUES(?, ?, ?, ?)", kind, PendingTable.lostState, key, row)
  }

  static func address(_ kind: KindNumber, _ key: String) -> UInt64 { SipHash.hash("\(kind.rawValue) \(key)") }

  private func dropUnreadableBodies(_ kind: RecordKind) throws {
    let query = try SQLStatement(connection, "SELECT n, key, body FROM tally_hidden WHERE kind = \(kind.number)")
    var unreadable: [Int] = []
    while try query.step() {
      let key = query.text(1) ?? ""
      let state = try? query.withBlob(2) { try StateCoding.decodeRecord($0, reader, row: nil).state }
      if (try? AnyRecordName(key))?.type == kind.type, let state, (try? catalog.checkNames(in: state)) != nil,
        !state.isEmpty
      {
        continue
      }
      unreadable.append(query.int(0))
      report.losses.append("\(printable(key)): the state of what is not shown was lost")
    }
    query.reset()
    for number in unreadable { try connection.execute("DELETE FROM tally_hidden WHERE n = \(number)") }
  }

  /// Drops stubs that cannot be read, and those of records that are elsewhere as well: what is there may have come
  /// later.
  private func dropUnreadableStubs(_ kind: RecordKind) throws {
    let query = try SQLStatement(
      connection, "SELECT key, body FROM tally_stub WHERE kind = \(kind.number) ORDER BY key")
    var unreadable: [Value] = []
    while try query.step() {
      let name = query.name(0, kind.type)
      let state = name.flatMap { _ in try? query.withBlob(1) { try reader.stub($0).state } }
      if let name, let state, (try? catalog.checkNames(in: state)) != nil, try !reader.isBesidesStubs(name, kind) {
        continue
      }
      unreadable.append(query.value(0))
      report.losses.append("\(printable(name?.text ?? kind.type)): the state of what is not shown was lost")
    }
    query.reset()
    for key in unreadable {
      try connection.run("DELETE FROM tally_stub WHERE kind = ? AND key = ?", kind.number, key)
    }
  }

  /// Drops hidden links that cannot be read, and those that have a row as well.
  private func dropUnreadableLinks(_ kind: LinkKind) throws {
    let query = try SQLStatement(
      connection,
      "SELECT source, target, body FROM tally_cut WHERE kind = \(kind.number) ORDER BY source, target")
    var unreadable: [(source: Value, target: Value)] = []
    while try query.step() {
      let key = query.linkKey(0, kind)
      let element = try? query.withBlob(2) { try reader.hiddenLink($0).element }
      if let key, let element, !element.isEmpty, try !reader.hasRow(key, kind) { continue }
      unreadable.append((query.value(0), query.value(1)))
      let label = key.map { "\($0.source) with \($0.target)" } ?? kind.wireName
      report.losses.append("\(printable(label)): the state of what is not shown was lost")
    }
    query.reset()
    for (source, target) in unreadable {
      try connection.run(
        "DELETE FROM tally_cut WHERE kind = ? AND source = ? AND target = ?", kind.number, source, target)
    }
  }

  /// Bodies that no row carries.
  private func dropOrphans() throws {
    var known = Set<Int>()
    let tables = catalog.orderedKinds.map(\.type) + catalog.knownLinks.map(\.table)
    for table in tables {
      let query = try SQLStatement(
        connection, "SELECT tally_clock FROM main.\"\(table)\" WHERE substr(tally_clock, 1, 2) = x'FFFF'")
      while try query.step() { if let extra = try query.clock(0).extra { known.insert(extra.number) } }
    }
    let query = try SQLStatement(connection, "SELECT n FROM tally_extra")
    var orphans: [Int] = []
    while try query.step() { if !known.contains(query.int(0)) { orphans.append(query.int(0)) } }
    query.reset()
    for number in orphans { try transaction.writer.deleteExtra(number) }
  }

  // MARK: What follows

  private func rebuild(_ name: AnyRecordName, _ kind: RecordKind, _ found: StoredRecord) throws {
    let isMoved = try transaction.writer.putInPlace(name, kind, found)
    guard let stored = isMoved ? try reader.record(name, kind) : found else { return }
    report.checked += 1
    let sound = stored.state.within(transaction.context).having(seen: transaction.context)
    guard sound == stored.state else {
      try drop(name, kind, stored, sound)
      if let left = try reader.record(name, kind) { try putSum(name, kind, left) }
      return
    }
    try putSum(name, kind, stored)
    try transaction.listAnew(name, kind, stored)
  }

  private func rebuild(_ key: LinkKey, _ kind: LinkKind, _ stored: StoredLink) throws {
    report.checked += 1
    let sound = stored.element.within(transaction.context)
    guard sound == stored.element else {
      try drop(key, kind, stored, sound)
      if let left = try reader.link(key, kind) { try putSum(key, kind, left) }
      return
    }
    try putSum(key, kind, stored)
    try transaction.listAnew(key, kind, stored)
  }

  private func putSum(_ name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord) throws {
    guard !held.contains(Self.address(kind.number, name.text)) else { return }
    if try transaction.writer.putSum(name, kind, stored) { noteUnfit(name.text) }
  }

  private func putSum(_ key: LinkKey, _ kind: LinkKind, _ stored: StoredLink) throws {
    guard !held.contains(Self.address(kind.number, key.text)) else { return }
    if try transaction.writer.putSum(key, kind, stored) { noteUnfit(key.text) }
  }

  /// Notes a state that is taken as it is although it does not match its checksum. Where the content is what it was, it
  /// was only the checksum that did not match.
  private func noteUnfit(_ key: String) {
    guard unreadable == .writtenAnew, report.hadOtherFingerprint else { return }
    report.losses.append("\(printable(key)): did not match its checksum; it was taken as it was found")
  }

  /// Takes cells out that were never written: the vector, which is what was last written, does not cover them.
  private func drop(_ name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord, _ sound: RecordState) throws {
    report.losses.append("\(name): what stood there was written by nobody")
    let shown = sound.isEmpty || !stored.place.isVisible ? nil : stored.values
    try transaction.writer.put(name, kind, sound, previous: stored, shown: shown)
    try transaction.writer.putWaits(for: name, kind, sound, shown, nil)
    try transaction.list(name, kind, sound.dots)
    transaction.view.mark(name)
    guard sound.isEmpty else { return }
    try connection.run("DELETE FROM tally_hidden WHERE kind = ? AND key = ?", kind.number, name.text)
    try transaction.view.markReferrers(of: name)
  }

  private func drop(_ key: LinkKey, _ kind: LinkKind, _ stored: StoredLink, _ sound: ORSetElement) throws {
    report.losses.append("\(key.source).\(kind.relationship) of \(key.target): what stood there was written by nobody")
    let isShown = !sound.isEmpty && stored.place.isVisible
    try transaction.writer.put(key, kind, sound, previous: stored, isShown: isShown)
    try transaction.list(key, kind, sound.dots)
    transaction.view.mark(kind.number, key)
    if sound.isEmpty { try transaction.writer.deleteHidden(key, kind.number) }
  }
}

extension WriteTransaction {
  /// Rebuilds the lists that follow from the states, after one of their tables was lost. Without the change log, deltas
  /// would be incomplete. Without the other lists, records that wait for another or were set aside would stay hidden.
  /// Checksums are left alone.
  ///
  /// Where states cannot be read, the store counts as damaged, and healing lists all.
  func listAnew() throws {
    try session.log.forgetAll()
    do {
      try AllStates(reader).rewriteRecords(listAnew)
      try AllStates(reader).rewriteLinks(listAnew)
    } catch let error as StoreError where error.code == .corrupt {
      try note(doubt: .damaged, because: "lost: lists of what is stored, and \(error.message)")
    }
  }

  fileprivate func listAnew(_ name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord) throws {
    let shown = stored.place.isVisible ? stored.values : nil
    try writer.putWaits(for: name, kind, stored.state, shown, nil)
    try writer.putSeeded(name, kind, stored.state, isShown: shown != nil, nil)
    try list(name, kind, stored.state.dots)
    view.mark(name)
  }

  fileprivate func listAnew(_ key: LinkKey, _ kind: LinkKind, _ stored: StoredLink) throws {
    try list(key, kind, stored.element.dots)
    view.mark(kind.number, key)
  }
}
