import TallyCRDT

/// What hides the records below a deleted one that kept it in view for a while (decision 24).
///
/// A record that is deleted is still shown if somebody touched it at the same time: what it owns, or its members. When
/// those are deleted or taken out in their turn, it is hidden by that as well, so the restore window waits for it.
final class HiddenBelow {
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
  private var known: [AnyRecordName: [Dot]] = [:]

  init(_ reader: StateReader, _ visibility: Visibility<SnapshotFacts>) {
    (self.reader, self.visibility) = (reader, visibility)
    facts = SnapshotFacts(reader, countsRefusals: false)
  }

  /// The deletes and removals below a deleted record of what its deletes had not seen.
  ///
  /// Cost: everything below it, once for each record that is asked about.
  func dots(of name: AnyRecordName, _ state: RecordState) throws -> [Dot] {
    if let dots = known[name] { return dots }
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
    var dots: [Dot] = []
    for index in nodes.indices.reversed() where nodes[index].isTouched {
      dots += nodes[index].removals
      guard let parent = nodes[index].parent else { continue }
      nodes[parent].isTouched = true
      dots += nodes[index].deletes
    }
    known[name] = dots
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
