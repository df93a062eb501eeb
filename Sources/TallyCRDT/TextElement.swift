/// One character of a mergeable text, by name: a place in a run. A character is a Unicode scalar.
///
/// Graphemes would not do: what belongs to one differs between versions of Unicode, and a name has to mean the same on
/// all devices for as long as the text exists.
package struct TextElement: Hashable, Comparable, Sendable {
  /// The run that the element is part of.
  package var run: TextRunID
  /// The place in the run, from 0.
  package var offset: UInt32

  /// Creates the name of an element.
  package init(run: TextRunID, offset: UInt32) { (self.run, self.offset) = (run, offset) }

  /// Orders by run, then by place in it. It says nothing about where elements stand in the text.
  package static func < (lhs: TextElement, rhs: TextElement) -> Bool {
    lhs.run != rhs.run ? lhs.run < rhs.run : lhs.offset < rhs.offset
  }
}

/// The name of a run: of the characters that one replica typed on at one place, over as many transactions as it took.
package struct TextRunID: Hashable, Comparable, Sendable {
  /// The transaction that began the run; of a base the one that wrote what the text began with.
  package var dot: Dot
  /// The number among the runs of the transaction: 24 bits that were drawn when the text was opened for writing, and 16
  /// that count. So two copies of one store, which issue the same dots, do not write into one run.
  package var number: UInt64

  /// The number of a run that is everything which an insert wrote.
  package static let insert: UInt64 = 0
  /// The number of a run that holds what stood elsewhere before it was first edited as a text: in a seed's layer, or in
  /// the register of apps that do not merge characters.
  package static let base: UInt64 = 1 << 40 - 1

  /// Creates the name of a run.
  /// - Precondition: `number` has at most 40 bits.
  package init(dot: Dot, number: UInt64) {
    precondition(number <= Self.base, "the number of a run has 40 bits")
    (self.dot, self.number) = (dot, number)
  }

  /// Whether the run is a base: of several, only the latest shows its own characters.
  package var isBase: Bool { number == Self.base }

  /// Whether a run at the beginning of the text carries a stamp: it may be all that there is of the text, or is a base.
  package var hasStamp: Bool { number == Self.insert || isBase }

  /// Orders by dot, then by number. Runs that hang at one place stand in this order.
  package static func < (lhs: TextRunID, rhs: TextRunID) -> Bool {
    lhs.dot != rhs.dot ? lhs.dot < rhs.dot : lhs.number < rhs.number
  }
}

