import TallyCRDT

extension RelayPage {
  /// `TRP` and the version.
  private static let magic: [UInt8] = [0x54, 0x52, 0x50, 1]

  private enum Flag {
    static let listing: UInt8 = 1
    static let more: UInt8 = 2
  }

  fileprivate enum Kind {
    static let entry: UInt8 = 1
    static let entryWithContent: UInt8 = 2
    static let removal: UInt8 = 3
  }

  /// Returns the page as the bytes that go over the wire.
  public func bytes() -> [UInt8] {
    var bytes = Self.magic
    bytes.append((isListing ? Flag.listing : 0) | (hasMore ? Flag.more : 0))
    Self.append(cursor.position, to: &bytes)
    bytes += cursor.chain
    Self.append(UInt64(frames.count), to: &bytes)
    for frame in frames { frame.append(to: &bytes) }
    return bytes + Self.check(of: bytes[...])
  }

  /// The number of bytes of the checksum at the end.
  private static let checkBytes = 8

  /// The checksum as a delta has one. A page travels by ways that have none, and of a name that was changed there the
  /// entry would never be seen.
  private static func check(of bytes: ArraySlice<UInt8>) -> [UInt8] {
    var hash = SipHash()
    bytes.withUnsafeBytes { hash.combine(bytes: $0) }
    let check = hash.finalized()
    return (0..<checkBytes).map { UInt8(truncatingIfNeeded: check >> (56 - 8 * UInt64($0))) }
  }

  /// A page as its bytes say it.
  /// - Throws: `Malformed`. Nothing is allocated for what is beyond its limit.
  public init(_ bytes: [UInt8]) throws(Malformed) {
    let end = max(0, bytes.count - Self.checkBytes)
    var reader = Reader(rest: bytes[..<end])
    guard try Array(reader.next(4)) == Self.magic else { throw .magic }
    let flags = try reader.byte()
    guard flags & ~(Flag.listing | Flag.more) == 0 else { throw .unknown }
    let position = try reader.number()
    guard let cursor = RelayCursor(position: position, chain: Array(try reader.next(RelayCursor.chainBytes))) else {
      throw .length
    }
    self.init(
      isListing: flags & Flag.listing != 0, hasMore: flags & Flag.more != 0, cursor: cursor, frames: [])
    let count = try reader.number()
    guard count <= UInt64(RelayLimits.pageEntries) else { throw .number }
    for _ in 0..<count {
      let frame = try reader.frame()
      guard frame.position > frames.last?.position ?? 0, frame.position <= position else { throw .order }
      frames.append(frame)
    }
    guard reader.rest.isEmpty else { throw .length }
    guard Array(bytes[end...]) == Self.check(of: bytes[..<end]) else { throw .check }
  }

  /// An unsigned LEB128: seven bits a byte, the lowest first, in as few bytes as it takes.
  fileprivate static func append(_ number: UInt64, to bytes: inout [UInt8]) {
    var rest = number
    while rest > 0x7F {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  private struct Reader {
    var rest: ArraySlice<UInt8>

    mutating func byte() throws(Malformed) -> UInt8 {
      guard let byte = rest.popFirst() else { throw .length }
      return byte
    }

    mutating func next(_ count: Int) throws(Malformed) -> ArraySlice<UInt8> {
      guard count <= rest.count else { throw .length }
      defer { rest = rest.dropFirst(count) }
      return rest.prefix(count)
    }

    mutating func number() throws(Malformed) -> UInt64 {
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

    mutating func frame() throws(Malformed) -> Frame {
      let kind = try byte()
      let position = try number()
      let name = String(decoding: try next(Int(try byte())), as: UTF8.self)
      guard RelayNames.isEntry(name) else { throw .name }
      switch kind {
      case Kind.removal: return Frame(position: position, name: name, change: .removal)
      case Kind.entry, Kind.entryWithContent:
        let size = try number()
        let hasContent = kind == Kind.entryWithContent
        guard size <= UInt64(hasContent ? RelayLimits.inlineBytes : RelayLimits.entryBytes) else { throw .number }
        let content = hasContent ? Array(try next(Int(size))) : nil
        return Frame(position: position, name: name, change: .entry(byteCount: Int(size), content: content))
      default: throw .unknown
      }
    }
  }
}

extension RelayPage.Frame {
  /// The maximum number of bytes of the frame besides its content: kind, position, name and size.
  public static let overhead = 1 + 10 + 1 + RelayLimits.nameBytes + 10

  fileprivate func append(to bytes: inout [UInt8]) {
    switch change {
    case .entry(_, let content): bytes.append(content == nil ? RelayPage.Kind.entry : RelayPage.Kind.entryWithContent)
    case .removal: bytes.append(RelayPage.Kind.removal)
    }
    RelayPage.append(position, to: &bytes)
    bytes.append(UInt8(name.utf8.count))
    bytes += name.utf8
    guard case .entry(let byteCount, let content) = change else { return }
    RelayPage.append(UInt64(byteCount), to: &bytes)
    if let content { bytes += content }
  }
}
