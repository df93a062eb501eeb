import TallyCRDT
import TallyWire

/// Whole deltas from blocks, and back, and deltas put together by hand with a checksum that is right.
enum Bytes {
  static func write(_ header: DeltaHeader, _ blocks: [DeltaBlock]) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var writer = try DeltaWriter(header: header) { bytes += $0 }
    for block in blocks { try writer.append(block) }
    try writer.finish()
    return bytes
  }

  /// Reads everything, in pieces of `size` bytes.
  static func read(_ bytes: [UInt8], inPiecesOf size: Int = .max) throws -> (header: DeltaHeader, blocks: [DeltaBlock])
  {
    var rest = bytes[...]
    var reader = try DeltaReader {
      guard !rest.isEmpty else { return nil }
      let piece = Array(rest.prefix(size))
      rest = rest.dropFirst(size)
      return piece
    }
    var blocks: [DeltaBlock] = []
    while let block = try reader.nextBlock() { blocks.append(block) }
    return (reader.header, blocks)
  }

  /// Why bytes are refused; nil if they are accepted or something else is thrown.
  static func refusal(of bytes: [UInt8], inPiecesOf size: Int = .max) -> WireError? {
    do {
      _ = try read(bytes, inPiecesOf: size)
      return nil
    } catch {
      return error as? WireError
    }
  }

  static func header(_ header: DeltaHeader) throws -> [UInt8] {
    var bytes: [UInt8] = []
    _ = try DeltaWriter(header: header) { bytes += $0 }
    return bytes
  }

  /// A delta from its header and what follows, with the end mark and the checksum.
  static func seal(_ header: DeltaHeader, _ rest: [UInt8]) throws -> [UInt8] {
    let bytes = try self.header(header) + rest + [0]
    var checksum = SipHash()
    for byte in bytes { checksum.combine(byte: byte) }
    var trailer = ByteWriter()
    trailer.fixed(checksum.finalized())
    return bytes + trailer.bytes
  }

  /// A block that is not compressed.
  static func block(_ payload: [UInt8]) -> [UInt8] {
    var writer = ByteWriter()
    writer.varint(payload.count << 1)
    return writer.bytes + payload
  }

  /// A block that says that it decompresses to `size` bytes.
  static func block(compressed: [UInt8], size: UInt64) -> [UInt8] {
    var writer = ByteWriter()
    writer.varint(size << 1 | 1)
    writer.varint(compressed.count)
    return writer.bytes + compressed
  }

  /// The payload of the only block of a delta, as it is stored.
  static func payload(of header: DeltaHeader, _ block: DeltaBlock) throws -> (stored: [UInt8], isCompressed: Bool) {
    let bytes = try write(header, [block]).dropFirst(self.header(header).count).dropLast(9)
    return try Array(bytes).withUnsafeBytes { raw in
      var reader = ByteReader(raw)
      let isCompressed = try reader.varint() & 1 == 1
      if isCompressed { _ = try reader.varint() }
      return (Array(raw[reader.offset...]), isCompressed)
    }
  }
}
