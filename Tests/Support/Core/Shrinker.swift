import TallyTesting

/// Makes failing histories small by delta debugging (Zeller and Hildebrandt, 2002).
package enum Shrinker {
  /// A history of the same seed with as few steps and operations as still fail.
  package static func shrink(_ history: History, fails: (History) -> Bool) -> History {
    var smallest = history
    smallest.steps = minimize(history.steps) { steps in
      var candidate = history
      candidate.steps = steps
      return fails(candidate)
    }
    for index in smallest.steps.indices {
      guard case .transact(let replica, let elapsed, let operations) = smallest.steps[index] else { continue }
      let fewer = minimize(operations) { operations in
        var candidate = smallest
        candidate.steps[index] = .transact(replica: replica, elapsed: elapsed, operations)
        return fails(candidate)
      }
      smallest.steps[index] = .transact(replica: replica, elapsed: elapsed, fewer)
    }
    return smallest
  }

  /// Leaves out runs of elements, shorter and shorter ones, for as long as that helps.
  package static func minimize<Element>(_ elements: [Element], fails: ([Element]) -> Bool) -> [Element] {
    var current = elements
    var length = max(1, current.count / 2)
    while true {
      var start = 0
      var didShrink = false
      while start < current.count {
        var candidate = current
        candidate.removeSubrange(start..<min(start + length, current.count))
        if !candidate.isEmpty, fails(candidate) {
          current = candidate
          didShrink = true
        } else {
          start += length
        }
      }
      if length == 1, !didShrink { return current }
      length = max(1, length / 2)
    }
  }
}
