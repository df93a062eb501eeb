/// The names of small entries that one request asks for: the body of `POST contents`.
public struct RelayWanted: Sendable, Hashable {
  /// The names; 1 to `RelayLimits.batchEntries`.
  public var names: [String]

  /// Creates a request.
  public init(_ names: [String]) { self.names = names }

  private static let magic = Array("TRN".utf8) + [1]

  /// The most bytes of a request.
  public static let mostBytes = 6 + RelayLimits.batchEntries * (1 + RelayLimits.nameBytes)

  /// Returns the body of the request.
  public func bytes() -> [UInt8] {
    var bytes = Self.magic
    RelayReader.append(UInt64(names.count), to: &bytes)
    for name in names { RelayReader.append(name, to: &bytes) }
    return bytes
  }

  /// The names that a body says.
  /// - Throws: `RelayPage.Malformed`.
  public init(_ bytes: [UInt8]) throws(RelayPage.Malformed) {
    var reader = try RelayReader(bytes, Self.magic)
    let count = try reader.count(upTo: RelayLimits.batchEntries)
    names = []
    for _ in 0..<count { names.append(try reader.name()) }
    try reader.end()
  }
}

/// The contents of entries that one request has asked for: the answer to `POST contents`.
public struct RelayContents: Sendable, Hashable {
  /// What there is under a name.
  public enum Content: Sendable, Hashable {
    /// All bytes of the entry.
    case whole([UInt8])
    /// An entry of so many bytes, which is larger than `RelayLimits.inlineBytes` or did not fit: ask for it alone, or
    /// once more.
    case elsewhere(byteCount: Int)
    /// There is no such entry.
    case missing
  }

  /// What there is, in the order of the names.
  public var contents: [Content]

  /// Creates an answer.
  public init(_ contents: [Content]) { self.contents = contents }

  private static let magic = Array("TRC".utf8) + [1]

  private enum Kind {
    static let whole: UInt8 = 2
    static let elsewhere: UInt8 = 1
    static let missing: UInt8 = 3
  }

  /// The most bytes of an answer besides contents.
  public static let mostOverhead = 16 + RelayLimits.batchEntries * 8

  /// Returns the body of the answer.
  public func bytes() -> [UInt8] {
    var bytes = Self.magic
    bytes.reserveCapacity(
      contents.reduce(Self.mostOverhead) { sum, content in
        if case .whole(let bytes) = content { sum + bytes.count } else { sum }
      })
    RelayReader.append(UInt64(contents.count), to: &bytes)
    for content in contents {
      switch content {
      case .whole(let content):
        bytes.append(Kind.whole)
        RelayReader.append(UInt64(content.count), to: &bytes)
        bytes += content
      case .elsewhere(let byteCount):
        bytes.append(Kind.elsewhere)
        RelayReader.append(UInt64(byteCount), to: &bytes)
      case .missing: bytes.append(Kind.missing)
      }
    }
    let check = RelayReader.check(of: bytes[...])
    bytes += check
    return bytes
  }

  /// The contents that an answer says.
  /// - Throws: `RelayPage.Malformed`.
  public init(_ bytes: [UInt8]) throws(RelayPage.Malformed) {
    var reader = try RelayReader(checked: bytes, Self.magic)
    let count = try reader.count(upTo: RelayLimits.batchEntries)
    contents = []
    for _ in 0..<count {
      switch try reader.byte() {
      case Kind.whole:
        contents.append(.whole(Array(try reader.next(try reader.number(upTo: RelayLimits.inlineBytes)))))
      case Kind.elsewhere: contents.append(.elsewhere(byteCount: try reader.number(upTo: RelayLimits.entryBytes)))
      case Kind.missing: contents.append(.missing)
      default: throw .unknown
      }
    }
    try reader.end()
  }
}