/// The dots of consecutive elements: one for all of them, or going up or down by one with each, as when every keystroke
/// is a transaction.
package struct TextDots: Sendable {
  /// Which replica's dots they are, and how they travel. Of many rows that a decoder reads most have the same: it is
  /// kept once. Never mutated.
  final class Source: Sendable {
    let replica: ReplicaID
    let via: Dot?

    init(_ replica: ReplicaID, via: Dot?) { (self.replica, self.via) = (replica, via) }
  }

  private(set) var source: Source
  /// The sequence of the first element.
  package var sequence: UInt64
  /// How much the sequence grows with each element: -1, 0 or 1; 0 for a single element.
  package var step: Int8 = 0

  /// The dots of elements that one transaction has written, or deleted.
  package init(_ dot: Dot, via: Dot? = nil) {
    self.init(Source(dot.replica, via: via == dot ? nil : via), dot.sequence, step: 0)
  }

  init(_ source: Source, _ sequence: UInt64, step: Int8) {
    (self.source, self.sequence, self.step) = (source, sequence, step)
  }

  /// The replica of all of the dots.
  package var replica: ReplicaID {
    get { source.replica }
    set { source = Source(newValue, via: source.via) }
  }

  /// The dot by which the elements travel if they were lifted or said again; nil if they travel by their own. It is the
  /// dot of none of them.
  package var via: Dot? {
    get { source.via }
    set { source = Source(source.replica, via: newValue) }
  }

  private func hasSameSource(as other: TextDots) -> Bool {
    source === other.source || source.replica == other.source.replica && source.via == other.source.via
  }

  /// The dot of an element, counted from the first.
  package subscript(index: UInt32) -> Dot {
    let moved = Int64(bitPattern: sequence) &+ Int64(step) &* Int64(index)
    return Dot(replica: replica, sequence: UInt64(bitPattern: moved))
  }

  /// The dot by which an element travels.
  package func travelling(_ index: UInt32) -> Dot { via ?? self[index] }

  /// A part of the elements: `count` of them, from `start` on.
  package func part(from start: UInt32, count: UInt32) -> TextDots {
    var part = self
    part.sequence = self[start].sequence
    if count == 1 { part.step = 0 }
    return part
  }

  /// The steps that there can be in what one replica writes, and in what it deletes.
  static let writing: ClosedRange<Int64> = 0...1
  static let deleting: ClosedRange<Int64> = -1...1

  /// The step with which the first of `next` could go on behind `count` elements of this; nil if it cannot.
  func step(to next: TextDots, count: UInt32, within steps: ClosedRange<Int64>) -> Int8? {
    guard hasSameSource(as: next) else { return nil }
    let gap = Int64(bitPattern: next.sequence) &- Int64(bitPattern: self[count - 1].sequence)
    return steps.contains(gap) && (count == 1 || gap == step) ? Int8(gap) : nil
  }

  /// The dots of these elements and of all of `next` behind them; nil if one line does not say both.
  func appending(
    _ next: TextDots, count: UInt32, nextCount: UInt32, within steps: ClosedRange<Int64>
  ) -> TextDots? {
    guard let step = step(to: next, count: count, within: steps), nextCount == 1 || step == next.step else {
      return nil
    }
    var joined = self
    joined.step = step
    return joined
  }

  /// Whether the first `count` elements have the same dots in both.
  func isSame(_ other: TextDots, count: UInt32) -> Bool {
    sequence == other.sequence && (count == 1 || step == other.step) && hasSameSource(as: other)
  }

  /// Joins what two copies know of `count` elements: of two dots the lesser stays, of two that the same one travels by
  /// the greater. Calls `body` with each part, from the first element on.
  static func join(
    _ mine: TextDots, _ theirs: TextDots, count: UInt32, _ body: (_ count: UInt32, TextDots) -> Void
  ) {
    if mine.isSame(theirs, count: count) { return body(count, mine) }
    var start: UInt32 = 0
    while start < count {
      let order = Self.order(mine[start], theirs[start])
      let end = Self.end(of: start..<count) { Self.order(mine[$0], theirs[$0]) == order }
      var place = start
      while place < end {
        // Of one dot, which both know, it is the way that differs.
        let way = order != 0 ? -order : Self.order(mine.travelling(place), theirs.travelling(place))
        var last = end
        if order == 0 {
          last = Self.end(of: place..<end) { Self.order(mine.travelling($0), theirs.travelling($0)) == way }
        }
        body(last - place, (way >= 0 ? mine : theirs).part(from: place, count: last - place))
        place = last
      }
      start = end
    }
  }

  private static func order(_ a: Dot, _ b: Dot) -> Int { a < b ? -1 : a == b ? 0 : 1 }

  /// How far something holds that holds for the first of a range and, since dots change evenly, not again once it has
  /// ended.
  private static func end(of range: Range<UInt32>, _ holds: (UInt32) -> Bool) -> UInt32 {
    if holds(range.upperBound - 1) { return range.upperBound }
    var (low, high) = (range.lowerBound, range.upperBound - 1)
    while low + 1 < high {
      let middle = low + (high - low) / 2
      if holds(middle) { low = middle } else { high = middle }
    }
    return high
  }

  /// Finds the elements that travel by dots which a vector does not cover. They are always the first or the last ones.
  func beyond(_ vector: StateVector, count: UInt32) -> Range<UInt32> {
    if let via { return vector.covers(via) ? 0..<0 : 0..<count }
    let known = vector[replica]
    let (first, last) = (sequence, self[count - 1].sequence)
    switch (first > known, last > known) {
    case (true, true): return 0..<count
    case (false, false): return 0..<0
    case (true, false): return 0..<UInt32(first - known)
    case (false, true): return count - UInt32(last - known)..<count
    }
  }
}

extension TextDots: Hashable {
  /// Whether both say the same of as many elements.
  package static func == (lhs: TextDots, rhs: TextDots) -> Bool {
    lhs.sequence == rhs.sequence && lhs.step == rhs.step && lhs.hasSameSource(as: rhs)
  }

  /// Feeds the same parts that equality compares.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(replica)
    hasher.combine(sequence)
    hasher.combine(step)
    hasher.combine(via)
  }
}
