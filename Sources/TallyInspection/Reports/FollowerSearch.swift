import TallyCRDT
import TallyStore

extension StoreDifference.Record {
  /// A record that one store shows and the other does not, because of what happened to another.
  package struct Follower: Sendable, Codable, Equatable {
    /// The record's name.
    package var name: String
    /// Whether the first store shows it.
    package var isVisibleInFirst: Bool
    /// Whether the second store shows it.
    package var isVisibleInSecond: Bool
  }

  /// The followers in words; nil if there are none.
  package func followerSentence(_ first: String, _ second: String) -> String? {
    let groups = [(first, second, true), (second, first, false)].compactMap { here, there, isFirst -> String? in
      let names = followers.filter { $0.isVisibleInFirst == isFirst }.map(\.name)
      return names.isEmpty ? nil : "\(here) shows \(ReplicaDirectory.joined(names)), \(there) does not."
    }
    guard !groups.isEmpty else { return nil }
    return "With it: \(groups.joined(separator: " "))\(hasMoreFollowers ? " And more." : "")"
  }
}

/// Finds records that were not touched, and that still differ: a record goes with its owner, and an owner that was
/// deleted shows again with a touch of what it owns.
struct FollowerSearch {
  /// So many are named.
  private static let most = 20
  /// So many records are looked at.
  private static let patience = 2_000

  /// A store as it was at one moment.
  private struct Side {
    let facts: SnapshotFacts
    let visibility: Visibility<SnapshotFacts>
    private let reader: StateReader
    /// The other store's vector.
    private let base: StateVector

    init(_ reader: StateReader, beyond base: StateVector) {
      (self.reader, self.base) = (reader, base)
      facts = SnapshotFacts(reader)
      visibility = Visibility(facts)
    }

    /// Whether something happened to a record that the other store has not seen: then it is told of by itself.
    func isTouched(_ name: AnyRecordName) throws -> Bool {
      try reader.dots(of: name).contains { !base.covers($0) }
    }

    func owners(of name: AnyRecordName) throws -> [AnyRecordName] {
      try visibility.effectiveOwners(of: name).map(\.target)
    }
  }

  let first: Store
  let second: Store
  /// The vectors of both stores.
  let vectors: (first: StateVector, second: StateVector)

  /// The followers of a record that was touched, and whether there may be more.
  func followers(of name: AnyRecordName) throws -> (followers: [StoreDifference.Record.Follower], hasMore: Bool) {
    try first.snapshot { one in
      try second.snapshot { other in
        try followers(of: name, Side(one, beyond: vectors.second), Side(other, beyond: vectors.first))
      }
    }
  }

  private func followers(
    of name: AnyRecordName, _ one: Side, _ other: Side
  ) throws -> (followers: [StoreDifference.Record.Follower], hasMore: Bool) {
    var found: [StoreDifference.Record.Follower] = []
    var (open, known) = ([name], Set([name]))
    func isOver() -> Bool { found.count > Self.most || known.count > Self.patience }
    while let next = open.popLast(), !isOver() {
      var near = try one.owners(of: next) + other.owners(of: next)
      // What it owns shows where it shows.
      if try one.visibility.isShown(next) != other.visibility.isShown(next) {
        near += try one.facts.owned(by: next) + other.facts.owned(by: next)
      }
      for name in near where !isOver() && known.insert(name).inserted {
        let (here, there) = (try one.visibility.isShown(name), try other.visibility.isShown(name))
        guard here != there, try !one.isTouched(name), try !other.isTouched(name) else { continue }
        found.append(.init(name: name.text, isVisibleInFirst: here, isVisibleInSecond: there))
        open.append(name)
      }
    }
    let hasMore = isOver()
    found = Array(found.prefix(Self.most))
    return (found.sorted { $0.name < $1.name }, hasMore)
  }
}
