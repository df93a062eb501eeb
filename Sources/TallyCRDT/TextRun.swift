/// What one replica typed on at one place: elements 0, 1, 2 and so on, one behind the other unless something hangs
/// between them.
package struct TextRun: Sendable {
  /// The side of an element on which a run hangs.
  package enum Side: UInt8, Comparable, Sendable {
    /// Before the element.
    case left
    /// Behind it, before the next of its run.
    case right

    /// The left comes first.
    package static func < (lhs: Side, rhs: Side) -> Bool { lhs.rawValue < rhs.rawValue }
  }

  /// Where a run hangs.
  package struct Origin: Hashable, Sendable {
    private enum Place: Hashable {
      case at(TextElement, Side)
      case alone(Stamp?)
    }

    private let place: Place

    /// A run at a side of an element.
    package init(_ side: Side, of parent: TextElement) { place = .at(parent, side) }

    /// A run that stands by itself.
    package init(stamp: Stamp?) { place = .alone(stamp) }

    /// The element that it hangs at; nil for one that stands by itself.
    package var parent: TextElement? { if case .at(let parent, _) = place { parent } else { nil } }
    /// The side of its parent on which the run hangs; right if it has no parent.
    package var side: Side { if case .at(_, let side) = place { side } else { .right } }
    /// The stamp of what the run says: of an insert's text, or of a base.
    package var stamp: Stamp? { if case .alone(let stamp) = place { stamp } else { nil } }

    /// Of two that only a broken peer, or copies of one store that drew the same number, can give to one run, the one
    /// that stays.
    static func joined(_ a: Origin, _ b: Origin) -> Origin {
      if a == b { return a }
      if a.parent != b.parent {
        guard let mine = a.parent else { return b }
        guard let theirs = b.parent else { return a }
        return mine < theirs ? b : a
      }
      if a.side != b.side { return a.side < b.side ? b : a }
      guard let mine = a.stamp else { return b }
      guard let theirs = b.stamp else { return a }
      return mine < theirs ? b : a
    }
  }

  /// The name of the run.
  package let id: TextRunID
  /// Where the run hangs; nil if no element of it is known, only deletions.
  package internal(set) var origin: Origin?
  /// What is known of the elements, ascending, without overlaps.
  package internal(set) var stretches: [TextStretch]

  /// Creates a run from its parts.
  /// - Precondition: the stretches ascend and do not overlap; there is an origin if, and only if, one has been written.
  package init(id: TextRunID, origin: Origin?, stretches: [TextStretch]) {
    (self.id, self.origin, self.stretches) = (id, origin, stretches)
  }

  /// Joins what another copy knows of the run. Cost: what `other` knows, and the stretches that it overlaps; what lies
  /// behind them is moved in memory.
  mutating func merge(_ other: TextRun) {
    if let theirs = other.origin { origin = origin.map { Origin.joined($0, theirs) } ?? theirs }
    guard let first = other.stretches.first, let last = other.stretches.last else { return }
    if other.stretches.count == 1, let end = stretches.last?.end, end <= first.first {
      let place = stretches.count - 1
      if end < first.first || !stretches[place].append(first) { stretches.append(first) }
      return
    }
    // What it touches, and one beside it at either end, which may go on in it.
    let low = stretches.partition { $0.end >= first.first }
    let high = stretches.partition { $0.first > last.end }
    if low == high {
      stretches.insert(contentsOf: other.stretches, at: low)
      return
    }
    var joined: [TextStretch] = []
    joined.reserveCapacity(high - low + other.stretches.count + 2)
    TextStretch.join(stretches[low..<high], other.stretches[...], into: &joined)
    stretches.replaceSubrange(low..<high, with: joined)
  }

  /// The part that a peer with the vector `vector` lacks; nil if it lacks nothing.
  func delta(since vector: StateVector) -> TextRun? {
    var parts: [TextStretch] = []
    for stretch in stretches { stretch.delta(since: vector, into: &parts) }
    guard !parts.isEmpty else { return nil }
    return TextRun(id: id, origin: parts.contains { $0.written != nil } ? origin : nil, stretches: parts)
  }
}

extension TextRun: Hashable {
  /// Whether both know the same of the same elements, in however many stretches.
  package static func == (lhs: TextRun, rhs: TextRun) -> Bool {
    lhs.id == rhs.id && lhs.origin == rhs.origin && TextStretch.areEqual(lhs.stretches, rhs.stretches)
  }

  /// Feeds what does not depend on how elements are divided into stretches.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(id)
    hasher.combine(stretches.last?.end)
  }
}

extension RandomAccessCollection where Index == Int {
  /// The place of the first element for which something holds that holds for all behind it as well.
  func partition(_ holds: (Element) -> Bool) -> Int {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = low + (high - low) / 2
      if holds(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
