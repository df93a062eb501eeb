import TallyCRDT
import TallyStore

/// How many conflicts there are in several stores together. One that two stores have noted is one.
package struct DistinctConflicts: Sendable, Equatable {
  /// The number; the least that it may be where it is not exact.
  package var count = 0
  /// Whether no store has more than are looked at.
  package var isExact = true

  /// The most entries of a store that are looked at.
  package static let limit = 1_000

  /// Counts the conflicts of stores. A store that cannot be read counts as one without any: its own page says so.
  package init(in stores: [Store]) {
    var (found, most) = (Set<[String]>(), 0)
    for store in stores {
      guard let (entries, number) = try? store.snapshot({ try $0.namedConflicts(Self.limit) }) else { continue }
      found.formUnion(entries)
      most = max(most, number)
      if number > Self.limit { isExact = false }
    }
    count = max(found.count, most)
  }
}

extension StateReader {
  /// What names the newest entries of the journal, in words that are the same in every store, and how many there are.
  fileprivate func namedConflicts(_ limit: Int) throws -> (entries: Set<[String]>, count: Int) {
    let query = try SQLStatement(
      connection.handle,
      "SELECT name, field, hex(loser_replica), loser_sequence FROM tally_conflict ORDER BY n DESC LIMIT \(limit)")
    var entries = Set<[String]>()
    while try query.step() { entries.insert((0..<4).map { query.text($0) ?? "" }) }
    return (entries, try connection.integer("SELECT count(*) FROM tally_conflict") ?? 0)
  }
}
