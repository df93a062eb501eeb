extension TextState {
  /// The rules that the state breaks; empty if it is as edits, joins and decoders leave it. Look-ups rely on them.
  package var brokenInvariants: [String] {
    var broken: [String] = []
    if !zip(runs, runs.dropFirst()).allSatisfy({ $0.id < $1.id }) { broken.append("runs ascend by name") }
    if let latestVia, latest == nil || latestVia == latest?.dot {
      broken.append("the latest edit has a way of its own")
    }
    for run in runs { broken += run.brokenInvariants }
    return broken
  }
}

extension TextRun {
  fileprivate var brokenInvariants: [String] {
    var broken: [String] = []
    if stretches.isEmpty { broken.append("something is known of a run") }
    if !zip(stretches, stretches.dropFirst()).allSatisfy({ $0.end <= $1.first }) {
      broken.append("stretches ascend and do not overlap")
    }
    if (origin == nil) != stretches.allSatisfy({ $0.written == nil }) {
      broken.append("a run hangs somewhere if an element was written")
    }
    if origin?.parent?.run == id { broken.append("no run hangs at itself") }
    if let stamp = origin?.stamp, !id.hasStamp || stamp.dot != id.dot {
      broken.append("only an insert and a base have a stamp, that of their run")
    }
    for stretch in stretches { broken += stretch.brokenInvariants(in: id) }
    return broken
  }
}

extension TextStretch {
  fileprivate func brokenInvariants(in run: TextRunID) -> [String] {
    var broken: [String] = []
    if count == 0 || UInt64(first) + UInt64(count) > UInt64(Self.limit) { broken.append("a stretch has elements") }
    if written == nil && deleted == nil { broken.append("elements were written or deleted") }
    if !hasCharacters { broken.append("elements that are there have characters") }
    if let written, written.replica != run.dot.replica { broken.append("one replica writes a run") }
    for (line, steps) in [(written, TextDots.writing), (deleted, TextDots.deleting)] {
      guard let line else { continue }
      if !steps.contains(Int64(line.step)) || (count == 1 && line.step != 0) { broken.append("steps are in range") }
      if let via = line.via, via.replica == line.replica, line.step == 0 ? via == line[0] : line.holds(via, count) {
        broken.append("nothing travels by its own dot and says so")
      }
    }
    return broken
  }
}

extension TextDots {
  fileprivate func holds(_ dot: Dot, _ count: UInt32) -> Bool {
    let last = self[count - 1].sequence
    return (min(sequence, last)...max(sequence, last)).contains(dot.sequence)
  }
}
