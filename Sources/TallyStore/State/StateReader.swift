import TallyCRDT
import TallyWire

#if PlantedFaults
  import TallyFaults
#endif

/// The place of a record or link in the file.
enum Place: Equatable {
  /// Not stored yet.
  case nowhere
  /// In the app's table.
  case row(id: RowID, clock: InlineClock)
  /// In `tally_hidden`.
  case hidden(number: Int)
  /// In `tally_stub`, under the record's name.
  case stub
  /// In `tally_cut`, under the link's ends.
  case cut

  var isVisible: Bool { if case .row = self { true } else { false } }

  /// The body that its row points to.
  var extra: InlineClock.Extra? { if case .row(_, let clock) = self { clock.extra } else { nil } }
}

/// A record as stored.
package struct StoredRecord {
  package var state: RecordState
  var place: Place
  /// The values in the row, in the order of the kind's columns; empty if there is no row.
  package var values: [Value] = []
  /// The checksum that is stored with the state.
  var sum: StateSum

  package var isVisible: Bool { place.isVisible }
}

/// Two record names as one key, for links: no name holds a line break.
package struct LinkKey: Hashable {
  package var source: AnyRecordName
  package var target: AnyRecordName

  package var text: String { "\(source.text)\n\(target.text)" }

  package init(source: AnyRecordName, target: AnyRecordName) {
    self.source = source
    self.target = target
  }

  package init(_ text: String) throws {
    let parts = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard parts.count == 2 else { throw StoreError(.corrupt, "a link's key is malformed") }
    do {
      source = try AnyRecordName(String(parts[0]))
      target = try AnyRecordName(String(parts[1]))
    } catch {
      throw StoreError(.invalidName, "a relationship holds a malformed record name: \(error)", cause: error)
    }
  }
}

