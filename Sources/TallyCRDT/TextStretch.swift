/// Consecutive elements of a run of which the same is known.
///
/// It is a number of registers beside each other, two for each element, which are joined one by one: the dot that wrote
/// the element, with its character, and the dot that deleted it. The character of a deleted element is not kept.
package struct TextStretch: Sendable {
  /// The place of the first element in the run.
  package internal(set) var first: UInt32
  /// The number of elements.
  package internal(set) var count: UInt32
  /// The dots that wrote the elements; nil if only their deletion is known. The replica is that of the run.
  package internal(set) var written: TextDots?
  /// The dots that deleted the elements; nil if they are there.
  package internal(set) var deleted: TextDots?
  /// Where the elements begin in `buffer`, which other stretches may share: so a stretch divides without copying, and
  /// those of a decoder take no memory each.
  private var start: UInt32
  private var buffer: [Unicode.Scalar]

  /// Elements that are there.
  package init(first: UInt32, characters: [Unicode.Scalar], written: TextDots) {
    (self.first, count, self.written, deleted) = (first, UInt32(characters.count), written, nil)
    (start, buffer) = (0, characters)
  }

  /// Elements that are deleted.
  package init(first: UInt32, count: UInt32, written: TextDots?, deleted: TextDots) {
    (self.first, self.count, self.written, self.deleted) = (first, count, written, deleted)
    (start, buffer) = (0, [])
  }

  /// Elements that are there, whose characters stand among others.
  init(first: UInt32, count: UInt32, written: TextDots, buffer: [Unicode.Scalar], from start: UInt32) {
    (self.first, self.count, self.written, deleted) = (first, count, written, nil)
    (self.start, self.buffer) = (start, buffer)
  }

  /// The elements themselves; none if they are deleted.
  package var characters: ArraySlice<Unicode.Scalar> { characters(in: first..<end) }

  /// Those of the elements in a range of places.
  package func characters(in range: Range<UInt32>) -> ArraySlice<Unicode.Scalar> {
    guard isLive else { return [] }
    let start = Int(start + (range.lowerBound - first))
    return buffer[start..<start + range.count]
  }

  /// Whether there is a character for each element that is there, and none for others.
  var hasCharacters: Bool { isLive ? UInt64(start) + UInt64(count) <= UInt64(buffer.count) : buffer.isEmpty }

  /// A part of less than one in so many characters has its own, so that little of a large text stays in memory once
  /// most of it is deleted.
  private static let sharing = 4

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
    guard isLive else { return part }
    if Int(part.count) * Self.sharing < buffer.count {
      (part.start, part.buffer) = (0, Array(characters(in: range)))
    } else {
      part.start = self.start + start
    }
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
    // Shared characters are left to the others.
    if isLive, buffer.count != Int(count) { (start, buffer) = (0, Array(characters)) }
    buffer.append(contentsOf: next.characters)
    count += next.count
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
    var source = mine
    if isLive, mine.characters != theirs.characters, let dots = mine.written {
      // They differ if a broken peer, or a copy of a store, has given one name to two characters.
      source = TextStretch(
        first: mine.first, characters: zip(mine.characters, theirs.characters).map { max($0, $1) }, written: dots)
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
        var part = source.part(place..<end)
        part.written = writer
        append(part, to: &result)
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
}
