/// What has changed between two strings, as the fewest characters that are deleted and inserted.
///
/// What both begin and end with is found by comparing bytes. Between these it is an edit script of least length (Myers,
/// "An O(ND) difference algorithm and its variations", 1986), above 4,096 scalars first by lines and then within the
/// lines that differ. Work is counted in steps and not by a clock, so that a change is the same on every device; where
/// it would take too many, all that is between is replaced. Changes with less than three scalars between them become
/// one, since people write words and not subsequences.
///
/// ```
/// TextDifference.hunks(from: "milk, eggs", to: "oat milk, 6 eggs")    // inserts "oat " at 0 and " 6" at 5
/// ```
package enum TextDifference {
  /// How much work a comparison may be, and what it looks at.
  package struct Options: Sendable {
    /// Where the last insertion ended, in the old string: one that could stand at several places stands there, if it
    /// can.
    package var place: Int?
    /// The number of steps after which what is left is replaced.
    package var stepLimit = 1 << 21
    /// More scalars than this, in both strings, are compared by lines first.
    package var lineLimit = 4096
    /// Changes with fewer scalars between them are one.
    package var least = 3

    /// The ordinary limits.
    package init() {}
  }

  /// A change: ranges of the old string and of the new one that take each other's place.
  struct Change: Hashable {
    var old: Range<Int>
    var new: Range<Int>
  }

  /// Finds what makes one string of another.
  /// - Returns: the changes, ascending; no two overlap or touch. Offsets are in scalars of the old string.
  package static func hunks(from old: String, to new: String, _ options: Options = Options()) -> [TextHunk] {
    var (old, new) = (old, new)
    return old.withUTF8 { old in new.withUTF8 { new in hunks(old, new, options) } }
  }

  private static func hunks(
    _ old: UnsafeBufferPointer<UInt8>, _ new: UnsafeBufferPointer<UInt8>, _ options: Options
  ) -> [TextHunk] {
    let start = old.commonStart(with: new)
    let end = old.commonEnd(with: new, beyond: start)
    guard start + end < max(old.count, new.count) else { return [] }
    let before = UnsafeBufferPointer(rebasing: old[..<start])
    let x = UnsafeBufferPointer(rebasing: old[start..<old.count - end]).scalars
    let y = UnsafeBufferPointer(rebasing: new[start..<new.count - end]).scalars
    let changes = joined(changes(x, y, options), least: options.least)
    let offset = before.scalarCount
    var hunks = changes.map { change in
      TextHunk(offset: offset + change.old.lowerBound, deleted: change.old.count, inserted: Array(y[change.new]))
    }
    if let place = options.place { slide(&hunks, to: place, before, offset, x) }
    return hunks
  }

  /// The changes between two rows of scalars that neither begin nor end with the same.
  static func changes(_ x: [Unicode.Scalar], _ y: [Unicode.Scalar], _ options: Options) -> [Change] {
    let whole = [Change(old: 0..<x.count, new: 0..<y.count)]
    guard !x.isEmpty, !y.isEmpty else { return whole }
    var steps = options.stepLimit
    guard x.count + y.count > options.lineLimit else { return script(x[...], y[...], steps: &steps) ?? whole }
    let (lines, others) = (lineEnds(x), lineEnds(y))
    guard let script = lineScript(x, lines, y, others, steps: &steps) else { return whole }
    return script.flatMap { change -> [Change] in
      let old = lines[change.old.lowerBound]..<lines[change.old.upperBound]
      let new = others[change.new.lowerBound]..<others[change.new.upperBound]
      return within(x[old], y[new], steps: &steps)
    }
  }

  /// The changes within lines, without what they begin and end with.
  private static func within(
    _ x: ArraySlice<Unicode.Scalar>, _ y: ArraySlice<Unicode.Scalar>, steps: inout Int
  ) -> [Change] {
    var (x, y) = (x, y)
    while let a = x.first, a == y.first { (x, y) = (x.dropFirst(), y.dropFirst()) }
    while let a = x.last, a == y.last { (x, y) = (x.dropLast(), y.dropLast()) }
    let whole = Change(old: x.startIndex..<x.endIndex, new: y.startIndex..<y.endIndex)
    guard !x.isEmpty, !y.isEmpty else { return x.isEmpty && y.isEmpty ? [] : [whole] }
    return script(x, y, steps: &steps) ?? [whole]
  }

  // MARK: Lines

  /// Where lines begin, and the end of the last.
  private static func lineEnds(_ scalars: [Unicode.Scalar]) -> [Int] {
    var ends = [0]
    for (index, scalar) in scalars.enumerated() where scalar == "\n" && index + 1 < scalars.count {
      ends.append(index + 1)
    }
    return ends + [scalars.count]
  }

  /// The changes by lines, each of which is a number.
  private static func lineScript(
    _ x: [Unicode.Scalar], _ lines: [Int], _ y: [Unicode.Scalar], _ others: [Int], steps: inout Int
  ) -> [Change]? {
    var numbers: [ArraySlice<Unicode.Scalar>: Int32] = [:]
    func number(_ scalars: [Unicode.Scalar], _ ends: [Int]) -> [Int32] {
      zip(ends, ends.dropFirst()).map { start, end in
        let next = Int32(numbers.count)
        let number = numbers[scalars[start..<end], default: next]
        if number == next { numbers[scalars[start..<end]] = next }
        return number
      }
    }
    let (a, b) = (number(x, lines), number(y, others))
    return script(a[...], b[...], steps: &steps)
  }

  // MARK: What is one change

  /// The changes of which those that are close to each other are one.
  static func joined(_ changes: [Change], least: Int) -> [Change] {
    var joined: [Change] = []
    for change in changes {
      if let last = joined.last, change.old.lowerBound - last.old.upperBound < least {
        joined[joined.count - 1] = Change(
          old: last.old.lowerBound..<change.old.upperBound, new: last.new.lowerBound..<change.new.upperBound)
      } else {
        joined.append(change)
      }
    }
    return joined
  }

  /// Moves an insertion to a place, if it makes the same of the text there: "s" between "owl" and "start" could as well
  /// be what "start" begins with. Where it is the only change, the comparison has found the last of such places; so it
  /// is to the left that it moves.
  private static func slide(
    _ hunks: inout [TextHunk], to place: Int, _ before: UnsafeBufferPointer<UInt8>, _ offset: Int,
    _ middle: [Unicode.Scalar]
  ) {
    guard let index = hunks.firstIndex(where: { $0.offset > place }), hunks[index].deleted == 0 else { return }
    if index > 0, hunks[index - 1].offset + hunks[index - 1].deleted >= place { return }
    let inserted = hunks[index].inserted
    var (position, turned, byte) = (hunks[index].offset, inserted.count, before.count)
    while position > place {
      let scalar: Unicode.Scalar
      if position > offset {
        scalar = middle[position - offset - 1]
      } else {
        byte = before.scalarStart(before: byte)
        scalar = UnsafeBufferPointer(rebasing: before[byte...]).firstScalar
      }
      guard scalar == inserted[turned - 1] else { return }
      turned = turned == 1 ? inserted.count : turned - 1
      position -= 1
    }
    hunks[index].offset = place
    hunks[index].inserted = Array(inserted[turned...] + inserted[..<turned])
  }
}
