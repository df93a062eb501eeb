/// A set of events by number: a bit for each.
package struct EventSet: Hashable, Sendable, Sequence {
  private var words: [UInt64] = []

  package init() {}

  init(_ event: Int) { insert(event) }

  package var isEmpty: Bool { words.allSatisfy { $0 == 0 } }
  package var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

  package func contains(_ event: Int) -> Bool {
    event >> 6 < words.count && words[event >> 6] & 1 << UInt64(event & 63) != 0
  }

  package mutating func insert(_ event: Int) {
    while words.count <= event >> 6 { words.append(0) }
    words[event >> 6] |= 1 << UInt64(event & 63)
  }

  package mutating func formUnion(_ other: EventSet) {
    while words.count < other.words.count { words.append(0) }
    for index in other.words.indices { words[index] |= other.words[index] }
  }

  package func union(_ other: EventSet) -> EventSet {
    var result = self
    result.formUnion(other)
    return result
  }

  package func isSuperset(of other: EventSet) -> Bool {
    other.words.indices.allSatisfy { other.words[$0] & ~($0 < words.count ? words[$0] : 0) == 0 }
  }

  package func subtracting(_ other: EventSet) -> EventSet {
    var result = self
    for index in words.indices where index < other.words.count { result.words[index] &= ~other.words[index] }
    result.trim()
    return result
  }

  package func intersection(_ other: EventSet) -> EventSet { subtracting(subtracting(other)) }

  /// Equal sets have equal words.
  private mutating func trim() { while words.last == 0 { words.removeLast() } }

  /// The events, ascending.
  package func makeIterator() -> Iterator { Iterator(words) }

  package struct Iterator: IteratorProtocol {
    private let words: [UInt64]
    private var index = 0
    private var rest: UInt64

    fileprivate init(_ words: [UInt64]) {
      self.words = words
      rest = words.first ?? 0
    }

    package mutating func next() -> Int? {
      while rest == 0 {
        index += 1
        guard index < words.count else { return nil }
        rest = words[index]
      }
      defer { rest &= rest - 1 }
      return index << 6 + rest.trailingZeroBitCount
    }
  }
}
