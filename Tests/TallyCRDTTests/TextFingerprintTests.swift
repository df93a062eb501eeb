import TallyTesting
import Testing

@testable import TallyCRDT

/// The contributions of texts to the fingerprint: a function of the elements, however they are kept, that a change
/// changes by as much as it changes the whole.
@Suite struct TextFingerprintTests {
  @Test func statesThatDifferHaveOtherFingerprints() {
    var seen: [Fingerprint: TextState] = [:]
    for seed in 1...60 as ClosedRange<UInt64> {
      for replica in TextHistory(seed: seed).replicas {
        let state = replica.text.state
        for other in [state, state.travelling(by: Dot(replica: replica.id, sequence: 1 << 40))] {
          let fingerprint = other.fingerprint(name: 1, field: 2)
          #expect(seen[fingerprint].map { $0 == other } ?? true, "seed \(seed)")
          seen[fingerprint] = other
        }
        guard !state.isEmpty else { continue }
        #expect(state.fingerprint(name: 1, field: 2) != state.fingerprint(name: 2, field: 2))
        #expect(state.fingerprint(name: 1, field: 2) != state.fingerprint(name: 1, field: 3))
      }
    }
    #expect(seen.count > 200)
  }

  /// An edit changes the fingerprint by what it has touched and what is beside it.
  @Test func anEditChangesTheFingerprintByItsSurroundings() throws {
    for seed in 1...60 as ClosedRange<UInt64> {
      var replica = TextHistory(seed: seed).replicas[0]
      var random = SplitMix64(seed: seed)
      var sum = replica.text.state.fingerprint(name: 1, field: 2)
      for _ in 0..<30 {
        let before = replica.text.state
        let stamp = replica.stamp()
        let edit: TextState
        if replica.text.count > 0, random.chance(40) {
          let start = random.below(replica.text.count)
          edit = try replica.text.delete(start..<min(replica.text.count, start + 1 + random.below(3)), by: stamp)
        } else {
          let place = random.below(replica.text.count + 1)
          let typed = [Unicode.Scalar](repeating: "x", count: 1 + random.below(2))
          edit = try replica.text.insert(typed, at: place, by: stamp, in: &replica.runs)
        }
        sum += replica.text.state.fingerprint(replacing: before, by: edit, name: 1, field: 2)
        #expect(sum == replica.text.state.fingerprint(name: 1, field: 2), "seed \(seed)")
      }
    }
  }

  /// What is hashed, and how, is the same on all devices: a change of it must show.
  @Test func aFingerprintIsWhatItWas() {
    let dots = (1...3 as ClosedRange<UInt64>).map { Dot(replica: ReplicaID(high: 1, low: 2), sequence: $0) }
    let stamp = Stamp(time: HybridTime(milliseconds: 1000), dot: dots[0])
    var state = TextState(inserted: stamp, Array("añ".unicodeScalars))
    #expect(state.fingerprint(name: 1, field: 2).description == Self.inserted)
    let deletion = TextStretch(first: 0, count: 1, written: nil, deleted: TextDots(dots[1]))
    let later = Stamp(time: HybridTime(milliseconds: 1001), dot: dots[1])
    state.merge(TextState(latest: later, runs: [TextRun(id: state.runs[0].id, origin: nil, stretches: [deletion])]))
    let id = TextRunID(dot: dots[2], number: 65_536)
    let parent = TextElement(run: state.runs[0].id, offset: 1)
    let typed = TextStretch(first: 0, characters: ["!"], written: TextDots(dots[2]))
    state.merge(TextState(latest: nil, runs: [TextRun(id: id, origin: .init(.right, of: parent), stretches: [typed])]))
    #expect(state.fingerprint(name: 1, field: 2).description == Self.edited)
  }

  private static let inserted = "f29a7f9dac4b95a36a97d53060234dae"
  private static let edited = "5dded343bdd45a115516cef72bf70fe6"

