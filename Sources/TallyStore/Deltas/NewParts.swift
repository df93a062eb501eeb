import GRDBSQLite
import TallyCRDT
import TallyWire

/// Finds what a base does not cover of single records, without making the rest of their states.
///
/// Of most records that have changed one register or one delete is new. The others are only hashed, where they are in
/// SQLite's memory, since a state that does not match its checksum is not given away. The result is that of
/// `RecordState.delta(since:)`; everything unusual is left to that, errors included.
struct NewParts {
  private let reader: StateReader
  private let catalog: Catalog
  private let base: StateVector
  private var stamps = StampTable()
  /// Deletes, and what hashes them: most come together with others of one transaction.
  private var recent = RecentValues<(delete: Delete, hasher: DeleteHasher)>()

  init(_ reader: StateReader, since base: StateVector) {
    (self.reader, self.base) = (reader, base)
    catalog = reader.catalog
  }

  /// The new part of a record with a row.
  enum RowPart {
    /// Registers of one stamp, and nothing else.
    case edit(RowEdit)
    case state(RecordState)
  }

  /// Returns the new part of the record in the current row of a query for a kind's rows.
  /// - Returns: nil for a state that is more than stamps of its columns, and for one that does not match its checksum.
  mutating func inRow(_ query: SQLStatement, _ kind: RecordKind) throws -> RowPart? {
    guard var stamped = try reader.stampedState(try query.clock(2)) else { return nil }
    defer { reader.spare.take(&stamped) }
    guard stamped.listsOnly(kind) else { return nil }
    let name = query.hash(ofText: 1)
    var hashers = CellHashers(name: name)
    var sum = hashers[stamped.existence].existence()
    var edit: RowEdit?
    var isMore = !base.covers(stamped.existence.dot)
    for (index, column) in kind.columns.enumerated() {
      guard let stamp = stamped.stamp(of: column, 3 + index, in: query) else { continue }
      guard let part = hashers[stamp].field(column.hash, validIn: query, 3 + index) else { return nil }
      sum += part
      guard !base.covers(stamp.dot) else { continue }
      if edit == nil { edit = RowEdit(stamp: stamp) }
      if edit?.add(index, stamp) != true { isMore = true }
    }
    var touches = StateVector()
    if !stamped.supersededTouches.isEmpty {
      sum += Fingerprint.touches(stamped.supersededTouches, replacing: StateVector(), name: name)
      touches = stamped.supersededTouches.beyond(base)
    }
    guard StateSum(sum) == stamped.sum else { return nil }
    if let edit, !isMore, touches.isEmpty { return .edit(edit) }
    return .state(newState(stamped, touches, query, kind))
  }

  private func newState(
    _ stamped: StampedState, _ touches: StateVector, _ query: SQLStatement, _ kind: RecordKind
  ) -> RecordState {
    var new = RecordState()
    if !base.covers(stamped.existence.dot) { new.existence = stamped.existence }
    for (index, column) in kind.columns.enumerated() {
      guard let stamp = stamped.stamp(of: column, 3 + index, in: query), !base.covers(stamp.dot) else { continue }
      new.fields.append(FieldCell(field: column.field, stamp: stamp, value: query.value(3 + index)))
    }
    new.supersededTouches = touches
    return new
  }

  /// Returns the new part of a hidden record with this body.
  /// - Returns: nil for a state with a life or layers of seeds, for one that does not match its checksum, and for bytes
  ///   that are none.
  mutating func inBody(
    _ body: UnsafeRawBufferPointer, _ name: UnsafeBufferPointer<UInt8>, _ kind: RecordKind
  ) -> RecordState? {
    // Reading the whole state tells what is wrong with it.
    try? read(body, SipHash13.hash(UnsafeRawBufferPointer(name)), kind)
  }

  private mutating func read(
    _ body: UnsafeRawBufferPointer, _ name: UInt64, _ kind: RecordKind
  ) throws -> RecordState? {
    var bytes = ByteReader(body)
    guard try bytes.byte() == StateCoding.record else { return nil }
    let stored = try bytes.stateSum()
    stamps.removeAll()
    try stamps.read(&bytes, catalog.replicas)
    var hashers = CellHashers(name: name)
    var (sum, new) = (Fingerprint(), RecordState())
    let existence = try bytes.count(limit: stamps.count, "a stamp number")
    if existence > 0 {
      let stamp = stamps[existence - 1]
      sum += hashers[stamp].existence()
      if !base.covers(stamp.dot) { new.existence = stamp }
    }
    let head = try bytes.count(limit: bytes.remaining + 1, "fields")
    guard head & 1 == 0 else { return nil }
    for _ in 0..<head >> 1 {
      let number = try bytes.varint()
      guard number & 1 == 1 else { return nil }
      let field = catalog.field(UInt32(truncatingIfNeeded: number >> 1))
      let stamp = try stamps.at(try bytes.varint())
      var copy = bytes
      sum += hashers[stamp].field(catalog.hash(of: field, kind), PackedValue(try bytes.valueBytes()))
      guard !base.covers(stamp.dot) else { continue }
      new.fields.append(FieldCell(field: field, stamp: stamp, value: try copy.value()))
    }
    let touches = try StateCoding.decodeVector(&bytes, catalog.replicas)
    if !touches.isEmpty {
      sum += Fingerprint.touches(touches, replacing: StateVector(), name: name)
      new.supersededTouches = touches.beyond(base)
    }
    for _ in 0..<(try bytes.count(ofElementsWithAtLeast: 1, "deletes")) {
      let (delete, hasher) = try readDelete(&bytes)
      sum += hasher.fingerprint(name: name)
      if !base.covers(delete.stamp.dot) { new.deletes.append(delete) }
    }
    return StateSum(sum) == stored ? new : nil
  }

