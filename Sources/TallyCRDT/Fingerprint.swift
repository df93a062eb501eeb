/// A 128-bit sum over the whole state of a zone, kept up to date with each change.
///
/// A state vector is a claim about content; the fingerprint checks it: two replicas with equal vectors must have equal
/// states, and so equal fingerprints, and equal fingerprints mean, short of a collision, equal states and therefore
/// equal views. It sums a hash for each thing that a join can tell apart: existence, registers, superseded touches,
/// deletes with what they had seen, layers and basis of a seed, tags and their removals. What is deleted or removed
/// counts as anything else does, since an edit can bring it back. Replicas number fields differently, so hashes take
/// names; it is independent of the schema. Incremental multiset hashing by addition: Clarke et al., "Incremental
/// multiset hash functions" (2003), here with SipHash, which finds faults and not forgers.
public struct Fingerprint: Hashable, Sendable {
  /// The two halves of the sum, each modulo 2^64.
  public var first, second: UInt64

  /// The fingerprint of an empty state.
  @inlinable
  public init() {
    first = 0
    second = 0
  }

  /// A fingerprint from its halves.
  @inlinable
  public init(first: UInt64, second: UInt64) {
    self.first = first
    self.second = second
  }

  /// Adds everything that another fingerprint sums up. The order does not matter.
  @inlinable
  public static func += (lhs: inout Fingerprint, rhs: Fingerprint) {
    lhs.first &+= rhs.first
    lhs.second &+= rhs.second
  }

  /// Takes away what `other` sums.
  @inlinable
  public static func -= (lhs: inout Fingerprint, rhs: Fingerprint) {
    lhs.first &-= rhs.first
    lhs.second &-= rhs.second
  }
}

extension Fingerprint: CustomStringConvertible {
  /// The fingerprint as thirty-two hexadecimal digits.
  public var description: String { Hexadecimal.text(first) + Hexadecimal.text(second) }
}

/// Hashes the cells that one transaction wrote to one record, or to one link: what their hashes begin with is hashed
/// once for all of them.
public struct CellHasher: Sendable {
  /// The kind of a cell. The raw value is part of the hash.
  @usableFromInline enum Kind: UInt8 {
    case existence = 1
    case field = 2
    case tag = 3
    case layer = 4
    case layerField = 5
    case basis = 6
    case touch = 7
    case delete = 8
    case removal = 9
    case life = 10
    case via = 11
    case said = 12
    /// The place of a link in an ordered relationship.
    case place = 13
    /// The latest edit of a mergeable text.
    case textEdit = 14
    /// Elements of a mergeable text that one transaction has written or deleted.
    case textStretch = 15
  }

  @usableFromInline let prefix: SipHash13

  /// A hasher for the cells of one stamp.
  /// - Parameters:
  ///   - name: the hash of the record's name; of a link, that of relationship and source.
  ///   - stamp: the stamp that all of the cells have.
  @inlinable
  public init(name: UInt64, stamp: Stamp) {
    var hash = SipHash13(wide: true)
    hash.combine(word: UInt64(stamp.rank.rawValue) << 48 | stamp.time.milliseconds)
    hash.combine(word: stamp.dot.replica.high)
    hash.combine(word: stamp.dot.replica.low)
    hash.combine(word: stamp.dot.sequence)
    hash.combine(word: name)
    prefix = hash
  }

  /// The hash of the existence cell.
  @inlinable
  public func existence() -> Fingerprint { hash(.existence) }

  /// The hash of a field cell.
  /// - Parameters:
  ///   - field: the hash of the field's wire name.
  ///   - value: the value that the cell holds.
  /// - Returns: the hash, which the fingerprint of a state sums up.
  @inlinable
  public func field(_ field: UInt64, _ value: Value) -> Fingerprint { hash(.field, field, value) }

  /// The hash of a field cell that holds an integer.
  @inlinable @inline(__always)
  package func field(_ field: UInt64, integer: Int64) -> Fingerprint {
    hash(.field, field, tag: Value.integer(0).tag) { $0.combine(word: UInt64(bitPattern: integer)) }
  }

  /// The hash of a field cell whose value is at hand as bytes: of a text if `isText`, else of a blob.
  @inlinable @inline(__always)
  package func field(_ field: UInt64, bytes: UnsafeRawBufferPointer, isText: Bool) -> Fingerprint {
    hash(.field, field, tag: isText ? Value.text("").tag : Value.blob([]).tag) { $0.combine(bytes: bytes) }
  }

  /// The hash of a cell of any other kind.
  @usableFromInline
  func hash(_ kind: Kind, _ part: UInt64 = 0, _ value: Value = .null) -> Fingerprint {
    hash(kind, part, tag: value.tag) { hash in
      switch value {
      case .null: break
      case .integer(let number): hash.combine(word: UInt64(bitPattern: number))
      case .real(let number): hash.combine(word: number.bitPattern)
      case .text(let text): hash.combine(text: text)
      case .blob(let bytes): bytes.withUnsafeBytes { hash.combine(bytes: $0) }
      }
    }
  }

  @inlinable @inline(__always)
  func hash(_ kind: Kind, _ part: UInt64, tag: UInt8, _ value: (inout SipHash13) -> Void) -> Fingerprint {
    var hash = prefix
    hash.combine(word: part)
    value(&hash)
    hash.combine(low: UInt64(kind.rawValue) | UInt64(tag) << 8, count: 2)
    let (first, second) = hash.finalizedWide()
    return Fingerprint(first: first, second: second)
  }
}
