#if Postgres
  import CLibPQ

  /// A parameter of a statement, sent in PostgreSQL's binary form.
  enum PostgresValue: Sendable {
    case integer(Int64?)
    case text(String?)
    case bytes([UInt8]?)
    case integers([Int64])
    case texts([String])
    case byteStrings([[UInt8]?])

    /// The number of the type in PostgreSQL's catalog (`pg_type.dat`).
    var type: Oid {
      switch self {
      case .integer: 20
      case .text: 25
      case .bytes: 17
      case .integers: 1016
      case .texts: 1009
      case .byteStrings: 1001
      }
    }

    /// The bytes; nil for null.
    var binary: [UInt8]? {
      switch self {
      case .integer(let value): value.map(Self.bigEndian)
      case .text(let value): value.map { Array($0.utf8) }
      case .bytes(let value): value
      case .integers(let values): Self.array(of: 20, values.map(Self.bigEndian))
      case .texts(let values): Self.array(of: 25, values.map { Array($0.utf8) })
      case .byteStrings(let values): Self.array(of: 17, values)
      }
    }

    /// `array_recv` of PostgreSQL: dimensions, whether there are nulls, type; length and lower bound; elements.
    private static func array(of type: Int32, _ elements: [[UInt8]?]) -> [UInt8] {
      let hasNull = elements.contains { $0 == nil }
      var bytes = bigEndian(Int32(elements.isEmpty ? 0 : 1)) + bigEndian(Int32(hasNull ? 1 : 0)) + bigEndian(type)
      guard !elements.isEmpty else { return bytes }
      bytes.reserveCapacity(elements.reduce(20) { $0 + 4 + ($1?.count ?? 0) })
      bytes += bigEndian(Int32(elements.count)) + bigEndian(Int32(1))
      for element in elements {
        bytes += bigEndian(Int32(element?.count ?? -1))
        if let element { bytes += element }
      }
      return bytes
    }

    private static func bigEndian(_ value: some FixedWidthInteger) -> [UInt8] {
      withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }
  }

  /// A row of a result, in PostgreSQL's binary form.
  struct PostgresRow: Sendable {
    private let columns: [[UInt8]?]

    /// Copies a row.
    init(_ result: OpaquePointer, _ row: Int32) {
      columns = (0..<PQnfields(result)).map { column in
        guard PQgetisnull(result, row, column) == 0, let start = PQgetvalue(result, row, column) else { return nil }
        return Array(UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(result, row, column))))
      }
    }

    func optionalBytes(_ column: Int) -> [UInt8]? { columns[column] }

    func bytes(_ column: Int) throws -> [UInt8] {
      guard let bytes = columns[column] else {
        throw PostgresError(state: nil, message: "a value is missing in the relay's tables", mayRepeat: false)
      }
      return bytes
    }

    func text(_ column: Int) throws -> String { String(decoding: try bytes(column), as: UTF8.self) }

    func integer(_ column: Int) throws -> Int64 {
      let bytes = try bytes(column)
      switch bytes.count {
      case 2: return Int64(Int16(truncatingIfNeeded: Self.number(bytes)))
      case 4: return Int64(Int32(truncatingIfNeeded: Self.number(bytes)))
      default: return Self.number(bytes)
      }
    }

    func optionalInteger(_ column: Int) throws -> Int64? { columns[column] == nil ? nil : try integer(column) }

    private static func number(_ bytes: [UInt8]) -> Int64 { bytes.reduce(0) { $0 << 8 | Int64($1) } }
  }
#endif
