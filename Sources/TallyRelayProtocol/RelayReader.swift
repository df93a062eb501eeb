import TallyCRDT

/// Reads what both sides say in bytes: numbers, names, and the checksum at the end.
struct RelayReader {
  /// What has not been read.
  private(set) var rest: ArraySlice<UInt8>
  /// The checksum that is to be at the end; nil where the header of the request has one.
  private var check: ArraySlice<UInt8>?
  private let all: ArraySlice<UInt8>

  /// The number of bytes of the checksum at the end.
  private static let checkBytes = 8

  /// Bytes that begin with the magic ones and end with a checksum.
  init(checked bytes: [UInt8], _ magic: [UInt8]) throws(RelayPage.Malformed) {
    let end = max(0, bytes.count - Self.checkBytes)
    (rest, all, check) = (bytes[..<end], bytes[..<end], bytes[end...])
    guard try Array(next(magic.count)) == magic else { throw .magic }
  }

  /// Bytes that begin with the magic ones; `Content-Digest` vouches for them.
  init(_ bytes: [UInt8], _ magic: [UInt8]) throws(RelayPage.Malformed) {
    (rest, all) = (bytes[...], bytes[...])
    guard try Array(next(magic.count)) == magic else { throw .magic }
  }

  /// - Throws: `Malformed` if anything comes after the end, or the checksum is that of other bytes.
  func end() throws(RelayPage.Malformed) {
    guard rest.isEmpty else { throw .length }
    if let check, Array(check) != Self.check(of: all) { throw .check }
  }

  /// The checksum as a delta has one. What is said travels by ways that have none, and of a name that was changed there
  /// the entry would never be seen.
  static func check(of bytes: ArraySlice<UInt8>) -> [UInt8] {
    var hash = SipHash()
    bytes.withUnsafeBytes { hash.combine(bytes: $0) }
    let check = hash.finalized()
    return (0..<checkBytes).map { UInt8(truncatingIfNeeded: check >> (56 - 8 * UInt64($0))) }
  }

  mutating func byte() throws(RelayPage.Malformed) -> UInt8 {
    guard let byte = rest.popFirst() else { throw .length }
    return byte
  }

  mutating func next(_ count: Int) throws(RelayPage.Malformed) -> ArraySlice<UInt8> {
    guard count <= rest.count else { throw .length }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }

  mutating func number() throws(RelayPage.Malformed) -> UInt64 {
    var number: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 64, by: 7) {
      let byte = try byte()
      let bits = UInt64(byte & 0x7F)
      guard (bits << shift) >> shift == bits, byte != 0 || shift == 0 else { throw .number }
      number |= bits << shift
      if byte < 0x80 { return number }
    }
    throw .number
  }

  /// A number that is no larger than a limit.
  mutating func number(upTo limit: Int) throws(RelayPage.Malformed) -> Int {
    let number = try number()
    guard number <= UInt64(limit) else { throw .number }
    return Int(number)
  }

  /// An entry's name after its length.
  mutating func name() throws(RelayPage.Malformed) -> String {
    let name = String(decoding: try next(Int(try byte())), as: UTF8.self)
    guard RelayNames.isEntry(name) else { throw .name }
    return name
  }

  /// How many there are: one at least.
  mutating func count(upTo limit: Int) throws(RelayPage.Malformed) -> Int {
    let count = try number(upTo: limit)
    guard count > 0 else { throw .number }
    return count
  }

  /// An unsigned LEB128: seven bits a byte, the lowest first, in as few bytes as it takes.
  static func append(_ number: UInt64, to bytes: inout [UInt8]) {
    var rest = number
    while rest > 0x7F {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  /// A name after its length, as `name()` reads it.
  static func append(_ name: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(name.utf8.count))
    bytes += name.utf8
  }
}
