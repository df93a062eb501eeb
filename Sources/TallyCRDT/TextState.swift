/// The replicated state of one mergeable text: a join semilattice of registers.
///
/// Each element (`TextElement`) has two: that it was written, with its character and the place of its run, and that it
/// was deleted. Both are written once, and a deletion stays; so two texts are joined element by element, as the fields
/// of two records are, and all that a record's life, a purge, a delta and a fingerprint need to know of a register is
/// true of these. How elements stand in the text follows from where their runs hang (`TextOrder`), and is no part of
/// the state.
///
/// Runs hang in a tree, in the order of Fugue (Weidner and Kleppmann, "The Art of the Fugue", 2023), whose nodes are
/// single characters; here a run is a row of nodes, and deleted characters are not kept, only that they were there.
///
/// ```
/// state.merge(other)                                  // commutative, associative, idempotent
/// let missing = state.delta(since: peer)              // joins, where `peer` is covered, to the same
/// ```
package struct TextState: Hashable, Sendable {
  /// The stamp of the latest edit: it says whether a string that apps without merging characters write is later. Nil if
  /// the text was never written.
  package internal(set) var latest: Stamp?
  /// The dot by which that travels, if it was lifted or said again; nil if it travels by its own.
  package internal(set) var latestVia: Dot?
  /// The runs, ascending by name.
  package internal(set) var runs: [TextRun]

  /// A text that was never written.
  package init() { (latest, latestVia, runs) = (nil, nil, []) }

  /// A text from its parts.
  /// - Precondition: the runs ascend by name.
  package init(latest: Stamp?, latestVia: Dot? = nil, runs: [TextRun]) {
    (self.latest, self.runs) = (latest, runs)
    self.latestVia = latestVia == latest?.dot ? nil : latestVia
  }

  /// A text from parts of runs, in any order, which share no element. Cost: n log n.
  init(latest: Stamp, parts: [TextRun]) {
    let sorted = parts.sorted { a, b in
      a.id != b.id ? a.id < b.id : (a.stretches.first?.first ?? 0) < (b.stretches.first?.first ?? 0)
    }
    var runs: [TextRun] = []
    for part in sorted {
      if let last = runs.indices.last, runs[last].id == part.id { runs[last].merge(part) } else { runs.append(part) }
    }
    self.init(latest: latest, runs: runs)
  }

  /// The text of an insert: one run. Nothing, if there are no characters: an empty text is the default, and a default
  /// is no register.
  package init(inserted stamp: Stamp, _ characters: [Unicode.Scalar]) {
    self.init()
    guard !characters.isEmpty else { return }
    let stretch = TextStretch(first: 0, characters: characters, written: TextDots(stamp.dot))
    let id = TextRunID(dot: stamp.dot, number: TextRunID.insert)
    self.init(latest: stamp, runs: [TextRun(id: id, origin: .init(stamp: stamp), stretches: [stretch])])
  }

  /// Whether nothing is known of the text.
  package var isEmpty: Bool { latest == nil && runs.isEmpty }

  /// The number of stretches in which all of this is kept. It depends on how the state came about, and limits nothing.
  /// Cost: linear in the runs.
  package var stretchCount: Int { runs.reduce(0) { $0 + $1.stretches.count } }

  /// The text as an ordinary register, if it is nothing more: one that was never edited after its insert. It takes the
  /// ways, and the bytes, of one.
  package var cell: (stamp: Stamp, characters: [Unicode.Scalar])? {
    guard runs.count == 1, runs[0].id.number == TextRunID.insert, let origin = runs[0].origin, origin.parent == nil,
      let stamp = origin.stamp, stamp == latest, stamp.dot == runs[0].id.dot, runs[0].stretches.count == 1
    else { return nil }
    let stretch = runs[0].stretches[0]
    guard stretch.first == 0, stretch.isLive, stretch.written == TextDots(stamp.dot) else { return nil }
    return (stamp, Array(stretch.characters))
  }

  /// Where a run stands among the runs, or would; `start` is no place behind it.
  func place(of id: TextRunID, from start: Int = 0) -> (index: Int, isFound: Bool) {
    let index = runs[start...].partition { $0.id >= id }
    return (index, index < runs.count && runs[index].id == id)
  }

  /// The run of a name; nil if nothing is known of it.
  package subscript(id: TextRunID) -> TextRun? {
    let (index, isFound) = place(of: id)
    return isFound ? runs[index] : nil
  }

  /// The base that shows its own characters: of several the one of the latest stamp, as if it were a register. Its run
  /// is there from the first edit of it on.
  package var shownBase: TextRunID? {
    var shown: (id: TextRunID, stamp: Stamp)?
    for run in runs where run.id.isBase {
      guard let stamp = run.origin?.stamp else { continue }
      if let shown, stamp < shown.stamp || stamp == shown.stamp && run.id < shown.id { continue }
      shown = (run.id, stamp)
    }
    return shown?.id
  }

  // MARK: Joining

  /// Joins another state of the same text into this one: commutative, associative, idempotent.
  ///
  /// Of two deletions of an element the lesser dot stays, of two latest edits the greater stamp. Cost: what `other`
  /// has, each with the logarithm of what is here, and moving in memory once what lies behind the first that is new.
  package mutating func merge(_ other: TextState) { _ = join(other) }

  /// Returns how many runs have moved.
  mutating func join(_ other: TextState) -> Int {
    mergeLatest(other)
    // Those that are new, and the places of the runs before which they go.
    var new: [(place: Int, run: Int)] = []
    var start = 0
    for (number, run) in other.runs.enumerated() {
      let (index, isFound) = place(of: run.id, from: start)
      if isFound { runs[index].merge(run) } else { new.append((index, number)) }
      start = index
    }
    guard let first = new.first?.place else { return 0 }
    // Room at the end, into which what is here moves from the last on: each run once, however many come between them.
    let moved = runs.count - first
    var (from, to) = (runs.count, runs.count + new.count)
    for (_, run) in new { runs.append(other.runs[run]) }
    for (place, run) in new.reversed() {
      while from > place {
        (from, to) = (from - 1, to - 1)
        runs.swapAt(from, to)
      }
      to -= 1
      runs[to] = other.runs[run]
    }
    return moved
  }

  /// The least upper bound of both states; neither changes. See `merge(_:)`.
  package func merging(_ other: TextState) -> TextState {
    var result = self
    result.merge(other)
    return result
  }

  private mutating func mergeLatest(_ other: TextState) {
    guard let theirs = other.latest else { return }
    guard let mine = latest, theirs <= mine else {
      (latest, latestVia) = (theirs, other.latestVia)
      return
    }
    guard mine == theirs, let via = [latestVia ?? mine.dot, other.latestVia ?? mine.dot].max() else { return }
    latestVia = via == mine.dot ? nil : via
  }

  // MARK: Deltas

  /// The part of the state that a peer with the vector `vector` lacks; nil if it lacks nothing.
  ///
  /// Registers count with the dot by which they travel. A run says where it hangs wherever one of its elements travels.
  /// Cost: linear in the stretches.
  package func delta(since vector: StateVector) -> TextState? {
    guard !vector.isEmpty else { return isEmpty ? nil : self }
    let isMissing = latest.map { !vector.covers(latestVia ?? $0.dot) } ?? false
    let missing = TextState(
      latest: isMissing ? latest : nil, latestVia: isMissing ? latestVia : nil,
      runs: runs.compactMap { $0.delta(since: vector) })
    return missing.isEmpty ? nil : missing
  }

  /// The same state, all of which travels by one transaction: by one that lifts it into a life of the record, or says
  /// it again there. No element, deletion or stamp changes. Cost: linear in the stretches.
  package func travelling(by via: Dot) -> TextState {
    let moved = runs.map { run in
      TextRun(id: run.id, origin: run.origin, stretches: run.stretches.flatMap { $0.travelling(by: via) })
    }
    return TextState(latest: latest, latestVia: latest == nil ? nil : via, runs: moved)
  }
}

