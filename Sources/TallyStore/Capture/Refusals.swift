import TallyCRDT
import TallyWire

/// Rows that another connection wrote and that cannot be replicated as they are: there is no caller to report an error
/// to.
///
/// Everything that can be captured of such a row is captured. A value that cannot stays in the row, where only this
/// device sees it; the state keeps the register as it was, and that is what peers get. Once anybody repairs the row,
/// its value is captured.
final class Refusals {
  private let reader: StateReader
  private let environment: StoreEnvironment
  private var connection: Connection { reader.connection }
  private var catalog: Catalog { reader.catalog }
  /// The fields of rows that cannot be replicated; none if the whole row cannot.
  private var refused: [RowAddress: Set<FieldID>] = [:]
  private(set) var hasAny = false

  init(_ reader: StateReader, _ environment: StoreEnvironment) {
    (self.reader, self.environment) = (reader, environment)
  }

  /// The fields of a row that are refused; empty for a row that is refused as a whole, nil for any other.
  func fields(_ address: RowAddress) -> Set<FieldID>? { refused.isEmpty ? nil : refused[address] }

  // MARK: Checking

  /// The columns of a row that cannot be replicated, each with the reason. `before` is the row before it was written,
  /// nil for a new one; `earlier` are the fields that were refused before.
  func faults(
    of values: [Value], over before: [Value]?, _ name: AnyRecordName, _ kind: RecordKind, earlier: Set<FieldID>
  ) -> [Int: StoreError] {
    var faults: [Int: StoreError] = [:]
    var total = 0
    for (index, column) in kind.columns.enumerated() {
      #if PlantedFaults
        if column.kind == .date, environment.planted.contains(.anyTextIsADate) { continue }
        if column.kind == .json, environment.planted.contains(.anyTextIsJSON) { continue }
      #endif
      if let fault = Self.fault(of: values[index], in: column, name) {
        faults[index] = fault
      } else {
        total += values[index].byteCount
      }
    }
    guard total > WireLimits.recordBytes else { return faults }
    // Concurrent writes can join to more than one may write; such a record may change, but not grow.
    if let before, earlier.isEmpty, total <= before.reduce(0, { $0 + $1.byteCount }) { return faults }
    let changed = kind.columns.indices.filter { index in
      faults[index] == nil && (before?[index] != values[index] || earlier.contains(kind.columns[index].field))
    }
    let fault = StoreError(
      .valueTooLarge, "the values of \(name) have \(total) bytes; the limit is \(WireLimits.recordBytes)")
    for index in changed.sorted(by: { values[$0].byteCount > values[$1].byteCount })
    where total > WireLimits.recordBytes {
      total -= values[index].byteCount
      faults[index] = fault
    }
    return faults
  }

  /// Refuses a value that its field does not list, unless the record had it before, be it in a life that has ended.
  /// - Throws: `StoreError.typeMismatch`.
  func checkLists(_ name: AnyRecordName, _ kind: RecordKind, _ values: [Value], over before: [Value]?) throws {
    for (place, column) in kind.columns.enumerated() {
      guard !column.lists(values[place]), before?[place] != values[place] else { continue }
      let hidden = before == nil ? try reader.record(hidden: name, kind)?.state : nil
      guard hidden?.cell(column.field, followsNewest: kind.followsNewest)?.value != values[place] else { continue }
      throw StoreError(.typeMismatch, "\(name).\(column.name) has a value that the schema does not list")
    }
  }

  static func fault(of value: Value, in column: Column, _ name: AnyRecordName) -> StoreError? {
    guard value.byteCount <= WireLimits.valueBytes else {
      return StoreError(
        .valueTooLarge, "\(name).\(column.name) has \(value.byteCount) bytes; the limit is \(WireLimits.valueBytes)")
    }
    guard !column.admits(value) else { return nil }
    let expected = column.kind.map(\.valueWithArticle) ?? "the name of a \(column.reference?.to ?? "record")"
    return StoreError(.typeMismatch, "\(name).\(column.name) is not \(expected)")
  }

  // MARK: Remembering

  /// Remembers that columns of a row are refused.
  func refuse(_ address: RowAddress, _ faults: [Int: StoreError], _ kind: RecordKind) throws {
    let fields = Set(faults.keys.map { kind.columns[$0].field })
    guard refused[address] != fields else { return }
    for (_, fault) in faults.sorted(by: { $0.key < $1.key }) { warn(fault) }
    try note(address, fields)
  }

  /// Remembers that one more column of a row is refused.
  func refuse(
    _ address: RowAddress, _ refused: Set<Int>, and column: Int, _ fault: StoreError, _ kind: RecordKind
  ) throws {
    warn(fault)
    try note(address, Set(refused.union([column]).map { kind.columns[$0].field }))
  }

  /// Remembers that a row as a whole is refused.
  func refuse(_ address: RowAddress, _ fault: StoreError) throws {
    guard refused[address] == nil else { return }
    warn(fault)
    try note(address, [])
  }

  private func warn(_ fault: StoreError) {
    environment.logger.warning(
      "a value written by another connection cannot be replicated", metadata: ["reason": "\(fault)"])
  }

