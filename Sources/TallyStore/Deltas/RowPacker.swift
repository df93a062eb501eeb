import GRDBSQLite
import TallyCRDT
import TallyWire

/// Takes rows that one transaction inserted, and nobody has touched since, from a query to a block without making
/// states of them.
struct RowPacker {
  private let kind: RecordKind
  private let reader: StateReader
  private let sum: ContentSum?
  /// The clock of the row before, and the stamp that it stands for.
  private var last: (clock: InlineClock, stamp: Stamp)?

  /// A packer for the rows of a kind; nil if it has too many columns.
  /// - Parameter sum: what sums the records that are packed.
  init?(_ kind: RecordKind, _ reader: StateReader, _ sum: ContentSum? = nil) {
    guard kind.columns.count <= PackedRecords.maximumFields else { return nil }
    (self.kind, self.reader, self.sum) = (kind, reader, sum)
  }

  /// Adds the current row of a query for the kind's rows.
  /// - Returns: false for a row that needs a state: it has several stamps, a key that is no UUID, or values of many
  ///   bytes.
  mutating func pack(
    _ query: SQLStatement, into builder: inout BlockBuilder, _ body: (BlockDraft) throws -> Void
  ) throws -> Bool {
    let clock = try query.clock(2)
    guard let stamp = try stamp(clock), let key = query.withBytes(ofText: 1, kind.uuid) else { return false }
    last = (clock, stamp)
    let limit = (3..<3 + kind.columns.count).reduce(0) { $0 + ValuePacker.limit(query.byteCount($1)) }
    guard limit <= WireLimits.targetBlockBytes else { return false }
    // What fails to be packed is read and summed as a state.
    var part: Fingerprint?
    let isPacked = try builder.pack(key, stamp, kind, limit: limit, body) { packer in
      var mask: UInt64 = 0
      for (place, index) in kind.wireOrder.enumerated() {
        switch packer.pack(query, 3 + index, unless: kind.columns[index].defaultValue) {
        case .packed: mask |= 1 << UInt64(place)
        case .isDefault: break
        case .isNotUTF8: return nil
        }
      }
      if sum != nil { part = kind.fingerprint(query, stamp, mask) }
      return mask
    }
    // What the receiver has is left out, and counts all the same.
    if isPacked, let sum { sum += part ?? kind.fingerprint(query, stamp, mask(query)) }
    return isPacked
  }

  /// The columns that have a cell.
  private func mask(_ query: SQLStatement) -> UInt64 {
    kind.wireOrder.enumerated().reduce(0) { mask, column in
      let isDefault = query.value(3 + column.element) == kind.columns[column.element].defaultValue
      return isDefault ? mask : mask | 1 << UInt64(column.offset)
    }
  }

  private func stamp(_ clock: InlineClock) throws -> Stamp? {
    if let last, last.clock == clock { return last.stamp }
    guard case .uniform = clock else { return nil }
    return try reader.stamp(clock)
  }
}

extension ValuePacker {
  fileprivate enum Outcome {
    case packed
    case isDefault
    case isNotUTF8
  }

  /// Writes the value of a column, or nothing if it is the default.
  fileprivate mutating func pack(_ query: SQLStatement, _ column: Int, unless defaultValue: Value) -> Outcome {
    let type = query.type(column)
    if type == SQLITE_NULL, defaultValue.isNull { return .isDefault }
    if !defaultValue.isNull, query.value(column) == defaultValue { return .isDefault }
    switch type {
    case SQLITE_INTEGER: integer(query.int64(column))
    case SQLITE_FLOAT:
      let number = query.double(column)
      real(number == 0 ? 0 : number)
    case SQLITE_TEXT:
      return query.withBytes(ofText: column) { text in
        guard text.isASCII || String(validating: text, as: UTF8.self) != nil else { return .isNotUTF8 }
        self.text(text)
        return .packed
      }
    case SQLITE_BLOB: query.withBlob(column) { blob($0) }
    default: null()
    }
    return .packed
  }
}
