/// The headers of a zstd frame (RFC 8878, 3.1.1), which tell without decompressing anything how much it becomes at
/// least.
struct ZstandardFrame {
  /// The minimum number of bytes of the decompressed frame, from the blocks that are stored or that repeat one byte,
  /// and from what the frame says of itself. Of compressed blocks nothing is known.
  private(set) var leastByteCount = 0
  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  /// Reads the headers of the one frame that these bytes are.
  /// - Throws: `WireError.compression` for anything else, and for a window larger than the largest block.
  init(_ bytes: UnsafeRawBufferPointer) throws(WireError) {
    self.bytes = bytes
    guard try number(4) == Int(truncatingIfNeeded: 0xFD2F_B528 as UInt64) else { throw Self.malformed }
    let descriptor = try number(1)
    let isSingleSegment = descriptor & 0x20 != 0
    if !isSingleSegment {
      let window = try number(1)
      let (base, eighths) = (1 << (10 + (window >> 3)), window & 7)
      guard base + base / 8 * eighths <= WireLimits.blockBytes else {
        throw WireError(.compression, "a block asks for too large a window")
      }
    }
    _ = try number([0, 1, 2, 4][descriptor & 3])
    var content: Int?
    switch descriptor >> 6 {
    case 0: if isSingleSegment { content = try number(1) }
    case 1: content = try number(2) + 256
    case 2: content = try number(4)
    default: content = try number(8)
    }
    try readBlocks()
    if descriptor & 4 != 0 { _ = try number(4) }
    guard position == bytes.count else { throw Self.malformed }
    if let content {
      guard content >= 0 else { throw Self.malformed }
      leastByteCount = max(leastByteCount, content)
    }
  }

  private mutating func readBlocks() throws(WireError) {
    while true {
      let header = try number(3)
      let size = header >> 3
      switch header >> 1 & 3 {
      case 0:
        leastByteCount += size
        try skip(size)
      case 1:
        leastByteCount += size
        try skip(1)
      case 2: try skip(size)
      default: throw Self.malformed
      }
      if header & 1 == 1 { return }
    }
  }

  /// The next bytes as a number, the lowest byte first.
  private mutating func number(_ count: Int) throws(WireError) -> Int {
    let start = position
    try skip(count)
    var result: UInt64 = 0
    for offset in 0..<count { result |= UInt64(bytes[start + offset]) << (8 * UInt64(offset)) }
    return Int(truncatingIfNeeded: result)
  }

  private mutating func skip(_ count: Int) throws(WireError) {
    guard count <= bytes.count - position else {
      throw WireError(.compression, "a block ends within its compressed data")
    }
    position += count
  }

  private static let malformed = WireError(.compression, "a block is no single zstd frame")
}
