/// The shortest edit script.
extension TextDifference {
  /// Finds the changes of least length between two rows, or nil if that takes more steps than there are: what is taken
  /// is taken off. Each look at a diagonal is a step, and so is each pair that is the same; memory is four bytes a step
  /// at most.
  static func script<Element: Equatable>(
    _ x: ArraySlice<Element>, _ y: ArraySlice<Element>, steps: inout Int
  ) -> [Change]? {
    var search = Search(n: x.count, m: y.count)
    let (low, other) = (x.startIndex, y.startIndex)
    guard let length = search.run(steps: &steps, { x[low + $0] == y[other + $1] }) else { return nil }
    return search.changes(length).map { change in
      Change(
        old: change.old.lowerBound + low..<change.old.upperBound + low,
        new: change.new.lowerBound + other..<change.new.upperBound + other)
    }
  }

  /// How far along each diagonal scripts of each length lead.
  private struct Search {
    /// The lengths of the two rows.
    let n: Int
    let m: Int
    /// For scripts of each length, the furthest place in the first row on each diagonal that they can end on; -1 where
    /// they lead outside.
    private var reached: [Int32] = []
    private var starts: [Int] = []

    init(n: Int, m: Int) { (self.n, self.m) = (n, m) }

    private func lowest(_ length: Int) -> Int { length <= m ? -length : -m + (length - m) % 2 }
    private func highest(_ length: Int) -> Int { length <= n ? length : n - (length - n) % 2 }

    /// The furthest place on a diagonal, -1 if there is none.
    private func furthest(_ length: Int, _ diagonal: Int) -> Int {
      guard diagonal >= lowest(length), diagonal <= highest(length) else { return -1 }
      return Int(reached[starts[length] + (diagonal - lowest(length)) / 2])
    }

    /// The last step of a script of a length that ends on a diagonal: where it begins, and whether it is an insertion.
    private func step(_ length: Int, _ diagonal: Int) -> (place: Int, isInsertion: Bool)? {
      let (below, above) = (furthest(length - 1, diagonal - 1), furthest(length - 1, diagonal + 1))
      let deletion = below >= 0 && below < n ? below + 1 : -1
      let insertion = above >= 0 && above - diagonal <= m ? above : -1
      guard max(deletion, insertion) >= 0 else { return nil }
      return insertion >= deletion ? (above, true) : (below, false)
    }

    /// - Returns: the length of the shortest script; nil if there are not enough steps.
    mutating func run(steps: inout Int, _ isSame: (Int, Int) -> Bool) -> Int? {
      for length in 0...n + m {
        starts.append(reached.count)
        for diagonal in stride(from: lowest(length), through: highest(length), by: 2) {
          steps -= 1
          guard steps >= 0 else { return nil }
          var place = 0
          if length > 0 {
            guard let step = step(length, diagonal) else {
              reached.append(-1)
              continue
            }
            place = step.isInsertion ? step.place : step.place + 1
          }
          while place < n, place - diagonal < m, isSame(place, place - diagonal) {
            place += 1
            steps -= 1
          }
          reached.append(Int32(place))
          if place == n, place - diagonal == m { return length }
        }
      }
      return nil
    }

    /// The changes of the script that was found, from the last step back to the first.
    func changes(_ length: Int) -> [Change] {
      var changes: [Change] = []
      var diagonal = n - m
      for length in stride(from: length, to: 0, by: -1) {
        guard let step = step(length, diagonal) else { break }
        let place = step.place
        diagonal += step.isInsertion ? 1 : -1
        let other = place - diagonal
        let change = Change(
          old: place..<place + (step.isInsertion ? 0 : 1), new: other..<other + (step.isInsertion ? 1 : 0))
        if let last = changes.last, last.old.lowerBound == change.old.upperBound,
          last.new.lowerBound == change.new.upperBound
        {
          changes[changes.count - 1] = Change(
            old: change.old.lowerBound..<last.old.upperBound, new: change.new.lowerBound..<last.new.upperBound)
        } else {
          changes.append(change)
        }
      }
      return changes.reversed()
    }
  }
}
