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
  /// The binary logarithm of the largest window that a frame may ask for: that of the largest block.
  static let windowLog = Int32(WireLimits.blockBytes.trailingZeroBitCount)

  /// Decompresses exactly `size` bytes. The output grows as it is produced, so a false `size` costs no memory, and
  /// never beyond `size`, so a bomb bursts early.
  static func decompress(_ bytes: UnsafeRawBufferPointer, size: Int) throws(WireError) -> [UInt8] {
    guard let context = ZSTD_createDStream() else { throw WireError(.compression, "zstd has no memory") }
    defer { ZSTD_freeDStream(context) }
    let status = ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, windowLog)
    guard ZSTD_isError(status) == 0 else { throw WireError(.compression, "zstd refuses a window") }
    var input = ZSTD_inBuffer(src: bytes.baseAddress, size: bytes.count, pos: 0)
    var result: [UInt8] = []
    result.reserveCapacity(min(size, 1 << 20))
    var chunk = [UInt8](repeating: 0, count: min(max(size, 1), 1 << 17))
    while true {
      var produced = 0
      let status = chunk.withUnsafeMutableBytes { buffer in
        var output = ZSTD_outBuffer(dst: buffer.baseAddress, size: buffer.count, pos: 0)
        defer { produced = output.pos }
        return ZSTD_decompressStream(context, &output, &input)
      }
      guard ZSTD_isError(status) == 0 else { throw WireError(.compression, "a block does not decompress") }
      guard produced <= size - result.count else {
        throw WireError(.limitExceeded, "a block decompresses to more than it says")
      }
      result.append(contentsOf: chunk[..<produced])
      if status == 0 { break }
      if produced < chunk.count, input.pos == input.size {
        throw WireError(.compression, "a block ends within its compressed data")
      }
    }
    guard result.count == size, input.pos == input.size else {
      throw WireError(.compression, "a block decompresses to less than it says")
    }
    return result
  }
}
