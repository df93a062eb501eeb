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
    RelayReader.append(cursor.position, to: &bytes)
    bytes += cursor.chain
    RelayReader.append(UInt64(frames.count), to: &bytes)
    for frame in frames { frame.append(to: &bytes) }
    let check = RelayReader.check(of: bytes[...])
    bytes += check
    return bytes
  }

  /// A page as its bytes say it.
  /// - Throws: `Malformed`. Nothing is allocated for what is beyond its limit.
  public init(_ bytes: [UInt8]) throws(Malformed) {
    var reader = try RelayReader(checked: bytes, Self.magic)
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
    try reader.end()
  }
}

extension RelayReader {
  fileprivate mutating func frame() throws(RelayPage.Malformed) -> RelayPage.Frame {
    let kind = try byte()
    let position = try number()
    let name = try name()
    switch kind {
    case RelayPage.Kind.removal: return RelayPage.Frame(position: position, name: name, change: .removal)
    case RelayPage.Kind.entry, RelayPage.Kind.entryWithContent:
      let size = try number()
      let hasContent = kind == RelayPage.Kind.entryWithContent
      guard size <= UInt64(hasContent ? RelayLimits.inlineBytes : RelayLimits.entryBytes) else { throw .number }
      let content = hasContent ? Array(try next(Int(size))) : nil
      return RelayPage.Frame(position: position, name: name, change: .entry(byteCount: Int(size), content: content))
    default: throw .unknown
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
    RelayReader.append(position, to: &bytes)
    bytes.append(UInt8(name.utf8.count))
    bytes += name.utf8
    guard case .entry(let byteCount, let content) = change else { return }
    RelayReader.append(UInt64(byteCount), to: &bytes)
    if let content { bytes += content }
  }
}
