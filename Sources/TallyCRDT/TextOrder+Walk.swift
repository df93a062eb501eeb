/// Building the order from a state.
extension TextOrder {
  /// The order of a text. Cost: n log n in the number of runs, and linear in stretches.
  ///
  /// A run whose parent is not known in this life of the record stands by itself. So does the least of runs that hang
  /// at each other in a circle, which only a broken peer makes: nothing that is known goes missing.
  init(_ state: TextState) {
    self.init(runs: state.runs.count)
    let runs = state.runs
    let base = state.shownBase
    let parents = Self.parents(in: state)
    // All runs by where they hang: those that stand by themselves first.
    var hanging = runs.indices.filter { runs[$0].origin != nil }
    hanging.sort { a, b in
      if parents[a] != parents[b] { return parents[a] < parents[b] }
      if parents[a] >= 0, let one = runs[a].origin, let other = runs[b].origin {
        let (place, next) = (one.parent?.offset ?? 0, other.parent?.offset ?? 0)
        if place != next { return place < next }
        if one.side != other.side { return one.side < other.side }
      }
      return a < b
    }
    var children = [Range<Int>](repeating: 0..<0, count: runs.count)
    var (start, alone) = (0, 0..<0)
    while start < hanging.count {
      let parent = parents[hanging[start]]
      let end = hanging[start...].partition { parents[$0] > parent }
      if parent < 0 { alone = start..<end } else { children[parent] = start..<end }
      start = end
    }
    var stack: [Frame] = alone.reversed().map { Frame(run: hanging[$0], next: children[hanging[$0]].lowerBound) }
    while var frame = stack.popLast() {
      let run = runs[frame.run]
      let isVoid = run.id.isBase && run.id != base
      guard frame.next < children[frame.run].upperBound else {
        append(run, from: &frame, to: .max, isVoid: isVoid)
        continue
      }
      let child = hanging[frame.next]
      if let origin = runs[child].origin, let parent = origin.parent {
        if origin.side == .right { noteContinued(parent) }
        append(run, from: &frame, to: parent.offset + (origin.side == .right ? 1 : 0), isVoid: isVoid)
      }
      frame.next += 1
      stack.append(frame)
      stack.append(Frame(run: child, next: children[child].lowerBound))
    }
    finish()
  }

  /// How far the walk has come in a run.
  private struct Frame {
    var run: Int
    /// The next run that hangs at it.
    var next: Int
    var stretch = 0
    var place: UInt32 = 0
  }

  private mutating func append(_ run: TextRun, from frame: inout Frame, to end: UInt32, isVoid: Bool) {
    while frame.stretch < run.stretches.count, run.stretches[frame.stretch].first < end {
      let stretch = run.stretches[frame.stretch]
      let (from, to) = (max(stretch.first, frame.place), min(stretch.end, end))
      if stretch.written != nil, from < to {
        append(Span(run: run.id, first: from, count: to - from, isShown: stretch.isLive && !isVoid))
      }
      frame.place = max(to, frame.place)
      guard to == stretch.end else { return }
      frame.stretch += 1
    }
  }

  /// For each run the one that it hangs at, or -1 if it stands by itself.
  private static func parents(in state: TextState) -> [Int] {
    var parents = state.runs.map { run -> Int in
      guard let parent = run.origin?.parent else { return -1 }
      let (index, isFound) = state.place(of: parent.run)
      return isFound && state.runs[index].origin != nil ? index : -1
    }
    // Circles: along the parents of each run, to one that is known to lead out or to one of the same way.
    var way = [Int](repeating: -1, count: parents.count)
    for start in parents.indices {
      var run = start
      while run >= 0, way[run] < 0 {
        way[run] = start
        run = parents[run]
      }
      guard run >= 0, way[run] == start else { continue }
      var (least, next) = (run, parents[run])
      while next != run { (least, next) = (min(least, next), parents[next]) }
      parents[least] = -1
    }
    return parents
  }
}
