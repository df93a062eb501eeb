/// SipHash-2-4: checksums and hashes of texts.
public typealias SipHash = SipHasher<SipRounds24>

/// SipHash-1-3, with half of the rounds: the hashes that a fingerprint sums, of which a store computes the most.
public typealias SipHash13 = SipHasher<SipRounds13>

/// The number of rounds that a SipHash makes for each word and at the end.
public protocol SipRounds {
  /// The number of rounds for each word.
  static var compression: Int { get }
  /// The number of rounds at the end.
  static var finalization: Int { get }
}

/// The numbers of rounds of SipHash-2-4.
public enum SipRounds24: SipRounds {
  /// Two rounds for each word.
  @inlinable public static var compression: Int { 2 }
  /// Four rounds at the end.
  @inlinable public static var finalization: Int { 4 }
}

/// The numbers of rounds of SipHash-1-3.
public enum SipRounds13: SipRounds {
  /// One round for each word.
  @inlinable public static var compression: Int { 1 }
  /// Three rounds at the end.
  @inlinable public static var finalization: Int { 3 }
}

/// SipHash with 64 or 128 bits of output (Aumasson and Bernstein, 2012), over bytes or 64-bit words.
///
/// It detects faults: the key is public, so it does not stop a forger. The results are part of the formats.
public struct SipHasher<Rounds: SipRounds>: Sendable {
  @usableFromInline var v0, v1, v2, v3: UInt64
  @usableFromInline var tail: UInt64 = 0
  @usableFromInline var count: UInt64 = 0
  @usableFromInline let isWide: Bool

  /// Starts a hash. The default key is the sixteen bytes 0 to 15.
  @inlinable
  public init(k0: UInt64 = 0x0706_0504_0302_0100, k1: UInt64 = 0x0F0E_0D0C_0B0A_0908, wide: Bool = false) {
    v0 = 0x736F_6D65_7073_6575 ^ k0
    v1 = 0x646F_7261_6E64_6F6D ^ k1
    v2 = 0x6C79_6765_6E65_7261 ^ k0
    v3 = 0x7465_6462_7974_6573 ^ k1
    isWide = wide
    if wide { v1 ^= 0xEE }
  }

  @inlinable @inline(__always)
  mutating func round() {
    v0 = v0 &+ v1
    v1 = v1 << 13 | v1 >> 51
    v1 ^= v0
    v0 = v0 << 32 | v0 >> 32
    v2 = v2 &+ v3
    v3 = v3 << 16 | v3 >> 48
    v3 ^= v2
    v0 = v0 &+ v3
    v3 = v3 << 21 | v3 >> 43
    v3 ^= v0
    v2 = v2 &+ v1
    v1 = v1 << 17 | v1 >> 47
    v1 ^= v2
    v2 = v2 << 32 | v2 >> 32
  }

  @inlinable @inline(__always)
  mutating func compress(_ word: UInt64) {
    v3 ^= word
    for _ in 0..<Rounds.compression { round() }
    v0 ^= word
  }

  /// Feeds one byte into the hash.
  @inlinable @inline(__always)
  public mutating func combine(byte: UInt8) { combine(low: UInt64(byte), count: 1) }

  /// Feeds the eight bytes of a word, least significant first.
  @inlinable @inline(__always)
  public mutating func combine(word: UInt64) {
    let shift = 8 * (count & 7)
    count &+= 8
    guard shift != 0 else { return compress(word) }
    compress(tail | word << shift)
    tail = word >> (64 - shift)
  }

  /// Feeds bytes into the hash, in their order.
  @inlinable @inline(__always)
  public mutating func combine(bytes: UnsafeRawBufferPointer) {
    // In a copy, the state stays in registers.
    var hash = self
    var offset = 0
    while offset + 8 <= bytes.count {
      hash.combine(word: UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
      offset += 8
    }
    hash.combine(lastBytes: bytes, from: offset)
    self = hash
  }

  /// Feeds the bytes from `offset` on, fewer than eight.
  @inlinable @inline(__always)
  mutating func combine(lastBytes bytes: UnsafeRawBufferPointer, from offset: Int) {
    let rest = bytes.count - offset
    guard rest > 0 else { return }
    let word: UInt64
    if offset > 0 {
      // The last eight bytes, without those that were fed.
      word =
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self)) >> (64 - 8 * rest)
    } else if rest >= 4 {
      let low = UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self))
      let high = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: rest - 4, as: UInt32.self))
      word = UInt64(low) | UInt64(high) << (8 * (rest - 4))
    } else {
      // The first, the middle and the last are all of at most three.
      word =
        UInt64(bytes[0]) | UInt64(bytes[rest / 2]) << (8 * (rest / 2)) | UInt64(bytes[rest - 1]) << (8 * (rest - 1))
    }
    combine(low: word, count: rest)
  }

  /// Feeds the lowest bytes of a word, one to seven; the others are zero.
  @inlinable @inline(__always)
  mutating func combine(low word: UInt64, count number: Int) {
    let held = Int(count & 7)
    tail |= word << (8 * held)
    count &+= UInt64(number)
    guard held + number >= 8 else { return }
    compress(tail)
    // With nothing held there is no carry, and fewer than eight bytes do not come here.
    tail = word >> (64 - 8 * held)
  }

  /// Feeds the UTF-8 bytes of a text.
  @inlinable
  public mutating func combine(text: String) {
    var text = text
    text.withUTF8 { combine(bytes: UnsafeRawBufferPointer($0)) }
  }

  @inlinable @inline(__always)
  mutating func finish() -> UInt64 {
    compress(tail | (count & 0xFF) << 56)
    v2 ^= isWide ? 0xEE : 0xFF
    for _ in 0..<Rounds.finalization { round() }
    return v0 ^ v1 ^ v2 ^ v3
  }

  /// The 64-bit hash of what was fed so far.
  @inlinable
  public func finalized() -> UInt64 {
    var copy = self
    return copy.finish()
  }

  /// The 128-bit hash of what was fed so far, in two halves. Only for a hash started with `wide: true`.
  @inlinable
  public func finalizedWide() -> (UInt64, UInt64) {
    precondition(isWide)
    var copy = self
    let first = copy.finish()
    copy.v1 ^= 0xDD
    for _ in 0..<Rounds.finalization { copy.round() }
    return (first, copy.v0 ^ copy.v1 ^ copy.v2 ^ copy.v3)
  }

  /// The 64-bit hash of bytes.
  @inlinable
  public static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    var hash = Self()
    hash.combine(bytes: bytes)
    return hash.finalized()
  }

  /// The 64-bit hash of a text.
  @inlinable
  public static func hash(_ text: String) -> UInt64 {
    var hash = Self()
    hash.combine(text: text)
    return hash.finalized()
  }
}

extension StateVector {
  /// The SipHash of the entries in their order: of each the two words of the replica id, and the sequence.
  package var sipHash: UInt64 {
    var hash = SipHash()
    for entry in entries {
      hash.combine(word: entry.replica.high)
      hash.combine(word: entry.replica.low)
      hash.combine(word: entry.sequence)
    }
    return hash.finalized()
  }
}
