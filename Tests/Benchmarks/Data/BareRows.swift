import Foundation

#if canImport(CZstd)
  import CZstd
#else
  import libzstd
#endif

/// The rows without anything that replication adds: what the delta's size is compared with.
///
/// Row by row: identifiers as 16 bytes, a length before each text, a number as a varint, a real as 8 bytes; 4,096 rows
/// in a zstd frame at level 3.
enum BareRows {
  static func compressedBytes(_ rows: [ItemRow]) throws -> Int {
    var sum = 0
    for start in stride(from: 0, to: rows.count, by: 4096) {
      var bytes: [UInt8] = []
      for row in rows[start..<min(start + 4096, rows.count)] { append(row, to: &bytes) }
      sum += compressedSize(bytes)
    }
    return sum
  }

  private static func append(_ row: ItemRow, to bytes: inout [UInt8]) {
    append(identifier: row.id, to: &bytes)
    append(text: row.name, to: &bytes)
    append(text: row.notes, to: &bytes)
    append(number: row.count, to: &bytes)
    withUnsafeBytes(of: row.price.bitPattern.bigEndian) { bytes.append(contentsOf: $0) }
    append(text: row.day, to: &bytes)
    append(identifier: row.owner, to: &bytes)
  }

  private static func append(identifier: String, to bytes: inout [UInt8]) {
    guard let uuid = UUID(uuidString: String(identifier.suffix(36))) else {
      return append(text: identifier, to: &bytes)
    }
    withUnsafeBytes(of: uuid.uuid) { bytes.append(contentsOf: $0) }
  }

  private static func append(text: String, to bytes: inout [UInt8]) {
    append(number: text.utf8.count, to: &bytes)
    bytes.append(contentsOf: text.utf8)
  }

  private static func append(number: Int, to bytes: inout [UInt8]) {
    var rest = UInt64(bitPattern: Int64(number))
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  private static func compressedSize(_ bytes: [UInt8]) -> Int {
    let bound = ZSTD_compressBound(bytes.count)
    var size = 0
    _ = [UInt8](unsafeUninitializedCapacity: bound) { out, count in
      size = ZSTD_compress(out.baseAddress, bound, bytes, bytes.count, 3)
      count = 0
    }
    return size
  }
}
