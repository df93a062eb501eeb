/// A 128-bit sum over the live content of a zone, kept up to date with each change.
///
/// A state vector is a claim about content; the fingerprint checks it: two replicas with equal vectors must have
/// equal fingerprints. It sums one hash per live cell (name, field, stamp and value), where live means not covered by a
/// delete of the record, and for relationships, tags that are not removed. It is independent of the schema and of
/// tombstones, so compaction does not change it; so it does not show a lost superseded touch either. Incremental multiset
/// hashing by addition: Clarke et al., "Incremental multiset hash functions" (2003), here with SipHash, which finds faults and
/// not forgers.
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
  public var description: String { hexadecimal(first) + hexadecimal(second) }
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

  /// The hash of a live tag: `link` is the hash of relationship and source, `target` that of the target's name.
  @inlinable
  public static func tag(link: UInt64, target: UInt64, stamp: Stamp) -> Fingerprint {
    cell(kind: 3, name: link, part: target, stamp: stamp, value: .null)
  }

  @usableFromInline
  static func cell(kind: UInt64, name: UInt64, part: UInt64, stamp: Stamp, value: Value) -> Fingerprint {
    var hash = SipHash(wide: true)
    hash.combine(word: kind << 56 | UInt64(stamp.rank.rawValue) << 48 | stamp.time.milliseconds)
    hash.combine(word: name)
    hash.combine(word: part)
    hash.combine(word: stamp.dot.replica.high)
    hash.combine(word: stamp.dot.replica.low)
    hash.combine(word: stamp.dot.sequence)
    hash.combine(byte: value.tag)
    switch value {
    case .null: break
    case .integer(let number): hash.combine(word: UInt64(bitPattern: number))
    case .real(let number): hash.combine(word: number.bitPattern)
    case .text(let text): hash.combine(text: text)
    case .blob(let bytes): bytes.withUnsafeBytes { hash.combine(bytes: $0) }
    }
    let (first, second) = hash.finalizedWide()
    return Fingerprint(first: first, second: second)
  }
}

extension RecordState {
  /// What this record adds to the fingerprint: its cells that no delete covers.
  /// - Parameters:
  ///   - name: the hash of the record's name.
  ///   - fieldHash: the hash of a field's wire name.
  public func fingerprint(name: UInt64, fieldHash: (FieldID) -> UInt64) -> Fingerprint {
    let covered = deletedContext
    var sum = Fingerprint()
    if let existence, !covered.covers(existence.dot) {
      sum += .existence(name: name, stamp: existence)
    }
    for cell in fields where !covered.covers(cell.stamp.dot) {
      sum += .field(name: name, field: fieldHash(cell.field), stamp: cell.stamp, value: cell.value)
    }
    if let seed { sum += seed.fingerprint(name: name, fieldHash: fieldHash) }
    return sum
  }
}

extension SeedState {
  /// What the layers and the basis add to the fingerprint. They count whether or not the record was deleted: they are never
  /// compacted, since a deleted seed must stay recognizable.
  public func fingerprint(name: UInt64, fieldHash: (FieldID) -> UInt64) -> Fingerprint {
    var sum = Fingerprint()
    for layer in layers {
      sum += .cell(kind: 4, name: name, part: layer.isRetired ? 1 : 0, stamp: layer.stamp, value: .null)
      for cell in layer.fields {
        sum += .cell(kind: 5, name: name, part: fieldHash(cell.field), stamp: cell.stamp, value: cell.value)
      }
    }
    if let basis {
      sum += .cell(kind: 6, name: name, part: 0, stamp: basis.stamp, value: .text("\(basis.layer.dot)"))
    }
    return sum
  }
}

extension ORSetElement {
  /// What this element adds to the fingerprint: its live tags that no delete of the source covers.
  public func fingerprint(link: UInt64, target: UInt64, deletedContext: StateVector) -> Fingerprint {
    var sum = Fingerprint()
    for tag in tags where tag.removed == nil && !deletedContext.covers(tag.added.dot) {
      sum += .tag(link: link, target: target, stamp: tag.added)
    }
    return sum
  }
}
