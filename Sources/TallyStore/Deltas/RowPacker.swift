import GRDBSQLite
import TallyCRDT
import TallyWire

/// Takes rows that one transaction inserted, and nobody has touched since, from a query to a block without making
/// states of them.
struct RowPacker {
  private let kind: RecordKind
  private let reader: StateReader
  private let prefix: [UInt8]
  /// The clock of the row before, and the stamp that it stands for.
  private var last: (clock: InlineClock, stamp: Stamp)?

  /// A packer for the rows of a kind; nil if it has too many columns.
  init?(_ kind: RecordKind, _ reader: StateReader) {
    guard kind.columns.count <= PackedRecords.maximumFields else { return nil }
    (self.kind, self.reader) = (kind, reader)
    prefix = Array("\(kind.type)\(AnyRecordName.delimiter)".utf8)
  }

  /// Adds the current row of a query for the kind's rows.
  /// - Returns: false for a row that needs a state: it has several stamps, a key that is no UUID, or values of many
  ///   bytes.
  mutating func pack(
    _ query: SQLStatement, into builder: inout BlockBuilder, _ body: (BlockDraft) throws -> Void
  ) throws -> Bool {
    let clock = try query.clock(2)
    guard let stamp = try stamp(clock), let key = query.withBytes(ofText: 1, key) else { return false }
    last = (clock, stamp)
    let limit = (3..<3 + kind.columns.count).reduce(0) { $0 + ValuePacker.limit(query.byteCount($1)) }
    guard limit <= WireLimits.targetBlockBytes else { return false }
    return try builder.pack(key, stamp, kind, limit: limit, body) { packer in
      var mask: UInt64 = 0
      for (place, index) in kind.wireOrder.enumerated() {
        switch packer.pack(query, 3 + index, unless: kind.columns[index].defaultValue) {
        case .packed: mask |= 1 << UInt64(place)
        case .isDefault: break
        case .isNotUTF8: return nil
        }
      }
      return mask
    }
  }

  private func stamp(_ clock: InlineClock) throws -> Stamp? {
    if let last, last.clock == clock { return last.stamp }
    guard case .uniform = clock else { return nil }
    return try reader.stamp(clock)
  }

  private func key(_ name: UnsafeBufferPointer<UInt8>) -> (high: UInt64, low: UInt64)? {
    guard name.count == prefix.count + 36, name.starts(with: prefix) else { return nil }
    return RecordKey.uuid(UnsafeBufferPointer(rebasing: name[prefix.count...]))
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
