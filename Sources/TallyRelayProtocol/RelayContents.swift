/// The names of small entries that one request asks for: the body of `POST contents`.
public struct RelayWanted: Sendable, Hashable {
  /// The names; 1 to `RelayLimits.batchEntries`.
  public var names: [String]

  /// Creates a request.
  public init(_ names: [String]) { self.names = names }

  /// The most bytes of a request.
  public static let mostBytes = 6 + RelayLimits.batchEntries * (1 + RelayLimits.nameBytes)

  private struct Name: RelayFramed {
    static let magic = Array("TRN".utf8) + [1]
    static let hasCheck = false

    let name: String
    var mostBytes: Int { 1 + name.utf8.count }

    init(_ name: String) { self.name = name }
    init(from reader: inout RelayReader) throws(RelayPage.Malformed) { name = try reader.name() }
    func append(to bytes: inout [UInt8]) { RelayReader.append(name, to: &bytes) }
  }

  /// Returns the body of the request.
  public func bytes() -> [UInt8] { names.map { Name($0) }.framed() }

  /// The names that a body says.
  /// - Throws: `RelayPage.Malformed`.
  public init(_ bytes: [UInt8]) throws(RelayPage.Malformed) { names = try [Name](framed: bytes).map(\.name) }
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

  /// The most bytes of an answer besides contents.
  public static let mostOverhead = 16 + RelayLimits.batchEntries * 8

  /// Returns the body of the answer.
  public func bytes() -> [UInt8] { contents.framed() }

  /// The contents that an answer says.
  /// - Throws: `RelayPage.Malformed`.
  public init(_ bytes: [UInt8]) throws(RelayPage.Malformed) { contents = try [Content](framed: bytes) }
}

extension RelayContents.Content: RelayFramed {
  static let magic = Array("TRC".utf8) + [1]
  static let hasCheck = true

  private enum Kind {
    static let whole: UInt8 = 2
    static let elsewhere: UInt8 = 1
    static let missing: UInt8 = 3
  }

  var mostBytes: Int { if case .whole(let bytes) = self { 8 + bytes.count } else { 8 } }

  func append(to bytes: inout [UInt8]) {
    switch self {
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

  init(from reader: inout RelayReader) throws(RelayPage.Malformed) {
    switch try reader.byte() {
    case Kind.whole: self = .whole(Array(try reader.next(try reader.number(upTo: RelayLimits.inlineBytes))))
    case Kind.elsewhere: self = .elsewhere(byteCount: try reader.number(upTo: RelayLimits.entryBytes))
    case Kind.missing: self = .missing
    default: throw .unknown
    }
  }
}
