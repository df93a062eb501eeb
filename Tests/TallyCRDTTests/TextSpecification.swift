import TallyCRDT

/// What a text is, element by element: no runs that go on, no stretches, no order that is kept. It knows states only by
/// reading what they say of each element, and joins, cuts and sorts in ways of its own.
struct TextSpecification: Equatable {
  struct Register: Hashable {
    var dot: Dot
    var via: Dot
  }

  struct Written: Equatable {
    var register: Register
    var origin: TextRun.Origin
    var character: Unicode.Scalar?
  }

  var written: [TextElement: Written] = [:]
  var deleted: [TextElement: Register] = [:]
  var latest: Register?

  init(_ state: TextState) {
    if let stamp = state.latest { latest = Register(dot: stamp.dot, via: state.latestVia ?? stamp.dot) }
    for run in state.runs {
      for stretch in run.stretches {
        for index in 0..<stretch.count {
          let element = TextElement(run: run.id, offset: stretch.first + index)
          if let dots = stretch.deleted { deleted[element] = Self.register(dots, index) }
          guard let dots = stretch.written, let origin = run.origin else { continue }
          written[element] = Written(
            register: Self.register(dots, index), origin: origin,
            character: stretch.characters(in: element.offset..<element.offset + 1).first)
        }
      }
    }
  }

  private static func register(_ dots: TextDots, _ index: UInt32) -> Register {
    let dot = Dot(
      replica: dots.replica, sequence: UInt64(Int64(dots.sequence) + Int64(dots.step) * Int64(index)))
    return Register(dot: dot, via: dots.via ?? dot)
  }

  private static func least(_ a: Register, _ b: Register) -> Register {
    a.dot == b.dot ? Register(dot: a.dot, via: max(a.via, b.via)) : a.dot < b.dot ? a : b
  }

  func joined(_ other: TextSpecification) -> TextSpecification {
    var result = self
    result.written.merge(other.written) { a, b in
      Written(
        register: Self.least(a.register, b.register), origin: a.origin,
        character: [a.character, b.character].compactMap { $0 }.max())
    }
    result.deleted.merge(other.deleted, uniquingKeysWith: Self.least)
    for element in result.deleted.keys { result.written[element]?.character = nil }
    if let mine = latest, let theirs = other.latest {
      // Later stamps have later times here, so dots do not tell. It is compared elsewhere.
      result.latest = mine == theirs ? mine : nil
    }
    return result
  }

  /// What a vector does not cover; what was written comes with its deletion.
  func delta(since vector: StateVector) -> TextSpecification {
    var result = self
    result.written = written.filter { !vector.covers($0.value.register.via) }
    result.deleted = deleted.filter { !vector.covers($0.value.via) || result.written[$0.key] != nil }
    if let latest, vector.covers(latest.via) { result.latest = nil }
    return result
  }

  // MARK: Order

  private enum Step: Comparable {
    case left(TextRunID)
    case right(TextRunID)
    case on
  }

  /// The way from the beginning to an element: where runs hang, and how far along them.
  private func path(_ element: TextElement) -> [Step] {
    let known = written.first { $0.key.run == element.run }
    var path: [Step] = []
    if let origin = known?.value.origin {
      if let parent = origin.parent, written.keys.contains(where: { $0.run == parent.run }) {
        path = self.path(parent) + [origin.side == .left ? .left(element.run) : .right(element.run)]
      } else {
        path = [.right(element.run)]
      }
    }
    return path + Array(repeating: .on, count: Int(element.offset))
  }

  private static func isBefore(_ a: [Step], _ b: [Step]) -> Bool {
    for (x, y) in zip(a, b) where x != y { return x < y }
    if a.count == b.count { return false }
    // What begins with the way to an element hangs at it: before it on the left, behind it otherwise.
    if a.count < b.count {
      if case .left = b[a.count] { return false }
      return true
    }
    if case .left = a[b.count] { return true }
    return false
  }

  /// All elements, deleted ones too.
  var order: [TextElement] {
    written.keys.map { ($0, path($0)) }.sorted { Self.isBefore($0.1, $1.1) }.map { $0.0 }
  }

  /// The elements that are shown.
  var shown: [TextElement] {
    let stamps = written.compactMap { $0.key.run.isBase ? $0.value.origin.stamp : nil }
    return order.filter { element in
      guard let written = written[element], deleted[element] == nil else { return false }
      return !element.run.isBase || written.origin.stamp == stamps.max()
    }
  }

  var text: String {
    var text = String.UnicodeScalarView()
    for element in shown { if let character = written[element]?.character { text.append(character) } }
    return String(text)
  }
}
