/// Consecutive elements of a run of which the same is known.
///
/// It is a number of registers beside each other, one for each element, which are joined one by one: who wrote the
/// element and what it is, and who deleted it. The character of a deleted element is not kept.
package struct TextStretch: Sendable {
  /// The place of the first element in the run.
  package internal(set) var first: UInt32
  /// The number of elements.
  package internal(set) var count: UInt32
  /// Who wrote the elements; nil if only their deletion is known. The replica is that of the run.
  package internal(set) var written: TextDots?
  /// Who deleted the elements; nil if they are there.
  package internal(set) var deleted: TextDots?
  /// The elements themselves; none if they are deleted.
  package internal(set) var characters: [Unicode.Scalar]

  /// Elements that are there.
  package init(first: UInt32, characters: [Unicode.Scalar], written: TextDots) {
    (self.first, count, self.written, deleted) = (first, UInt32(characters.count), written, nil)
    self.characters = characters
  }

  /// Elements that are deleted.
  package init(first: UInt32, count: UInt32, written: TextDots?, deleted: TextDots) {
    (self.first, self.count, self.written, self.deleted, characters) = (first, count, written, deleted, [])
  }

  /// A run has no more elements: sums of places fit into 32 bits.
  package static let limit: UInt32 = 1 << 30

  /// The place behind the last element.
  package var end: UInt32 { first + count }

  /// Whether the elements are there.
  package var isLive: Bool { deleted == nil }

  /// A part of the elements, by their places in the run.
  package func part(_ range: Range<UInt32>) -> TextStretch {
    if range == first..<end { return self }
    var part = self
    let start = range.lowerBound - first
    part.first = range.lowerBound
    part.count = range.upperBound - range.lowerBound
    part.written = written?.part(from: start, count: part.count)
    part.deleted = deleted?.part(from: start, count: part.count)
    if isLive { part.characters = Array(characters[Int(start)..<Int(start + part.count)]) }
    return part
  }

  /// Adds a stretch that follows this one, if one stretch can say both.
  /// - Returns: whether it can; nothing has changed otherwise.
  mutating func append(_ next: TextStretch) -> Bool {
    guard end == next.first, (written == nil) == (next.written == nil), isLive == next.isLive else { return false }
    var joined: (written: TextDots?, deleted: TextDots?)
    if let mine = written, let theirs = next.written {
      joined.written = mine.appending(theirs, count: count, nextCount: next.count, within: TextDots.writing)
      if joined.written == nil { return false }
    }
    if let mine = deleted, let theirs = next.deleted {
      joined.deleted = mine.appending(theirs, count: count, nextCount: next.count, within: TextDots.deleting)
      if joined.deleted == nil { return false }
    }
    (written, deleted) = joined
    count += next.count
    characters.append(contentsOf: next.characters)
    return true
  }

  static func append(_ stretch: TextStretch, to result: inout [TextStretch]) {
    if !result.isEmpty, result[result.count - 1].append(stretch) { return }
    result.append(stretch)
  }

  // MARK: Joining

  /// Joins two lists of stretches of one run and appends the result.
  static func join(
    _ mine: ArraySlice<TextStretch>, _ theirs: ArraySlice<TextStretch>, into result: inout [TextStretch]
  ) {
    walk(mine, theirs) { range, mine, theirs in
      switch (mine, theirs) {
      case (let mine?, let theirs?): join(mine.part(range), theirs.part(range), into: &result)
      case (let one?, nil), (nil, let one?): append(one.part(range), to: &result)
      case (nil, nil): break
      }
      return true
    }
  }

  /// Goes through two lists of stretches and calls `body` with each range of places of which both know the same
  /// throughout, and with the stretches that have it; ends if `body` returns false.
  private static func walk(
    _ mine: ArraySlice<TextStretch>, _ theirs: ArraySlice<TextStretch>,
    _ body: (Range<UInt32>, TextStretch?, TextStretch?) -> Bool
  ) {
    var (i, j) = (mine.startIndex, theirs.startIndex)
    var place: UInt32 = 0
    while i < mine.endIndex || j < theirs.endIndex {
      let a = i < mine.endIndex ? mine[i] : nil
      let b = j < theirs.endIndex ? theirs[j] : nil
      let (startA, startB) = (a.map { max($0.first, place) }, b.map { max($0.first, place) })
      let start = min(startA ?? .max, startB ?? .max)
      let (hasA, hasB) = (startA == start, startB == start)
      let end = min((hasA ? a?.end : startA) ?? .max, (hasB ? b?.end : startB) ?? .max)
      guard body(start..<end, hasA ? a : nil, hasB ? b : nil) else { return }
      place = end
      if let a, a.end <= place { i += 1 }
      if let b, b.end <= place { j += 1 }
    }
  }

  /// Joins two stretches of the same elements.
  private static func join(_ mine: TextStretch, _ theirs: TextStretch, into result: inout [TextStretch]) {
    let written = join(mine.written, theirs.written, count: mine.count)
    let deleted = join(mine.deleted, theirs.deleted, count: mine.count)
    let isLive = mine.isLive && theirs.isLive
    var characters: [Unicode.Scalar] = []
    if isLive {
      // They differ if a broken peer, or a copy of a store, has given one name to two characters.
      characters =
        mine.characters == theirs.characters
        ? mine.characters : zip(mine.characters, theirs.characters).map { max($0, $1) }
    }
    var (i, j, place, startA, startB) = (0, 0, mine.first, mine.first, mine.first)
    while place < mine.end {
      let (a, b) = (written[i], deleted[j])
      let end = min(startA + a.count, startB + b.count)
      let count = end - place
      let writer = a.dots?.part(from: place - startA, count: count)
      if let deleter = b.dots?.part(from: place - startB, count: count) {
        append(TextStretch(first: place, count: count, written: writer, deleted: deleter), to: &result)
      } else if let writer {
        let range = Int(place - mine.first)..<Int(end - mine.first)
        let part = range.count == characters.count ? characters : Array(characters[range])
        append(TextStretch(first: place, characters: part, written: writer), to: &result)
      }
      place = end
      if startA + a.count == end { (i, startA) = (i + 1, end) }
      if startB + b.count == end { (j, startB) = (j + 1, end) }
    }
  }

  private static func join(
    _ mine: TextDots?, _ theirs: TextDots?, count: UInt32
  ) -> [(count: UInt32, dots: TextDots?)] {
    guard let mine, let theirs else { return [(count, mine ?? theirs)] }
    var parts: [(count: UInt32, dots: TextDots?)] = []
    TextDots.join(mine, theirs, count: count) { parts.append(($0, $1)) }
    return parts
  }

  // MARK: Deltas

  /// Appends the parts that a peer with the vector `vector` lacks. An element that travels does so with its deletion,
  /// if it has one: it has no character without which it could be.
  func delta(since vector: StateVector, into result: inout [TextStretch]) {
    let new = written?.beyond(vector, count: count) ?? 0..<0
    let gone = deleted?.beyond(vector, count: count) ?? 0..<0
    if new == 0..<count || gone.isEmpty && new.isEmpty {
      if !new.isEmpty { result.append(self) }
      return
    }
    var place: UInt32 = 0
    while place < count {
      let (isNew, isGone) = (new.contains(place), gone.contains(place))
      var end = count
      for bound in [new.lowerBound, new.upperBound, gone.lowerBound, gone.upperBound] where bound > place {
        end = min(end, bound)
      }
      var part = part(first + place..<first + end)
      if !isNew { part.written = nil }
      if isNew || isGone { Self.append(part, to: &result) }
      place = end
    }
  }

  // MARK: Comparing

  /// Whether both lists say the same of each element.
  static func areEqual(_ mine: [TextStretch], _ theirs: [TextStretch]) -> Bool {
    var areEqual = true
    walk(mine[...], theirs[...]) { range, a, b in
      areEqual = if let a, let b { a.isSame(as: b, in: range) } else { false }
      return areEqual
    }
    return areEqual
  }

  private func isSame(as other: TextStretch, in range: Range<UInt32>) -> Bool {
    let count = range.upperBound - range.lowerBound
    func isSame(_ a: TextDots?, _ b: TextDots?) -> Bool {
      guard let a, let b else { return a == nil && b == nil }
      let mine = a.part(from: range.lowerBound - first, count: count)
      return mine.isSame(b.part(from: range.lowerBound - other.first, count: count), count: count)
    }
    guard isLive == other.isLive, isSame(written, other.written), isSame(deleted, other.deleted) else { return false }
    return characters(in: range) == other.characters(in: range)
  }

  private func characters(in range: Range<UInt32>) -> ArraySlice<Unicode.Scalar> {
    isLive ? characters[Int(range.lowerBound - first)..<Int(range.upperBound - first)] : []
  }
}
