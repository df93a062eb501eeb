import TallyCRDT

/// By what deleted records are hidden: what others must have had for a restore window before content goes (decision
/// 24).
///
/// That is the deletes on the chain of owners; the edits of the record, and of what is deleted above it, that no delete
/// had seen; and what hides the records below that had kept one of those in view. A record that is deleted is still
/// shown if somebody touched it at the same time: what it owns, or its members. When those are deleted or taken out in
/// their turn, it is hidden by that as well. What goes on in a living owner above all that is deleted delays nothing.
final class Hiding {
  /// The causes for which one record is hidden.
  struct Causes: Equatable {
    /// Deletes, removals and edits: of each replica the latest counts.
    var dots: StateVector
    /// The latest delete on the chain of owners.
    var latest: Stamp
  }

  private struct Node {
    var parent: Int?
    var deletes: [Dot]
    var isTouched: Bool
    /// The removals of its members that the delete had not seen.
    var removals: [Dot]
  }

  private let facts: SnapshotFacts
  private let visibility: Visibility<SnapshotFacts>
  private let reader: StateReader
  /// The deletes and removals below deleted records, as far as anybody asked.
  private(set) var below: [AnyRecordName: StateVector]
  /// Of owners, whether they or any record above them has deletes.
  private var deleted: [AnyRecordName: Bool] = [:]

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
    return try chain(name).contains { try !$0.state.deletes.isEmpty && !visibility.isAlive($0.name) }
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
    if let known = deleted[owner] { return known }
    if deleted.count >= Self.mostOwners { deleted = [:] }
    let isDeleted = try chain(owner).contains { !$0.state.deletes.isEmpty }
    deleted[owner] = isDeleted
    return isDeleted
  }

  private static let mostOwners = 1 << 14

  /// By what a record is hidden; nil if no delete hides it.
  ///
  /// Cost: the chain of its owners, and everything below those that are deleted, once for each of them as long as this
  /// object is used.
  func causes(of name: AnyRecordName) throws -> Causes? {
    guard try !visibility.isVisible(name) else { return nil }
    let chain = try chain(name)
    let dead = try chain.indices.filter { index in
      try !chain[index].state.deletes.isEmpty && !visibility.isAlive(chain[index].name)
    }
    let deletes = chain.flatMap(\.state.deletes)
    guard !dead.isEmpty, let latest = deletes.map(\.stamp).max() else { return nil }
    var dots = deletes.reduce(into: StateVector()) { $0.include($1.stamp.dot) }
    let context = chain.reduce(StateVector()) { $0.merging($1.state.deletedContext) }
    // The deleted ones and what leads up to them from the record: of several owners one may live.
    var between = Set(dead.map { chain[$0].name })
    var count = 0
    repeat {
      count = between.count
      for (each, _) in chain.reversed() where !between.contains(each) {
        if try visibility.effectiveOwners(of: each).contains(where: { between.contains($0.target) }) {
          between.insert(each)
        }
      }
    } while between.count > count
    for (name, state) in chain where between.contains(name) {
      var touches = state.touches
      for dot in try facts.liveTags(of: name) { touches.include(dot) }
      dots.merge(touches.beyond(state.deletedContext).beyond(context))
    }
    for index in dead { dots.merge(try below(chain[index].name, chain[index].state)) }
    return Causes(dots: dots, latest: latest)
  }

  /// The record and its owners, as far as anything is known of them.
  private func chain(_ name: AnyRecordName) throws -> [(name: AnyRecordName, state: RecordState)] {
    var chain: [(AnyRecordName, RecordState)] = []
    var (open, known) = ([name], Set([name]))
    while let next = open.popLast() {
      guard let kind = reader.catalog.kind(of: next.type), let stored = try reader.record(next, kind) else { continue }
      chain.append((next, stored.state))
      for owner in try visibility.effectiveOwners(of: next) where known.insert(owner.target).inserted {
        open.append(owner.target)
      }
    }
    return chain
  }

  /// The deletes and removals below a deleted record of what its deletes had not seen.
  private func below(_ name: AnyRecordName, _ state: RecordState) throws -> StateVector {
    #if PlantedFaults
      if reader.planted.contains(.windowIgnoresBelow) { return StateVector() }
    #endif
    if let dots = below[name] { return dots }
    let context = state.deletedContext
    var nodes = [try node(name, state, nil, context)]
    var (next, seen) = ([(name, 0)], Set([name]))
    while let (owner, parent) = next.popLast() {
      for child in try facts.owned(by: owner) where seen.insert(child).inserted {
        guard try visibility.effectiveOwners(of: child).contains(where: { $0.target == owner }),
          let kind = reader.catalog.kind(of: child.type), let stored = try reader.record(child, kind)
        else { continue }
        next.append((child, nodes.count))
        nodes.append(try node(child, stored.state, parent, context))
      }
    }
    // What is below comes after what owns it.
    var dots = StateVector()
    for index in nodes.indices.reversed() where nodes[index].isTouched {
      for dot in nodes[index].removals { dots.include(dot) }
      guard let parent = nodes[index].parent else { continue }
      nodes[parent].isTouched = true
      for dot in nodes[index].deletes { dots.include(dot) }
    }
    below[name] = dots
    return dots
  }

  private func node(
    _ name: AnyRecordName, _ state: RecordState, _ parent: Int?, _ context: StateVector
  ) throws -> Node {
    var (isTouched, removals) = (false, [Dot]())
    for link in try reader.links(from: name) {
      for tag in link.link.element.tags where tag.added.rank >= .user && !context.covers(tag.added.dot) {
        isTouched = true
        if let removed = tag.removed { removals.append(removed.dot) }
      }
    }
    isTouched = isTouched || state.touches.entries.contains { !context.covers($0) }
    return Node(parent: parent, deletes: state.deletes.map(\.stamp.dot), isTouched: isTouched, removals: removals)
  }
}