  private func note(_ address: RowAddress, _ fields: Set<FieldID>) throws {
    try forgetRefusal(address)
    var writer = ByteWriter()
    for field in fields.sorted() { writer.varint(UInt64(field.rawValue)) }
    try connection.run(
      "INSERT INTO tally_pending(kind, op, key, clock) VALUES(?, 4, ?, ?)", address.kind, address.key, writer.bytes)
    refused[address] = fields
    hasAny = true
  }

  /// Refuses a row whose name no Swift string can hold, noted by a trigger.
  func refuse(unreadable note: Int) throws {
    environment.logger.warning("a row written by another connection cannot be replicated: its id is not UTF-8")
    try connection.execute("UPDATE tally_pending SET op = 4 WHERE n = \(note)")
    hasAny = true
  }

  /// Refuses a row whose name no Swift string can hold.
  func refuse(_ kind: KindNumber, unreadable name: [UInt8]) throws {
    environment.logger.warning("a row written by another connection cannot be replicated: its id is not UTF-8")
    try connection.run("INSERT INTO tally_pending(kind, op, key) VALUES(?, 4, CAST(? AS TEXT))", kind, name)
    hasAny = true
  }

  private func forgetRefusal(_ address: RowAddress) throws {
    guard refused.removeValue(forKey: address) != nil else { return }
    try connection.run("DELETE FROM tally_pending WHERE op = 4 AND kind = ? AND key = ?", address.kind, address.key)
  }

  /// Forgets all, for a file that has none.
  func forget() { (refused, hasAny) = ([:], false) }

  /// Reads what earlier transactions refused.
  func load() throws {
    forget()
    let query = try connection.statement(
      "SELECT kind, key, clock FROM tally_pending WHERE op = 4")
    while try query.step() {
      hasAny = true
      guard let key = query.text(1) else { continue }
      var fields = Set<FieldID>()
      try query.blob(2).withUnsafeBytes { raw in
        var reader = ByteReader(raw)
        do throws(WireError) {
          while reader.remaining > 0 {
            fields.insert(catalog.field(UInt32(truncatingIfNeeded: try reader.varint())))
          }
        } catch {
          throw StoreError(stored: error)
        }
      }
      refused[RowAddress(kind: query.number(0), key: key)] = fields
    }
  }

  // MARK: Putting right

  /// Forgets the refusals whose rows have been repaired or are gone.
  func review() throws {
    guard hasAny else { return }
    for (address, fields) in refused {
      guard !fields.isEmpty else {
        if try !isUncaptured(address) { try forgetRefusal(address) }
        continue
      }
      let rest = try stillRefused(address, fields)
      if rest.isEmpty { try forgetRefusal(address) } else if rest != fields { try note(address, rest) }
    }
    try forgetUnreadable()
    hasAny = try connection.exists("SELECT 1 FROM tally_pending WHERE op = 4 LIMIT 1")
  }

  private func stillRefused(_ address: RowAddress, _ fields: Set<FieldID>) throws -> Set<FieldID> {
    guard let kind = catalog.records[address.kind], let name = try? AnyRecordName(address.key),
      let stored = try reader.record(name, kind), stored.place.isVisible
    else { return [] }
    let shown = try Visibility(SnapshotFacts(reader)).values(of: name, kind, stored.state)
    return Set(
      kind.columns.indices.filter { stored.values[$0] != shown[$0] }.map { kind.columns[$0].field }
    ).intersection(fields)
  }

  /// Whether a row is there that was never captured.
  private func isUncaptured(_ address: RowAddress) throws -> Bool {
    guard let (table, key) = rows(of: address.kind) else { return false }
    let query = try SQLStatement(
      connection,
      "SELECT 1 FROM main.\"\(table)\" WHERE \(key) = ? AND (tally_clock = \(InlineClock.unstampedSQL) OR tally_clock IS NULL)"
    )
    query.bind(1, address.key)
    return try query.step()
  }

  private func rows(of kind: KindNumber) -> (table: String, key: String)? {
    if let record = catalog.records[kind], record.isKnown { return (record.type, "id") }
    if let link = catalog.links[kind], link.isKnown { return (link.table, "source || char(10) || target") }
    return nil
  }

  private func forgetUnreadable() throws {
    let query = try SQLStatement(connection, "SELECT n, kind, key FROM tally_pending WHERE op = 4 ORDER BY n")
    var unreadable: [(row: Int, kind: KindNumber)] = []
    while try query.step() {
      if query.text(2) == nil { unreadable.append((query.int(0), query.number(1))) }
    }
    for (row, kind) in unreadable {
      guard let (table, key) = rows(of: kind) else { continue }
      try connection.execute(
        """
        DELETE FROM tally_pending WHERE n = \(row) AND (key NOT IN (SELECT \(key) FROM main."\(table)")
          OR EXISTS(SELECT 1 FROM tally_pending AS first
            WHERE first.op = 4 AND first.key = tally_pending.key AND first.n < tally_pending.n))
        """)
    }
  }
}
