/// Several entries that are put or removed by one request: the body of `POST entries`. `Docs/RelayProtocol.md` has the
/// bytes.
///
/// Each stands or fails alone, one after the other, and `RelayResults` says in the same order what became of each.
/// Making the request again changes nothing.
public struct RelayWrites: Sendable, Hashable {
  /// An entry that comes or goes.
  public enum Write: Sendable, Hashable {
    /// Puts an entry, unless one of that name is there.
    case put(name: String, content: [UInt8])
    /// Removes an entry. One that is not there is answered as such.
    case removal(name: String)

    /// The entry's name.
    public var name: String {
      switch self {
      case .put(let name, _), .removal(let name): name
      }
    }

    /// The number of bytes of the content; none for a removal.
    public var byteCount: Int {
      guard case .put(_, let content) = self else { return 0 }
      return content.count
    }
  }

  /// The writes, in the order in which they are done; 1 to `RelayLimits.batchEntries`.
  public var writes: [Write]

  /// Creates a request's writes.
  public init(_ writes: [Write]) { self.writes = writes }

  /// The most bytes of a write besides its content: kind, name and size.
  public static let overhead = 1 + 1 + RelayLimits.nameBytes + 4
  /// The number of bytes before the first write, at most.
  public static let headBytes = 6

  /// Returns the body of the request.
  public func bytes() -> [UInt8] { writes.framed() }

  /// The writes that a body says.
  /// - Throws: `RelayPage.Malformed`. Nothing is allocated for what is beyond its limit.
  public init(_ bytes: [UInt8]) throws(RelayPage.Malformed) { writes = try [Write](framed: bytes) }
}

extension RelayWrites.Write: RelayFramed {
  static let magic = Array("TRW".utf8) + [1]
  static let hasCheck = false

  private enum Kind {
    static let put: UInt8 = 2
    static let removal: UInt8 = 3
  }

  var mostBytes: Int { RelayWrites.overhead + byteCount }

  func append(to bytes: inout [UInt8]) {
    switch self {
    case .put(let name, let content):
      bytes.append(Kind.put)
      RelayReader.append(name, to: &bytes)
      RelayReader.append(UInt64(content.count), to: &bytes)
      bytes += content
    case .removal(let name):
      bytes.append(Kind.removal)
      RelayReader.append(name, to: &bytes)
    }
  }

  init(from reader: inout RelayReader) throws(RelayPage.Malformed) {
    switch try reader.byte() {
    case Kind.put:
      let name = try reader.name()
      self = .put(name: name, content: Array(try reader.next(try reader.number(upTo: RelayLimits.bodyBytes))))
    case Kind.removal: self = .removal(name: try reader.name())
    default: throw .unknown
    }
  }
}

/// What became of each of several writes: the answer to `POST entries`.
public struct RelayResults: Sendable, Hashable {
  /// The outcome of one write.
  public enum Result: Sendable, Hashable {
    /// It was put, at that position.
    case put(position: UInt64)
    /// An entry of that name is there, at that position, and stays as it is.
    case known(position: UInt64)
    /// It was removed.
    case removed
    /// It was refused, as a request of its own would have been. An entry that is to be removed and is not there has
    /// `noSuchEntry`. The code is nil if it is not known here; the seconds are after how long to try again.
    case refused(RelayProblem.Code?, retryAfter: Int?)
  }

  /// The outcomes, in the order of the writes.
  public var results: [Result]

  /// Creates an answer.
  public init(_ results: [Result]) { self.results = results }

  /// The most bytes of an answer to so many writes.
  public static func mostBytes(for count: Int) -> Int { 16 + count * 64 }

  /// Returns the body of the answer.
  public func bytes() -> [UInt8] { results.framed() }

  /// The outcomes that an answer says.
  /// - Throws: `RelayPage.Malformed`.
  public init(_ bytes: [UInt8]) throws(RelayPage.Malformed) { results = try [Result](framed: bytes) }
}

extension RelayResults.Result: RelayFramed {
  static let magic = Array("TRR".utf8) + [1]
  static let hasCheck = true

  private enum Kind {
    static let put: UInt8 = 1
    static let known: UInt8 = 2
    static let removed: UInt8 = 3
    static let refused: UInt8 = 4
  }

  var mostBytes: Int { 64 }

  func append(to bytes: inout [UInt8]) {
    switch self {
    case .put(let position):
      bytes.append(Kind.put)
      RelayReader.append(position, to: &bytes)
    case .known(let position):
      bytes.append(Kind.known)
      RelayReader.append(position, to: &bytes)
    case .removed: bytes.append(Kind.removed)
    case .refused(let code, let retryAfter):
      bytes.append(Kind.refused)
      RelayReader.append((code ?? .internal).rawValue, to: &bytes)
      RelayReader.append(UInt64(retryAfter ?? 0), to: &bytes)
    }
  }

  init(from reader: inout RelayReader) throws(RelayPage.Malformed) {
    switch try reader.byte() {
    case Kind.put: self = .put(position: try reader.number())
    case Kind.known: self = .known(position: try reader.number())
    case Kind.removed: self = .removed
    case Kind.refused:
      let code = RelayProblem.Code(rawValue: try reader.name())
      let seconds = try reader.number(upTo: Int(Int32.max))
      self = .refused(code, retryAfter: seconds > 0 ? seconds : nil)
    default: throw .unknown
    }
  }
}