  /// Whatever is joined, edits, other places of a run, deletions of what comes later: the amount that it adds makes the
  /// fingerprint of the whole.
  @Test func anyJoinChangesTheFingerprintByWhatItReturns() throws {
    var origins = 0
    for seed in 1...800 as ClosedRange<UInt64> {
      var random = SplitMix64(seed: seed)
      var state = TextState()
      var sum = state.fingerprint(name: 1, field: 2)
      for _ in 0..<6 {
        let (before, part) = (state, TextForgery.state(&random))
        state.merge(part)
        sum += state.fingerprint(replacing: before, by: part, name: 1, field: 2)
        #expect(sum == state.fingerprint(name: 1, field: 2), "seed \(seed)")
        origins += part.runs.filter { before[$0.id] != nil && before[$0.id]?.origin != state[$0.id]?.origin }.count
      }
    }
    #expect(origins > 500)
    for seed in 1...40 as ClosedRange<UInt64> {
      var history = TextHistory(seed: seed)
      let (mine, theirs) = (history.replicas[0].text.state, history.replicas[1].text.state)
      for part in [theirs, mine.travelling(by: history.replicas[0].stamp().dot), theirs.delta(since: StateVector())] {
        guard let part else { continue }
        let joined = mine.merging(part)
        var sum = mine.fingerprint(name: 1, field: 2)
        sum += joined.fingerprint(replacing: mine, by: part, name: 1, field: 2)
        #expect(sum == joined.fingerprint(name: 1, field: 2), "seed \(seed)")
      }
    }
  }

  /// A deletion of an element that is not here yet, then another element of its run, which says where that hangs.
  @Test func thePlaceThatAJoinBringsCounts() {
    let dot = Dot(replica: ReplicaID(high: 1, low: 0), sequence: 1)
    let id = TextRunID(dot: dot, number: 1)
    let gone = TextStretch(first: 5, count: 1, written: nil, deleted: TextDots(dot))
    let before = TextState(latest: nil, runs: [TextRun(id: id, origin: nil, stretches: [gone])])
    let typed = TextStretch(first: 90_000, characters: ["x"], written: TextDots(dot))
    let edit = TextState(latest: nil, runs: [TextRun(id: id, origin: .init(stamp: nil), stretches: [typed])])
    let after = before.merging(edit)
    var sum = before.fingerprint(name: 1, field: 2)
    sum += after.fingerprint(replacing: before, by: edit, name: 1, field: 2)
    #expect(sum == after.fingerprint(name: 1, field: 2))
    let stamped = TextRunID(dot: dot, number: TextRunID.insert)
    let none = Stamp(rank: .seed, time: HybridTime(milliseconds: 0), dot: dot)
    let sums = [TextRun.Origin(stamp: nil), .init(stamp: none), .init(.left, of: TextElement(run: id, offset: 0))].map {
      TextState(latest: nil, runs: [TextRun(id: stamped, origin: $0, stretches: [typed])])
        .fingerprint(name: 1, field: 2)
    }
    #expect(Set(sums).count == 3)
  }

  // MARK: Even rows

  private struct Element: Equatable {
    var place: UInt32
    var written: TextDots?
    var deleted: TextDots?

    func steps(to next: Element?) -> [Int8]? {
      guard let next, next.place == place + 1, (written == nil) == (next.written == nil),
        (deleted == nil) == (next.deleted == nil)
      else { return nil }
      var steps: [Int8] = []
      for (a, b, range) in [(written, next.written, 0...1), (deleted, next.deleted, -1...1)] {
        guard let a, let b else {
          steps.append(0)
          continue
        }
        let gap = Int(b.sequence) - Int(a.sequence)
        guard a.replica == b.replica, a.via == b.via, range.contains(gap) else { return nil }
        steps.append(Int8(gap))
      }
      return steps
    }
  }

  private static func describe(_ row: TextEvenRow) -> String {
    "\(row.first) \(row.count) \(row.written.map { "\($0[0]) \($0.step) \($0.via.map(\.description) ?? "")" } ?? "")"
      + " \(row.deleted.map { "\($0[0]) \($0.step) \($0.via.map(\.description) ?? "")" } ?? "")"
  }

