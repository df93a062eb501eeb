/// Consecutive elements of a run whose dots go on evenly: from each element to the next by one step for those that
/// wrote them, and by one for those that deleted them. It is the longest such row, so it does not matter how the
/// elements are divided into stretches. Where the step changes, the element is the last of one row and the first of the
/// next.
struct TextEvenRow {
  /// The place of the first element.
  var first: UInt32
  /// The number of elements.
  var count: UInt32
  /// The dots that wrote the elements; nil if they are not known to have been written.
  var written: TextDots?
  /// The dots that deleted the elements; nil if they are there.
  var deleted: TextDots?

  var end: UInt32 { first + count }

  /// How the dots change from one element to the next.
  struct Steps: Equatable {
    var written: Int8
    var deleted: Int8
  }

  /// A row of the first `count` elements of a stretch, from a place on.
  private init(_ stretch: TextStretch, from place: UInt32, count: UInt32) {
    (first, self.count) = (place, count)
    written = stretch.written?.part(from: place - stretch.first, count: count)
    deleted = stretch.deleted?.part(from: place - stretch.first, count: count)
  }

  /// Takes so many elements more, if the row goes on in them.
  private mutating func take(_ steps: Steps, count more: UInt32) -> Bool {
    guard count == 1 || steps == Steps(written: written?.step ?? 0, deleted: deleted?.step ?? 0) else { return false }
    written?.step = steps.written
    deleted?.step = steps.deleted
    count += more
    return true
  }

  /// Calls `body` with each even row that has an element in a range. Cost: the stretches of these rows.
  static func forEach(
    of stretches: [TextStretch], touching range: Range<UInt32>, _ body: (TextEvenRow) -> Void
  ) {
    var index = stretches.partition { $0.end > range.lowerBound }
    guard index < stretches.count else { return }
    // Back to an element before the range at which a row begins, or to a gap.
    while index > 0, let before = stretches[index - 1].steps(to: stretches[index]) {
      if stretches[index].first < range.lowerBound, before != stretches.steps(after: index) { break }
      index -= 1
    }
    func emit(_ row: TextEvenRow) {
      if row.end > range.lowerBound, row.first < range.upperBound { body(row) }
    }
    var row = TextEvenRow(stretches[index], from: stretches[index].first, count: 1)
    while true {
      let stretch = stretches[index]
      // Within the stretch, and on to the next one.
      if stretch.count > 1, !row.take(stretch.steps, count: stretch.count - 1) {
        emit(row)
        row = TextEvenRow(stretch, from: stretch.first, count: stretch.count)
      }
      index += 1
      guard index < stretches.count, row.first < range.upperBound else { break }
      if let steps = stretch.steps(to: stretches[index]) {
        if row.take(steps, count: 1) { continue }
        emit(row)
        row = TextEvenRow(stretch, from: stretch.end - 1, count: 1)
        _ = row.take(steps, count: 1)
      } else {
        emit(row)
        row = TextEvenRow(stretches[index], from: stretches[index].first, count: 1)
      }
    }
    emit(row)
  }
}

extension TextStretch {
  /// How the dots change within the stretch.
  fileprivate var steps: TextEvenRow.Steps { .init(written: written?.step ?? 0, deleted: deleted?.step ?? 0) }

  /// How the dots change from the last element to the first of the stretch that follows; nil if no row goes on there.
  fileprivate func steps(to next: TextStretch) -> TextEvenRow.Steps? {
    guard end == next.first else { return nil }
    var steps = TextEvenRow.Steps(written: 0, deleted: 0)
    switch (written, next.written) {
    case (let mine?, let theirs?):
      guard let step = mine.part(from: count - 1, count: 1).step(to: theirs, count: 1, within: TextDots.writing) else {
        return nil
      }
      steps.written = step
    case (nil, nil): break
    default: return nil
    }
    switch (deleted, next.deleted) {
    case (let mine?, let theirs?):
      guard let step = mine.part(from: count - 1, count: 1).step(to: theirs, count: 1, within: TextDots.deleting)
      else { return nil }
      steps.deleted = step
    case (nil, nil): break
    default: return nil
    }
    return steps
  }
}

extension [TextStretch] {
  /// How the dots change behind the first element of a stretch; nil if no row goes on there.
  fileprivate func steps(after index: Int) -> TextEvenRow.Steps? {
    if self[index].count > 1 { return self[index].steps }
    return index + 1 < count ? self[index].steps(to: self[index + 1]) : nil
  }
}
