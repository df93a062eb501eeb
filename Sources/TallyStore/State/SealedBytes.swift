import TallyCRDT
import TallyWire

/// Bytes with a hash of them, which tells a reader that the disk has changed them.
enum SealedBytes {
  /// What `write` writes, and its hash behind that.
  static func seal(_ write: (inout ByteWriter) -> Void) -> [UInt8] {
    var writer = ByteWriter()
    write(&writer)
    writer.fixed(writer.bytes.withUnsafeBytes(SipHash13.hash))
    return writer.bytes
  }

  /// Reads what was sealed; nil if the bytes are others, or if `read` does not know what they say.
  static func open<T>(_ bytes: [UInt8], _ read: (inout ByteReader) throws(WireError) -> T) -> T? {
    bytes.withUnsafeBytes { raw in
      guard raw.count > 8 else { return nil }
      let content = UnsafeRawBufferPointer(rebasing: raw.dropLast(8))
      let kept = raw.loadUnaligned(fromByteOffset: content.count, as: UInt64.self)
      guard UInt64(bigEndian: kept) == SipHash13.hash(content) else { return nil }
      var reader = ByteReader(content)
      return try? read(&reader)
    }
  }
}
