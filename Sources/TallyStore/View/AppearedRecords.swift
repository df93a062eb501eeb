import TallyCRDT

/// The records that have come into view in a transaction, for what must be said of them (decision 24).
struct AppearedRecords {
  /// Records that were hidden and are seen now, although no version of a seed offers them.
  private(set) var returned = Set<AnyRecordName>()
  /// Records of which it has been said that they returned. What a unique value of another keeps out may be tried, and
  /// so noted, again.
  private var said = Set<AnyRecordName>()
  /// Records that are seen through what they own, while nothing is said of themselves in their life.
  private(set) var unsaid = Set<AnyRecordName>()
  /// Whether this device brings records back: the app that writes, a restore, an adoption. What a delta, another schema
  /// or a repair shows was there all along.
  var isLocal = false

  /// Takes note of a record that is seen according to its state. `stored` is how it stands so far.
  mutating func note(_ name: AnyRecordName, _ stored: StoredRecord) {
    if case .hidden = stored.place, isLocal, !stored.state.isOfferedBySeed, !said.contains(name) {
      returned.insert(name)
    }
  }

  /// Takes note of a record that is seen, and of which nothing is said.
  mutating func note(unsaid name: AnyRecordName) { unsaid.insert(name) }

  /// Takes note of a record that the app has inserted under a name that was known.
  mutating func note(inserted name: AnyRecordName) { returned.insert(name) }

  /// Whether nothing is to be said.
  var isEmpty: Bool { returned.isEmpty && unsaid.isEmpty }

  /// Forgets what was noted.
  mutating func forget() { (returned, unsaid) = ([], []) }

  /// Hands out the records that have returned, and forgets them.
  mutating func takeReturned() -> [AnyRecordName] {
    defer {
      said.formUnion(returned)
      returned = []
    }
    return returned.sorted()
  }

  /// Hands out the records of which nothing is said, and forgets them.
  mutating func takeUnsaid() -> [AnyRecordName] {
    defer { unsaid = [] }
    return unsaid.sorted()
  }
}
