/// Why a record name was refused.
public enum RecordNameError: Error, Hashable, Sendable {
  /// The name has no `|~|`, or more than one.
  case delimiter
  /// The part before or after the delimiter is empty.
  case empty
  /// The name is longer than 255 bytes; the length is given.
  case tooLong(Int)
  /// A byte outside printable ASCII, with its offset.
  case notPrintableASCII(offset: Int)
  /// The type is not a letter followed by letters, digits and underscores, or has more than 64 bytes.
  case type
}

/// The name of a record whose type is known only at run time: `Type|~|key`, for example
/// `SBGame|~|386c1919-5f25-4be2-975f-5b34506c51db`.
///
/// ```swift
/// let name = try AnyRecordName("Game|~|chess")
/// print(name.type, name.key)   // Game chess
/// if let history = try store.history(of: name) { print(history.isVisible) }
/// ```
///
/// Calls that concern records of any type take and give it: ``Store/history(of:)``, ``Conflict/name``, the events of a
/// store. ``RecordName`` is the same name with the entity's Swift type; its `name` is one of these, and
/// `RecordName<Game>(name)` goes the other way.
///
/// The type is part of the name, so that a deletion can be applied by a replica that knows nothing but the name.
/// Printable ASCII, at most 255 bytes, exactly one delimiter. Names are compared byte by byte: a UUID in capitals is
/// another name than the same UUID in small letters.
public struct AnyRecordName: Hashable, Sendable {
  /// The whole name: the type, `|~|`, and the key. It is what an `id` column, a reference column and JSON hold.
  public let text: String
  /// The number of bytes of `text` that are the type.
  @usableFromInline let typeLength: UInt8

  /// The separator of the type and the key.
  public static let delimiter = "|~|"
  /// The most bytes a name may have.
  public static let maximumLength = 255
  /// The most bytes the type may have.
  public static let maximumTypeLength = 64

  /// Reads a name from its text, as from a link, a notification or a command line.
  ///
  /// ```swift
  /// let name = try AnyRecordName("Game|~|chess")
  /// ```
  ///
  /// Nothing is looked up: the record need not be there, nor its type be in any schema. Use ``RecordName/init(_:)``
  /// where only records of one entity are wanted.
  /// - Throws: `RecordNameError` if it is longer than 255 bytes, holds anything but printable ASCII, or has not exactly
  ///   one delimiter between a type and a key.
  public init(_ text: String) throws(RecordNameError) {
    var text = text
    // Copies text that is not in one piece, so that later reads need not.
    typeLength = try text.withUTF8 { Self.typeLength(of: $0) }.get()
    self.text = text
  }

  /// The length of the type in the bytes of a name.
  private static func typeLength(of bytes: UnsafeBufferPointer<UInt8>) -> Result<UInt8, RecordNameError> {
    guard bytes.count <= maximumLength else { return .failure(.tooLong(bytes.count)) }
    var delimiters = 0
    var first = 0
    var window: UInt32 = 0
    for offset in 0..<bytes.count {
      let byte = bytes[offset]
      guard byte >= 0x20, byte <= 0x7E else { return .failure(.notPrintableASCII(offset: offset)) }
      window = (window << 8 | UInt32(byte)) & 0xFF_FFFF
      if window == 0x7C_7E7C {
        delimiters += 1
        if delimiters == 1 { first = offset - 2 }
      }
    }
    guard delimiters == 1 else { return .failure(.delimiter) }
    guard first > 0, first + 3 < bytes.count else { return .failure(.empty) }
    guard first <= maximumTypeLength, isIdentifier(bytes[..<first]) else { return .failure(.type) }
    return .success(UInt8(first))
  }

  /// A name of a type and of key bytes that are known to be sound; nil if the type is no identifier. `writeKey` writes
  /// `keyCount` bytes of printable ASCII without a delimiter.
  package init?(
    typeBytes type: UnsafeBufferPointer<UInt8>, keyCount: Int, _ writeKey: (UnsafeMutableBufferPointer<UInt8>) -> Void
  ) {
    guard type.count <= Self.maximumTypeLength, Self.isIdentifier(type) else { return nil }
    let count = type.count + 3 + keyCount
    text = String(unsafeUninitializedCapacity: count) { out in
      for index in 0..<type.count { out[index] = type[index] }
      (out[type.count], out[type.count + 1], out[type.count + 2]) = (0x7C, 0x7E, 0x7C)
      writeKey(UnsafeMutableBufferPointer(rebasing: out[(type.count + 3)...]))
      return count
    }
    typeLength = UInt8(type.count)
  }

  /// Joins a type and a key, both of which are kept as they are.
  ///
  /// ```swift
  /// let name = try AnyRecordName(type: "Game", key: "chess")
  /// ```
  ///
  /// A UUID is not written in small letters here, as ``RecordName/init(key:)`` does it.
  /// - Throws: `RecordNameError` if the result is malformed: a key that is empty or holds `|~|`, a type that is no
  ///   identifier, more than 255 bytes together.
  public init(type: String, key: String) throws(RecordNameError) {
    try self.init(type + Self.delimiter + key)
  }

  /// Whether the bytes are a letter followed by letters, digits and underscores.
  @inlinable
  public static func isIdentifier(_ bytes: some Sequence<UInt8>) -> Bool {
    var isFirst = true
    for byte in bytes {
      let isLetter = (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
      let isDigit = (0x30...0x39).contains(byte)
      guard isLetter || (!isFirst && (isDigit || byte == 0x5F)) else { return false }
      isFirst = false
    }
    return !isFirst
  }

  /// Whether the part before the delimiter is `type`, without making a string of it.
  package func hasType(_ type: String) -> Bool {
    var (mine, theirs) = (text, type)
    return mine.withUTF8 { mine in
      theirs.withUTF8 { UnsafeBufferPointer(rebasing: mine[..<Int(typeLength)]).hasSameBytes(as: $0) }
    }
  }

  /// The part before the delimiter: the entity's type, which is also its table's name.
  public var type: String { String(decoding: text.utf8.prefix(Int(typeLength)), as: UTF8.self) }

  /// The part after the delimiter: a UUID, unless the app has chosen something else.
  public var key: String { String(decoding: text.utf8.dropFirst(Int(typeLength) + 3), as: UTF8.self) }

  /// Calls `body` with the bytes of the key.
  package func withKeyBytes<T>(_ body: (UnsafeBufferPointer<UInt8>) -> T) -> T {
    var text = text
    return text.withUTF8 { body(UnsafeBufferPointer(rebasing: $0[(Int(typeLength) + 3)...])) }
  }

  /// The bytes of the key.
  public var keyBytes: Substring.UTF8View { text[...].utf8.dropFirst(Int(typeLength) + 3) }
}

extension AnyRecordName: Comparable, CustomStringConvertible {
  /// The whole name, `Type|~|key`, as it is stored.
  public var description: String { text }

  /// Orders names by the bytes of their text.
  public static func < (lhs: AnyRecordName, rhs: AnyRecordName) -> Bool {
    var (mine, theirs) = (lhs.text, rhs.text)
    return mine.withUTF8 { mine in theirs.withUTF8 { mine.precedes($0) } }
  }
}
