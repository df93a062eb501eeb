import TallyCRDT

/// Reads a delta piece by piece, from any source of bytes. Memory is bounded by one block, and what all blocks together
/// may become by a limit that is checked before each of them is decompressed.
///
/// The blocks may be used as they come, but nothing of them may be kept before `nextBlock()` has returned nil: only
/// then has the checksum been verified. After an error the reader must not be used further.
public struct DeltaReader {
  private let source: () throws -> [UInt8]?
  private var buffer: [UInt8] = []
  private var position = 0
  private var checksum = SipHash()
  private var isFinished = false
  private let byteLimit: UInt64
  /// The bytes of all blocks so far, before compression.
  public private(set) var blockByteCount: UInt64 = 0
  /// The delta's header, which is read first.
  public private(set) var header: DeltaHeader

  /// Reads the header.
  /// - Parameters:
  ///   - byteLimit: the most bytes that all blocks together may have before compression. The usual limit is safe
  ///     against strangers; raise it for a peer that is trusted with more of the disk.
  ///   - source: gives the next bytes, in pieces of any size; nil at the end.
  /// - Throws: `WireError`, or what the source throws.
  public init(byteLimit: UInt64 = WireLimits.deltaBytes, from source: @escaping () throws -> [UInt8]?) throws {
    self.source = source
    self.byteLimit = byteLimit
    header = DeltaHeader(base: StateVector(), target: StateVector())
    var found: (DeltaHeader, length: Int)?
    var next = 0
    repeat {
      // Trying after each doubling keeps the cost in proportion to the length, however small the pieces are.
      let isMore = try fill()
      guard buffer.count >= next || !isMore else { continue }
      found = try buffer.withUnsafeBytes { bytes throws(WireError) in try DeltaHeader.decode(bytes) }
      guard found != nil || isMore else { throw WireError(.truncated, "the delta ends within its header") }
      next = 2 * buffer.count
    } while found == nil
    guard let found else { return }
    header = found.0
    _ = try take(found.length)
  }

  /// A reader of a delta that is all there.
  /// - Parameters:
  ///   - bytes: the whole delta, from its header to its checksum.
  ///   - byteLimit: the most bytes that all blocks together may have before compression.
  /// - Throws: `WireError`.
  public init(_ bytes: [UInt8], byteLimit: UInt64 = WireLimits.deltaBytes) throws {
    var rest: [UInt8]? = bytes
    try self.init(byteLimit: byteLimit) {
      defer { rest = nil }
      return rest
    }
  }

  /// The next block; nil after the last one, when the checksum has been verified.
  /// - Throws: `WireError`: `limitExceeded` also where the block would bring all of them above the limit, which is
  ///   found before it is read; or what the source throws. Discard everything read so far.
  public mutating func nextBlock() throws -> DeltaBlock? { try nextDraft(packs: false)?.block }

  /// The next block, as `nextBlock()` reads it. With `packs`, records that need no states are left packed.
  package mutating func nextDraft(packs: Bool) throws -> BlockDraft? {
    guard !isFinished else { return nil }
    let head = try varint()
    guard head != 0 else {
      try verifyEnd()
      return nil
    }
    let size = try limited(head >> 1)
    guard size > 0 else { throw WireError(.malformed, "a block is empty") }
    guard UInt64(size) <= byteLimit, blockByteCount <= byteLimit - UInt64(size) else {
      throw WireError(.limitExceeded, "the blocks of a delta have more than \(byteLimit) bytes")
    }
    blockByteCount += UInt64(size)
    let stored = head & 1 == 1 ? try limited(varint()) : size
    var bytes = try take(stored)
    if head & 1 == 1 {
      bytes = try bytes.withUnsafeBytes { bytes throws(WireError) in try Zstandard.decompress(bytes, size: size) }
    }
    return try BlockDraft(canonical: bytes, limits: header.target.entries, packs: packs, version: header.version)
  }

  private mutating func verifyEnd() throws {
    let expected = checksum.finalized()
    let trailer = try take(8)
    guard trailer.reduce(0, { $0 << 8 | UInt64($1) }) == expected else {
      throw WireError(.checksumMismatch, "the delta is damaged")
    }
    while position == buffer.count, try fill() {}
    guard position == buffer.count else { throw WireError(.malformed, "bytes follow the end of the delta") }
    isFinished = true
  }

  private func limited(_ value: UInt64) throws(WireError) -> Int {
    guard value <= UInt64(WireLimits.blockBytes) else {
      throw WireError(.limitExceeded, "a block of \(value) bytes")
    }
    return Int(value)
  }

  // MARK: Bytes

  private mutating func fill() throws -> Bool {
    guard let more = try source() else { return false }
    if position == buffer.count {
      buffer = more
      position = 0
    } else {
      buffer.removeFirst(position)
      position = 0
      buffer += more
    }
    return true
  }

  private mutating func take(_ count: Int) throws -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(count)
    while true {
      let end = position + min(count - result.count, buffer.count - position)
      result += buffer[position..<end]
      position = end
      guard result.count < count else { break }
      guard try fill() else { throw WireError(.truncated, "the delta ends within an element") }
    }
    result.withUnsafeBytes { checksum.combine(bytes: $0) }
    return result
  }

  private mutating func varint() throws -> UInt64 {
    var bytes: [UInt8] = []
    repeat { bytes += try take(1) } while bytes.last.map { $0 & 0x80 != 0 } ?? true && bytes.count < 10
    return try bytes.withUnsafeBytes { raw throws(WireError) in
      var reader = ByteReader(raw)
      return try reader.varint()
    }
  }
}
