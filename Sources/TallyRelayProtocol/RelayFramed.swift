/// One of several that go over the wire together: `[RelayFramed].framed()`.
protocol RelayFramed {
  /// Three letters that say what they are, and the version.
  static var magic: [UInt8] { get }
  /// Whether a checksum is at the end; otherwise the header of the request has one.
  static var hasCheck: Bool { get }
  /// The most bytes that it takes.
  var mostBytes: Int { get }

  func append(to bytes: inout [UInt8])
  init(from reader: inout RelayReader) throws(RelayPage.Malformed)
}

extension Array where Element: RelayFramed {
  /// Returns the bytes in which they travel: what they are, how many, each, and perhaps a checksum.
  func framed() -> [UInt8] {
    var bytes = Element.magic
    bytes.reserveCapacity(reduce(16) { $0 + $1.mostBytes })
    RelayReader.append(UInt64(count), to: &bytes)
    for element in self { element.append(to: &bytes) }
    if Element.hasCheck {
      let check = RelayReader.check(of: bytes[...])
      bytes += check
    }
    return bytes
  }

  /// What such bytes say: 1 to `RelayLimits.batchEntries`.
  /// - Throws: `RelayPage.Malformed`. Nothing is allocated for what is beyond its limit.
  init(framed bytes: [UInt8]) throws(RelayPage.Malformed) {
    var reader =
      if Element.hasCheck { try RelayReader(checked: bytes, Element.magic) } else {
        try RelayReader(bytes, Element.magic)
      }
    self = []
    for _ in 0..<(try reader.count(upTo: RelayLimits.batchEntries)) { append(try Element(from: &reader)) }
    try reader.end()
  }
}