  /// The rows as a definition says them: from element to element as long as both steps stay the same.
  private static func rows(of run: TextRun, touching range: Range<UInt32>) -> [String] {
    let elements = run.stretches.flatMap { stretch in
      (stretch.first..<stretch.end).map { place in
        let part = stretch.part(place..<place + 1)
        return Element(place: place, written: part.written, deleted: part.deleted)
      }
    }
    var rows: [String] = []
    var start = 0
    while start < elements.count {
      var end = start + 1
      let steps = elements[start].steps(to: end < elements.count ? elements[end] : nil)
      if steps != nil {
        while end < elements.count, elements[end - 1].steps(to: elements[end]) == steps { end += 1 }
      }
      // A single element that is the end of a row before it is no row.
      let isRow = steps != nil || start == 0 || elements[start - 1].steps(to: elements[start]) == nil
      let (first, last) = (elements[start], elements[end - 1])
      if isRow, first.place < range.upperBound, last.place >= range.lowerBound {
        let sign = [steps?[0] ?? 0, steps?[1] ?? 0]
        func text(_ dots: TextDots?, _ step: Int8) -> String {
          dots.map { "\($0[0]) \(step) \($0.via.map(\.description) ?? "")" } ?? ""
        }
        rows.append(
          "\(first.place) \(end - start) \(text(first.written, sign[0])) \(text(first.deleted, sign[1]))")
      }
      start = steps == nil ? end : end - 1
      if start == elements.count - 1, steps != nil { break }
    }
    return rows
  }

  @Test func evenRowsAreThoseOfTheDefinitionInAnyRange() {
    var (count, long) = (0, 0)
    for seed in 1...500 as ClosedRange<UInt64> {
      var random = SplitMix64(seed: seed)
      var state = TextForgery.state(&random)
      for _ in 0..<3 { state.merge(TextForgery.state(&random)) }
      for run in state.runs {
        let end = (run.stretches.last?.end ?? 0) + 1
        for _ in 0..<5 {
          let low = UInt32(random.below(Int(end)))
          let range = random.chance(20) ? 0..<TextStretch.limit : low..<low + 1 + UInt32(random.below(4))
          var rows: [String] = []
          TextEvenRow.forEach(of: run.stretches, touching: range) {
            rows.append(Self.describe($0))
            if $0.count > 2 { long += 1 }
          }
          #expect(rows == Self.rows(of: run, touching: range), "seed \(seed)")
          count += rows.count
        }
      }
    }
    #expect(count > 10_000 && long > 1000)
  }

  /// A few bytes can claim rows of a thousand million elements: each is one hash, wherever it is divided.
  @Test func aFingerprintCountsStretchesAndNotElements() {
    let replica = ReplicaID(high: 1, low: 0)
    let id = TextRunID(dot: Dot(replica: replica, sequence: 1), number: 1)
    var (written, deleted) = (TextDots(id.dot), TextDots(Dot(replica: replica, sequence: 1 << 40)))
    (written.step, deleted.step) = (1, -1)
    let whole = TextStretch(first: 0, count: TextStretch.limit, written: written, deleted: deleted)
    let other = TextStretch(
      first: 0, count: TextStretch.limit, written: nil,
      deleted: TextDots(Dot(replica: replica, sequence: 1 << 40 - 4000)))
    func state(_ stretches: [TextStretch]) -> TextState {
      TextState(latest: nil, runs: [TextRun(id: id, origin: .init(stamp: nil), stretches: stretches)])
    }
    let fingerprint = state([whole]).fingerprint(name: 1, field: 2)
    for bound in [1, 2, 63, 64, 65, 1 << 29, TextStretch.limit - 1] as [UInt32] {
      let parts = [whole.part(0..<bound), whole.part(bound..<TextStretch.limit)]
      #expect(state(parts).fingerprint(name: 1, field: 2) == fingerprint)
      var rows = 0
      TextEvenRow.forEach(of: parts, touching: 0..<TextStretch.limit) { _ in rows += 1 }
      #expect(rows == 1)
    }
    // Of two deletions the lesser dot stays: two rows, and the one where they cross.
    let joined = state([whole]).merging(
      TextState(latest: nil, runs: [TextRun(id: id, origin: nil, stretches: [other])]))
    var (rows, elements) = (0, 0)
    TextEvenRow.forEach(of: joined.runs[0].stretches, touching: 0..<TextStretch.limit) {
      rows += 1
      elements += Int($0.count)
    }
    #expect(rows <= 2 * joined.stretchCount && elements < Int(TextStretch.limit) + rows)
    var sum = fingerprint
    sum += joined.fingerprint(replacing: state([whole]), by: state([other]), name: 1, field: 2)
    #expect(sum == joined.fingerprint(name: 1, field: 2) && sum != fingerprint)
  }
}
