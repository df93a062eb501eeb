/// The contributions of a text to the fingerprint: its latest edit; for each run the place where it hangs; the *even
/// rows* of its elements, by their dots; and its characters, in blocks of 64 places.
///
/// An even row is the longest one in which both dots change from each element to the next by one step: two even rows
/// that meet share an element. So what a row is depends on its elements and those beside them alone: not on how a store
/// keeps them, nor on what lies farther off, and a row of 2^30 elements is one hash. `name` is the hash of the record's
/// name, `field` that of the field's wire name.
extension TextState {
  /// Returns the contribution of everything. Cost: linear in stretches and characters, however many elements are
  /// deleted.
  package func fingerprint(name: UInt64, field: UInt64) -> Fingerprint {
    let hasher = TextHasher(name: name, field: field)
    var sum = hasher.latest(self)
    for run in runs { sum += hasher.run(run, touching: 0..<TextStretch.limit) }
    return sum
  }

  /// Returns the amount to add to the fingerprint when an edit, or anything else that was joined, has made this state
  /// of `old`. Cost: for each run of `edit` what lies between its first and its last change, and the rows and blocks
  /// that these touch.
  package func fingerprint(replacing old: TextState, by edit: TextState, name: UInt64, field: UInt64) -> Fingerprint {
    let hasher = TextHasher(name: name, field: field)
    var sum = hasher.latest(self)
    sum -= hasher.latest(old)
    for part in edit.runs {
      let range = (part.stretches.first?.first ?? 0)..<(part.stretches.last?.end ?? 0)
      if let run = old[part.id] { sum -= hasher.run(run, touching: range) }
      if let run = self[part.id] { sum += hasher.run(run, touching: range) }
    }
    return sum
  }
}

/// Hashes what is known of one text.
private struct TextHasher {
  let name: UInt64
  let field: UInt64

  /// Characters are hashed by as many places.
  static let block: UInt32 = 64

  func latest(_ state: TextState) -> Fingerprint {
    guard let latest = state.latest else { return Fingerprint() }
    let via: Value = .text(state.latestVia.map { "\($0)" } ?? "")
    return CellHasher(name: name, stamp: latest).hash(.textEdit, field, via)
  }

  /// The part of a run's contribution that changing the elements in a range can change.
  func run(_ run: TextRun, touching range: Range<UInt32>) -> Fingerprint {
    var sum = origin(of: run)
    guard !range.isEmpty else { return sum }
    // A row also depends on the elements beside it.
    let beside = max(range.lowerBound, 1) - 1..<range.upperBound + 1
    TextEvenRow.forEach(of: run.stretches, touching: beside) { sum += row($0, of: run.id) }
    let start = range.lowerBound & ~(Self.block - 1)
    let end = ((range.upperBound - 1) | (Self.block - 1)) + 1
    sum += characters(of: run, in: start..<end)
    return sum
  }

  private func hash(
    _ dot: Dot, of stamp: Stamp? = nil, as tag: Value, _ body: (inout SipHash13) -> Void
  ) -> Fingerprint {
    let stamp = Stamp(rank: stamp?.rank ?? .seed, time: stamp?.time ?? HybridTime(milliseconds: 0), dot: dot)
    return CellHasher(name: name, stamp: stamp).hash(.textStretch, field, tag: tag.tag, body)
  }

  private func origin(of run: TextRun) -> Fingerprint {
    guard let origin = run.origin else { return Fingerprint() }
    return hash(run.id.dot, of: origin.stamp, as: .null) { hash in
      hash.combine(word: run.id.number)
      hash.combine(word: (origin.stamp == nil ? 0 : 1) | (origin.side == .left ? 0 : 2))
      guard let parent = origin.parent else { return }
      hash.combine(parent.run.dot)
      hash.combine(word: parent.run.number)
      hash.combine(word: UInt64(parent.offset))
    }
  }

  private func row(_ row: TextEvenRow, of run: TextRunID) -> Fingerprint {
    hash(row.written?[0] ?? row.deleted?[0] ?? run.dot, as: .blob([])) { hash in
      hash.combine(run.dot)
      hash.combine(word: run.number)
      hash.combine(word: UInt64(row.first) << 32 | UInt64(row.count))
      for dots in [row.written, row.deleted] {
        hash.combine(word: dots.map { UInt64($0.step + 2) | ($0.via == nil ? 0 : 4) } ?? 0)
        if let dots { hash.combine(dots[0]) }
        if let via = dots?.via { hash.combine(via) }
      }
    }
  }

  /// The contributions of whole blocks.
  private func characters(of run: TextRun, in range: Range<UInt32>) -> Fingerprint {
    var sum = Fingerprint()
    var index = run.stretches.partition { $0.end > range.lowerBound }
    var place = range.lowerBound
    while index < run.stretches.count, run.stretches[index].first < range.upperBound {
      guard run.stretches[index].isLive else {
        index += 1
        continue
      }
      place = max(place, run.stretches[index].first)
      let end = min(place | (Self.block - 1), range.upperBound - 1) + 1
      sum += hash(run.id.dot, as: .text("")) { hash in
        hash.combine(word: run.id.number)
        while index < run.stretches.count, run.stretches[index].first < end {
          let stretch = run.stretches[index]
          let part = max(place, stretch.first)..<min(end, stretch.end)
          if stretch.isLive {
            for (offset, character) in zip(part, stretch.characters(in: part)) {
              hash.combine(word: UInt64(offset) << 32 | UInt64(character.value))
            }
          }
          if stretch.end > end { return }
          index += 1
        }
      }
      place = end
    }
    return sum
  }
}

extension SipHash13 {
  fileprivate mutating func combine(_ dot: Dot) {
    combine(word: dot.replica.high)
    combine(word: dot.replica.low)
    combine(word: dot.sequence)
  }
}
