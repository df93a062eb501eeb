/// A place in a list that people order: bytes that sort as the list does.
///
/// Positions are made by a store, as the face of an ordered list and `tally_between` do, and are kept in a column or
/// with a link. An element that moves gets another position and stays what it is. Between two positions there is always
/// another one, up to the limit of their length, and what two devices insert at one place without having heard of each
/// other is never mixed.
///
/// ```swift
/// let chapters = try Chapter.order(Column("rank"), Column("id")).fetchAll(db)
/// ```
public struct ListPosition: Hashable, Comparable, Sendable {
  /// The number of bytes that a position has at most.
  public static let byteLimit = 512

  /// The position as a column or a link keeps it: 1 to 512 bytes.
  public let bytes: [UInt8]

  /// The position with these bytes, which may be of another program's making; nil if there are none, or more than 512.
  public init?(bytes: [UInt8]) {
    guard (1...Self.byteLimit).contains(bytes.count) else { return nil }
    self.bytes = bytes
  }

  /// The position of an element of a run of which all elements are known from the beginning; nil if there are too many.
  package init?(element: Int, ofRun run: UInt64) {
    guard let bytes = ListStep.bytes([ListStep(run: run % ListStep.runLimit, number: 2 * Int64(element))]) else {
      return nil
    }
    self.bytes = bytes
  }

  /// Orders positions as their bytes do. Of two of which one begins with the other, the shorter comes first.
  public static func < (lhs: ListPosition, rhs: ListPosition) -> Bool {
    lhs.bytes.withUnsafeBufferPointer { left in rhs.bytes.withUnsafeBufferPointer { left.precedes($0) } }
  }
}

/// The reason why there is no position between two others.
package enum ListPositionError: Error, Hashable, Sendable {
  /// It would have more than 512 bytes.
  case tooDeep
  /// There is none: they are equal or in the wrong order, or of another program's making and next to each other.
  case noPlace
}

/// One step on the way to an element of a list: a run, and the number of an element or gap in it.
///
/// A run is what one store inserts at one place. Its elements have even numbers, from 0 up as it goes on and down as it
/// grows at its front; odd ones are the gaps between them, where runs of others begin. A position is a path of such
/// steps, each run beneath an element or in a gap of the one before. So what lies between two elements of one run was
/// put there by somebody who had seen one of them.
struct ListStep: Hashable {
  /// 48 bits.
  var run: UInt64
  var number: Int64

  static let runBytes = 6
  static let runLimit: UInt64 = 1 << 48

  /// The number of numbers that each length of encoding has, and the bits that its first byte begins with. Lengths are
  /// from one byte to five.
  private static let lengths: [(head: UInt8, count: Int64)] = [
    (0x80, 1 << 6), (0xC0, 1 << 13), (0xE0, 1 << 20), (0xF0, 1 << 27), (0xF8, 1 << 32),
  ]

  /// Appends the step so that bytes order as run and number do, and no step begins with another.
  /// - Returns: false, and nothing is appended, if the number is too large.
  func append(to bytes: inout [UInt8]) -> Bool {
    var rest = number < 0 ? -1 - number : number
    for (length, (head, count)) in Self.lengths.enumerated() {
      guard rest < count else {
        rest -= count
        continue
      }
      for place in (0..<Self.runBytes).reversed() { bytes.append(UInt8(truncatingIfNeeded: run >> UInt64(8 * place))) }
      // Those below zero have all bits the other way round, so that they come first, the least before all.
      let flip: UInt8 = number < 0 ? 0xFF : 0
      bytes.append((head | UInt8(truncatingIfNeeded: rest >> Int64(8 * length))) ^ flip)
      for place in (0..<length).reversed() { bytes.append(UInt8(truncatingIfNeeded: rest >> Int64(8 * place)) ^ flip) }
      return true
    }
    return false
  }

  /// The steps of a position; nil if it is none that `ListRuns` makes. The least element of a list has no steps.
  static func steps(_ bytes: [UInt8]) -> [ListStep]? {
    var steps: [ListStep] = []
    var place = 0
    while place < bytes.count {
      guard place + runBytes < bytes.count else { return nil }
      let run = bytes[place..<place + runBytes].reduce(0) { $0 << 8 | UInt64($1) }
      place += runBytes
      let flip: UInt8 = bytes[place] < 0x80 ? 0xFF : 0
      let first = bytes[place] ^ flip
      guard let length = lengths.lastIndex(where: { first >= $0.head }), first <= 0xF8,
        place + length < bytes.count
      else { return nil }
      var rest = Int64(first ^ lengths[length].head)
      for byte in bytes[place + 1..<place + 1 + length] { rest = rest << 8 | Int64(byte ^ flip) }
      for shorter in lengths[..<length] { rest += shorter.count }
      steps.append(ListStep(run: run, number: flip == 0 ? rest : -1 - rest))
      place += 1 + length
    }
    return steps
  }

  /// The bytes of a path; nil if a number is too large.
  static func bytes(_ steps: some Sequence<ListStep>) -> [UInt8]? {
    var bytes: [UInt8] = []
    for step in steps where !step.append(to: &bytes) { return nil }
    return bytes
  }
}
