/// Makes positions in ordered lists, and remembers the runs that it has begun.
///
/// It is kept in memory alone: a copy of a store, or a backup that was put back, goes on in runs of its own, and no
/// position is made twice.
package struct ListRuns: Sendable {
  /// A run that was begun here.
  private struct Run {
    /// The path to the run.
    var path: [UInt8]
    var run: UInt64
    /// The numbers of its first and last element.
    var least: Int64 = 0
    var greatest: Int64 = 0

    /// The position of an element; nil if there is none of this number.
    func position(_ number: Int64) -> [UInt8]? {
      var bytes = path
      return ListStep(run: run, number: number).append(to: &bytes) && bytes.count <= ListPosition.byteLimit
        ? bytes : nil
    }
  }

  private var runs: [Run] = []
  /// Places in `runs` by the positions of their first and last elements.
  private var byLeast: [[UInt8]: Int] = [:]
  private var byGreatest: [[UInt8]: Int] = [:]
  /// As many runs are remembered; then all are forgotten, which begins new ones and does nothing else.
  private static let limit = 4096

  /// Creates a memory of no runs.
  package init() {}

  /// Makes a position between two others; nil stands for the beginning and the end of the list.
  ///
  /// Elements that are inserted one behind or before the other get positions of one run, in as many calls as it takes.
  /// What is known to lie between `left` and `right` is the caller's to say: it goes to either side.
  /// - Throws: `ListPositionError`; nothing has changed then.
  package mutating func between(
    _ left: ListPosition?, _ right: ListPosition?, using generator: inout some RandomNumberGenerator
  ) throws(ListPositionError) -> ListPosition {
    #if PlantedFaults
      if fault == .fraction, let middle = Self.middle(left, right) { return middle }
    #endif
    let (left, right) = (left?.bytes ?? [], right?.bytes)
    guard right.map({ Self.isBefore(left, $0) }) ?? true else { throw .noPlace }
    if let place = byGreatest[left], let next = runs[place].position(runs[place].greatest + 2),
      right.map({ Self.isBefore(next, $0) }) ?? true
    {
      byGreatest[left] = nil
      runs[place].greatest += 2
      byGreatest[next] = place
      return try Self.position(next)
    }
    if let right, let place = byLeast[right], let next = runs[place].position(runs[place].least - 2),
      Self.isBefore(left, next)
    {
      byLeast[right] = nil
      runs[place].least -= 2
      byLeast[next] = place
      return try Self.position(next)
    }
    var run = try begin(left, right, &generator)
    if run.position(0) == nil, let other = Self.shallower(left, right, &generator) { run = other }
    guard let first = run.position(0) else { throw .tooDeep }
    guard Self.isBefore(left, first), right.map({ Self.isBefore(first, $0) }) ?? true else { throw .noPlace }
    if runs.count == Self.limit { (runs, byLeast, byGreatest) = ([], [:], [:]) }
    (byLeast[first], byGreatest[first]) = (runs.count, runs.count)
    runs.append(run)
    return try Self.position(first)
  }

  // MARK: Faults that tests plant

  #if PlantedFaults
    package enum Fault: Sendable {
      /// A position is the middle between its neighbors'.
      case fraction
      /// A run between two others begins beneath an element, where the gap between two elements is meant.
      case gapIsElement
    }

    package var fault: Fault?
    private var gap: Int64 { fault == .gapIsElement ? 2 : 1 }

    /// The middle between two positions, of as many bytes as it takes.
    private static func middle(_ left: ListPosition?, _ right: ListPosition?) -> ListPosition? {
      var (bytes, isBelow): ([UInt8], Bool) = ([], false)
      for place in 0..<ListPosition.byteLimit {
        let low = left.map { place < $0.bytes.count ? Int($0.bytes[place]) : 0 } ?? 0
        let high = isBelow ? 256 : right.map { place < $0.bytes.count ? Int($0.bytes[place]) : 0 } ?? 256
        bytes.append(UInt8(high - low > 1 ? (low + high) / 2 : low))
        if high - low > 1 { break }
        isBelow = isBelow || high > low
      }
      return ListPosition(bytes: bytes)
    }
  #else
    private var gap: Int64 { 1 }
  #endif

  private static func isBefore(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.withUnsafeBufferPointer { left in right.withUnsafeBufferPointer { left.precedes($0) } }
  }

  private static func position(_ bytes: [UInt8]) throws(ListPositionError) -> ListPosition {
    guard let position = ListPosition(bytes: bytes) else { throw .tooDeep }
    return position
  }

  // MARK: Beginning a run

  /// Between runs beside each other, so many numbers have to be free for another one. It gets one of those next to the
  /// run that it follows or precedes, so that there is room for some hundred thousand more on the same path: a list to
  /// which each opening of an app adds one element, at either end or at one place, stays short of depth.
  private static let window: UInt64 = 1 << 32

  /// A new run between two positions, on the shortest path that there is.
  private func begin(
    _ left: [UInt8], _ right: [UInt8]?, _ generator: inout some RandomNumberGenerator
  ) throws(ListPositionError) -> Run {
    guard let l = ListStep.steps(left), let r = right.map(ListStep.steps) ?? [] else {
      return try beginAmongOthers(left, right, &generator)
    }
    let (path, run) = place(l, r, &generator)
    guard let path = ListStep.bytes(path) else { throw .tooDeep }
    return Run(path: path, run: run)
  }

  /// The path of a new run and its number. An empty `r` is the end of the list.
  private func place(
    _ l: [ListStep], _ r: [ListStep], _ generator: inout some RandomNumberGenerator
  ) -> (path: [ListStep], run: UInt64) {
    let n = l.count
    // Beside the runs on the way to `l`.
    for depth in 0..<n {
      let isShared = r.count > depth && r[..<depth] == l[..<depth]
      let end = isShared ? r[depth].run : ListStep.runLimit
      guard end > l[depth].run, end - l[depth].run > Self.window else { continue }
      return (Array(l[..<depth]), l[depth].run + 1 + UInt64.random(in: 0..<Self.window, using: &generator))
    }
    var depth: Int
    if !r.isEmpty, r.starts(with: l) {
      depth = n
    } else if n > 0, r.count >= n, r[..<(n - 1)] == l[..<(n - 1)], r[n - 1].run == l[n - 1].run, r[n - 1].number > 0 {
      depth = n - 1
    } else {
      return (l, Self.middle(&generator))
    }
    // Before `r`: beside the runs on the way to it, or in the gap before the first element there.
    while depth < r.count {
      if depth >= n, r[depth].run > Self.window {
        return (Array(r[..<depth]), r[depth].run - 1 - UInt64.random(in: 0..<Self.window, using: &generator))
      }
      if r[depth].number % 2 == 0 { break }
      depth += 1
    }
    guard depth < r.count else { return (l, Self.middle(&generator)) }
    return (r[..<depth] + [ListStep(run: r[depth].run, number: r[depth].number - gap)], Self.middle(&generator))
  }

  /// The number of a run that is alone where it is: there is room on either side.
  private static func middle(_ generator: inout some RandomNumberGenerator) -> UInt64 {
    UInt64.random(in: ListStep.runLimit / 4..<ListStep.runLimit / 4 * 3, using: &generator)
  }

  /// Returns a run between two positions that is not beneath the first, for a position so deep that nothing fits
  /// beneath it. The run is as high up as there is room, and at the end of a list there is nearly always some; nil if
  /// there is none.
  private static func shallower(
    _ left: [UInt8], _ right: [UInt8]?, _ generator: inout some RandomNumberGenerator
  ) -> Run? {
    func number(_ bytes: [UInt8]) -> UInt64 {
      (0..<ListStep.runBytes).reduce(0) { $0 << 8 | ($1 < bytes.count ? UInt64(bytes[$1]) : 0) }
    }
    let (low, high) = (number(left), right.map(number) ?? ListStep.runLimit)
    if low + 1 < high {
      let width = min(window, high - low - 1)
      return Run(path: [], run: low + 1 + UInt64.random(in: 0..<width, using: &generator))
    }
    for place in left.indices where left[place] < UInt8.max {
      let path = left[..<place] + [left[place] + 1]
      guard let right else { return Run(path: Array(path), run: middle(&generator)) }
      if isBefore(Array(path), right), !right.starts(with: path) {
        return Run(path: Array(path), run: middle(&generator))
      }
    }
    return nil
  }

  /// A run between positions of which other programs have made one.
  private func beginAmongOthers(
    _ left: [UInt8], _ right: [UInt8]?, _ generator: inout some RandomNumberGenerator
  ) throws(ListPositionError) -> Run {
    var path = left
    if let right, right.starts(with: left) {
      guard let place = right[left.count...].firstIndex(where: { $0 > 0 }) else { throw .noPlace }
      path = right[..<place] + [right[place] - 1]
    }
    return Run(path: path, run: Self.middle(&generator))
  }
}

/// The least that has to move for a list to have a given order.
package enum ListMoves {
  /// Of elements in the order that they are to have, given by their positions, those that can stay where they are: as
  /// many as possible, in ascending order. One without a position moves. Cost: n log n.
  package static func staying(_ positions: [ListPosition?]) -> [Bool] {
    // The last elements of the best ascending rows of each length, and what precedes each element in its row.
    var ends: [(position: ListPosition, index: Int)] = []
    var before = [Int?](repeating: nil, count: positions.count)
    for (index, position) in positions.enumerated() {
      guard let position else { continue }
      var (low, high) = (0, ends.count)
      while low < high {
        let middle = (low + high) / 2
        if ends[middle].position < position { low = middle + 1 } else { high = middle }
      }
      if low > 0 { before[index] = ends[low - 1].index }
      if low == ends.count { ends.append((position, index)) } else { ends[low] = (position, index) }
    }
    var staying = [Bool](repeating: false, count: positions.count)
    var next = ends.last?.index
    while let index = next {
      staying[index] = true
      next = before[index]
    }
    return staying
  }
}
