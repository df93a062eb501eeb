import Foundation

/// A picture that the story makes up: a board of eight by eight squares, as a PNG of 140 bytes.
struct Photograph {
  let png: Data

  /// A board of squares in two shades of gray.
  init(dark: UInt8, light: UInt8) {
    let size = 8
    // Each row begins with a filter; 0 is none.
    let pixels = (0..<size).flatMap { row -> [UInt8] in
      [0] + (0..<size).map { ($0 + row) % 2 == 0 ? light : dark }
    }
    // A zlib stream of one block that is not compressed.
    let count = UInt16(pixels.count)
    let lengths = [count, ~count].flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
    let header = Self.bytes(UInt32(size)) + Self.bytes(UInt32(size)) + [8, 0, 0, 0, 0]
    png =
      Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) + Self.chunk("IHDR", header)
      + Self.chunk("IDAT", [0x78, 0x01, 0x01] + lengths + pixels + Self.bytes(Self.adler(pixels)))
      + Self.chunk("IEND", [])
  }

  private static func chunk(_ type: String, _ content: [UInt8]) -> Data {
    let body = Array(type.utf8) + content
    return Data(bytes(UInt32(content.count)) + body + bytes(checksum(body)))
  }

  /// A number, the greatest byte first.
  private static func bytes(_ number: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
  }

  /// The CRC-32 of a chunk.
  private static func checksum(_ bytes: [UInt8]) -> UInt32 {
    var sum = UInt32.max
    for byte in bytes {
      sum ^= UInt32(byte)
      for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
    }
    return ~sum
  }

  /// The Adler-32 of a zlib stream.
  private static func adler(_ bytes: [UInt8]) -> UInt32 {
    var (first, second): (UInt32, UInt32) = (1, 0)
    for byte in bytes {
      first = (first + UInt32(byte)) % 65_521
      second = (second + first) % 65_521
    }
    return second << 16 | first
  }
}
