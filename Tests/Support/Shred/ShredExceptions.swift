import TallyCRDT
import TallyStore

/// Judges what devices that empty what is deleted show less than devices that do the same and empty nothing: E1 and E2
/// of Contract.md, section 11, as predicates. What they do not excuse is lost.
struct ShredExceptions {
  /// What the authors of the emptyings of each record had seen when, by today's rules, it was hidden from them.
  private var emptyings: [String: [StateVector]] = [:]
  /// The transaction on devices that empty of each one on devices that do not.
  private var same: [Dot: Dot] = [:]
  /// Under which stamp devices that empty have written each value; no two writes give the same value.
  private var stamps: [Int: Stamp] = [:]

  // MARK: What has happened

  /// The own vectors of a device that empties and of one that does not, before both write.
  typealias Vectors = (shredding: StateVector, plain: StateVector)

  /// Notes that both devices have written the same to a record.
  mutating func wrote(_ key: String, _ shredding: Store, _ plain: Store, since before: Vectors) throws {
    let (mine, theirs) = try (
      shredding.vector.beyond(before.shredding).entries, plain.vector.beyond(before.plain).entries
    )
    guard mine.count == theirs.count, mine.count <= 1 else {
      throw ShredFailure("a write made \(mine) beside \(theirs) without emptying")
    }
    guard let one = mine.first, let other = theirs.first else { return }
    guard one.sequence == before.shredding[one.replica] + 1, other.sequence == before.plain[other.replica] + 1 else {
      throw ShredFailure("a write made several transactions")
    }
    same[other] = one
    for field in try shredding.history(of: try ShredStage.name(key))?.fields ?? [] where field.stamp.dot == one {
      if case .integer(let value) = field.value { stamps[Int(value)] = field.stamp }
    }
  }

  /// Notes that a device has emptied a record which today's rules hide from it.
  mutating func emptied(_ key: String, by author: StateVector) { emptyings[key, default: []].append(author) }

  private func isPurged(_ key: String, _ dot: Dot) -> Bool { emptyings[key]?.contains { $0.covers(dot) } ?? false }

  // MARK: E1

  /// Whether a device may show `mine`, nil for nothing, in the place of the value that shows without emptying: somebody
  /// had seen that value when they emptied the record, which was hidden from them, and `mine` is older.
  func excuses(_ mine: Int?, inPlaceOf theirs: Int?, of key: String) -> Bool {
    guard let theirs, let lost = stamps[theirs], isPurged(key, lost.dot) else { return false }
    guard let mine else { return true }
    return stamps[mine].map { $0 < lost } ?? false
  }

  // MARK: E2

  /// Whether a device may lack a record that shows without emptying: it or an owner, and all that lives below that one,
  /// has no content in its life, and whoever emptied each of them had seen everything that keeps it alive.
  func excuseAbsence(of key: String, from shredding: Store, beside plain: Store) throws -> Bool {
    try plain.snapshot { plainReader in
      try shredding.snapshot { shreddingReader in
        let search = Search(
          exceptions: self, facts: SnapshotFacts(plainReader), content: SnapshotFacts(shreddingReader))
        var (open, known) = ([try ShredStage.name(key)], Set<AnyRecordName>())
        while let next = open.popLast() {
          guard known.insert(next).inserted else { continue }
          if try search.isGone(next) { return true }
          open += try search.visibility.effectiveOwners(of: next).map(\.target)
        }
        return false
      }
    }
  }

  private struct Search {
    let exceptions: ShredExceptions
    /// What holds without emptying.
    let facts: SnapshotFacts
    let visibility: Visibility<SnapshotFacts>
    /// What is known where there was emptying.
    let content: SnapshotFacts

    init(exceptions: ShredExceptions, facts: SnapshotFacts, content: SnapshotFacts) {
      (self.exceptions, self.facts, self.content) = (exceptions, facts, content)
      visibility = Visibility(facts)
    }

    func isGone(_ name: AnyRecordName) throws -> Bool {
      var (open, known) = ([name], Set<AnyRecordName>())
      while let next = open.popLast() {
        guard known.insert(next).inserted else { continue }
        guard try isGoneAlone(next) else { return false }
        for child in try facts.owned(by: next) where try visibility.isAlive(child) {
          if try visibility.effectiveOwners(of: child).contains(where: { $0.target == next }) { open.append(child) }
        }
      }
      return true
    }

    private func isGoneAlone(_ name: AnyRecordName) throws -> Bool {
      guard try content.facts(of: name)?.saysNothing == true, let record = try facts.facts(of: name) else {
        return false
      }
      var touches = record.touches
      for dot in try facts.liveTags(of: name) { touches.include(dot) }
      return touches.beyond(record.deletedContext).entries.allSatisfy { dot in
        exceptions.same[dot].map { exceptions.isPurged(name.key, $0) } ?? false
      }
    }
  }
}
