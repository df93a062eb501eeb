#if canImport(CTallySystem)
  internal import CTallySystem
#endif

/// SHA-256 (FIPS 180-4). For identities that hash content, not for secrets: see the decision record on hashing.
///
/// It uses the processor's instructions for it where there are any: those hash more than a gigabyte a second, and Swift
/// alone a fifth of a gigabyte.
package struct SHA256 {
  private static let initial: [UInt32] = [
    0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19,
  ]

  private var state = Self.initial
  /// What is left of the bytes so far beyond whole blocks, and their number.
  private var rest: [UInt8] = []
  private var byteCount: UInt64 = 0
  private let usesProcessor: Bool

  /// Creates a hash of nothing so far.
  /// - Parameter isPortable: whether to do without the processor's instructions, for tests.
  package init(isPortable: Bool = false) { usesProcessor = !isPortable && Self.hasInstructions }

  /// Whether this processor has instructions for it.
  package static let hasInstructions: Bool = {
    #if canImport(CTallySystem)
      tally_sha256_is_available() != 0
    #else
      false
    #endif
  }()

  /// The thirty-two bytes of the hash.
  package static func hash(_ bytes: [UInt8]) -> [UInt8] {
    var hash = SHA256()
    hash.update(bytes[...])
    return hash.finalized()
  }

  /// Takes in more bytes.
  package mutating func update(_ bytes: ArraySlice<UInt8>) { bytes.withUnsafeBytes { update($0) } }

  /// Takes in more bytes.
  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    byteCount += UInt64(bytes.count)
    var start = 0
    if !rest.isEmpty {
      start = min(64 - rest.count, bytes.count)
      rest += bytes[..<start]
      guard rest.count == 64 else { return }
      rest.withUnsafeBytes { compress($0) }
      rest = []
    }
    let whole = (bytes.count - start) / 64 * 64
    compress(UnsafeRawBufferPointer(rebasing: bytes[start..<start + whole]))
    rest += bytes[(start + whole)...]
  }

  /// The thirty-two bytes of the hash of all that was taken in.
  package consuming func finalized() -> [UInt8] {
    var end = rest + [0x80]
    end += [UInt8](repeating: 0, count: (120 - end.count % 64) % 64)
    let bitCount = byteCount * 8
    end += (0..<8).map { UInt8(truncatingIfNeeded: bitCount >> UInt64(56 - 8 * $0)) }
    end.withUnsafeBytes { compress($0) }
    return MerkleDamgard.bytes(state)
  }

  /// Takes in whole blocks.
  private mutating func compress(_ blocks: UnsafeRawBufferPointer) {
    guard let first = blocks.baseAddress, !blocks.isEmpty else { return }
    #if canImport(CTallySystem)
      if usesProcessor {
        state.withUnsafeMutableBufferPointer {
          tally_sha256_compress($0.baseAddress, first.assumingMemoryBound(to: UInt8.self), blocks.count / 64)
        }
        return
      }
    #endif
    // Pointers, since a relay's client hashes megabytes: an array's checks take ten times as long in a debug build.
    Self.constants.withUnsafeBufferPointer { constants in
      state.withUnsafeMutableBufferPointer { state in
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { words in
          var start = 0
          while start < blocks.count {
            Self.compress(state, blocks, from: start, words, constants)
            start += 64
          }
        }
      }
    }
  }

  /// Takes in a block. `w` is room for its 64 words.
  private static func compress(
    _ state: UnsafeMutableBufferPointer<UInt32>, _ bytes: UnsafeRawBufferPointer, from start: Int,
    _ w: UnsafeMutableBufferPointer<UInt32>, _ constants: UnsafeBufferPointer<UInt32>
  ) {
    var index = 0
    while index < 16 {
      w[index] = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: start + 4 * index, as: UInt32.self))
      index += 1
    }
    while index < 64 {
      let (a, b) = (w[index - 15], w[index - 2])
      let s0 = (a &>> 7 | a &<< 25) ^ (a &>> 18 | a &<< 14) ^ a &>> 3
      let s1 = (b &>> 17 | b &<< 15) ^ (b &>> 19 | b &<< 13) ^ b &>> 10
      w[index] = w[index - 16] &+ s0 &+ w[index - 7] &+ s1
      index += 1
    }
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    index = 0
    while index < 64 {
      let s1 = (e &>> 6 | e &<< 26) ^ (e &>> 11 | e &<< 21) ^ (e &>> 25 | e &<< 7)
      let first = h &+ s1 &+ (e & f ^ ~e & g) &+ constants[index] &+ w[index]
      let s0 = (a &>> 2 | a &<< 30) ^ (a &>> 13 | a &<< 19) ^ (a &>> 22 | a &<< 10)
      let majority = a & b ^ a & c ^ b & c
      (h, g, f, e) = (g, f, e, d &+ first)
      (d, c, b, a) = (c, b, a, first &+ s0 &+ majority)
      index += 1
    }
    state[0] &+= a
    state[1] &+= b
    state[2] &+= c
    state[3] &+= d
    state[4] &+= e
    state[5] &+= f
    state[6] &+= g
    state[7] &+= h
  }

  private static let constants: [UInt32] = [
    0x428A_2F98, 0x7137_4491, 0xB5C0_FBCF, 0xE9B5_DBA5, 0x3956_C25B, 0x59F1_11F1, 0x923F_82A4, 0xAB1C_5ED5,
    0xD807_AA98, 0x1283_5B01, 0x2431_85BE, 0x550C_7DC3, 0x72BE_5D74, 0x80DE_B1FE, 0x9BDC_06A7, 0xC19B_F174,
    0xE49B_69C1, 0xEFBE_4786, 0x0FC1_9DC6, 0x240C_A1CC, 0x2DE9_2C6F, 0x4A74_84AA, 0x5CB0_A9DC, 0x76F9_88DA,
    0x983E_5152, 0xA831_C66D, 0xB003_27C8, 0xBF59_7FC7, 0xC6E0_0BF3, 0xD5A7_9147, 0x06CA_6351, 0x1429_2967,
    0x27B7_0A85, 0x2E1B_2138, 0x4D2C_6DFC, 0x5338_0D13, 0x650A_7354, 0x766A_0ABB, 0x81C2_C92E, 0x9272_2C85,
    0xA2BF_E8A1, 0xA81A_664B, 0xC24B_8B70, 0xC76C_51A3, 0xD192_E819, 0xD699_0624, 0xF40E_3585, 0x106A_A070,
    0x19A4_C116, 0x1E37_6C08, 0x2748_774C, 0x34B0_BCB5, 0x391C_0CB3, 0x4ED8_AA4A, 0x5B9C_CA4F, 0x682E_6FF3,
    0x748F_82EE, 0x78A5_636F, 0x84C8_7814, 0x8CC7_0208, 0x90BE_FFFA, 0xA450_6CEB, 0xBEF9_A3F7, 0xC671_78F2,
  ]
}

