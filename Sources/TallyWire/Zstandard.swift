import TallyCRDT

#if canImport(CZstd)
  import CZstd
#else
  import libzstd
#endif

/// Compresses the blocks of one delta, with memory that they share.
final class Compressor {
  static let level: Int32 = 3
  private var context: OpaquePointer?
  private var scratch: [UInt8] = []

  deinit { ZSTD_freeCCtx(context) }

  /// The compressed bytes, or nil if they are not fewer.
  func compress(_ bytes: [UInt8]) -> [UInt8]? {
    guard bytes.count >= 64 else { return nil }
    if context == nil { context = ZSTD_createCCtx() }
    guard let context else { return nil }
    let bound = ZSTD_compressBound(bytes.count)
    if scratch.count < bound { scratch = [UInt8](repeating: 0, count: bound) }
    let written = scratch.withUnsafeMutableBytes {
      ZSTD_compressCCtx(context, $0.baseAddress, bound, bytes, bytes.count, Self.level)
    }
    guard ZSTD_isError(written) == 0, written < bytes.count else { return nil }
    return Array(scratch[..<written])
  }
}

/// zstd (RFC 8878), one frame a block.
enum Zstandard {
  /// The error of zstd for a result that has no room (`ZSTD_error_dstSize_tooSmall`; its numbers do not change).
  private static let tooSmall = 70

  /// Decompresses exactly `size` bytes, into memory of that size, which costs nothing before it is written to. A frame
  /// whose headers tell that it becomes more, as those of a bomb do, is refused before; any other at that size.
  static func decompress(_ bytes: UnsafeRawBufferPointer, size: Int) throws(WireError) -> [UInt8] {
    let least = try ZstandardFrame(bytes).leastByteCount
    guard least <= size else { throw WireError(.limitExceeded, "a block decompresses to more than it says") }
    var status = 0
    let result = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      status = ZSTD_decompress(buffer.baseAddress, size, bytes.baseAddress, bytes.count)
      count = ZSTD_isError(status) == 0 ? status : 0
    }
    guard ZSTD_isError(status) == 0 else {
      guard 0 &- status != tooSmall else {
        throw WireError(.limitExceeded, "a block decompresses to more than it says")
      }
      throw WireError(.compression, "a block does not decompress")
    }
    guard result.count == size else { throw WireError(.compression, "a block decompresses to less than it says") }
    return result
  }
}
