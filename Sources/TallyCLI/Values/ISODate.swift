/// Dates as ISO 8601 outside and as GRDB's `YYYY-MM-DD HH:MM:SS.SSS` in UTC inside, with milliseconds.
enum ISODate {
  /// The stored form of an ISO 8601 date: a day, which stays as it is, or a day and a time, with an offset, `Z`, or
  /// neither, which means UTC. Digits beyond the millisecond are dropped. Nil for anything else.
  static func stored(_ text: String) -> String? {
    let bytes = Array(text.utf8)
    var scanner = Scanner(rest: bytes[...])
    guard let days = scanner.day() else { return nil }
    if bytes.count == 24, bytes[10] == UInt8(ascii: "T"), bytes[19] == UInt8(ascii: "."), bytes[23] == UInt8(ascii: "Z")
    {
      // The form that is written, to the millisecond: nothing has to be reckoned.
      scanner.rest.removeFirst()
      guard scanner.time() != nil, scanner.rest.count == 1 else { return nil }
      return String(unsafeUninitializedCapacity: 23) { out in
        for index in 0..<23 { out[index] = index == 10 ? UInt8(ascii: " ") : bytes[index] }
        return 23
      }
    }
    if scanner.rest.isEmpty { return text }
    guard scanner.take("T") || scanner.take("t") || scanner.take(" "), let time = scanner.time(),
      let offset = scanner.offset(), scanner.rest.isEmpty
    else { return nil }
    let parts = civil(days * 86_400_000 + time - offset)
    guard (0...9999).contains(parts.year) else { return nil }
    return parts.date + " " + parts.time
  }

  /// The ISO 8601 form of a stored date; nil if it is not one.
  static func iso(stored: String) -> String? { self.stored(stored).map { $0.utf8.count == 10 ? $0 : joined($0) } }

  /// The ISO 8601 form of milliseconds since 1970.
  static func iso(milliseconds: UInt64) -> String {
    let parts = civil(Int(clamping: milliseconds))
    return joined(parts.date + " " + parts.time)
  }

  /// Whether the day and the time of a text stand on both sides of a T, as outside.
  static func isISO(_ text: String) -> Bool { text.utf8.dropFirst(10).first == UInt8(ascii: "T") }

  private static func joined(_ text: String) -> String { text.replacing(" ", with: "T") + "Z" }

  private static func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
  }

  /// Year, date and time of milliseconds since 1970. The calendar arithmetic is Hinnant's "chrono-Compatible Low-Level
  /// Date Algorithms" (2014), civil_from_days.
  private static func civil(_ milliseconds: Int) -> (year: Int, date: String, time: String) {
    let days = (milliseconds - (milliseconds < 0 ? 86_399_999 : 0)) / 86_400_000
    let rest = milliseconds - days * 86_400_000
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60)
    return (
      year, "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))",
      "\(padded(hour, 2)):\(padded(minute, 2)):\(padded(second, 2)).\(padded(rest % 1000, 3))"
    )
  }

  private struct Scanner {
    var rest: ArraySlice<UInt8>

    mutating func take(_ character: Unicode.Scalar) -> Bool {
      guard rest.first == UInt8(ascii: character) else { return false }
      rest.removeFirst()
      return true
    }

    mutating func number(_ width: Int, _ range: ClosedRange<Int>) -> Int? {
      guard rest.count >= width else { return nil }
      var result = 0
      for byte in rest.prefix(width) {
        guard (0x30...0x39).contains(byte) else { return nil }
        result = result * 10 + Int(byte - 0x30)
      }
      rest = rest.dropFirst(width)
      return range.contains(result) ? result : nil
    }

    /// Days since 1970 (Hinnant, days_from_civil).
    mutating func day() -> Int? {
      guard let year = number(4, 0...9999), take("-"), let month = number(2, 1...12), take("-"),
        let day = number(2, 1...31)
      else { return nil }
      let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
      let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
      guard day <= lengths[month - 1] else { return nil }
      let shifted = month <= 2 ? year - 1 : year
      let era = (shifted >= 0 ? shifted : shifted - 399) / 400
      let yearOfEra = shifted - era * 400
      let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
      return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// Milliseconds of the day.
    mutating func time() -> Int? {
      guard let hour = number(2, 0...23), take(":"), let minute = number(2, 0...59) else { return nil }
      var result = hour * 3_600_000 + minute * 60_000
      guard take(":") else { return result }
      guard let second = number(2, 0...59) else { return nil }
      result += second * 1000
      guard take(".") else { return result }
      var weight = 100
      var count = 0
      while let byte = rest.first, (0x30...0x39).contains(byte) {
        result += Int(byte - 0x30) * weight
        weight /= 10
        count += 1
        rest.removeFirst()
      }
      return count > 0 ? result : nil
    }

    /// Milliseconds east of Greenwich.
    mutating func offset() -> Int? {
      if rest.isEmpty || take("Z") || take("z") { return 0 }
      let sign = take("+") ? 1 : take("-") ? -1 : 0
      guard sign != 0, let hours = number(2, 0...23) else { return nil }
      _ = take(":")
      guard let minutes = rest.isEmpty ? 0 : number(2, 0...59) else { return nil }
      return sign * (hours * 3_600_000 + minutes * 60_000)
    }
  }
}
