/// The value of one field: one of SQLite's five storage classes.
///
/// Equality and order are those of the canonical bytes: text compares as UTF-8 bytes and not by Unicode equivalence,
/// `integer(1)` differs from `real(1)`. A real is never NaN and never negative zero; `init(real:)` sees to it.
public enum Value: Sendable {
  /// No value. A field that was never written reads as its default, which is null unless declared otherwise.
  case null
  /// An integer of 64 bits with a sign.
  case integer(Int64)
  /// An IEEE 754 double; neither NaN nor negative zero.
  case real(Double)
  /// A text, stored and sent as UTF-8.
  case text(String)
  /// Bytes of any content, such as a thumbnail.
  case blob([UInt8])

  /// A real as SQLite would store it: NaN becomes null, negative zero becomes zero.
  @inlinable
  public init(real: Double) { self = real.isNaN ? .null : .real(real == 0 ? 0 : real) }

  /// Null for nil, the text otherwise.
  @inlinable
  public init(text: String?) { self = text.map(Value.text) ?? .null }

  /// The number of bytes of text or blob, 8 for numbers, 0 for null.
  public var byteCount: Int {
    switch self {
    case .null: 0
    case .integer, .real: 8
    case .text(let text): text.utf8.count
    case .blob(let bytes): bytes.count
    }
  }

  /// The number that orders and encodes the storage class.
  @inlinable
  public var tag: UInt8 {
    switch self {
    case .null: 0
    case .integer: 1
    case .real: 2
    case .text: 3
    case .blob: 4
    }
  }

  /// Whether the value is null.
  @inlinable
  public var isNull: Bool { if case .null = self { true } else { false } }
}

extension Value: Hashable, Comparable {
  /// Whether both have the same storage class and the same bytes.
  @inlinable
  public static func == (lhs: Value, rhs: Value) -> Bool {
    switch (lhs, rhs) {
    case (.null, .null): true
    case (.integer(let a), .integer(let b)): a == b
    case (.real(let a), .real(let b)): a.bitPattern == b.bitPattern
    case (.text(let a), .text(let b)): textsAreEqual(a, b)
    case (.blob(let a), .blob(let b)): a == b
    default: false
    }
  }

  /// A total order for ties between equal stamps: null, integers, reals, texts, blobs; within a class integers by size,
  /// reals by bit pattern (so negative ones after positive ones), texts and blobs by bytes. Part of the merge: it never
  /// changes.
  public static func < (lhs: Value, rhs: Value) -> Bool {
    switch (lhs, rhs) {
    case (.integer(let a), .integer(let b)): a < b
    case (.real(let a), .real(let b)): a.bitPattern < b.bitPattern
    case (.text(let a), .text(let b)): a.utf8.lexicographicallyPrecedes(b.utf8)
    case (.blob(let a), .blob(let b)): a.lexicographicallyPrecedes(b)
    default: lhs.tag < rhs.tag
    }
  }

  /// Feeds the same bytes that equality compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(tag)
    switch self {
    case .null: break
    case .integer(let number): hasher.combine(number)
    case .real(let number): hasher.combine(number.bitPattern)
    case .text(var text): text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    case .blob(let bytes): hasher.combine(bytes)
    }
  }
}

/// Whether two texts have the same bytes. `String.==` would also hold for equivalent Unicode.
@usableFromInline
func textsAreEqual(_ a: String, _ b: String) -> Bool {
  var (a, b) = (a, b)
  return a.withUTF8 { a in b.withUTF8 { a.hasSameBytes(as: $0) } }
}

extension Value: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByNilLiteral
{
  /// Creates a text from a literal.
  public init(stringLiteral value: String) { self = .text(value) }
  /// Creates an integer from a literal.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// Creates a real from a literal.
  public init(floatLiteral value: Double) { self = Value(real: value) }
  /// 1 for true, 0 for false.
  public init(booleanLiteral value: Bool) { self = .integer(value ? 1 : 0) }
  /// Creates null from the literal `nil`.
  public init(nilLiteral: ()) { self = .null }
}