/// SHA-1 (FIPS 180-4), for the UUIDs of version 5 that RFC 9562 defines with it.
package struct SHA1 {
  /// The twenty bytes of the hash.
  package static func hash(_ bytes: [UInt8]) -> [UInt8] {
    var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
    let padded = MerkleDamgard.padded(bytes)
    for start in stride(from: 0, to: padded.count, by: 64) { compress(&state, padded[start..<start + 64]) }
    return MerkleDamgard.bytes(state)
  }

  private static func compress(_ state: inout [UInt32], _ block: ArraySlice<UInt8>) {
    var w = MerkleDamgard.words(block)
    w.reserveCapacity(80)
    for index in 16..<80 { w.append(rotateLeft(w[index - 3] ^ w[index - 8] ^ w[index - 14] ^ w[index - 16], 1)) }
    var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
    for index in 0..<80 {
      let (mixed, constant): (UInt32, UInt32) =
        switch index {
        case ..<20: (b & c | ~b & d, 0x5A82_7999)
        case ..<40: (b ^ c ^ d, 0x6ED9_EBA1)
        case ..<60: (b & c | b & d | c & d, 0x8F1B_BCDC)
        default: (b ^ c ^ d, 0xCA62_C1D6)
        }
      (a, b, c, d, e) = (rotateLeft(a, 5) &+ mixed &+ e &+ constant &+ w[index], a, rotateLeft(b, 30), c, d)
    }
    for (index, word) in [a, b, c, d, e].enumerated() { state[index] &+= word }
  }

  private static func rotateLeft(_ word: UInt32, _ count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
}

/// The part that both hashes share: padding to blocks of 64 bytes, big-endian words.
private enum MerkleDamgard {
  static func padded(_ bytes: [UInt8]) -> [UInt8] {
    var padded = bytes + [0x80]
    padded += [UInt8](repeating: 0, count: (120 - padded.count % 64) % 64)
    let bitCount = UInt64(bytes.count) * 8
    return padded + (0..<8).map { UInt8(truncatingIfNeeded: bitCount >> UInt64(56 - 8 * $0)) }
  }

  static func words(_ block: ArraySlice<UInt8>) -> [UInt32] {
    stride(from: block.startIndex, to: block.endIndex, by: 4).map { start in
      block[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
  }

  static func bytes(_ words: [UInt32]) -> [UInt8] {
    words.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> UInt32(24 - 8 * $0)) } }
  }
}
