/// The syntax of a text that is a date or JSON. Values that are neither would replicate to everybody and fail wherever
/// an app reads them.
package enum FieldSyntax {
  /// Whether SQLite and GRDB read the text as a date: `YYYY-MM-DD`, perhaps with `HH:MM`, seconds and a fraction after
  /// a space or a `T`, perhaps with a zone (https://www.sqlite.org/lang_datefunc.html#time_values).
  package static func isDate(_ text: String) -> Bool {
    var text = text
    return text.withUTF8(isDate)
  }

  /// The same for the bytes of a text.
  package static func isDate(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    var rest = bytes[...]
    guard let year = number(&rest, digits: 4), take("-", &rest), let month = number(&rest, digits: 2),
      take("-", &rest), let day = number(&rest, digits: 2)
    else { return false }
    guard (0...9999).contains(year), (1...12).contains(month), (1...31).contains(day) else { return false }
    guard !rest.isEmpty else { return true }
    guard take(" ", &rest) || take("T", &rest) else { return false }
    guard let hour = number(&rest, digits: 2), hour < 24, take(":", &rest), let minute = number(&rest, digits: 2),
      minute < 60
    else { return false }
    if take(":", &rest) {
      guard let second = number(&rest, digits: 2), second < 60 else { return false }
      if take(".", &rest) {
        guard let first = rest.first, isDigit(first) else { return false }
        rest = rest.drop(while: isDigit)
      }
    }
    return rest.isEmpty || isZone(rest)
  }

  private static func isZone(_ zone: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    var rest = zone
    if take("Z", &rest) { return rest.isEmpty }
    guard take("+", &rest) || take("-", &rest), let hour = number(&rest, digits: 2), hour < 24, take(":", &rest),
      let minute = number(&rest, digits: 2)
    else { return false }
    return minute < 60 && rest.isEmpty
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

  private static func number(_ rest: inout Slice<UnsafeBufferPointer<UInt8>>, digits: Int) -> Int? {
    let part = rest.prefix(digits)
    guard part.count == digits, part.allSatisfy(isDigit) else { return nil }
    rest = rest.dropFirst(digits)
    return part.reduce(0) { $0 * 10 + Int($1 - 0x30) }
  }

  private static func take(_ character: Unicode.Scalar, _ rest: inout Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    guard rest.first == UInt8(ascii: character) else { return false }
    rest = rest.dropFirst()
    return true
  }
}
