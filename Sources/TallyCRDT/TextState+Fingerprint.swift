/// The contributions of a text to the fingerprint: its latest edit, and each *patch*, the longest row of elements of
/// one run that one transaction has written, and that are all there or were all deleted by one. How a store keeps them
/// does not matter. `name` is the hash of the record's name, `field` that of the field's wire name.
extension TextState {
  /// Returns the contribution of everything. Cost: linear in the elements.
  package func fingerprint(name: UInt64, field: UInt64) -> Fingerprint {
    var sum = latestFingerprint(name: name, field: field)
    for run in runs { run.forEachPatch { sum += $0.fingerprint(of: run, name: name, field: field) } }
    return sum
  }

  /// Returns the amount to add to the fingerprint when an edit has made this state of `old`. Cost: what the edit has
  /// touched, and the patches beside it; in a run all that is between its first and last change.
  package func fingerprint(replacing old: TextState, by edit: TextState, name: UInt64, field: UInt64) -> Fingerprint {
    var sum = latestFingerprint(name: name, field: field)
    sum -= old.latestFingerprint(name: name, field: field)
    for part in edit.runs {
      guard let first = part.stretches.first, let last = part.stretches.last else { continue }
      let range = max(first.first, 1) - 1..<last.end + 1
      old[part.id].map { run in
        run.forEachPatch(touching: range) { sum -= $0.fingerprint(of: run, name: name, field: field) }
      }
      self[part.id].map { run in
        run.forEachPatch(touching: range) { sum += $0.fingerprint(of: run, name: name, field: field) }
      }
    }
    return sum
  }

  private func latestFingerprint(name: UInt64, field: UInt64) -> Fingerprint {
    guard let latest else { return Fingerprint() }
    return CellHasher(name: name, stamp: latest).hash(.textEdit, field, .text(latestVia.map { "\($0)" } ?? ""))
  }
}

/// Elements of which one transaction has done the same.
private struct TextPatch {
  var first: UInt32
  var count: UInt32 = 0
  var written: TextDots?
  var deleted: TextDots?
  var characters: [Unicode.Scalar] = []

  /// Whether the element of a stretch at a place is part of it.
  func takes(_ stretch: TextStretch, at place: UInt32) -> Bool {
    guard first + count == place else { return false }
    let part = stretch.dots(at: place)
    return part.written == written && part.deleted == deleted
  }

  func fingerprint(of run: TextRun, name: UInt64, field: UInt64) -> Fingerprint {
    let dot = written?[0] ?? deleted?[0] ?? run.id.dot
    let stamp = run.origin?.stamp
    let hasher = CellHasher(
      name: name,
      stamp: Stamp(
        rank: stamp?.rank ?? .seed, time: stamp?.time ?? HybridTime(milliseconds: 0), dot: dot))
    let value: Value = deleted == nil ? .text("") : .blob([])
    return hasher.hash(.textStretch, field, tag: value.tag) { hash in
      hash.combine(run.id)
      if let parent = run.origin?.parent {
        hash.combine(parent.run)
        hash.combine(word: 1 << 33 | UInt64(parent.offset) << 1 | (run.origin?.side == .left ? 0 : 1))
      } else {
        hash.combine(word: run.origin == nil ? 0 : 1)
      }
      hash.combine(word: UInt64(first) << 32 | UInt64(count))
      hash.combine(word: (written == nil ? 0 : 1) | (written?.via == nil ? 0 : 2) | (deleted?.via == nil ? 0 : 4))
      for dot in [written?.via, deleted?[0], deleted?.via] { if let dot { hash.combine(dot) } }
      for character in characters { hash.combine(word: UInt64(character.value)) }
    }
  }
}

extension SipHash13 {
  fileprivate mutating func combine(_ dot: Dot) {
    combine(word: dot.replica.high)
    combine(word: dot.replica.low)
    combine(word: dot.sequence)
  }

  fileprivate mutating func combine(_ run: TextRunID) {
    combine(run.dot)
    combine(word: run.number)
  }
}

extension TextStretch {
  /// Who wrote and deleted one element.
  fileprivate func dots(at place: UInt32) -> (written: TextDots?, deleted: TextDots?) {
    (written?.part(from: place - first, count: 1), deleted?.part(from: place - first, count: 1))
  }

  /// Whether one transaction wrote all of the elements, and one deleted them.
  fileprivate var isOnePatch: Bool { (written?.step ?? 0) == 0 && (deleted?.step ?? 0) == 0 }
}

extension TextRun {
  /// Calls `body` with each patch that has an element in a range.
  fileprivate func forEachPatch(touching range: Range<UInt32> = 0..<UInt32.max, _ body: (TextPatch) -> Void) {
    var index = stretches.partition { $0.end > range.lowerBound }
    guard index < stretches.count else { return }
    var place = max(stretches[index].first, range.lowerBound)
    // Back to where the first patch begins.
    while true {
      if stretches[index].isOnePatch { place = stretches[index].first }
      guard place == stretches[index].first, index > 0, stretches[index - 1].end == place else { break }
      let (mine, before) = (stretches[index].dots(at: place), stretches[index - 1].dots(at: place - 1))
      guard mine.written == before.written, mine.deleted == before.deleted else { break }
      (index, place) = (index - 1, place - 1)
    }
    var patch: TextPatch?
    while index < stretches.count {
      let stretch = stretches[index]
      place = max(place, stretch.first)
      while place < stretch.end {
        let end = stretch.isOnePatch ? stretch.end : place + 1
        if patch.map({ !$0.takes(stretch, at: place) }) ?? true {
          if let patch { body(patch) }
          guard place < range.upperBound else { return }
          let dots = stretch.dots(at: place)
          patch = TextPatch(first: place, written: dots.written, deleted: dots.deleted)
        }
        patch?.count += end - place
        if stretch.isLive {
          patch?.characters += stretch.characters[Int(place - stretch.first)..<Int(end - stretch.first)]
        }
        place = end
      }
      index += 1
    }
    if let patch { body(patch) }
  }
}