  private mutating func readDelete(_ bytes: inout ByteReader) throws -> (delete: Delete, hasher: DeleteHasher) {
    let head = try bytes.varint()
    let stamp = try stamps.at(head >> 1)
    guard head & 1 == 0 else {
      let delete = Delete(stamp: stamp, context: try StateCoding.decodeVector(&bytes, catalog.replicas))
      return (delete, DeleteHasher(delete))
    }
    if let known = recent[stamp] { return known }
    let delete = Delete(stamp: stamp, context: try reader.context(of: stamp))
    let known = (delete, DeleteHasher(delete))
    recent[stamp] = known
    return known
  }
}

/// Registers that one transaction has written in a row.
struct RowEdit {
  let stamp: Stamp
  /// Bit *i* for the table's column *i*.
  private var columns: UInt64 = 0

  init(stamp: Stamp) { self.stamp = stamp }

  var count: Int { columns.nonzeroBitCount }

  func contains(_ column: Int) -> Bool { column < UInt64.bitWidth && columns >> UInt64(column) & 1 != 0 }

  /// Adds a column.
  /// - Returns: false if it has another stamp, or a place beyond what fits.
  fileprivate mutating func add(_ column: Int, _ stamp: Stamp) -> Bool {
    guard stamp == self.stamp, column < UInt64.bitWidth else { return false }
    columns |= 1 << UInt64(column)
    return true
  }

  /// The registers as a state, with their values from the current row of a query for the kind's rows.
  func state(in query: SQLStatement, _ kind: RecordKind) -> RecordState {
    var state = RecordState()
    for (index, column) in kind.columns.enumerated() where contains(index) {
      state.fields.append(FieldCell(field: column.field, stamp: stamp, value: query.value(3 + index)))
    }
    return state
  }
}

extension StampedState {
  /// The stamp of a column's register, by whether the row has its default there; nil if it has none.
  fileprivate func stamp(of column: Column, _ place: Int, in query: SQLStatement) -> Stamp? {
    let isDefault = column.defaultValue.isNull ? query.isNull(place) : column.isDefault(query.value(place))
    return stamp(of: column.field, isDefault: isDefault)
  }
}

extension CellHasher {
  /// The hash of a field cell whose value is in a column of a query; nil for a text that is not UTF-8.
  @inline(__always)
  fileprivate func field(_ field: UInt64, validIn query: SQLStatement, _ column: Int) -> Fingerprint? {
    switch query.type(column) {
    case SQLITE_INTEGER: self.field(field, integer: query.int64(column))
    case SQLITE_TEXT:
      query.withBytes(ofText: column) { text in
        text.isASCII || String(validating: text, as: UTF8.self) != nil
          ? self.field(field, bytes: UnsafeRawBufferPointer(text), isText: true) : nil
      }
    case SQLITE_BLOB: query.withBlob(column) { self.field(field, bytes: $0, isText: false) }
    default: self.field(field, query.value(column))
    }
  }

  /// The hash of a field cell with a value as it is in a body.
  @inline(__always)
  fileprivate func field(_ field: UInt64, _ value: PackedValue) -> Fingerprint {
    switch value {
    case .null: self.field(field, Value.null)
    case .integer(let number): self.field(field, integer: number)
    case .real(let number): self.field(field, Value.real(number))
    case .text(let text): self.field(field, bytes: UnsafeRawBufferPointer(text), isText: true)
    case .blob(let bytes): self.field(field, bytes: bytes, isText: false)
    case .name(let type, let high, let low):
      RecordKey.withName(type, high, low) { self.field(field, bytes: UnsafeRawBufferPointer($0), isText: true) }
    }
  }
}

extension RecordKey {
  /// Calls `body` with the bytes of the name of a type and a UUID, which are gone afterwards.
  fileprivate static func withName<T>(
    _ type: UnsafeBufferPointer<UInt8>, _ high: UInt64, _ low: UInt64, _ body: (UnsafeBufferPointer<UInt8>) -> T
  ) -> T {
    let delimiter = AnyRecordName.delimiter.utf8
    let count = type.count + delimiter.count + 36
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) { memory in
      _ = memory.update(fromContentsOf: type)
      _ = UnsafeMutableBufferPointer(rebasing: memory[type.count...]).update(fromContentsOf: delimiter)
      write(high, low, to: UnsafeMutableBufferPointer(rebasing: memory[(count - 36)...]))
      return body(UnsafeBufferPointer(memory))
    }
  }
}