/// Loads states on one connection, inside a transaction of its owner.
package final class StateReader {
  package let connection: Connection
  @exclusivity(unchecked) package var catalog: Catalog
  /// The rows that SQLite did not take as the state says.
  @exclusivity(unchecked) package var aside = SetAside()
  let spare = StampedState.Spare()
  #if PlantedFaults
    var planted: PlantedFault = []
  #endif
  private var contexts: [Stamp: StateVector] = [:]
  private var recentContexts = RecentValues<StateVector>()
  /// The total number of entries of the contexts, and its maximum.
  private var contextEntries = 0
  private static let contextLimit = 1 << 17
  /// Whether what is read stays as it is for as long as the reader lives.
  private let isSnapshot: Bool
  /// The tail that was read last, which has seldom changed since.
  private var lastTail: (bytes: [UInt8], tail: LogTail)?
  /// The state vector and sums of the snapshot, once read: they cannot change while it is open.
  private var standing: (vector: StateVector?, zone: (sums: KeptSums, tail: LogTail)?)

  package init(_ connection: Connection, catalog: Catalog, isSnapshot: Bool = false) {
    (self.connection, self.catalog, self.isSnapshot) = (connection, catalog, isSnapshot)
  }

  /// Forgets what another transaction may have changed.
  func forget() {
    (contexts, contextEntries) = ([:], 0)
    recentContexts.removeAll()
  }

  // MARK: Vectors

  package func vector() throws -> StateVector {
    if let vector = standing.vector { return vector }
    let query = try connection.statement(StoredVector.rows)
    var vector = StateVector()
    while try query.step() {
      guard let replica = catalog.replicas[query.number(0)] else {
        throw StoreError(.corrupt, "a replica of the vector is not known")
      }
      vector[replica] = try query.sequence(1)
    }
    for entry in try tail().vector {
      guard let replica = catalog.replicas[entry.replica] else {
        throw StoreError(.corrupt, "a replica of the vector is not known")
      }
      vector[replica] = entry.sequence
    }
    if isSnapshot { standing.vector = vector }
    return vector
  }

  func fingerprint() throws -> Fingerprint { try keptSums().fingerprint }

  /// Returns the checksums that are kept of content and vector.
  func keptSums() throws -> KeptSums { try zone().sums }

  /// Returns what the last transactions have added to the vector and to the change log.
  package func tail() throws -> LogTail { try zone().tail }

  private func zone() throws -> (sums: KeptSums, tail: LogTail) {
    if let zone = standing.zone { return zone }
    let zone = try LogTail.withColumn(connection) { sums, bytes in
      if let bytes, lastTail?.bytes != bytes { lastTail = (bytes, LogTail(bytes)) }
      var sums = KeptSums(sums)
      // The disk has made something else of it.
      if bytes != nil, sums.vector == nil { sums.vector = .ofNone }
      return (sums, bytes == nil ? LogTail() : lastTail?.tail ?? LogTail())
    }
    guard let zone else { throw StoreError(.corrupt, "the zone is missing") }
    if isSnapshot { standing.zone = zone }
    return zone
  }

  /// Remembers the context of a delete that has just been stored.
  func note(context: StateVector, of stamp: Stamp) {
    if contextEntries > Self.contextLimit { forget() }
    contextEntries += 1 + context.count
    contexts[stamp] = context
    recentContexts[stamp] = context
  }

  /// Whether `tally_context` is known to hold something for the stamp.
  func hasContext(of stamp: Stamp) -> Bool { knownContext(of: stamp) != nil }

  /// Whether `tally_context` is known to hold just this for the stamp.
  func knows(context: StateVector, of stamp: Stamp) -> Bool { knownContext(of: stamp) == context }

  private func knownContext(of stamp: Stamp) -> StateVector? {
    if let known = recentContexts[stamp] { return known }
    guard let known = contexts[stamp] else { return nil }
    recentContexts[stamp] = known
    return known
  }

  /// Returns the context that `tally_context` holds for the stamp of a delete.
  func context(of stamp: Stamp) throws -> StateVector {
    if let known = knownContext(of: stamp) { return known }
    guard let number = catalog.replicaNumbers[stamp.dot.replica] else {
      throw StoreError(.corrupt, "the replica of a delete is not known")
    }
    let query = try connection.statement(
      "SELECT vector FROM tally_context WHERE replica = ? AND sequence = ? AND time = ?")
    defer { query.reset() }
    query.bind(1, number)
    query.bind(2, Int64(stamp.dot.sequence))
    query.bind(3, Int64(stamp.time.milliseconds))
    guard try query.step() else { throw StoreError(.corrupt, "the context of a delete is missing") }
    let vector = try StateCoding.decodeContext(query.blob(0), catalog.replicas)
    note(context: vector, of: stamp)
    return vector
  }

  // MARK: Records

  /// A record by its name; nil if nothing is known of it.
  /// - Throws: `StoreError.corrupt` if the index of names leads to another record.
  package func record(_ name: AnyRecordName, _ kind: RecordKind) throws -> StoredRecord? {
    var text = name.text
    let stored = try text.withUTF8 { text in
      try withStored(text, kind) { query in
        try record(in: query, kind)
      } orHidden: { number, body in
        try hiddenRecord(number, body)
      }
    }
    return try stored ?? record(stub: name, kind)
  }

  /// Calls `row` with the query whose current row is the record's, or `hidden` with the number and the body of a record
  /// that is hidden and no stub.
  /// - Returns: the result of either; nil if the record is in neither place.
  /// - Throws: `StoreError.corrupt` if an index of names leads to another record.
  @inline(__always)
  func withStored<T>(
    _ name: UnsafeBufferPointer<UInt8>, _ kind: RecordKind, _ row: (SQLStatement) throws -> T,
    orHidden hidden: (Int, UnsafeRawBufferPointer) throws -> T
  ) throws -> T? {
    if kind.isKnown {
      let found = try connection.row(kind.rowByName, name) { query in
        guard query.hasText(1, name) else { throw StoreError(.corrupt, StoreError.wrongIndex) }
        return try row(query)
      }
      if let found { return found }
    }
    return try withHidden(name, kind, hidden)
  }

  /// Calls `body` with the number and the body of a hidden record that is no stub.
  /// - Returns: the result of `body`; nil if there is no such record.
  @inline(__always)
  private func withHidden<T>(
    _ name: UnsafeBufferPointer<UInt8>, _ kind: RecordKind, _ body: (Int, UnsafeRawBufferPointer) throws -> T
  ) throws -> T? {
    try connection.row(kind.hiddenByName, name) { query in
      guard query.hasText(2, name) else { throw StoreError(.corrupt, StoreError.wrongIndex) }
      return try query.withBlob(1) { try body(query.int(0), $0) }
    }
  }

  /// Whether the app sees the record.
  func hasRow(_ name: AnyRecordName) throws -> Bool {
    guard let kind = catalog.kind(of: name.type), kind.isKnown else { return false }
    return try connection.row(kind.numberByName, name.text) { _ in } != nil
  }

  /// A hidden record by its name, also if it is a stub.
  func record(hidden name: AnyRecordName, _ kind: RecordKind) throws -> StoredRecord? {
    var text = name.text
    return try text.withUTF8 { text in try withHidden(text, kind) { try hiddenRecord($0, $1) } }
      ?? record(stub: name, kind)
  }

  /// The hidden record of a body.
  package func hiddenRecord(_ number: Int, _ body: UnsafeRawBufferPointer) throws -> StoredRecord {
    let (state, sum) = try StateCoding.decodeRecord(body, self, row: nil)
    return StoredRecord(state: state, place: .hidden(number: number), sum: sum)
  }

  /// The record in the current row of a query for a kind's rows.
  package func record(in query: SQLStatement, _ kind: RecordKind) throws -> StoredRecord {
    let clock = try query.clock(2)
    let values = query.values(3..<3 + kind.columns.count)
    let (state, sum) = try self.state(clock, values, kind)
    return StoredRecord(state: state, place: .row(id: query.number(0), clock: clock), values: values, sum: sum)
  }

  /// The one stamp of a uniform clock; nil for any other.
  package func stamp(_ clock: InlineClock) throws -> Stamp? {
    guard case .uniform(let clock) = clock else { return nil }
    guard let replica = catalog.replicas[clock.replica] else {
      throw StoreError(.corrupt, "the replica of a clock is not known")
    }
    return Stamp(time: clock.time, dot: Dot(replica: replica, sequence: clock.sequence))
  }

  /// The state that a clock and a row's values stand for, and the checksum that is stored with it.
  func state(
    _ clock: InlineClock, _ values: [Value], _ kind: RecordKind
  ) throws -> (state: RecordState, sum: StateSum) {
    switch clock {
    case .unstamped, .leaving: return (RecordState(), StateSum())
    case .uniform(let uniform):
      guard let stamp = try stamp(clock) else { return (RecordState(), StateSum()) }
      var fields: [FieldCell] = []
      fields.reserveCapacity(values.count)
      for (column, value) in zip(kind.columns, values) where value != column.defaultValue {
        fields.append(FieldCell(field: column.field, stamp: stamp, value: value))
      }
      return (RecordState(inserted: stamp, fields: fields), uniform.sum)
    case .extra(let place):
      let row = RowValues(kind: kind, values: values)
      return try extra(place.number) { try StateCoding.decodeRecord($0, self, row: row) }
    }
  }

  // MARK: Bodies

  func extra<T>(_ number: Int, _ decode: (UnsafeRawBufferPointer) throws -> T) throws -> T {
    let found = try connection.row(Self.bodyByNumber, number) { try $0.withBlob(1, decode) }
    guard let found else { throw StoreError(.corrupt, "the state of a row is missing") }
    return found
  }

  private static let bodyByNumber = KeyedSQL("r.n, r.body", of: "tally_extra", by: .number("n"))

  /// Each hidden record of a kind, stubs last.
  func forEachHiddenRecord(_ kind: KindNumber, _ body: (AnyRecordName, StoredRecord) throws -> Void) throws {
    let query = try connection.loop("SELECT n, key, body FROM tally_hidden WHERE kind = ? ORDER BY key")
    query.bind(1, kind)
    defer { query.reset() }
    while try query.step() {
      guard let name = try? AnyRecordName(query.text(1) ?? "") else {
        throw StoreError(.corrupt, "a hidden record's name is malformed")
      }
      try body(name, try query.withBlob(2) { try hiddenRecord(query.int(0), $0) })
    }
    if let kind = catalog.records[kind] { try forEachStub(kind, body) }
  }

  /// Each record with a row, in the order of the rows or of their names.
  func forEachRow(
    _ kind: RecordKind, ordered: Bool = false, _ body: (AnyRecordName, StoredRecord) throws -> Void
  ) throws {
    try forEachRow(kind, ordered: ordered) { query in
      if let name = try name(in: query) { try body(name, try record(in: query, kind)) }
    }
  }

  /// Each row of a kind, for who does not need its state.
  func forEachRow(_ kind: RecordKind, ordered: Bool = false, _ body: (SQLStatement) throws -> Void) throws {
    let query = try SQLStatement(connection, kind.rowSQL + (ordered ? " ORDER BY id" : ""))
    while try query.step() { try body(query) }
  }

  /// The name of the record in the current row of a query for a kind's rows; nil for what another program wrote under a
  /// name that is none and so was never captured.
  package func name(in query: SQLStatement) throws -> AnyRecordName? {
    if let name = try? AnyRecordName(query.text(1) ?? "") { return name }
    if try query.clock(2) == .unstamped { return nil }
    throw StoreError(.corrupt, "a record's name is malformed")
  }

  /// Each link with a row, in the order of the rows or of their names.
  func forEachRow(
    _ kind: LinkKind, ordered: Bool = false, _ body: (LinkKey, StoredLink) throws -> Void
  ) throws {
    let order = ordered ? " ORDER BY source, target" : ""
    let query = try SQLStatement(connection, kind.rowSQL + order)
    while try query.step() { if let key = try key(in: query) { try body(key, try link(in: query, kind)) } }
  }
}

/// Decodes the bodies that `TallyInspection` selects from `tally_hidden` itself.
extension StateReader {
  package func recordState(inBody column: Int, of query: SQLStatement) throws -> RecordState {
    try query.withBlob(column) { try StateCoding.decodeRecord($0, self, row: nil).state }
  }
}

/// The rows of the vector, without the newest entries.
enum StoredVector {
  static let rows: StaticString = "SELECT replica, sequence FROM tally_vector WHERE zone = 0"
}
