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

  /// The fingerprint of nothing.
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

  /// Adds what `other` sums.
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
  /// Thirty-two hexadecimal digits.
  public var description: String { Hexadecimal.text(first) + Hexadecimal.text(second) }
}

extension Fingerprint {
  /// The hash of the existence cell of the record whose name hashes to `name`.
  @inlinable
  public static func existence(name: UInt64, stamp: Stamp) -> Fingerprint {
    cell(kind: 1, name: name, part: 0, stamp: stamp, value: .null)
  }

  /// The hash of a field cell; `field` is the hash of the field's wire name.
  @inlinable
  public static func field(name: UInt64, field: UInt64, stamp: Stamp, value: Value) -> Fingerprint {
    cell(kind: 2, name: name, part: field, stamp: stamp, value: value)
  }

  /// The hash of a tag, removed or not: `link` is the hash of relationship and source, `target` that of the target's
  /// name.
  @inlinable
  public static func tag(link: UInt64, target: UInt64, stamp: Stamp) -> Fingerprint {
    cell(kind: 3, name: link, part: target, stamp: stamp, value: .null)
  }

  /// The hash of a field cell whose value is at hand as bytes: of a text if `isText`, else of a blob.
  package static func field(
    name: UInt64, field: UInt64, stamp: Stamp, bytes: UnsafeRawBufferPointer, isText: Bool
  ) -> Fingerprint {
    cell(kind: 2, name: name, part: field, stamp: stamp, tag: isText ? Value.text("").tag : Value.blob([]).tag) {
      $0.combine(bytes: bytes)
    }
  }

  @usableFromInline
  static func cell(kind: UInt64, name: UInt64, part: UInt64, stamp: Stamp, value: Value) -> Fingerprint {
    cell(kind: kind, name: name, part: part, stamp: stamp, tag: value.tag) { hash in
      switch value {
      case .null: break
      case .integer(let number): hash.combine(word: UInt64(bitPattern: number))
      case .real(let number): hash.combine(word: number.bitPattern)
      case .text(let text): hash.combine(text: text)
      case .blob(let bytes): bytes.withUnsafeBytes { hash.combine(bytes: $0) }
      }
    }
  }

  @inline(__always)
  private static func cell(
    kind: UInt64, name: UInt64, part: UInt64, stamp: Stamp, tag: UInt8, _ value: (inout SipHash) -> Void
  ) -> Fingerprint {
    var hash = SipHash(wide: true)
    hash.combine(word: kind << 56 | UInt64(stamp.rank.rawValue) << 48 | stamp.time.milliseconds)
    hash.combine(word: name)
    hash.combine(word: part)
    hash.combine(word: stamp.dot.replica.high)
    hash.combine(word: stamp.dot.replica.low)
    hash.combine(word: stamp.dot.sequence)
    hash.combine(byte: tag)
    value(&hash)
    let (first, second) = hash.finalizedWide()
    return Fingerprint(first: first, second: second)
  }
}
