import TallyCRDT

/// A few values by the stamps that they belong to, found without hashing. Records that come together are often of a
/// handful of transactions, which take turns. A value may give way to another one at any time.
struct RecentValues<Value> {
  /// None until there is a value.
  private var slots: [(stamp: Stamp, value: Value)?] = []
  private static var count: Int { 16 }

  subscript(stamp: Stamp) -> Value? {
    get {
      guard !slots.isEmpty, let slot = slots[Self.place(of: stamp)], slot.stamp == stamp else { return nil }
      return slot.value
    }
    set {
      if slots.isEmpty { slots = Array(repeating: nil, count: Self.count) }
      slots[Self.place(of: stamp)] = newValue.map { (stamp, $0) }
    }
  }

  private static func place(of stamp: Stamp) -> Int { Int(truncatingIfNeeded: stamp.dot.sequence) & (count - 1) }

  /// Forgets all values.
  mutating func removeAll() { slots.removeAll() }
}
