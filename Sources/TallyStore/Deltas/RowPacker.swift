import GRDBSQLite
import TallyCRDT
import TallyWire

/// Takes rows that one transaction inserted and that were not touched since, and edits of rows by one transaction, from
/// a query to a block without making states of them.
struct RowPacker {
  /// The parts of a column that packing reads. Holds no references, so that copies cost no reference counting.
  fileprivate struct PackedColumn {
    /// The position in the query.
    let place: Int
    /// The hash of the field's wire name.
    let hash: UInt64
    let hasNullDefault: Bool
  }

  private let kind: RecordKind
  /// In the order of the wire.
  private let columns: [PackedColumn]
  private let reader: StateReader
  private let sum: ContentSum?
  /// The vector of the receiver, where single rows are read. A row that it covers, or that does not match the checksum
  /// in its clock, is left to the code that makes a state of it: the change log says that there is something new.
  private let base: StateVector?
  /// The clock of the row before, and the stamp that it stands for.
  private var last: (clock: InlineClock.Uniform, stamp: Stamp)?

  /// A packer for all rows of a kind, whose records it adds to `sum`, or for single ones beyond `base`, which it
  /// compares with their checksums; nil if the kind has too many columns.
  init?(_ kind: RecordKind, _ reader: StateReader, _ sum: ContentSum? = nil, newBeyond base: StateVector? = nil) {
    guard kind.columns.count <= PackedRecords.maximumFields else { return nil }
    (self.kind, self.reader, self.sum, self.base) = (kind, reader, sum, base)
    columns = kind.wireOrder.map {
      let column = kind.columns[$0]
      return PackedColumn(place: 3 + $0, hash: column.hash, hasNullDefault: column.defaultValue.isNull)
    }
  }

  /// Adds the current row of a query for the kind's rows.
  /// - Returns: false for a row that needs a state: it has several stamps, a key that is no UUID, values of many bytes,
  ///   another checksum, or nothing that is new.
  mutating func pack(
    _ query: SQLStatement, into builder: inout BlockBuilder, _ body: (BlockDraft) throws -> Void
  ) throws -> Bool {
    guard case .uniform(let clock) = try query.clock(2), let stamp = try stamp(clock),
      let key = query.withBytes(ofText: 1, kind.uuid)
    else { return false }
    last = (clock, stamp)
    if let base, base.covers(stamp.dot) { return false }
    let limit = (3..<3 + kind.columns.count).reduce(0) { $0 + ValuePacker.limit(query.byteCount($1)) }
    guard limit <= WireLimits.targetBlockBytes else { return false }
    // What fails to be packed is read and summed as a state.
    var part: Fingerprint?
    let cells = 1 + kind.columns.count
    let isPacked = try builder.pack(key, stamp, kind, cells: cells, limit: limit, body) { packer in
      var mask: UInt64 = 0
      var row = sum == nil && base == nil ? nil : RowSum(query.hash(ofText: 1), stamp)
      for (number, column) in columns.enumerated() {
        if !column.hasNullDefault, isDefault(query, column.place) { continue }
        switch packer.pack(query, column, &row) {
        case .packed: mask |= 1 << UInt64(number)
        case .isDefault: break
        case .isNotUTF8: return nil
        }
      }
      part = row?.sum
      if base != nil, part.map(StateSum.init) != clock.sum { return nil }
      return mask
    }
    // What the receiver has is left out, and counts all the same.
    if isPacked, let sum { sum += part ?? kind.fingerprint(query, stamp) }
    return isPacked
  }

  /// Adds registers of the current row of a query for the kind's rows.
  /// - Returns: false for those that need a state: the key is no UUID, or the values have many bytes.
  func pack(
    _ edit: RowEdit, _ query: SQLStatement, into builder: inout BlockBuilder, _ body: (BlockDraft) throws -> Void
  ) throws -> Bool {
    guard let key = query.withBytes(ofText: 1, kind.uuid) else { return false }
    var limit = 0
    for column in columns where edit.contains(column.place - 3) {
      limit += ValuePacker.limit(query.byteCount(column.place))
    }
    guard limit <= WireLimits.targetBlockBytes else { return false }
    return try builder.pack(key, edit.stamp, kind, .edit, cells: edit.count, limit: limit, body) { packer in
      var (mask, row): (UInt64, RowSum?) = (0, nil)
      for (number, column) in columns.enumerated() where edit.contains(column.place - 3) {
        switch packer.pack(query, column, &row) {
        case .packed: break
        // A row says a default without a cell, and an edit says it with one.
        case .isDefault: packer.null()
        case .isNotUTF8: return nil
        }
        mask |= 1 << UInt64(number)
      }
      return mask
    }
  }

  private func isDefault(_ query: SQLStatement, _ place: Int) -> Bool {
    query.value(place) == kind.columns[place - 3].defaultValue
  }

  private func stamp(_ clock: InlineClock.Uniform) throws -> Stamp? {
    if let last, last.clock.hasStamp(of: clock) { return last.stamp }
    return try reader.stamp(.uniform(clock))
  }
}

extension ValuePacker {
  fileprivate enum Outcome {
    case packed
    case isDefault
    case isNotUTF8
  }

  /// Writes the value of a column and adds its cell to the row's sum; does neither if it is null by default.
  @inline(__always)
  fileprivate mutating func pack(
    _ query: SQLStatement, _ column: RowPacker.PackedColumn, _ row: inout RowSum?
  ) -> Outcome {
    let place = column.place
    switch query.type(place) {
    case SQLITE_INTEGER:
      let number = query.int64(place)
      integer(number)
      row?.add { $0.field(column.hash, integer: number) }
    case SQLITE_FLOAT:
      let number = query.double(place)
      real(number == 0 ? 0 : number)
      row?.add { $0.field(column.hash, query.value(place)) }
    case SQLITE_TEXT:
      return query.withBytes(ofText: place) { text in
        guard text.isASCII || String(validating: text, as: UTF8.self) != nil else { return .isNotUTF8 }
        self.text(text)
        row?.add { $0.field(column.hash, bytes: UnsafeRawBufferPointer(text), isText: true) }
        return .packed
      }
    case SQLITE_BLOB:
      query.withBlob(place) { bytes in
        blob(bytes)
        row?.add { $0.field(column.hash, bytes: bytes, isText: false) }
      }
    default:
      if column.hasNullDefault { return .isDefault }
      null()
      row?.add { $0.field(column.hash, .null) }
    }
    return .packed
  }
}

/// Computes a row's part of the fingerprint while its values are read.
private struct RowSum {
  private let hasher: CellHasher
  private(set) var sum: Fingerprint

  init(_ name: UInt64, _ stamp: Stamp) {
    hasher = CellHasher(name: name, stamp: stamp)
    sum = hasher.existence()
  }

  @inline(__always)
  mutating func add(_ cell: (CellHasher) -> Fingerprint) { sum += cell(hasher) }
}
