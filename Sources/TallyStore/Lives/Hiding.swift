import TallyCRDT

/// By what deleted records are hidden: what others must have had for a restore window before content goes (decision
/// 24).
///
/// That is the deletes on the chain of owners; the edits of the record, and of what is deleted above it, that no delete
/// had seen; and what hides the records below that had kept one of those in view. A record that is deleted is still
/// shown if it was touched at the same time: what it owns, or its members. When those are deleted or taken out in their
/// turn, it is hidden by that as well. What goes on in a living owner above all that is deleted delays nothing.
final class Hiding {
  /// The causes for which one record is hidden.
  struct Causes: Equatable {
    /// Deletes, removals and edits: of each replica the latest counts.
    var dots: StateVector
    /// The latest delete on the chain of owners.
    var latest: Stamp
  }

  /// A record together with all its owners, up to the top.
  private struct Ascent {
    var deletes = StateVector()
    var latest: Stamp?
    var context = StateVector()
    /// The edits that no delete of their own record had seen: of the deleted ones, and of what leads up to them. Of
    /// several owners one may live.
    var touches = StateVector()
    /// The deletes and removals below the deleted ones: see `below`.
    var below = StateVector()
    /// Whether one of them is deleted, and nothing keeps it.
    var isDead = false

    mutating func merge(_ owner: Self) {
      deletes.merge(owner.deletes)
      latest = [latest, owner.latest].compactMap { $0 }.max()
      context.merge(owner.context)
      touches.merge(owner.touches)
      below.merge(owner.below)
      isDead = isDead || owner.isDead
    }
  }

  /// Answers that are kept: of as many records, at most, as a multiple of what a single one has needed, so that nothing
  /// is looked for again for each record.
  private struct Memo<Value> {
    private(set) var known: [AnyRecordName: Value] = [:]
    private var most = 1 << 16
    private var before = 0

    subscript(name: AnyRecordName) -> Value? {
      get { known[name] }
      set { known[name] = newValue }
    }

    mutating func begin() {
      if known.count >= most { known = [:] }
      before = known.count
    }

    mutating func end() { most = max(most, 4 * (known.count - before)) }
  }

  private let facts: SnapshotFacts
  private let visibility: Visibility<SnapshotFacts>
  private let reader: StateReader
  /// The deletes and removals below deleted records, as far as anybody asked.
  private(set) var below: [AnyRecordName: StateVector]
  /// Whether a record, or any above it, has deletes.
  private var deletes = Memo<Bool>()
  /// Whether a record, or any above it, is deleted and nothing keeps it.
  private var deaths = Memo<Bool>()
  private var ascents = Memo<Ascent>()
  /// All that was ever written to a record and to what it owns.
  private var written = Memo<StateVector>()

  /// `below` is what was found earlier, if all that is hidden now was hidden then.
  init(_ reader: StateReader, below: [AnyRecordName: StateVector] = [:]) {
    self.reader = reader
    self.below = below
    facts = SnapshotFacts(reader, countsRefusals: false)
    visibility = Visibility(facts)
  }

  /// Whether a delete hides a record, its own or that of an owner. Cost: the chain of its owners.
  func isDeleted(_ name: AnyRecordName) throws -> Bool {
    guard try !visibility.isVisible(name) else { return false }
    return try climb(\.deaths, from: name) { name, owners in
      if owners.contains(true) { return true }
      guard let state = try self.state(of: name), !state.deletes.isEmpty else { return false }
      return try !self.visibility.isAlive(name)
    }
  }

  /// By what a record is hidden that its own deletes hide and nothing else: it owns nothing, has no members, and nobody
  /// above it was ever deleted. That is almost every record that is deleted, so it is decided without looking around.
  /// - Returns: what `causes(of:)` finds; nil for any other record.
  func causesInItself(_ name: AnyRecordName, _ kind: RecordKind, _ state: RecordState) throws -> Causes? {
    guard let latest = state.deletes.map(\.stamp).max(), state.seed == nil, kind.forwardField == nil,
      !reader.catalog.owns(name.type), !reader.catalog.links.values.contains(where: { $0.source == name.type })
    else { return nil }
    let context = state.deletedContext
    guard !context.isEmpty, context.covers(state.touches) else { return nil }
    for owner in try facts.owners(of: state, kind) where try isBelowDeletes(owner.target) { return nil }
    return Causes(dots: state.deletes.reduce(into: StateVector()) { $0.include($1.stamp.dot) }, latest: latest)
  }

  /// Whether an owner has deletes, or any record above it.
  private func isBelowDeletes(_ owner: AnyRecordName) throws -> Bool {
    try climb(\.deletes, from: owner) { name, owners in
      try owners.contains(true) || self.state(of: name)?.deletes.isEmpty == false
    }
  }