extension TextState {
  /// Whether both know the same; in however many stretches they keep it.
  package static func == (lhs: TextState, rhs: TextState) -> Bool {
    lhs.latest == rhs.latest && lhs.latestVia == rhs.latestVia && lhs.runs == rhs.runs
  }

  /// Feeds the same parts that equality compares.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(latest)
    hasher.combine(runs)
  }
}

extension TextStretch {
  /// The same elements, which travel by one dot; those that have it as their own are apart.
  fileprivate func travelling(by via: Dot) -> [TextStretch] {
    var bounds: [UInt32] = [0, count]
    for line in [written, deleted] {
      guard let line, line.step != 0, line.replica == via.replica else { continue }
      let index = line.step > 0 ? via.sequence &- line.sequence : line.sequence &- via.sequence
      if index < count { bounds += [UInt32(index), UInt32(index) + 1] }
    }
    bounds.sort()
    return zip(bounds, bounds.dropFirst()).filter { $0 < $1 }.map { start, end in
      var part = part(first + start..<first + end)
      part.written = part.written?.moved(to: via)
      part.deleted = part.deleted?.moved(to: via)
      return part
    }
  }
}

extension TextDots {
  /// The same elements, which travel by a dot that is that of all of them or of none.
  fileprivate func moved(to via: Dot) -> TextDots {
    var moved = self
    moved.via = self[0] == via ? nil : via
    return moved
  }
}
