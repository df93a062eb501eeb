/// The numbers of a text's state, by what they say: like beside like compresses better. `TextState+Encode.swift` says
/// which there are.
struct TextColumns {
  /// Dots of consecutive elements, in the longest rows that there are, each from the end of the one before on.
  struct Row {
    var first: UInt32
    var count: UInt32
    var dots: TextDots

    var end: UInt32 { first + count }
  }

  /// Adds elements to rows. A row takes what it can, if only the first element of what follows: so the rows depend on
  /// the dots alone, and one state has one form.
  static func append(_ dots: TextDots, _ range: Range<UInt32>, to rows: inout [Row], within steps: ClosedRange<Int64>) {
    let count = UInt32(range.count)
    guard let last = rows.last, last.end == range.lowerBound,
      let step = last.dots.step(to: dots, count: last.count, within: steps)
    else {
      rows.append(Row(first: range.lowerBound, count: count, dots: dots))
      return
    }
    let isWhole = count == 1 || step == dots.step
    rows[rows.count - 1].dots.step = step
    rows[rows.count - 1].count += isWhole ? count : 1
    if !isWhole {
      rows.append(Row(first: range.lowerBound + 1, count: count - 1, dots: dots.part(from: 1, count: count - 1)))
    }
  }

  /// Whether a row could have taken the first element of the one that follows it.
  static func isTooShort(_ row: Row, before next: Row, within steps: ClosedRange<Int64>) -> Bool {
    row.end == next.first && row.dots.step(to: next.dots, count: row.count, within: steps) != nil
  }
}

/// A part of the bytes: numbers in their shortest form, seven bits in each byte from the lowest on.
struct TextColumn {
  private(set) var bytes: [UInt8] = []

  mutating func put(_ number: UInt64) {
    var rest = number
    while rest > 0x7F {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  /// A number with a sign, which goes to the lowest bit.
  mutating func put(signed number: Int64) { put(UInt64(bitPattern: number << 1 ^ number >> 63)) }
}

/// Why bytes are no state of a text. Nothing has changed when it is thrown.
package enum TextCodingError: Error, Hashable, Sendable {
  /// The bytes end too early.
  case truncated
  /// There are bytes behind the end.
  case bytesBehind
  /// A number is not in its shortest form, or has more than 64 bits.
  case number
  /// A bit that means nothing is set.
  case unknownFlag
  /// More runs, pieces or characters than the bytes have room for.
  case tooMany
  /// A replica that is not in the list.
  case unknownReplica
  /// A transaction that is numbered 0, or beyond those that the sender has.
  case beyondTarget
  /// The number of a run is no number of one, or runs do not ascend.
  case runOrder
  /// A run that nothing is said of.
  case unusedRun
  /// A run hangs at a run that is not in the list.
  case unknownParent
  /// A row without elements, or beyond the limit of a run.
  case range
  /// Rows that could be one, or a step of a single element.
  case notLongest
  /// Something travels by its own dot, and says so.
  case needlessVia
  /// The time of a stamp is out of range.
  case time
  /// The characters are not UTF-8, or not as many as there are elements.
  case characters
}