  /// By what a record is hidden; nil if no delete hides it.
  ///
  /// Cost: the chain of its owners, and everything below those that are deleted, once for each of them as long as this
  /// object is used; below that again what a delete had not seen, for each deleted record above it.
  func causes(of name: AnyRecordName) throws -> Causes? {
    guard try !visibility.isVisible(name) else { return nil }
    let ascent = try climb(\.ascents, from: name, ascent)
    guard ascent.isDead, let latest = ascent.latest else { return nil }
    var dots = ascent.deletes
    dots.merge(ascent.touches.beyond(ascent.context))
    dots.merge(ascent.below)
    return Causes(dots: dots, latest: latest)
  }

  // MARK: Upwards

  /// The answer for a record, which comes of those for its owners.
  private func climb<Value>(
    _ memo: ReferenceWritableKeyPath<Hiding, Memo<Value>>, from name: AnyRecordName,
    _ answer: (_ name: AnyRecordName, _ owners: [Value]) throws -> Value
  ) throws -> Value {
    self[keyPath: memo].begin()
    defer { self[keyPath: memo].end() }
    var stack = [name]
    while let top = stack.last {
      if let known = self[keyPath: memo][top] {
        stack.removeLast()
        guard stack.isEmpty else { continue }
        // Most records own nothing, and are asked for once.
        if !reader.catalog.owns(name.type) { self[keyPath: memo][top] = nil }
        return known
      }
      let owners = try visibility.effectiveOwners(of: top).map(\.target)
      let open = owners.filter { self[keyPath: memo][$0] == nil }
      if open.isEmpty {
        self[keyPath: memo][top] = try answer(top, owners.compactMap { self[keyPath: memo][$0] })
      } else {
        stack += open
      }
    }
    preconditionFailure("the way up ends at the record that it began at")
  }

  private func ascent(of name: AnyRecordName, below owners: [Ascent]) throws -> Ascent {
    var result = Ascent()
    guard let state = try state(of: name) else { return result }
    for owner in owners { result.merge(owner) }
    for delete in state.deletes { result.deletes.include(delete.stamp.dot) }
    result.latest = ([result.latest] + state.deletes.map(\.stamp)).compactMap { $0 }.max()
    result.context.merge(state.deletedContext)
    if try !state.deletes.isEmpty && !visibility.isAlive(name) {
      result.isDead = true
      result.below.merge(try below(name, state))
    }
    guard result.isDead else { return result }
    var touches = state.touches
    for dot in try facts.liveTags(of: name) { touches.include(dot) }
    result.touches.merge(touches.beyond(state.deletedContext))
    return result
  }

  private func state(of name: AnyRecordName) throws -> RecordState? {
    guard let kind = reader.catalog.kind(of: name.type) else { return nil }
    return try reader.record(name, kind)?.state
  }

  // MARK: Downwards

  private func owned(by owner: AnyRecordName) throws -> [AnyRecordName] {
    try Set(facts.owned(by: owner)).filter { child in
      try visibility.effectiveOwners(of: child).contains { $0.target == owner }
    }
  }

  /// The deletes and removals below a deleted record of what its deletes had not seen.
  private func below(_ name: AnyRecordName, _ state: RecordState) throws -> StateVector {
    #if PlantedFaults
      if reader.planted.contains(.windowIgnoresBelow) { return StateVector() }
    #endif
    if let dots = below[name] { return dots }
    let context = state.deletedContext
    var dots = StateVector()
    // Only where something is that the deletes had not seen: that keeps all that leads down to it.
    var (open, known) = ([name], Set([name]))
    while let next = open.popLast() {
      guard try !context.covers(written(in: next)), let state = try self.state(of: next) else { continue }
      if next != name { for delete in state.deletes { dots.include(delete.stamp.dot) } }
      for link in try reader.links(from: next) {
        for tag in link.link.element.tags where tag.added.rank >= .user && !context.covers(tag.added.dot) {
          if let removed = tag.removed { dots.include(removed.dot) }
        }
      }
      for child in try owned(by: next) where known.insert(child).inserted { open.append(child) }
    }
    below[name] = dots
    return dots
  }

  /// All that was ever written to a record and to what it owns: edits, and adds of members.
  private func written(in name: AnyRecordName) throws -> StateVector {
    written.begin()
    defer { written.end() }
    var stack = [name]
    var owned: [AnyRecordName: [AnyRecordName]] = [:]
    while let top = stack.last {
      guard written[top] == nil else {
        stack.removeLast()
        continue
      }
      let children = try owned.removeValue(forKey: top) ?? self.owned(by: top)
      let open = children.filter { written[$0] == nil }
      if open.isEmpty {
        var sum = try writtenAlone(top)
        for child in children { sum.merge(written[child] ?? StateVector()) }
        written[top] = sum
      } else {
        owned[top] = children
        stack += open
      }
    }
    return written[name] ?? StateVector()
  }

  private func writtenAlone(_ name: AnyRecordName) throws -> StateVector {
    var sum = try state(of: name)?.touches ?? StateVector()
    for link in try reader.links(from: name) {
      for tag in link.link.element.tags where tag.added.rank >= .user { sum.include(tag.added.dot) }
    }
    return sum
  }
}
