/// A mergeable text that is open: its state, and the order that follows from it.
///
/// Places are offsets in Unicode scalars, of what the text shows. An edit changes both and returns what it has added to
/// the state, which is all that has to travel.
///
/// ```
/// var text = MergeableText(state)
/// let edit = try text.save("milk, eggs", from: "milk", by: stamp, in: &runs)    // joins into any other state
/// ```
///
/// Cost of an edit: the logarithm of the number of spans, on average, for each change, and moving in memory once what
/// lies behind the first change in a run and in the list of runs. No edit goes through the text; comparing two strings
/// does, by eights of bytes. How many runs and stretches a text has limits no edit.
package struct MergeableText: Sendable {
  /// What is replicated.
  package private(set) var state: TextState
  private var order: TextOrder
  /// The number of bytes of what is shown, as UTF-8.
  package private(set) var byteCount: Int

  /// A write may not leave a text with more bytes than this if it makes it longer, though a join may.
  package static let byteLimit = 1 << 20

  /// Opens a text. Cost: n log n in the number of runs.
  package init(_ state: TextState) {
    (self.state, order, byteCount) = (state, TextOrder(state), 0)
    byteCount = countBytes()
  }

  /// The number of characters that are shown.
  package var count: Int { order.count }

  /// What is shown. Cost: linear.
  package var characters: [Unicode.Scalar] {
    var characters: [Unicode.Scalar] = []
    characters.reserveCapacity(count)
    order.forEachSpan { span in
      if span.isShown { forEachPart(of: span) { characters.append(contentsOf: $0) } }
    }
    return characters
  }

  /// What is shown, as a string. Cost: linear.
  package var text: String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(byteCount)
    order.forEachSpan { span in
      if span.isShown { forEachPart(of: span) { bytes.append(utf8: $0) } }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// All elements in order, including deleted ones, and whether each is shown. Cost: linear in the elements, of which a
  /// few bytes of a broken peer can claim 2^30 for each run: for tests and small texts.
  package var elements: [(element: TextElement, isShown: Bool)] {
    var elements: [(element: TextElement, isShown: Bool)] = []
    order.forEachSpan { span in
      for index in 0..<span.count { elements.append((span[index], span.isShown)) }
    }
    return elements
  }

  /// The offset behind an element; nil if it is not shown.
  package func offset(after element: TextElement) -> Int? {
    guard let place = order.place(of: element), order.span(at: place).isShown else { return nil }
    return order.offset(of: place) + 1
  }

  private func forEachPart(of span: TextOrder.Span, _ body: (ArraySlice<Unicode.Scalar>) -> Void) {
    guard let run = state[span.run] else { return }
    var index = run.stretches.partition { $0.end > span.first }
    while index < run.stretches.count, run.stretches[index].first < span.end {
      let stretch = run.stretches[index]
      let range = max(stretch.first, span.first)..<min(stretch.end, span.end)
      if stretch.isLive { body(stretch.characters(in: range)) }
      index += 1
    }
  }

  private func countBytes() -> Int {
    var bytes = 0
    order.forEachSpan { span in
      if span.isShown { forEachPart(of: span) { bytes += Self.byteCount(of: $0) } }
    }
    return bytes
  }

  private static func byteCount(of characters: some Sequence<Unicode.Scalar>) -> Int {
    characters.reduce(0) { $0 + UTF8.width($1) }
  }

  // MARK: Joining

  /// Joins what another copy knows. Cost: that of opening.
  package mutating func merge(_ other: TextState) {
    state.merge(other)
    (order, byteCount) = (TextOrder(state), 0)
    byteCount = countBytes()
  }

  // MARK: Editing

  /// Inserts characters at an offset.
  /// - Parameters:
  ///   - characters: what to insert.
  ///   - offset: before which character; `count` for the end.
  ///   - stamp: the stamp of the transaction.
  ///   - runs: what this opening has begun.
  /// - Returns: what was added to the state; an empty one if there was nothing to insert.
  /// - Throws: `TextError`; nothing has changed then.
  package mutating func insert(
    _ characters: [Unicode.Scalar], at offset: Int, by stamp: Stamp, in runs: inout TextRuns
  ) throws(TextError) -> TextState {
    try edit([TextHunk(offset: offset, deleted: 0, inserted: characters)], by: stamp, in: &runs)
  }

  /// Deletes characters. They are gone from the state at once; that they were there stays.
  /// - Returns: what was added to the state; an empty one if the range is.
  /// - Throws: `TextError.outOfRange`; nothing has changed then.
  package mutating func delete(_ range: Range<Int>, by stamp: Stamp) throws(TextError) -> TextState {
    guard range.lowerBound >= 0, range.upperBound <= count else { throw .outOfRange }
    guard !range.isEmpty else { return TextState() }
    let edit = TextState(latest: stamp, parts: deletion(range, by: stamp))
    state.merge(edit)
    return edit
  }

  /// Makes the text another one, of which only what differs is written.
  /// - Parameters:
  ///   - new: what the text is to be.
  ///   - old: what it shows, which the caller has at hand. Of it only the length is compared with the text.
  ///   - stamp: the stamp of the transaction.
  ///   - runs: what this opening has begun.
  /// - Returns: what was added to the state; an empty one if nothing differs.
  /// - Throws: `TextError`; nothing has changed then.
  package mutating func save(
    _ new: String, from old: String, by stamp: Stamp, in runs: inout TextRuns
  ) throws(TextError) -> TextState {
    guard old.utf8.count == byteCount else { throw .notShown }
    var place = runs.last.flatMap { offset(after: $0) }
    var difference = TextDifference.Options()
    #if PlantedFaults
      if runs.fault == .noSlide { place = nil }
      if runs.fault == .endsOnly { difference.stepLimit = 0 }
    #endif
    difference.place = place
    return try edit(TextDifference.hunks(from: old, to: new, difference), by: stamp, in: &runs)
  }

  /// Makes several changes at once, all of them in one transaction.
  /// - Parameters:
  ///   - hunks: what to change, ascending, without overlaps; offsets are of the text as it is.
  ///   - stamp: the stamp of the transaction.
  ///   - runs: what this opening has begun.
  /// - Returns: what was added to the state.
  /// - Throws: `TextError`; nothing has changed then.
  package mutating func edit(
    _ hunks: [TextHunk], by stamp: Stamp, in runs: inout TextRuns
  ) throws(TextError) -> TextState {
    var (end, inserts, bytes) = (0, 0, 0)
    for hunk in hunks {
      guard hunk.offset >= end, hunk.deleted >= 0, hunk.deleted <= count - hunk.offset else { throw .outOfRange }
      end = hunk.offset + hunk.deleted
      if !hunk.inserted.isEmpty { inserts += 1 }
      bytes += Self.byteCount(of: hunk.inserted)
    }
    guard runs.hasRoom(for: inserts, in: stamp.dot) else { throw .tooLarge }
    guard inserts > 0, byteCount + bytes > Self.byteLimit else { return apply(hunks, by: stamp, in: &runs) }
    // Close to the limit: whether it is beyond it is seen afterwards.
    var (copy, others) = (self, runs)
    let edit = copy.apply(hunks, by: stamp, in: &others)
    guard copy.byteCount <= max(Self.byteLimit, byteCount) else { throw .tooLarge }
    (self, runs) = (copy, others)
    return edit
  }

  /// Takes in a string that stood elsewhere, as what the text begins with: all that is shown is deleted.
  ///
  /// It becomes a run that is named by the write of the string, so that all devices that do the same make the same run.
  /// It travels by the transaction that takes it in. An empty string is one character that is deleted.
  /// - Parameters:
  ///   - characters: the string.
  ///   - base: the stamp under which it was written.
  ///   - stamp: the stamp of the transaction that takes it in.
  /// - Returns: what was added to the state; an empty one if it was taken in before.
  package mutating func takeIn(_ characters: [Unicode.Scalar], of base: Stamp, by stamp: Stamp) -> TextState {
    let id = TextRunID(dot: base.dot, number: TextRunID.base)
    guard state[id]?.origin == nil else { return TextState() }
    let gone = count > 0 ? deletion(0..<count, by: stamp) : []
    let written = TextDots(base.dot, via: stamp.dot)
    let stretch =
      characters.isEmpty
      ? TextStretch(first: 0, count: 1, written: written, deleted: TextDots(stamp.dot))
      : TextStretch(first: 0, characters: characters, written: written)
    let edit = TextState(
      latest: stamp, parts: gone + [TextRun(id: id, origin: .init(stamp: base), stretches: [stretch])])
    merge(edit)
    return edit
  }

  /// From the last change to the first, so that offsets hold. A change looks at nothing that one behind it has written,
  /// so the state gets all of it at once.
  private mutating func apply(_ hunks: [TextHunk], by stamp: Stamp, in runs: inout TextRuns) -> TextState {
    var parts: [TextRun] = []
    for hunk in hunks.reversed() {
      if !hunk.inserted.isEmpty { parts.append(insertion(hunk.inserted, at: hunk.offset, by: stamp, in: &runs)) }
      if hunk.deleted > 0 {
        let start = hunk.offset + hunk.inserted.count
        parts += deletion(start..<start + hunk.deleted, by: stamp)
      }
    }
    guard !parts.isEmpty else { return TextState() }
    let edit = TextState(latest: stamp, parts: parts)
    state.merge(edit)
    return edit
  }

  /// What a deletion adds to the state; the order has it afterwards, the state not yet.
  private mutating func deletion(_ range: Range<Int>, by stamp: Stamp) -> [TextRun] {
    var gone: [TextOrder.Span] = []
    order.hide(range.count, from: range.lowerBound) { gone.append($0) }
    return gone.map { span in
      forEachPart(of: span) { byteCount -= Self.byteCount(of: $0) }
      let part = TextStretch(first: span.first, count: span.count, written: nil, deleted: TextDots(stamp.dot))
      return TextRun(id: span.run, origin: nil, stretches: [part])
    }
  }

  /// What an insertion adds to the state; the order has it afterwards, the state not yet.
  ///
  /// Behind a character that ends a run of this opening, with nothing right of it, the run goes on. Otherwise a new one
  /// hangs right of it if nothing else does, and left of what follows if something does: so what two replicas type at
  /// one place without knowing of each other is never mixed, forwards or backwards.
  private mutating func insertion(
    _ characters: [Unicode.Scalar], at offset: Int, by stamp: Stamp, in runs: inout TextRuns
  ) -> TextRun {
    let left = offset > 0 ? order.place(of: offset - 1) : nil
    let before = left.map(order.element)
    var right = if let left { order.next(after: left) } else { order.first }
    #if PlantedFaults
      if runs.fault == .skipsDeleted { right = offset < count ? order.place(of: offset) : nil }
    #endif
    var (id, first): (TextRunID, UInt32)
    let origin: TextRun.Origin?
    if let before, order.isLast(before), runs.canContinue(before, with: characters.count) {
      (id, first, origin) = (before.run, before.offset + 1, state[before.run]?.origin)
    } else {
      (id, first) = (runs.begin(stamp.dot), 0)
      if let before, order.isLast(before) { right = nil }
      #if PlantedFaults
        if runs.fault == .orderByTime {
          let times = state.runs.map { UInt64.max - $0.id.dot.replica.high }.filter { $0 < 1 << 32 }
          let replica = ReplicaID(high: UInt64.max - 1 - (times.max() ?? 0), low: stamp.dot.replica.low)
          id = TextRunID(dot: Dot(replica: replica, sequence: stamp.dot.sequence), number: id.number)
          right = nil
        }
      #endif
      if let right {
        origin = .init(.left, of: order.element(at: right))
      } else if let before {
        origin = .init(.right, of: before)
        order.noteContinued(before)
      } else {
        origin = .init(stamp: nil)
      }
    }
    runs.note(id, first: first, count: characters.count)
    byteCount += Self.byteCount(of: characters)
    order.insert(.init(run: id, first: first, count: UInt32(characters.count), isShown: true), after: left)
    let stretch = TextStretch(first: first, characters: characters, written: TextDots(stamp.dot))
    return TextRun(id: id, origin: origin, stretches: [stretch])
  }
}

/// Why an edit of a text was refused. Nothing has changed when it is thrown.
package enum TextError: Error, Hashable, Sendable {
  /// A place is not within the text, or changes overlap.
  case outOfRange
  /// What the writer takes for the text is not what it shows.
  case notShown
  /// The text would have more than 1 MiB, or one transaction would begin more runs than there are numbers for.
  case tooLarge
}

/// One change of a text: at an offset so many characters go, and others come.
package struct TextHunk: Hashable, Sendable {
  /// The place of the change in the old text, in Unicode scalars.
  package var offset: Int
  /// The number of scalars that are deleted there.
  package var deleted: Int
  /// The scalars that are inserted there, before what is deleted.
  package var inserted: [Unicode.Scalar]

  /// Creates a change from its parts.
  package init(offset: Int, deleted: Int, inserted: [Unicode.Scalar]) {
    (self.offset, self.deleted, self.inserted) = (offset, deleted, inserted)
  }
}
