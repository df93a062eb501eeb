/// A place in the bytes of a text, from which numbers are read on. A copy reads on by itself: so columns are read side
/// by side, and no number is kept.
struct TextReader {
  private let bytes: [UInt8]
  private var place = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var remaining: Int { bytes.count - place }

  mutating func number() throws(TextCodingError) -> UInt64 {
    var (result, shift): (UInt64, UInt64) = (0, 0)
    while true {
      guard place < bytes.count else { throw .truncated }
      let byte = bytes[place]
      place += 1
      let bits = UInt64(byte & 0x7F)
      guard shift < 63 || shift == 63 && bits <= 1 else { throw .number }
      result |= bits << shift
      if byte & 0x80 == 0 {
        guard byte != 0 || shift == 0 else { throw .number }
        return result
      }
      shift += 7
    }
  }

  mutating func signed() throws(TextCodingError) -> Int64 {
    let number = try number()
    return Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
  }

  /// A number of things of at least so many bytes each.
  mutating func count(ofBytes size: Int) throws(TextCodingError) -> Int {
    let number = try number()
    guard number <= UInt64(remaining / size) else { throw .tooMany }
    return Int(number)
  }

  /// Goes over so many numbers, and returns the place where they begin.
  mutating func column(of count: Int) throws(TextCodingError) -> TextReader {
    let start = self
    guard count <= remaining else { throw .tooMany }
    for _ in 0..<count { _ = try number() }
    return start
  }

  /// Reads the rest, as characters.
  mutating func characters() throws(TextCodingError) -> [Unicode.Scalar] {
    var characters: [Unicode.Scalar] = []
    // All bytes but those inside of a character begin one.
    characters.reserveCapacity(bytes[place...].reduce(0) { $0 + ($1 & 0xC0 == 0x80 ? 0 : 1) })
    var (decoder, rest) = (UTF8(), bytes[place...].makeIterator())
    while true {
      switch decoder.decode(&rest) {
      case .scalarValue(let character): characters.append(character)
      case .emptyInput:
        place = bytes.count
        return characters
      case .error: throw .characters
      }
    }
  }
}
